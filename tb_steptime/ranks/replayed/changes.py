"""The length of the job's step after changes of one rank or of all: the joined ranks are replayed again for each
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import msgspec
import numpy as np

from tb_steptime.ranks.collectives import group_roles
from tb_steptime.ranks.delays.causes import on_device
from tb_steptime.ranks.replayed.graphs import RankGraph, Variant, rank_graphs, unexplained
from tb_steptime.ranks.replayed.joint import ReplayedJob, StepTimes
from tb_steptime.ranks.replayed.larger import larger_jobs
from tb_steptime.ranks.result import (
    LEAST_REPEATED,
    MOST_ERROR,
    MOST_UNEXPLAINED,
    JobChange,
    JobChangeId,
    JobReplay,
    Role,
)
from tb_steptime.text import Reason, count
from tb_steptime.trace.table import distinct

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
    outcomes = [_outcome(later, before, change) for change in _changes(later, late_groups) if change.replayed]
    worthwhile = [outcome for outcome in outcomes if outcome.gain_ns >= LEAST_GAIN * later_ns]
    larger, reason = larger_jobs(later, later_ns)
    return msgspec.structs.replace(
        result,
        changes=sorted(worthwhile, key=lambda outcome: -outcome.gain_ns),
        larger=larger,
        larger_reason=reason,
    )


def _outcome(job: ReplayedJob, before: StepTimes, change: _Change) -> JobChange:
    step_ns = max(round(fmean(map(job.step_ns, change.replayed))), change.least_ns)
    steps_ns = np.maximum(np.mean([job.steps_ns(times) for times in change.replayed], axis=0), change.least_ns)
    gain_ns = job.step_ns(before) - step_ns
    usual_ns = np.median(job.steps_ns(before) - steps_ns)
    return JobChange(change.id, list(change.ranks), step_ns, gain_ns, max(0, min(gain_ns, round(float(usual_ns)))))


def _changes(job: ReplayedJob, late_groups: Sequence[Sequence[int]]) -> Iterator[_Change]:
    place = {span.rank: number for number, span in enumerate(job.spans)}
    both = (False, True)  # of the two ranks in the middle, the shorter and the longer
    for ranks in late_groups:
        places = [place[rank] for rank in ranks]
        yield _Change("late_ranks", _swept(job, [job.as_the_others(places, longer=longer) for longer in both]), ranks)
    yield _Change("even_ranks", _swept(job, [job.evened(longer=longer) for longer in both]))
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
    return [times for times in swept if times is not None]


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
