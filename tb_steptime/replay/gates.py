"""The deviation of a replay from its recording."""

from __future__ import annotations

import numpy as np

from tb_steptime.replay.graph import Graph
from tb_steptime.replay.steady import SteadyStep
from tb_steptime.replay.sweep import EdgeKind, starts
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


def identity(graph: Graph) -> float:
    """The relative difference between the replayed and the recorded length."""
    end = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    return abs(int(end.max()) - int(graph.end_ns.max())) / max(graph.recorded_ns, 1)


def wait_error(trace: Trace, graph: Graph) -> float | None:
    """The relative difference between the replayed and the recorded lengths of waiting calls; None without such
    calls."""
    began = starts(graph.own_ns, graph.release_ns, graph.edges)
    before, after = graph.edges.before, graph.edges.after
    held = np.zeros(len(graph), bool)
    held[after[graph.edges.kind == EdgeKind.RETURN]] = True
    arrives = held[after] & (graph.edges.kind == EdgeKind.LANE)
    arrived, call = before[arrives], after[arrives]
    replayed = began[call] - (began + graph.own_ns)[arrived]
    recorded = trace.events.dur_ns[graph.event[call]]
    return float(np.abs(replayed - recorded).sum() / recorded.sum()) if recorded.sum() else None


def unlinked(graph: Graph) -> float:
    """Share of the devices' work whose launch is not recorded. On each stream, work before the first one with a launch
    is from before the recording and does not count."""
    linked = np.zeros(len(graph), bool)
    linked[graph.edges.after[graph.edges.kind == EdgeKind.LAUNCH]] = True
    if not linked.any():
        return 1.0
    begun = graph.start_ns[linked]
    first = np.full(int(graph.track.max()) + 1, int(begun.min()))
    track = graph.track[linked]
    first[track[::-1]] = begun[::-1]  # nodes are sorted by start, and the first one is written last
    counts = graph.on_device & (graph.start_ns >= first[graph.track])
    missing = int(graph.own_ns[counts & ~linked].sum())
    return missing / max(int(graph.own_ns[counts].sum()), 1)


def recorded_length(trace: Trace, step: SteadyStep) -> int:
    """Length of the recorded step in ns: from its start to that of the next one, since the loop's work between two
    marks belongs to it; for the last step its own length. If a loader sets the pace, it is the mean of all steps, as a
    few of them wait for all batches; if no steps are known, it is the recording."""
    if not step.repeats:
        return max(step.graph.recorded_ns, 1)
    steps, place = find_steps(trace), step.number
    last = len(steps.steps) - 1
    if (step.links.kind == EdgeKind.BATCH).any() and last:
        return max(int(steps.end_ns[last] - steps.start_ns[0]) // (last + 1), 1)
    until = steps.end_ns[place] if place == last else steps.start_ns[place + 1]
    return max(int(until - steps.start_ns[place]), 1)
