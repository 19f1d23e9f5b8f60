"""The part of the kernel time that runs in graphs, and the part of that which annotations name."""

from __future__ import annotations

import msgspec

from tb_steptime.trace.kernel_labels import annotated
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import graph_kernels

#: Minimum share of the graphs' kernel time that two recordings of one job agree in. They agree in nearly all of it
#: (99.8 % in a recorded training), and those of two models or two implementations of one model in less than a fifth.
#: Half is far from both.
LEAST_NAMED_FRACTION = 0.5
#: Graphs with less than this share of the kernel time are worth neither reading another trace nor mentioning.
LEAST_GRAPH_FRACTION = 0.1


class GraphTime(msgspec.Struct, frozen=True):
    """Kernel time of all devices over the whole recording, ns: that of kernels in graphs, that of the annotated ones
    among these, and that of all kernels."""

    graph_ns: int
    annotated_ns: int
    all_ns: int

    @property
    def is_much(self) -> bool:
        return self.graph_ns > 0 and self.graph_ns >= LEAST_GRAPH_FRACTION * self.all_ns


def graph_time(trace: Trace) -> GraphTime:
    graph, time = graph_kernels(trace), trace.events.dur_ns[trace.kernels.event]
    labels = annotated(trace)
    named = 0 if labels is None else int(time[graph & (labels.modules >= 0)].sum())
    return GraphTime(int(time[graph].sum()), named, int(time.sum()))
