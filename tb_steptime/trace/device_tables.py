"""What only newer profilers write of devices: nodes of CUDA graphs, what a user noted on them, edges between them, and
measured counters. Each table is empty where the file says nothing of it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from tb_steptime.trace.table import Bool, Float64, Int32, Int64


@dataclass(frozen=True, eq=False)
class GraphNodeTable:
    """Activities that ran as a node of a CUDA graph; one row for each, whatever its kind.

    event   int32, row of the event table, ascending
    graph   int32 or int64, the executable graph: another number after each instantiation, and in each rank; -1 = not
            said
    node    likewise, the node within the graph, which is the same in each replay; -1 = not said. The two together are
            a node's identity
    """

    event: Int32
    graph: Int32 | Int64
    node: Int32 | Int64

    def __len__(self) -> int:
        return len(self.event)


@dataclass(frozen=True, eq=False)
class AnnotationTable:
    """What a user noted on an activity while its graph was captured, and where a profiler moved it for that; one row
    for each activity of which any of it is said.

    event      int32, row of the event table, ascending
    module     int32, row of `Trace.annotation_texts`, as in all columns that follow: the module's qualified name
               (`module_fqn`), "layers.0.attention"; -1 = not said
    name       the name of the innermost scope, "attention"; of an annotation of plain text that text; -1 = not said
    phase      "forward" or "backward" (`autograd_phase`); -1 = not said
    text       the whole annotation as it is spelled, where it is one value: JSON of a list, or plain text; -1 = none
    lane       int32, the lane that the file shows it on in place of its stream, which `EventTable.stream` has; -1: it
               is shown on its stream
    stream     int32, the lane that the annotation asks for (`annotated_stream`), where it was not moved; -1 = none
    """

    event: Int32
    module: Int32
    name: Int32
    phase: Int32
    text: Int32
    lane: Int32
    stream: Int32

    def __len__(self) -> int:
        return len(self.event)


@dataclass(frozen=True, eq=False)
class DependencyTable:
    """Edges of CUDA graphs as they were replayed: which activity had to end before which could begin. One row for each.

    before, after   int32, rows of the event table; sorted by after, then before
    """

    before: Int32
    after: Int32

    def __len__(self) -> int:
        return len(self.before)


@dataclass(frozen=True, eq=False)
class CounterTable:
    """Samples of what a GPU measures of itself, sorted by device, counter and time.

    device   int32
    name     int32, row of `Trace.counter_names`: "SM Active (%)", "Power (W)", or a metric as the profiler names it
    ts       int64, ns relative to `Trace.origin_ns`
    value    float64, as written: a percent from 0 to 100 where the name says so
    """

    device: Int32
    name: Int32
    ts: Int64
    value: Float64

    def __len__(self) -> int:
        return len(self.ts)

    def where(self, kept: Bool | Int64) -> CounterTable:
        """These rows alone, by a mask or by number."""
        return CounterTable(*(getattr(self, one.name)[kept] for one in fields(self)))


def no_graph_nodes() -> GraphNodeTable:
    return GraphNodeTable(*(np.empty(0, np.int32) for _ in range(3)))


def no_annotations() -> AnnotationTable:
    return AnnotationTable(*(np.empty(0, np.int32) for _ in range(7)))


def no_dependencies() -> DependencyTable:
    return DependencyTable(*(np.empty(0, np.int32) for _ in range(2)))


def no_counters() -> CounterTable:
    narrow = np.empty(0, np.int32)
    return CounterTable(narrow, narrow, np.empty(0, np.int64), np.empty(0, np.float64))
