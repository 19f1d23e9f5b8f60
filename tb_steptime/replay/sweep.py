"""The replay of a graph: each node starts when the last node for which it waits permits it.

node     0 [aaaa]                 edge   from 0 to 1, lag 1
node     1       [bb]             start  of 1 = end of 0 + 1
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import cached_property

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.extension import sweep_function
from tb_steptime.trace.table import Columns, Int32, Int64, UInt8


class EdgeKind(enum.IntEnum):
    """Why one node waits for another one."""

    LANE = 0  # the order of a host thread
    LAUNCH = 1  # an activity follows its call
    STREAM = 2  # the order of a stream
    DEPENDENCY = 3  # an edge of a graph, as recorded
    CROSSING = 4  # work of another stream that ended just before; inferred
    RETURN = 5  # a blocking call returns after the work that it waits for; inferred
    BATCH = 6  # a worker makes the next batch
    QUEUE = 7  # a launch finds room when work before it has begun; inferred
    RANKS = 8  # other ranks arrive at a collective; estimated
    DONE = 9  # a blocking call whose work had already ended: as recorded, it does not wait


#: Kinds of edges that are inferred from times and not recorded.
INFERRED = (EdgeKind.CROSSING, EdgeKind.RETURN)
#: Edges into calls that wait for a device.
HOLDS = (EdgeKind.RETURN, EdgeKind.DONE)


class Edges(Columns, frozen=True, eq=False, dict=True):
    """What waits for what, sorted by `after`. Nodes are numbered so that before < after.

    before, after   int32, numbers of nodes
    lag_ns          int64, from the end of the first node to the start of the second; it may be negative
    kind            uint8, an `EdgeKind`
    """

    before: Int32
    after: Int32
    lag_ns: Int64
    kind: UInt8

    @cached_property
    def in_bytes(self) -> tuple[bytes, bytes]:
        """The columns `before` and `lag_ns` in C's format, kept for all durations that are tried with these edges."""
        return self.before.astype(np.int64, copy=False).tobytes(), self.lag_ns.astype(np.int64, copy=False).tobytes()

    def with_lags(self, lag_ns: Int64) -> Edges:
        """Returns the edges with these lags. Returns itself if no lag differs."""
        return self if np.array_equal(lag_ns, self.lag_ns) else replace(self, lag_ns=lag_ns)


def edges_of(kind: EdgeKind | UInt8, before: Int32 | Int64, after: Int32 | Int64, lag_ns: Int64 | int = 0) -> Edges:
    """Returns edges in any order. kind and lag_ns are those of each edge, or of all."""
    lags, kinds = np.full(len(before), lag_ns, np.int64), np.full(len(before), kind, np.uint8)
    return Edges(before.astype(np.int32, copy=False), after.astype(np.int32, copy=False), lags, kinds)


def joined(parts: list[Edges]) -> Edges:
    """Returns several tables as one, sorted by `after`."""
    order = np.argsort(np.concatenate([part.after for part in parts]), kind="stable")
    columns = zip(*map(msgspec.structs.astuple, parts), strict=True)
    return Edges(*(np.concatenate(column).take(order) for column in columns))


def starts(duration_ns: Int64, release_ns: Int64, edges: Edges) -> Int64:
    """Returns when each node starts, in ns: at its release, or later if an edge requires it."""
    return repeated_starts(duration_ns, release_ns, edges, edges.where(slice(0)), 1)[0]


def repeated_starts(duration_ns: Int64, release_ns: Int64, edges: Edges, links: Edges, copies: int) -> Int64:
    """Returns when each node of successive copies of a graph starts, in ns, with one row for each copy. links: edges
    from a node to one of the next copy."""
    if sweep := sweep_function():
        own, release = (each.astype(np.int64, copy=False).tobytes() for each in (duration_ns, release_ns))
        first, link_first = (first_of_each(each, len(duration_ns)).tobytes() for each in (edges, links))
        swept = sweep(own, release, first, *edges.in_bytes, link_first, *links.in_bytes, copies)
        return np.frombuffer(swept, np.int64).reshape(copies, -1)
    columns: list[Int32 | Int64] = [duration_ns, release_ns]
    for each in (edges, links):
        columns += [first_of_each(each, len(duration_ns)), each.before, each.lag_ns]
    return _swept(columns, copies)


def first_of_each(edges: Edges, nodes: int) -> Int64:
    """Returns the index of the first edge into each node, and finally the number of all edges."""
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(edges.after, minlength=nodes), out=first[1:])
    return first


def _swept(columns: Sequence[Int32 | Int64], copies: int) -> Int64:
    """Returns what `waits.c` does."""
    lasts, release, first, before, lag, link_first, link_before, link_lag = (each.tolist() for each in columns)
    rows, ends = list[list[int]](), list[int]()
    for copy in range(copies):
        row = list(release)
        earlier = ends
        ends = [0] * len(lasts)
        for node, own in enumerate(lasts):
            start = row[node]
            for edge in range(first[node], first[node + 1]):
                start = max(start, ends[before[edge]] + lag[edge])
            for edge in range(link_first[node], link_first[node + 1]) if copy else ():
                start = max(start, earlier[link_before[edge]] + link_lag[edge])
            row[node], ends[node] = start, start + own
        rows.append(row)
    return np.array(rows, np.int64).reshape(copies, -1)
