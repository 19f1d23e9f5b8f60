"""The length of the job's step after changes of one rank or of all: the joined ranks are replayed again for each
change.

The job on more ranks, each of which does the same work as now: how long its collectives and the waits at them would
take.

recorded   rank 0 [step 5][step 6][step 7]       rank 1 [step 5][step 6][step 7]
added      rank 2 as rank 0, but its steps in another order: so late as ranks are in other steps, others are beside them

A transfer takes longer in proportion to the share of its bytes that each link then carries, 2 (n - 1) / n for an
all-reduce, as in a ring. Not modelled: the latency of each of the ring's n steps, and slower links between machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import msgspec
import numpy as np

from tb_steptime.ranks.collectives import bus_factor, group_roles
from tb_steptime.ranks.delays.causes import on_device
from tb_steptime.ranks.replayed.graphs import RankGraph, Variant, rank_graphs, unexplained
from tb_steptime.ranks.replayed.joint import JoinedRanks, Meetings, ReplayedJob, StepTimes
from tb_steptime.ranks.result import (
    LEAST_REPEATED,
    MOST_ERROR,
    MOST_UNEXPLAINED,
    JobChange,
    JobChangeId,
    JobReplay,
    LargerJob,
    Role,
)
from tb_steptime.replay.reduced import START, PathColumns
from tb_steptime.text import Reason, count
from tb_steptime.trace.table import Bool, Float64, Int64, distinct

#: Minimum gain, as a share of the step, for a change to be reported.
LEAST_GAIN = 0.005
#: Roles whose exchanges computation can hide: their results are not needed before the optimizer, or their inputs are
#: known early.
HIDEABLE: tuple[Role, ...] = ("ddp", "fsdp")
#: Maximum number of collectives over all ranks: with more, a replay takes too long for a page.
MOST_CALLS = 300_000
_VARIANTS: dict[JobChangeId, Variant] = {
    "instant_host": "instant_host",
    "no_loader_waits": "no_loader",
    "no_interruptions": "uninterrupted",
}


@dataclass(frozen=True)
class _Change:
    """A change of the job. replayed: one replay, or two whose mean counts; empty where ranks meet in contradictory
    orders. ranks: those that change, for late_ranks. least_ns: lower limit of the step's length."""

    id: JobChangeId
    replayed: Sequence[StepTimes]
    ranks: Sequence[int] = ()
    least_ns: int = 0


def job_replay(job: ReplayedJob, late_groups: Sequence[Sequence[int]]) -> JobReplay | Reason:
    """Returns the job's step after changes, or a reason if ranks meet in contradictory orders or there are too many
    collectives. Raises what reading results raises. late_groups: groups of ranks that make the others wait."""
    if sum(len(graph.kind) for graph in job.graphs) > MOST_CALLS:
        return Reason("too_many_exchanges", {"most": count(MOST_CALLS)})
    replayed = job.swept()
    if replayed is None:
        return Reason("exchanges_out_of_order")
    recorded_ns, replayed_ns = job.step_ns(job.as_recorded), job.step_ns(replayed)
    later = job.later()
    before = later.swept() or replayed
    later_ns = min(job.step_ns(before), replayed_ns)
    unknown_share = max(map(unexplained, job.spans))
    agrees = abs(replayed_ns - recorded_ns) <= MOST_ERROR * recorded_ns and later_ns >= LEAST_REPEATED * replayed_ns
    result = JobReplay(
        rank_count=len(job.spans),
        steps=len(job.steps),
        recorded_step_ns=recorded_ns,
        replayed_step_ns=replayed_ns,
        unexplained=unknown_share,
        trusted=agrees and unknown_share <= MOST_UNEXPLAINED,
        by_device=job.by_device,
        later_step_ns=later_ns,
    )
    if not result.trusted:
        return result
    outcomes = [_outcome(later, before, each) for each in _changes(later, late_groups) if each.replayed]
    larger, reason = larger_jobs(later, later_ns)
    return msgspec.structs.replace(
        result,
        changes=sorted((each for each in outcomes if each.gain_ns >= LEAST_GAIN * later_ns), key=lambda e: -e.gain_ns),
        larger=larger,
        larger_reason=reason,
    )


def _outcome(job: ReplayedJob, before: StepTimes, change: _Change) -> JobChange:
    step_ns = max(round(fmean(map(job.step_ns, change.replayed))), change.least_ns)
    steps_ns = np.maximum(np.mean([job.steps_ns(each) for each in change.replayed], axis=0), change.least_ns)
    gain_ns = job.step_ns(before) - step_ns
    usual_ns = np.median(job.steps_ns(before) - steps_ns)
    return JobChange(change.id, list(change.ranks), step_ns, gain_ns, max(0, min(gain_ns, round(float(usual_ns)))))


def _changes(job: ReplayedJob, late_groups: Sequence[Sequence[int]]) -> Iterator[_Change]:
    place = {span.rank: number for number, span in enumerate(job.spans)}
    both = (False, True)  # of the two ranks in the middle, the shorter and the longer
    for ranks in late_groups:
        places = [place[rank] for rank in ranks]
        yield _Change("late_ranks", _swept(job, [job.as_the_others(places, longer=each) for each in both]), ranks)
    yield _Change("even_ranks", _swept(job, [job.evened(longer=each) for each in both]))
    if any(map(on_device, job.spans)):  # on CPUs a transfer may also be a wait for a core
        yield from _exchanged_sooner(job)
    for id, variant in _VARIANTS.items():
        if (changed := rank_graphs(job.spans, job.names, variant)) is not None:
            yield _Change(id, _swept(job, [job.changed(changed)]))


def _exchanged_sooner(job: ReplayedJob) -> Iterator[_Change]:
    hidden = _hidden(job)
    if hidden is not None:
        yield hidden
    instant = job.swept(job.without_transfers, job.stalls_ns)
    yield _Change("instant_exchanges", [instant] if instant else [])


def _swept(job: ReplayedJob, variants: Sequence[Sequence[RankGraph] | None]) -> list[StepTimes]:
    """Returns the replays that are possible."""
    swept = [job.swept(graphs) for graphs in variants if graphs is not None]
    return [each for each in swept if each is not None]


def _hidden(job: ReplayedJob) -> _Change | None:
    """Replays with the exchanges of data parallelism, one after the other in each group, in parallel with the ranks'
    own work. Returns None where there are no such exchanges."""
    meetings = job.joined.meetings
    beside = np.isin(
        meetings.group, [place for place, role in enumerate(group_roles(job.matched, job.spans)) if role in HIDEABLE]
    )
    if not beside.any():
        return None
    channel_ns = np.bincount(meetings.group[beside], meetings.transfer_ns[beside]).max()
    least_ns = round(float(channel_ns) / len(distinct(meetings.step[beside])))
    times = job.swept(None, np.where(beside, job.stalls_ns, meetings.transfer_ns))
    return _Change("hidden_exchanges", [times] if times else [], (), least_ns)


#: Multiples of the present number of ranks.
TIMES = (2, 4)
#: Roles of groups that grow with the job; of the other groups there are more, each with as many ranks as before.
_GROWING: tuple[Role, ...] = ("ddp", "fsdp", "expert_parallel")
#: Maximum number of collectives over all ranks: with more, a replay takes too long for a page.
_MOST_CALLS = 400_000


def larger_jobs(job: ReplayedJob, step_ns: int) -> tuple[list[LargerJob], Reason | None]:
    """Returns the larger jobs, and the reason if they are not known. step_ns: the replayed step."""
    roles = group_roles(job.matched, job.spans)
    growing = [larger for larger, role in zip(job.matched, roles, strict=True) if role in _GROWING]
    grows = np.array([role in _GROWING for role in roles] + [False] * len(job.messages), bool)
    if not any(on_device(span) for span in job.spans):
        return [], Reason("larger_job_shares_cores")
    if not growing:
        return [], Reason("larger_job_not_of_data")
    if len({span.step_names for span in job.spans}) > 1:  # the copies of a rank do its work in another order
        return [], Reason("larger_job_of_other_steps")
    if any(one.bytes is None or bus_factor(one.kind, 2) is None for larger in growing for one in larger.classes):
        return [], Reason("larger_job_needs_bytes")
    if sum(len(graph.kind) for graph in job.graphs) * max(TIMES) > _MOST_CALLS:
        return [], Reason("larger_job_has_too_many_calls")
    larger = []
    for times in TIMES:
        copies = [_rotated(graph, job.counted, copy) for copy in range(times) for graph in job.graphs]
        joined = JoinedRanks(_meetings(job, times, grows), list(job.joined.offsets_ns) * times)
        replayed = joined.replayed(copies, joined.meetings.transfer_ns)
        if replayed is not None:
            larger_ns = job.step_ns(replayed)
            larger.append(LargerJob(len(job.graphs) * times, larger_ns, step_ns / max(larger_ns, 1)))
    return larger, None


def _rotated(graph: RankGraph, steps: Int64, places: int) -> RankGraph:
    """Returns the rank's graph with its counted steps shifted by a number of places, or the same graph where the steps
    are not all alike."""
    moved = np.roll(steps, -places * max(1, len(steps) // max(TIMES)))
    nodes = [np.flatnonzero(graph.step == step) for step in steps.tolist()]
    kinds = [graph.kind[own[graph.is_call[own]] - graph.steps] for own in nodes]
    if not places or any(not np.array_equal(own, kinds[0]) for own in kinds):
        return graph
    sources = {int(step): own for step, own in zip(steps, nodes, strict=True)}
    before, after, lag = graph.paths
    parts = [PathColumns(*(column[~np.isin(graph.step[after], steps) | (before == START)] for column in graph.paths))]
    own_ns = graph.own_ns.copy()
    for step, source in zip(steps.tolist(), moved.tolist(), strict=True):
        of_step = (graph.step[after] == source) & (before != START)
        shifted = np.full(len(graph.step), -1, np.int64)
        for near in (0, -1):
            if source + near in sources and step + near in sources:
                shifted[sources[source + near]] = sources[step + near]
        own_ns[sources[step]] = graph.own_ns[sources[source]]
        inside = of_step & (shifted[np.maximum(before, 0)] >= 0)
        parts.append(PathColumns(shifted[before[inside]], shifted[after[inside]], lag[inside]))
    return replace(
        graph, paths=PathColumns(*(np.concatenate(each) for each in zip(*parts, strict=True))), own_ns=own_ns
    )


def _meetings(job: ReplayedJob, times: int, grows: Bool) -> Meetings:
    """Returns the collectives of `times` as many ranks. Those of growing groups join all copies of their ranks."""
    meetings, ranks = job.joined.meetings, len(job.graphs)
    larger = grows[meetings.group]
    number = np.arange(len(meetings))
    transfer = np.where(larger, meetings.transfer_ns * _longer(job, times), meetings.transfer_ns).astype(np.int64)
    added = [number, *(np.where(larger, number, copy * len(meetings) + number) for copy in range(1, times))]
    used, place = np.unique(np.concatenate([each[meetings.meeting] for each in added]), return_inverse=True)
    source = used % max(len(meetings), 1)
    return Meetings(
        group=meetings.group[source],
        step=meetings.step[source],
        transfer_ns=transfer[source],
        stalled_ns=meetings.stalled_ns[source],
        of=meetings.of[source],
        meeting=place.reshape(-1).astype(np.int64),
        rank=np.concatenate([meetings.rank + copy * ranks for copy in range(times)]),
        call=np.tile(meetings.call, times),
    )


def _longer(job: ReplayedJob, times: int) -> Float64:
    """Returns the factor by which each meeting's transfer grows with `times` as many ranks. It is 1 where none is
    known."""
    meetings, longer = job.joined.meetings, np.ones(len(job.joined.meetings))
    for group, group_matches in enumerate(job.matched):
        size = group_matches.group.size or len(group_matches.group.ranks) or len(group_matches.members)
        factors = [_factor(each.kind, size, times) for each in group_matches.classes]
        of_group = meetings.group == group
        longer[of_group] = np.array(factors)[meetings.of[of_group]]
    return longer


def _factor(kind: str, ranks: int, times: int) -> float:
    """Returns how many times as long a transfer takes with `times` as many ranks.

    >>> _factor("all_reduce", 2, 4), _factor("broadcast", 2, 4)
    (1.75, 1.0)
    """
    now, then = bus_factor(kind, ranks), bus_factor(kind, ranks * times)
    return 1.0 if now is None or then is None else then / now
