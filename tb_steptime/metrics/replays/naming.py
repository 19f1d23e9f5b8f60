"""The share of the kernel time that runs in graphs, and the part of that which annotations name.

Every summary asks for it, so it stands apart from `labels`, which needs the tree of ops.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.trace.kernel_labels import annotated
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import graph_kernels

#: Two recordings of one job agree in nearly all of the graphs' kernel time (99.8 % in a recorded training), those of
#: two models or two implementations of one model in less than a fifth of it. Half is far from both.
LEAST_NAMED_FRACTION = 0.5
#: Graphs with less than this share of the kernel time are neither worth reading another trace nor mentioning.
LEAST_GRAPH_FRACTION = 0.1


class GraphTime(NamedTuple):
    """Kernel time of all devices over the whole recording, in ns: of kernels in graphs, of the annotated ones among
    these, and of all kernels."""

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
