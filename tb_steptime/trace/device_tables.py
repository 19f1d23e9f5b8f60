"""Facts about devices that only newer profilers write: nodes of CUDA graphs, the user's annotations of them, edges
between nodes, and measured counters. A table is empty where the file has no such data."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.table import Bool, Float64, Int32, Int64


class GraphNodeTable(msgspec.Struct, frozen=True, eq=False):
    """Activities that ran as a node of a CUDA graph; one row for each, whatever its kind.

    event   int32, row of the event table, ascending
    graph   int32 or int64, id of the executable graph, which differs after each instantiation and in each rank; -1 =
            not recorded
    node    likewise, id of the node within the graph, the same in each replay; -1 = not recorded. graph and node
            together identify a node
    """

    event: Int32
    graph: Int32 | Int64
    node: Int32 | Int64

    def __len__(self) -> int:
        return len(self.event)


class AnnotationTable(msgspec.Struct, frozen=True, eq=False):
    """The user's annotation of an activity, made while its graph was captured, and the lane that a profiler moved it to
    for that. One row for each activity that has either.

    event      int32, row of the event table, ascending
    module     int32, row of `Trace.annotation_texts`, as in the columns below: the module's qualified name
               (`module_fqn`), "layers.0.attention"; -1 = not recorded
    name       the name of the innermost scope, "attention"; for a plain-text annotation, its text; -1 = not recorded
    phase      "forward" or "backward" (`autograd_phase`); -1 = not recorded
    text       the whole annotation as written, where it is one value: JSON of a list, or plain text; -1 = none
    lane       int32, the lane that the file shows it on instead of its stream (the stream is in `EventTable.stream`);
               -1 = it is shown on its stream
    stream     int32, the lane that the annotation requests (`annotated_stream`), if the activity was not moved; -1 =
               none
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


class DependencyTable(msgspec.Struct, frozen=True, eq=False):
    """Edges of CUDA graphs as they were replayed: the first activity had to end before the second could begin. One row
    per edge.

    before, after   int32, rows of the event table; sorted by after, then before
    """

    before: Int32
    after: Int32

    def __len__(self) -> int:
        return len(self.before)


class CounterTable(msgspec.Struct, frozen=True, eq=False):
    """Samples of the GPU's hardware counters, sorted by device, counter and time.

    device   int32
    name     int32, row of `Trace.counter_names`: "SM Active (%)", "Power (W)", or a metric as the profiler names it
    ts       int64, ns relative to `Trace.origin_ns`
    value    float64, as written: a percentage from 0 to 100 where the name says so
    """

    device: Int32
    name: Int32
    ts: Int64
    value: Float64

    def __len__(self) -> int:
        return len(self.ts)

    def where(self, kept: Bool | Int64) -> CounterTable:
        """Only the rows chosen by a mask or by row numbers."""
        return CounterTable(*(column[kept] for column in msgspec.structs.astuple(self)))


def no_graph_nodes() -> GraphNodeTable:
    return GraphNodeTable(*(np.empty(0, np.int32) for _ in range(3)))


def no_annotations() -> AnnotationTable:
    return AnnotationTable(*(np.empty(0, np.int32) for _ in range(7)))


def no_dependencies() -> DependencyTable:
    return DependencyTable(*(np.empty(0, np.int32) for _ in range(2)))


def no_counters() -> CounterTable:
    narrow = np.empty(0, np.int32)
    return CounterTable(narrow, narrow, np.empty(0, np.int64), np.empty(0, np.float64))
