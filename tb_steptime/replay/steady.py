"""One step without its excess, repeated until it is periodic: the length of a step in the long run.

host      [step][step][step][step]                  the host may run ahead
device        [step  ][step  ][step  ][step  ]      the step is the larger of the two periods
"""

from __future__ import annotations

from functools import cached_property

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.phases.forward_only import comparable, forward_only
from tb_steptime.metrics.steady.edges import between_recordings
from tb_steptime.metrics.steady.excess import Excess
from tb_steptime.replay.graph import Graph
from tb_steptime.replay.host import Role, shown_until
from tb_steptime.replay.sweep import HOLDS, EdgeKind, Edges, edges_of, joined, repeated_starts
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import Step, find_steps
from tb_steptime.trace.table import Bool, Int64, distinct_in, is_in

#: Number of copies of a step; periods are measured over the last half.
COPIES = 8
#: Number of steps from which the middle one is chosen: replaying more would take too long for its benefit.
MOST_CANDIDATES = 9
#: A step whose length differs by at most this share from the median one is as typical: steady steps of one job, from
#: recordings that are cut differently, agree within this share.
NEAR = 0.05
#: Share of unexplained time above which the intervals of gains are widened.
WIDER = 0.05


class SteadyStep(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The graph of one step, and what ties it to the next one. A change that alters nothing returns the step itself,
    whose length is known.

    repeats   whether the recording shows that steps follow each other
    links     edges from a node of a step (before) to a node of the next one (after), by `after`
    number    which step was chosen
    least_ns  the only step takes at least so long, for what runs beside it
    """

    graph: Graph
    links: Edges
    repeats: bool
    number: int
    least_ns: int = 0

    @cached_property
    def length_ns(self) -> int:
        """The length of the step in ns: the larger of the periods of host and device once it repeats. If no steps are
        known, it is the time from the first start to the last end of the recording."""
        graph, copies = self.graph, COPIES if self.repeats else 1
        began = repeated_starts(graph.own_ns, graph.release_ns, graph.edges, self.links, copies)
        ended = began[-1] + graph.own_ns
        if copies == 1:
            return max(int(ended.max() - began.min()), self.least_ns)
        half, on_device = copies // 2, graph.on_device
        earlier = began[half - 1] + graph.own_ns
        parts = [part for part in (on_device, ~on_device) if part.any()]
        return max(int(ended[part].max() - earlier[part].max()) // (copies - half) for part in parts)

    def with_own(self, own_ns: Int64) -> SteadyStep:
        """Returns the step with these durations of its nodes. Returns itself if no duration differs."""
        graph = self.graph.with_own(own_ns)
        return self if graph is self.graph else replace(self, graph=graph)

    def with_edges(self, edges: Edges, links: Edges) -> SteadyStep:
        """Returns the step with these edges and links. Returns itself if they are its own."""
        graph = self.graph
        if edges is graph.edges and links is self.links:
            return self
        return replace(self, graph=replace(graph, edges=edges), links=links)


def less_excess(graph: Graph, excess: Excess, lanes: Int64) -> Graph:
    """Returns the same graph without the excess. Waiting is not part of a node's own time, so it is not part of the
    excess either. lanes: of each thread its lane (`host_lanes`); the nodes of a graph are on lanes, and excess is on
    threads."""
    own, lane = graph.own_ns.copy(), lanes[excess.track]
    for each in distinct_in(lane).tolist():
        on_lane = np.flatnonzero(graph.track == each)
        own[on_lane] -= np.minimum(overlap_ns(excess.where(lane == each).intervals(), graph, on_lane), own[on_lane])
    return graph.with_own(own)


def overlap_ns(intervals: Intervals, graph: Graph, nodes: Int64) -> Int64:
    """Returns how much time of these nodes is inside some intervals, ns."""
    return intervals.overlap_ns(graph.start_ns[nodes], np.maximum(graph.end_ns, graph.start_ns)[nodes])


def step_of_nodes(trace: Trace, graph: Graph) -> Int64:
    """Returns for each node the step that contains its item or its launch, or -1 before the first step and after the
    last one."""
    steps = find_steps(trace)
    starts = steps.host_start_ns
    over = steps.steps[-1].host_end_ns
    if steps.by == "recording" and len(steps.steps) == 1:
        return np.zeros(len(graph), np.int64)
    launched = np.full(len(trace.events), -1, np.int64)
    launches = find_launches(trace)
    launched[launches.activity] = launches.call
    row = np.where(graph.on_device, launched[graph.event], graph.event) if len(graph) else graph.event
    at = np.where(row >= 0, trace.events.start_ns[row], graph.end_ns)
    step = np.searchsorted(starts, at, side="right") - 1
    lost = (graph.on_device & (row < 0)) | ((at > over) & (step == len(starts) - 1))
    return np.where(lost, -1, step)


def steady_step(trace: Trace, graph: Graph, chosen: int | None = None) -> SteadyStep | None:
    """Returns the chosen step, or the step of median length, or None if no step has any nodes. The median is taken
    among the steps with the usual number of nodes, or among all where no number occurs twice. Of steps of about the
    same length, one is more typical if as much of it is unexplained as of all these steps."""
    step = step_of_nodes(trace, graph)
    size, steps = np.bincount(step[step >= 0], minlength=1), find_steps(trace)
    size[~comparable(steps.duration_ns, forward_only(trace))[: len(size)]] = 0
    if not size.any():
        return None
    lasts = steps.duration_ns[: len(size)]
    sizes = distinct_in(size[size > 0]).tolist()
    usual = max(sizes, key=lambda each: (np.count_nonzero(size == each), lasts[size == each].sum()))
    candidates = np.flatnonzero(size == usual if np.count_nonzero(size == usual) > 1 else size > 0)
    if steps.by != "recording" and len(candidates) > 1:
        candidates = candidates[candidates > 0]
    if steps.by == "inferred" and len(candidates) > 2:  # the last one ends with its last work
        candidates = candidates[candidates < len(steps.steps) - 1]
    candidates = candidates[:: -(-len(candidates) // MOST_CANDIDATES)] if chosen is None else np.array([chosen])
    repeats, graph = steps.by != "recording", less_time_off(trace, graph)
    if repeats or len(steps.steps) > 1:
        graph = replace(graph, release_ns=np.zeros(len(graph), np.int64))
    cuts = [SteadyStep(*_cut(graph, step == each), repeats, each) for each in candidates.tolist()]
    if repeats and len(steps.steps) == 1:
        cuts = [_with_tail(cuts[0], min(steps.steps[0].host_end_ns, shown_until(trace)))]
    return _typical(cuts, len(steps.steps) - 1) if len(cuts) > 1 else cuts[0]


def less_time_off(trace: Trace, graph: Graph) -> Graph:
    """Returns the same graph without the host's time between two recordings, in which the profiler was off."""
    off = between_recordings(trace)
    if not len(off):
        return graph
    own, host = graph.own_ns.copy(), np.flatnonzero(~graph.on_device)
    own[host] -= np.minimum(overlap_ns(off, graph, host), own[host])
    return graph.with_own(own)


def _typical(steps: list[SteadyStep], last: int) -> SteadyStep:
    """Returns the middle one of these steps, or one about as long of which as much is unexplained as of all of them. Of
    equally long steps, the one with the least unexplained time is the one in which the host is latest. last: the number
    of the recording's last step, whose period no next step shows."""
    lengths = np.array([each.length_ns for each in steps], np.int64)
    middle = int(np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2])
    unexplained = np.array([each.graph.unexplained_ns.sum() for each in steps]) / np.maximum(lengths, 1)
    if max(unexplained[middle], unexplained.mean()) <= WIDER:
        return steps[middle]
    away = np.abs(lengths - lengths[middle])
    is_last = np.array([each.number == last for each in steps])
    near = np.flatnonzero(away <= NEAR * lengths[middle])
    unlike = np.abs(unexplained[near] - unexplained.mean())
    return steps[int(near[np.lexsort((near != middle, away[near], is_last[near], unlike))[0]])]


def _with_tail(step: SteadyStep, over: int) -> SteadyStep:
    """Returns the only step, with the host's time from its last item to its end added, since there is no next step
    whose items would show it."""
    links = step.links
    host = links.kind == EdgeKind.LANE
    rest = np.where(host, np.maximum(over - step.graph.end_ns[links.before], 0), 0)
    longest = host & (rest == rest[host].min()) if host.any() else host
    return replace(step, links=replace(links, lag_ns=links.lag_ns + np.where(longest, rest, 0)))


def _cut(graph: Graph, in_step: Bool) -> tuple[Graph, Edges]:
    """Returns the graph of one step, and its links to the next one."""
    nodes = np.flatnonzero(in_step)
    near = graph.edges.where(slice(*np.searchsorted(graph.edges.after, (nodes[0], nodes[-1] + 1)).tolist()))
    arrives, leaves = in_step[near.after], in_step[near.before]
    one = graph.subgraph(nodes, near.where(arrives & leaves))
    tracks = distinct_in(one.track)
    first, last = (np.zeros(int(tracks.max(initial=0)) + 1, np.int64) for _ in range(2))
    number = np.arange(len(one))
    first[one.track[::-1]] = number[::-1]
    last[one.track] = number
    heads = first[tracks]
    stream = one.role[heads] == Role.ACTIVITY
    lags = np.sort(one.edges.lag_ns[(one.edges.kind == EdgeKind.STREAM) & (one.edges.lag_ns >= 0)])
    lag = np.where(stream, lags[len(lags) // 2] if len(lags) else 0, 0)
    parts = [edges_of(EdgeKind.LANE, last[tracks], heads, lag)]
    parts[0].kind[stream] = EdgeKind.STREAM
    # edges from the step before: their equivalent in this step starts at its last node on the same track
    entering = arrives & ~leaves
    outside = near.where(entering & is_in(near.kind, (EdgeKind.CROSSING, *HOLDS, EdgeKind.QUEUE)))
    track = graph.track[outside.before]
    on_tracks = is_in(track, tracks)
    outside, track = outside.where(on_tracks), track[on_tracks]
    after = np.searchsorted(nodes, outside.after)
    parts.append(edges_of(outside.kind, last[track], after, outside.lag_ns))
    loads = number[one.role == Role.LOADER]
    pace = _batch_ns(graph, near.where(entering)) if len(loads) else 0
    if pace:
        parts.append(edges_of(EdgeKind.BATCH, loads[-1:], loads[-1:], pace * len(loads)))
    return one, joined(parts)


def _batch_ns(graph: Graph, entering: Edges) -> int:
    """Returns the time that workers take for a batch: for the one before this step, or else for each batch between two
    waits. Returns 0 if nothing waits for them."""
    loads = np.flatnonzero(graph.role == Role.LOADER)
    for edges, alone in ((entering, True), (graph.edges, False)):
        batches = edges.where(edges.kind == EdgeKind.BATCH)
        loads_between = np.searchsorted(loads, batches.after, "right") - np.searchsorted(loads, batches.before, "right")
        chosen = loads_between == 1 if alone else np.ones(len(batches), bool)
        if chosen.any():
            return int(batches.lag_ns[chosen].sum() // max(int(loads_between[chosen].sum()), 1))
    return 0


def recorded_length(trace: Trace, step: SteadyStep) -> int:
    """Returns the length of the recorded step in ns: from its start to that of the next one, since the loop's work
    between two marks belongs to it. For the last step it is its own length. If a loader sets the pace, it is the mean
    of all steps, as a few of them wait for all batches. If no steps are known, it is that of the recording, or of one
    of those in the file. The only step does not include the time until the first work of the device if that comes once,
    nor the time in which the device is no longer recorded."""
    steps, place = find_steps(trace), step.number
    last = len(steps.steps) - 1
    if not step.repeats:
        off_ns = between_recordings(trace).total_ns
        return max(int(steps.duration_ns[place]) if last else step.graph.recorded_ns - off_ns, 1)
    if (step.links.kind == EdgeKind.BATCH).any() and last:
        return max(int(steps.end_ns[last] - steps.start_ns[0]) // (last + 1), 1)
    until = steps.end_ns[place] if place == last else steps.start_ns[place + 1]
    until = until if last else min(until, max(shown_until(trace), step.graph.end_ns.max()))
    return max(int(until - steps.start_ns[place]) - (0 if last else _filling_ns(step, steps.steps[0])), 1)


def _filling_ns(step: SteadyStep, recorded: Step) -> int:
    """Returns how long the device waits for the first work of the only step. It comes once if the host never waits for
    the device and is done before it, since the host is then ahead from the second step on."""
    graph = step.graph
    if graph.waits.any() or not graph.on_device.any() or recorded.host_end_ns >= recorded.end_ns:
        return 0
    return max(int(graph.start_ns[graph.on_device].min()) - recorded.start_ns, 0)
