r"""The reduced graphs of all ranks, joined at their collectives and replayed together.

rank 0   begin ---> arrives --\             /---> arrives ...
                               [collective ]                        it begins when all have arrived
rank 1   begin -------> arrives/            \---> end

A message is between two ranks: it begins when it is sent and its receiver waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tb_steptime.ranks.arrivals import waited_for
from tb_steptime.ranks.clocks import rough_offsets
from tb_steptime.ranks.collectives import stalled_ns
from tb_steptime.ranks.matching import MatchedGroup
from tb_steptime.ranks.replayed.graphs import RankGraph, by_device, in_place_of, rank_graphs
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.replay.reduced import START, PathColumns
from tb_steptime.replay.sweep import EdgeKind, edges_of, starts
from tb_steptime.trace.table import Bool, Float64, Int64, distinct


@dataclass(frozen=True, eq=False)
class Meetings:
    """Collectives that several ranks leave together, and messages. There are m of them, with these columns (m,):

    group         place among the matched groups, messages after collectives
    of            place in its classes
    step          place among the job's
    transfer_ns   from the last arrival to the end
    stalled_ns    the part of it that is far beyond others like it

    For each rank at each of them:

    meeting   its number
    rank      the rank's place
    call      the collective's place among the rank's
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
    matched: Sequence[MatchedGroup], messages: Sequence[MatchedGroup] = (), offsets_ns: Sequence[int] = ()
) -> Meetings:
    """Returns the meetings of the ranks in all groups. offsets_ns: values that convert each rank's times to those of
    the first."""
    columns: list[tuple[Int64, ...]] = []
    first = 0
    for group, calls in enumerate([*matched, *messages]):
        rows = np.flatnonzero(waited_for(calls)) if group < len(matched) else np.arange(len(calls.step))
        size, members = len(rows), len(calls.members)
        if group < len(matched):
            transfer, stalled = calls.length[rows].min(axis=1), stalled_ns(calls)[rows]
        else:
            transfer = _under_way_ns(calls, offsets_ns)
            stalled = np.zeros(size, np.int64)
        columns.append((
            np.full(size, group), calls.of[rows], calls.step[rows], transfer, stalled,
            np.repeat(np.arange(first, first + size), members), np.tile(calls.members, size), calls.row[rows].ravel(),
        ))  # fmt: skip
        first += size
    none = (np.empty(0, np.int64),) * 8
    return Meetings(*(np.concatenate(each) for each in zip(none, *columns, strict=True)))


def _under_way_ns(group: MatchedGroup, offsets_ns: Sequence[int]) -> Int64:
    """Returns the time from when a message is sent and its receiver is ready until it is received. On the sender it may
    end later, when the sender checks for it."""
    start = group.start + np.array([offsets_ns[place] for place in group.members.tolist()], np.int64)
    return np.maximum(start[:, 1] + group.length[:, 1] - start.max(axis=1), 0)


@dataclass(frozen=True, eq=False)
class JoinedRanks:
    """The meetings of the ranks on one clock. offsets_ns: for each rank, what converts a time relative to its origin to
    one relative to the first begin."""

    meetings: Meetings
    offsets_ns: Sequence[int]

    @staticmethod
    def join(
        matched: Sequence[MatchedGroup], messages: Sequence[MatchedGroup], graphs: Sequence[RankGraph]
    ) -> JoinedRanks:
        offsets = rough_offsets(matched, messages, len(graphs))
        begins = [graph.origin_ns + offset for graph, offset in zip(graphs, offsets, strict=True)]
        return JoinedRanks(meetings_of(matched, messages, offsets), [begin - min(begins) for begin in begins])

    def apart(self, graphs: Sequence[RankGraph]) -> StepTimes:
        """Returns when the steps of all ranks begin and end if no rank waits for another one."""
        alone = JoinedRanks(meetings_of([]), self.offsets_ns).replayed(graphs, np.empty(0, np.int64))
        assert alone is not None  # only ranks that meet can contradict each other
        return alone

    def replayed(self, graphs: Sequence[RankGraph], transfer_ns: Int64) -> StepTimes | None:
        """Returns when the steps of all ranks begin and end. Returns None where ranks meet in contradictory orders.
        transfer_ns: that of each meeting."""
        sizes = np.array([len(graph.step) for graph in graphs], np.int64)
        first = np.cumsum(np.append(0, sizes))
        count = int(first[-1])
        own = np.concatenate([*(graph.own_ns for graph in graphs), transfer_ns])
        meetings = self.meetings
        calls = np.array([graph.steps for graph in graphs], np.int64)
        arrivals = first[meetings.rank] + calls[meetings.rank] + meetings.call
        together = count + meetings.meeting
        own[arrivals] = 0
        leaves, release = np.arange(count), np.zeros(len(own), np.int64)
        leaves[arrivals] = together
        before = [arrivals]
        after = [together]
        lag = [np.zeros(len(arrivals), np.int64)]
        for graph, begin, offset in zip(graphs, first[:-1].tolist(), self.offsets_ns, strict=True):
            paths, timed = graph.paths, graph.paths.before == START
            np.maximum.at(release, paths.after[timed] + begin, paths.lag[timed] + offset)
            before.append(leaves[paths.before[~timed] + begin])
            after.append(paths.after[~timed] + begin)
            lag.append(paths.lag[~timed])
        ended = ends(own, release, np.concatenate(before), np.concatenate(after), np.concatenate(lag))
        if ended is None:
            return None
        return StepTimes.from_ends(graphs, first.tolist(), ended)


@dataclass(frozen=True, eq=False)
class StepTimes:
    """When steps begin and end: (ranks, the job's steps), in ns on one clock, -1 for a step that a rank does not
    have."""

    began_ns: Int64
    ended_ns: Int64

    @staticmethod
    def from_ends(graphs: Sequence[RankGraph], first: Sequence[int], ended: Int64) -> StepTimes:
        began, over = (np.full((len(graphs), len(graphs[0].ended_ns)), -1, np.int64) for _ in range(2))
        for row, (graph, begin) in enumerate(zip(graphs, first[:-1], strict=True)):
            has_end = graph.ended_ns[graph.step[: graph.steps]] >= 0
            own = graph.step[: graph.steps]
            began[row, own[has_end]] = ended[begin : begin + graph.steps][has_end]
            last = begin + len(graph.step)
            over[row, own[has_end]] = ended[last - graph.steps : last][has_end]
        return StepTimes(began, over)


def ends(own_ns: Int64, release_ns: Int64, before: Int64, after: Int64, lag_ns: Int64) -> Int64 | None:
    """Returns when each node ends, whatever the order of their numbers, or None where nodes wait for each other in a
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
    """Returns the nodes in topological order, level by level, or None where there is a cycle."""
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


@dataclass(frozen=True, eq=False)
class ReplayedJob:
    """The ranks of a job, in order, with what their replay needs.

    names       names of the job's steps
    matched     the matched exchanges of each group
    messages    matched messages between two ranks
    steps       places of the steps whose exchanges are matched
    by_device   the graphs include hosts and devices, not only the ranks' own time
    """

    spans: Sequence[RankSpan]
    names: Sequence[str]
    matched: Sequence[MatchedGroup]
    messages: Sequence[MatchedGroup]
    steps: Int64
    graphs: Sequence[RankGraph]
    by_device: bool

    @staticmethod
    def from_job(
        spans: Sequence[RankSpan],
        names: Sequence[str],
        matched: Sequence[MatchedGroup],
        messages: Sequence[MatchedGroup],
        steps: Int64,
    ) -> ReplayedJob | None:
        """Returns the job, or None where the ranks have no common step whose end is known. Raises what reading results
        raises."""
        graphs = rank_graphs(spans, names, "recorded")
        if graphs is None:
            return None
        steps = steps[np.array([graph.ended_ns[steps] >= 0 for graph in graphs]).all(axis=0)]
        return ReplayedJob(spans, names, matched, messages, steps, graphs, by_device(spans)) if len(steps) else None

    def later(self) -> ReplayedJob:
        """Returns the job with its counted steps as they would be later, without one-time work and the profiler's own.
        Raises what reading results raises."""
        graphs = rank_graphs(self.spans, self.names, "later")
        if graphs is None:
            return self
        return replace(self, graphs=self.changed(graphs))

    def changed(self, graphs: Sequence[RankGraph]) -> list[RankGraph]:
        """Returns the ranks' graphs with the counted steps of the given graphs."""
        return [in_place_of(own, other, self.counted) for own, other in zip(self.graphs, graphs, strict=True)]

    @cached_property
    def joined(self) -> JoinedRanks:
        return JoinedRanks.join(self.matched, self.messages, self.graphs)

    @cached_property
    def counted(self) -> Int64:
        """The places of the steps that are counted and changed. Earlier steps stay as recorded."""
        return np.arange(int(self.steps[0]), int(self.steps[-1]) + 1)

    @cached_property
    def as_recorded(self) -> StepTimes:
        began, ended = ([getattr(graph, name) for graph in self.graphs] for name in ("began_ns", "ended_ns"))
        return StepTimes(np.array(began), np.array(ended))

    def step_ns(self, replayed: StepTimes) -> int:
        """Returns the mean step of the rank that takes longest for all counted steps."""
        ends = self._ends(replayed)
        return round(int((ends[:, -1] - ends[:, 0]).max()) / len(self.counted))

    def steps_ns(self, replayed: StepTimes) -> Int64:
        """Returns the length of each counted step on the rank that takes longest for it."""
        return np.diff(self._ends(replayed), axis=1).max(axis=0)

    def _ends(self, replayed: StepTimes) -> Int64:
        """Returns when each rank begins the counted steps, and when it ends each of them: (ranks, 1 + counted steps).
        Stages of a pipeline end one after the other, so there is one row for them, with the last end."""
        ends = np.column_stack((self._begins(replayed), replayed.ended_ns[:, self.counted]))
        return ends.max(axis=0, keepdims=True) if self.messages else ends

    def _begins(self, replayed: StepTimes) -> Int64:
        """Returns for each rank the end of the step before the counted ones, or the start of the first counted step if
        none was recorded before."""
        before = int(self.counted[0]) - 1
        recorded = before >= 0 and bool((replayed.ended_ns[:, before] >= 0).all())
        return replayed.ended_ns[:, before] if recorded else replayed.began_ns[:, before + 1]

    def swept(self, graphs: Sequence[RankGraph] | None = None, transfer_ns: Int64 | None = None) -> StepTimes | None:
        """Replays the job with other graphs or transfer times. None stands for the recorded ones. Returns None where
        ranks meet in contradictory orders."""
        meetings = self.joined.meetings
        transfer = meetings.transfer_ns if transfer_ns is None else transfer_ns
        return self.joined.replayed(self.graphs if graphs is None else graphs, transfer)

    @cached_property
    def stalls_ns(self) -> Int64:
        """The part of each meeting's transfer that would remain if data took no time to transfer."""
        meetings = self.joined.meetings
        return np.where(np.isin(meetings.step, self.counted), meetings.stalled_ns, meetings.transfer_ns)

    @cached_property
    def without_transfers(self) -> list[RankGraph]:
        """The graphs in which the counted collectives of a root, which are joined to no other rank, take only what each
        rank waits in them: their time beyond the shortest."""
        own_ns = [graph.own_ns.copy() for graph in self.graphs]
        for group in self.matched:
            rows = np.flatnonzero(~waited_for(group) & np.isin(group.step, self.counted))
            waits = group.length[rows] - group.length[rows].min(axis=1, keepdims=True)
            for place, calls, wait_ns in zip(group.members.tolist(), group.row[rows].T, waits.T, strict=True):
                own_ns[place][self.graphs[place].steps + calls] = wait_ns
        return [replace(graph, own_ns=own) for graph, own in zip(self.graphs, own_ns, strict=True)]

    @cached_property
    def alone_ns(self) -> Int64:
        """The time of each rank without exchanges and without waiting for others: (ranks, counted steps)."""
        counted = [np.isin(graph.step, self.counted) for graph in self.graphs]
        graphs = [
            replace(graph, own_ns=np.where(is_counted, 0, graph.own_ns))
            for graph, is_counted in zip(self.graphs, counted, strict=True)
        ]
        alone = self.joined.apart(graphs)
        ends = np.column_stack((self._begins(alone), alone.ended_ns[:, self.counted]))
        return np.diff(ends, axis=1)

    @cached_property
    def alike(self) -> Int64:
        """A number for each rank. Ranks with the same number do the same in the same steps."""
        numbers: dict[tuple[bytes, bytes], int] = {}
        keys = [(graph.step.tobytes(), graph.kind.tobytes()) for graph in self.graphs]
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)

    def as_the_others(self, places: Sequence[int], *, longer: bool) -> list[RankGraph] | None:
        """Returns graphs in which these ranks do, in each step, the work of that one of the others whose own time in it
        is the median. Of two in the middle, `longer` takes the longer one. A stage of a pipeline, which may have no
        similar rank, does its own work in that time. Returns None where there is no such rank.

        The longest step of such a rank then takes as long as the longest step of the others, its second longest as long
        as theirs, and so on. Ranks still take turns: a rank that took as long as another one in every step would never
        wait for it, nor the other for this one.
        """
        graphs = list(self.graphs)
        for place in places:
            others = np.setdiff1d(np.flatnonzero(self.alike == self.alike[place]), places)
            if not len(others) and self.messages:
                graphs[place] = self._as_fast_as(place, np.setdiff1d(np.arange(len(graphs)), places), longer)
                continue
            if not len(others):
                return None
            median = self._median_of(others, longer)
            graph = self._with_work_of(place, median, np.ones(len(self.counted), bool))
            median_ns = np.maximum(self.alone_ns[median, np.arange(len(median))], 1)
            graphs[place] = self._in_time(graph, self._usual_ns(place, others, longer) / median_ns)
        return graphs

    def _usual_ns(self, place: int, others: Int64, longer: bool) -> Int64:
        """Returns for each counted step the own time that the others have in their step of the same place from the
        shortest to the longest."""
        from_shortest = np.argsort(np.argsort(self.alone_ns[place], kind="stable"), kind="stable")
        of_others = np.sort(np.sort(self.alone_ns[others], axis=1), axis=0)
        return of_others[_middle(len(others), longer), from_shortest]

    def evened(self, *, longer: bool) -> list[RankGraph]:
        """Returns graphs in which each rank does the median rank's work in the steps in which it takes longer than the
        median of the ranks like it."""
        graphs = list(self.graphs)
        for number in distinct(self.alike).tolist():
            ranks = np.flatnonzero(self.alike == number)
            middle = self._median_of(ranks, longer)
            usual = self.alone_ns[middle, np.arange(len(middle))]
            for place in ranks.tolist():
                graphs[place] = self._with_work_of(place, middle, self.alone_ns[place] > usual)
        return graphs

    def _median_of(self, ranks: Int64, longer: bool) -> Int64:
        """Returns for each counted step the rank with the median own time."""
        order = np.argsort(self.alone_ns[ranks], axis=0, kind="stable")
        return ranks[order[_middle(len(ranks), longer)]]

    def _as_fast_as(self, place: int, others: Int64, longer: bool) -> RankGraph:
        """Returns the rank's graph with its own work shortened to the time of the median of the others, in each counted
        step in which it takes longer. others: places of ranks, at least one."""
        own_ns = np.maximum(self.alone_ns[place], 1)
        median_ns = self.alone_ns[self._median_of(others, longer), np.arange(len(own_ns))]
        return self._in_time(self.graphs[place], np.minimum(median_ns / own_ns, 1))

    def _in_time(self, graph: RankGraph, times: Float64) -> RankGraph:
        """Returns the graph in which its own work of each counted step takes this many times as long."""
        of_step = np.ones(int(graph.step.max(initial=0)) + 1)
        of_step[self.counted] = times
        before, after, lag = graph.paths
        scaled = np.where(before == START, lag, lag * of_step[graph.path_step]).astype(np.int64)
        return replace(graph, paths=PathColumns(before, after, scaled))

    def _with_work_of(self, place: int, others: Int64, is_replaced: Bool) -> RankGraph:
        """Returns the rank's graph with the work of the given other rank in some of the counted steps."""
        graph = self.graphs[place]
        for other in distinct(others[is_replaced]).tolist():
            graph = in_place_of(graph, self.graphs[other], self.counted[is_replaced & (others == other)])
        return graph


def _middle(count: int, longer: bool) -> int:
    """Returns the place of the median among this many values in ascending order. Of two in the middle, `longer` takes
    the later one."""
    return count // 2 if longer else (count - 1) // 2
