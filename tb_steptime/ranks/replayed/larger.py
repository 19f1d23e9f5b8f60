"""The job on more ranks, each of which does the same work as now: how long its collectives and the waits at them would
take.

recorded   rank 0 [step 5][step 6][step 7]       rank 1 [step 5][step 6][step 7]
added      rank 2 as rank 0, but its steps in another order: so late as ranks are in other steps, others are beside them

A transfer takes longer in proportion to the share of its bytes that each link then carries, 2 (n - 1) / n for an
all-reduce, as in a ring. Not modelled: the latency of each of the ring's n steps, and slower links between machines.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_steptime.ranks.collectives import bus_factor, group_roles
from tb_steptime.ranks.delays.causes import on_device
from tb_steptime.ranks.replayed.graphs import RankGraph
from tb_steptime.ranks.replayed.joint import JoinedRanks, Meetings, ReplayedJob
from tb_steptime.ranks.result import LargerJob, Role
from tb_steptime.replay.reduced import START, PathColumns
from tb_steptime.text import Reason
from tb_steptime.trace.table import Bool, Float64, Int64

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
    kinds = [graph.kind[of_step[graph.is_call[of_step]] - graph.steps] for of_step in nodes]
    if not places or any(not np.array_equal(kinds_of_step, kinds[0]) for kinds_of_step in kinds):
        return graph
    sources = {int(step): of_step for step, of_step in zip(steps, nodes, strict=True)}
    before, after, lag = graph.paths
    parts = [PathColumns(*(column[~np.isin(graph.step[after], steps) | (before == START)] for column in graph.paths))]
    own_ns = graph.own_ns.copy()
    for step, source in zip(steps.tolist(), moved.tolist(), strict=True):
        ends_in_step = (graph.step[after] == source) & (before != START)
        shifted = np.full(len(graph.step), -1, np.int64)
        for near in (0, -1):
            if source + near in sources and step + near in sources:
                shifted[sources[source + near]] = sources[step + near]
        own_ns[sources[step]] = graph.own_ns[sources[source]]
        inside = ends_in_step & (shifted[np.maximum(before, 0)] >= 0)
        parts.append(PathColumns(shifted[before[inside]], shifted[after[inside]], lag[inside]))
    paths = PathColumns(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return replace(graph, paths=paths, own_ns=own_ns)


def _meetings(job: ReplayedJob, times: int, grows: Bool) -> Meetings:
    """Returns the collectives of `times` as many ranks. Those of growing groups join all copies of their ranks."""
    meetings, ranks = job.joined.meetings, len(job.graphs)
    larger = grows[meetings.group]
    number = np.arange(len(meetings))
    transfer = np.where(larger, meetings.transfer_ns * _longer(job, times), meetings.transfer_ns).astype(np.int64)
    added = [number, *(np.where(larger, number, copy * len(meetings) + number) for copy in range(1, times))]
    used, place = np.unique(np.concatenate([numbers[meetings.meeting] for numbers in added]), return_inverse=True)
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
        factors = [_factor(matched.kind, size, times) for matched in group_matches.classes]
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
