"""How long a recording would be if one part of what it waits for took no time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.gpu.collectives import collective_names
from tb_steptime.replay.graph import Graph
from tb_steptime.replay.sweep import starts
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool


@dataclass(frozen=True)
class Sensitivity:
    """Lengths in ns of the whole recording as it is replayed, and with one part taking no time.

    host, device, communication   with the host's own time, the work on devices, and collectives at 0
    blocking                      without the waits of calls for a device
    """

    replayed_ns: int
    host_ns: int
    device_ns: int
    communication_ns: int
    blocking_ns: int


def sensitivity(trace: Trace, graph: Graph) -> Sensitivity:
    """Replays the graph once as recorded and once for each part."""
    exchanges = np.zeros(len(graph.event), bool)
    exchanges[graph.on_device] = collective_names(trace)[trace.events.name[graph.event[graph.on_device]]]
    nothing = np.zeros(len(graph.event), bool)
    return Sensitivity(
        replayed_length(graph, nothing),
        replayed_length(graph, ~graph.on_device),
        replayed_length(graph, graph.on_device & ~exchanges),
        replayed_length(graph, exchanges),
        replayed_length(graph, nothing, waits=False),
    )


def replayed_length(graph: Graph, free: Bool, waits: bool = True) -> int:
    """From the first start to the last end in ns, if the free nodes take no time; without waits, if no call waits for
    a device."""
    edges = graph.edges
    if not waits:
        edges = edges.where(~(graph.waits[edges.after] & graph.on_device[edges.before]))
    own = np.where(free, 0, graph.own_ns)
    began = starts(own, graph.release_ns, edges)
    return int((began + own).max(initial=0) - began.min(initial=0)) if len(own) else 0
