"""How far the replay of a graph can be trusted: what of the devices' work it ties to launches, and how well it computes
the waits of calls."""

from __future__ import annotations

import numpy as np

from tb_steptime.replay.graph import Graph
from tb_steptime.replay.sweep import EdgeKind, starts
from tb_steptime.trace.model import Trace


def unlinked(graph: Graph) -> float:
    """Returns the share of the devices' work whose launch is not recorded. On each stream, work before the first one
    with a launch is from before the recording and does not count."""
    linked = np.zeros(len(graph), bool)
    linked[graph.edges.after[graph.edges.kind == EdgeKind.LAUNCH]] = True
    if not linked.any():
        return 1.0
    start = graph.start_ns[linked]
    first = np.full(int(graph.track.max()) + 1, int(start.min()))
    track = graph.track[linked]
    first[track[::-1]] = start[::-1]  # nodes are sorted by start, and the first one is written last
    counts = graph.on_device & (graph.start_ns >= first[graph.track])
    missing = int(graph.own_ns[counts & ~linked].sum())
    return missing / max(int(graph.own_ns[counts].sum()), 1)


def wait_error(trace: Trace, graph: Graph) -> float | None:
    """Returns the relative difference between the replayed and the recorded lengths of waiting calls; None without such
    calls."""
    began = starts(graph.own_ns, graph.release_ns, graph.edges)
    before, after = graph.edges.before, graph.edges.after
    waits = np.zeros(len(graph), bool)
    waits[after[graph.edges.kind == EdgeKind.RETURN]] = True
    waits &= graph.event >= 0
    arrives = waits[after] & (graph.edges.kind == EdgeKind.LANE)
    arrived, call = before[arrives], after[arrives]
    replayed = (began + graph.own_ns)[call] - (began + graph.own_ns)[arrived]
    recorded = trace.events.dur_ns[graph.event[call]]
    return float(np.abs(replayed - recorded).sum() / recorded.sum()) if recorded.sum() else None
