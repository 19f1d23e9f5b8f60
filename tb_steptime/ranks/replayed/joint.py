r"""The reduced graphs of all ranks, joined at their collectives and replayed together.

rank 0   begin ---> arrives --\             /---> arrives ...
                               [collective ]                        it begins when all have arrived
rank 1   begin -------> arrives/            \---> end

A message is between two ranks: it begins when it is sent and its receiver waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.ranks.arrivals import waited_for
from tb_steptime.ranks.clocks import rough_offsets
from tb_steptime.ranks.collectives import stalled_ns
from tb_steptime.ranks.matching import Matched
from tb_steptime.ranks.replayed.graphs import RankGraph
from tb_steptime.replay.reduced import START
from tb_steptime.replay.sweep import EdgeKind, edges_of, starts
from tb_steptime.trace.table import Int64, distinct


@dataclass(frozen=True, eq=False)
class Meetings:
    """Collectives that several ranks leave together, and messages.

    (m,): group: place among the matched groups, messages after collectives; of: place in its classes; step: place among
    the job's; transfer_ns: from the last arrival to the end; stalled_ns: the part of it that is far beyond others like
    it.

    For each rank at each of them: meeting: its number; rank: the rank's place; call: the collective's place among the
    rank's.
    """

    group: Int64
    of: Int64
    step: Int64
    transfer_ns: Int64
    stalled_ns: Int64
    meeting: Int64
    rank: Int64
    call: Int64

    def __len__(self) -> int:
        return len(self.transfer_ns)


def meetings_of(
    matched: Sequence[Matched], messages: Sequence[Matched] = (), offsets_ns: Sequence[int] = ()
) -> Meetings:
    """The meetings of the ranks in all groups. offsets_ns: what converts each rank's times to those of the first."""
    columns: list[tuple[Int64, ...]] = []
    first = 0
    for group, found in enumerate([*matched, *messages]):
        rows = np.flatnonzero(waited_for(found)) if group < len(matched) else np.arange(len(found.step))
        size, members = len(rows), len(found.members)
        if group < len(matched):
            transfer, stalled = found.length[rows].min(axis=1), stalled_ns(found)[rows]
        else:
            transfer, stalled = _under_way_ns(found, offsets_ns), np.zeros(size, np.int64)
        columns.append((
            np.full(size, group), found.of[rows], found.step[rows], transfer, stalled,
            np.repeat(np.arange(first, first + size), members), np.tile(found.members, size), found.row[rows].ravel(),
        ))  # fmt: skip
        first += size
    none = (np.empty(0, np.int64),) * 8
    return Meetings(*(np.concatenate(each) for each in zip(none, *columns, strict=True)))


def _under_way_ns(found: Matched, offsets_ns: Sequence[int]) -> Int64:
    """Returns the time from when a message is sent and its receiver is ready until it is received. On the sender it may
    end later, when the sender checks for it."""
    start = found.start + np.array([offsets_ns[place] for place in found.members.tolist()], np.int64)
    under_way: Int64 = np.maximum(start[:, 1] + found.length[:, 1] - start.max(axis=1), 0)
    return under_way


@dataclass(frozen=True, eq=False)
class Joined:
    """The meetings of the ranks on one clock. offsets_ns: for each rank, what converts a time relative to its origin to
    one relative to the first begin."""

    met: Meetings
    offsets_ns: Sequence[int]

    @staticmethod
    def of(matched: Sequence[Matched], messages: Sequence[Matched], graphs: Sequence[RankGraph]) -> Joined:
        offsets = rough_offsets(matched, messages, len(graphs))
        begins = [graph.origin_ns + offset for graph, offset in zip(graphs, offsets, strict=True)]
        return Joined(meetings_of(matched, messages, offsets), [begin - min(begins) for begin in begins])

    def apart(self, graphs: Sequence[RankGraph]) -> Replayed:
        """Returns when the steps of all ranks begin and end if none waits for another one."""
        alone = Joined(meetings_of([]), self.offsets_ns).replayed(graphs, np.empty(0, np.int64))
        assert alone is not None  # only ranks that meet can contradict each other
        return alone

    def replayed(self, graphs: Sequence[RankGraph], transfer_ns: Int64) -> Replayed | None:
        """Returns when the steps of all ranks begin and end. transfer_ns: of each meeting. None where ranks meet in
        contradictory orders."""
        sizes = np.array([len(graph.step) for graph in graphs], np.int64)
        first = np.cumsum(np.append(0, sizes))
        count = int(first[-1])
        own, met = np.concatenate([*(graph.own_ns for graph in graphs), transfer_ns]), self.met
        calls = np.array([graph.steps for graph in graphs], np.int64)
        arrivals, together = first[met.rank] + calls[met.rank] + met.call, count + met.meeting
        own[arrivals] = 0
        leaves, release = np.arange(count), np.zeros(len(own), np.int64)
        leaves[arrivals] = together
        before, after, lag = [arrivals], [together], [np.zeros(len(arrivals), np.int64)]
        for graph, begin, offset in zip(graphs, first[:-1].tolist(), self.offsets_ns, strict=True):
            paths, timed = graph.paths, graph.paths.before == START
            np.maximum.at(release, paths.after[timed] + begin, paths.lag[timed] + offset)
            before.append(leaves[paths.before[~timed] + begin])
            after.append(paths.after[~timed] + begin)
            lag.append(paths.lag[~timed])
        ended = ends(own, release, np.concatenate(before), np.concatenate(after), np.concatenate(lag))
        if ended is None:
            return None
        return Replayed.of(graphs, first.tolist(), ended)


@dataclass(frozen=True, eq=False)
class Replayed:
    """(ranks, the job's steps), ns on one clock; -1 for a step that a rank does not have."""

    began_ns: Int64
    ended_ns: Int64

    @staticmethod
    def of(graphs: Sequence[RankGraph], first: Sequence[int], ended: Int64) -> Replayed:
        began, over = (np.full((len(graphs), len(graphs[0].ended_ns)), -1, np.int64) for _ in range(2))
        for row, (graph, begin) in enumerate(zip(graphs, first[:-1], strict=True)):
            known = graph.ended_ns[graph.step[: graph.steps]] >= 0
            own = graph.step[: graph.steps]
            began[row, own[known]] = ended[begin : begin + graph.steps][known]
            last = begin + len(graph.step)
            over[row, own[known]] = ended[last - graph.steps : last][known]
        return Replayed(began, over)


def ends(own_ns: Int64, release_ns: Int64, before: Int64, after: Int64, lag_ns: Int64) -> Int64 | None:
    """Returns when each node ends, whatever the order of their numbers; None where nodes wait for each other in a
    cycle."""
    order = _in_order(len(own_ns), before, after)
    if order is None:
        return None
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    by_after = np.argsort(number[after], kind="stable")
    edges = edges_of(EdgeKind.LANE, number[before[by_after]], number[after[by_after]], lag_ns[by_after])
    started = starts(own_ns[order], release_ns[order], edges)
    return (started + own_ns[order])[number]


def _in_order(count: int, before: Int64, after: Int64) -> Int64 | None:
    """Returns the nodes in topological order, level by level; None where there is a cycle."""
    by_before = np.argsort(before, kind="stable")
    targets = after[by_before]
    first = np.cumsum(np.append(0, np.bincount(before, minlength=count)))
    missing = np.bincount(after, minlength=count)
    level = np.flatnonzero(missing == 0)
    levels = [level]
    while len(level):
        sizes = first[level + 1] - first[level]
        places = np.repeat(first[level] - np.cumsum(np.append(0, sizes[:-1])), sizes) + np.arange(int(sizes.sum()))
        reached = targets[places]
        np.subtract.at(missing, reached, 1)
        level = distinct(reached[missing[reached] == 0])
        levels.append(level)
    order = np.concatenate(levels)
    return order if len(order) == count else None
