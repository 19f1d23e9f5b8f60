"""Which event encloses which, for events of one thread that nest as calls do.

row   0 aaaaaaaaaaaa        depth 0            parent -1
row   1   bbbbb             depth 1            parent  0
row   2    cc               depth 2            parent  1
row   3         dd          depth 1            parent  0
"""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.table import Int64


def parents(start_ns: Int64, end_ns: Int64) -> Int64:
    """For each row the row that encloses it most closely, -1 for none. Rows are sorted by (start, longer first)."""
    depth = _depth(start_ns, end_ns)
    parent = np.full(len(depth), -1, np.int64)
    for level in range(1, int(depth.max(initial=0)) + 1):
        above, here = np.flatnonzero(depth == level - 1), np.flatnonzero(depth == level)
        parent[here] = above[np.searchsorted(above, here) - 1]
    return parent


def self_time_ns(start_ns: Int64, end_ns: Int64) -> Int64:
    """Each event's length less that of the events directly inside it; the sum is the time that any of them covers."""
    length = end_ns - start_ns
    parent = parents(start_ns, end_ns)
    inside = parent >= 0
    children = np.bincount(parent[inside], weights=length[inside], minlength=len(length))
    return length - np.rint(children).astype(np.int64)


def _depth(start_ns: Int64, end_ns: Int64) -> Int64:
    """How many rows are open when a row starts; an empty one is, for those that start with it."""
    closed = np.searchsorted(_sorted_ends(start_ns, end_ns), start_ns, side="right")
    return np.subtract(np.arange(len(closed)), closed, out=closed)


def _sorted_ends(start_ns: Int64, end_ns: Int64) -> Int64:
    ends = np.maximum(end_ns, start_ns + 1)
    ends.sort(kind="stable")  # nearly sorted, which this sort makes use of
    return ends
