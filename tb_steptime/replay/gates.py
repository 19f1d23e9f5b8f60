"""How far a replay is from its recording."""

from __future__ import annotations

import numpy as np

from tb_steptime.replay.graph import Graph
from tb_steptime.replay.sweep import EdgeKind, starts
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps


def identity(graph: Graph) -> float:
    """By what share the replayed length differs from the recorded one."""
    end = starts(graph.own_ns, graph.release_ns, graph.edges) + graph.own_ns
    return abs(int(end.max()) - int(graph.end_ns.max())) / max(graph.recorded_ns, 1)


def wait_error(trace: Trace, graph: Graph) -> float | None:
    """By what share the replayed lengths of calls that wait differ from the recorded ones; None without such calls."""
    began = starts(graph.own_ns, graph.release_ns, graph.edges)
    before, after = graph.edges.before, graph.edges.after
    held = np.zeros(len(graph), bool)
    held[after[graph.edges.kind == EdgeKind.RETURN]] = True
    arrives = held[after] & (graph.edges.kind == EdgeKind.LANE)
    arrived, call = before[arrives], after[arrives]
    replayed = began[call] - (began + graph.own_ns)[arrived]
    recorded = trace.events.dur_ns[graph.event[call]]
    return float(np.abs(replayed - recorded).sum() / recorded.sum()) if recorded.sum() else None


def recorded_step(trace: Trace, name: str) -> int:
    """From the start of the step of this name to that of the next one; of the last one its length, ns. What the loop
    does between two marks is part of it."""
    steps = find_steps(trace)
    place = [step.name for step in steps.steps].index(name)
    last = place == len(steps.steps) - 1
    until = steps.end_ns[place] if last else steps.start_ns[place + 1]
    return max(int(until - steps.start_ns[place]), 1)
