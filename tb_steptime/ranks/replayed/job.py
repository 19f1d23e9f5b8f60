"""The ranks of a job with everything that is replayed of them, and the length of its step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tb_steptime.ranks.matching import Matched
from tb_steptime.ranks.replayed.graphs import RankGraph, by_device, in_place_of, rank_graphs
from tb_steptime.ranks.replayed.joint import Joined, Replayed
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.replay.reduced import START, PathColumns
from tb_steptime.trace.table import Bool, Float64, Int64, distinct


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
    matched: Sequence[Matched]
    messages: Sequence[Matched]
    steps: Int64
    graphs: Sequence[RankGraph]
    by_device: bool

    @staticmethod
    def of(
        spans: Sequence[RankSpan],
        names: Sequence[str],
        matched: Sequence[Matched],
        messages: Sequence[Matched],
        steps: Int64,
    ) -> ReplayedJob | None:
        """Returns None where the ranks have no common step whose end is known. Raises what reading results raises."""
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
        """Returns the ranks' graphs with the counted steps of these."""
        return [in_place_of(own, other, self.counted) for own, other in zip(self.graphs, graphs, strict=True)]

    @cached_property
    def joined(self) -> Joined:
        return Joined.of(self.matched, self.messages, self.graphs)

    @cached_property
    def counted(self) -> Int64:
        """Places of the steps that are counted and changed. Earlier steps stay as recorded."""
        return np.arange(int(self.steps[0]), int(self.steps[-1]) + 1)

    @cached_property
    def as_recorded(self) -> Replayed:
        began, ended = ([getattr(graph, name) for graph in self.graphs] for name in ("began_ns", "ended_ns"))
        return Replayed(np.array(began), np.array(ended))

    def step_ns(self, replayed: Replayed) -> int:
        """Returns the mean step of the rank that takes longest for all counted steps."""
        ends = self._ends(replayed)
        return round(int((ends[:, -1] - ends[:, 0]).max()) / len(self.counted))

    def steps_ns(self, replayed: Replayed) -> Int64:
        """Returns the length of each counted step on the rank that takes longest for it."""
        longest: Int64 = np.diff(self._ends(replayed), axis=1).max(axis=0)
        return longest

    def _ends(self, replayed: Replayed) -> Int64:
        """Returns (ranks, 1 + counted steps): when each rank begins the counted steps, and when it ends each of them.
        Stages of a pipeline end one after the other, so there is one row for them, with the last end."""
        ends = np.column_stack((self._begins(replayed), replayed.ended_ns[:, self.counted]))
        return ends.max(axis=0, keepdims=True) if self.messages else ends

    def _begins(self, replayed: Replayed) -> Int64:
        """Returns for each rank the end of the step before the counted ones, or the begin of the first counted step if
        none was recorded before."""
        before = int(self.counted[0]) - 1
        recorded = before >= 0 and bool((replayed.ended_ns[:, before] >= 0).all())
        begins: Int64 = replayed.ended_ns[:, before] if recorded else replayed.began_ns[:, before + 1]
        return begins

    def swept(self, graphs: Sequence[RankGraph] | None = None, transfer_ns: Int64 | None = None) -> Replayed | None:
        """Replays with other graphs or transfer times; None stands for the recorded ones. Returns None where ranks meet
        in contradictory orders."""
        met = self.joined.met
        transfer = met.transfer_ns if transfer_ns is None else transfer_ns
        return self.joined.replayed(self.graphs if graphs is None else graphs, transfer)

    @cached_property
    def stalls_ns(self) -> Int64:
        """The part of each meeting's transfer that would remain if data took no time to transfer."""
        met = self.joined.met
        return np.where(np.isin(met.step, self.counted), met.stalled_ns, met.transfer_ns)

    @cached_property
    def alone_ns(self) -> Int64:
        """(ranks, counted steps): the time of each rank without exchanges and without waiting for others."""
        counted = [np.isin(graph.step, self.counted) for graph in self.graphs]
        graphs = [
            replace(graph, own_ns=np.where(there, 0, graph.own_ns))
            for graph, there in zip(self.graphs, counted, strict=True)
        ]
        alone = self.joined.apart(graphs)
        ends = np.column_stack((self._begins(alone), alone.ended_ns[:, self.counted]))
        return np.diff(ends, axis=1)

    @cached_property
    def alike(self) -> Int64:
        """Returns a number for each rank; ranks with the same number do the same in the same steps."""
        numbers: dict[tuple[bytes, bytes], int] = {}
        keys = [(graph.step.tobytes(), graph.kind.tobytes()) for graph in self.graphs]
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)

    def as_the_others(self, places: Sequence[int], *, longer: bool) -> list[RankGraph] | None:
        """Returns graphs in which these ranks do, in each step, the work of that one of the others whose own time in it
        is the median; of two in the middle, the longer or the shorter. A stage of a pipeline, which may have no similar
        rank, does its own work in that time. None where there is no such rank.

        The longest step of such a rank then takes as long as the longest step of the others, its second longest as long
        as theirs, and so on. Ranks go on taking turns: a rank that took as long as another one in every step would
        never wait for it, nor the other for this one."""
        found = list(self.graphs)
        for place in places:
            others = np.setdiff1d(np.flatnonzero(self.alike == self.alike[place]), places)
            if not len(others) and self.messages:
                found[place] = self._as_fast_as(place, np.setdiff1d(np.arange(len(found)), places), longer)
                continue
            if not len(others):
                return None
            median = self._median_of(others, longer)
            graph = self._with_work_of(place, median, np.ones(len(self.counted), bool))
            median_ns = np.maximum(self.alone_ns[median, np.arange(len(median))], 1)
            found[place] = self._in_time(graph, self._usual_ns(place, others, longer) / median_ns)
        return found

    def _usual_ns(self, place: int, others: Int64, longer: bool) -> Int64:
        """Returns for each counted step the own time that the others have in their step of the same place from the
        shortest to the longest."""
        from_shortest = np.argsort(np.argsort(self.alone_ns[place], kind="stable"), kind="stable")
        of_others = np.sort(np.sort(self.alone_ns[others], axis=1), axis=0)
        usual: Int64 = of_others[_middle(len(others), longer), from_shortest]
        return usual

    def evened(self, *, longer: bool) -> list[RankGraph]:
        """Returns graphs in which each rank does the median rank's work in the steps in which it takes longer than the
        median of the ranks like it."""
        found = list(self.graphs)
        for number in distinct(self.alike).tolist():
            ranks = np.flatnonzero(self.alike == number)
            middle = self._median_of(ranks, longer)
            usual = self.alone_ns[middle, np.arange(len(middle))]
            for place in ranks.tolist():
                found[place] = self._with_work_of(place, middle, self.alone_ns[place] > usual)
        return found

    def _median_of(self, ranks: Int64, longer: bool) -> Int64:
        """Returns for each counted step the rank with the median own time."""
        order = np.argsort(self.alone_ns[ranks], axis=0, kind="stable")
        median: Int64 = ranks[order[_middle(len(ranks), longer)]]
        return median

    def _as_fast_as(self, place: int, others: Int64, longer: bool) -> RankGraph:
        """Returns the rank's graph with its own work shortened to the time of the median of the others, in each counted
        step in which it takes longer. others: places of ranks, at least one."""
        own_ns = np.maximum(self.alone_ns[place], 1)
        median_ns = self.alone_ns[self._median_of(others, longer), np.arange(len(own_ns))]
        return self._in_time(self.graphs[place], np.minimum(median_ns / own_ns, 1))

    def _in_time(self, graph: RankGraph, times: Float64) -> RankGraph:
        """Returns the graph with its own work of each counted step so many times as long."""
        of_step = np.ones(int(graph.step.max(initial=0)) + 1)
        of_step[self.counted] = times
        before, after, lag = graph.paths
        scaled = np.where(before == START, lag, lag * of_step[graph.step[after]]).astype(np.int64)
        return replace(graph, paths=PathColumns(before, after, scaled))

    def _with_work_of(self, place: int, others: Int64, there: Bool) -> RankGraph:
        """Returns the rank's graph with the work of the given other rank in some of the counted steps."""
        found = self.graphs[place]
        for other in distinct(others[there]).tolist():
            found = in_place_of(found, self.graphs[other], self.counted[there & (others == other)])
        return found


def _middle(count: int, longer: bool) -> int:
    """Returns the place of the median among so many in ascending order; of two in the middle, the later or the
    earlier."""
    return count // 2 if longer else (count - 1) // 2
