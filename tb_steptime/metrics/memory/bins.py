"""The memory curve of a device in bins: exact minimum and maximum in each, at any zoom.

allocated   2 2 5 5 9 1 1 1
bins        |--a--|--b--|--c--|         a: 2-5, b: 1-9, c: 1-1; a bin begins with what is allocated before it
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.devices import Curve
from tb_steptime.trace.table import Int64


class MemoryBins(msgspec.Struct, frozen=True):
    """[start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins. Least and most allocated,
    and least and most reserved (empty without a caching allocator), bytes."""

    start_ns: int
    end_ns: int
    least: list[int]
    most: list[int]
    reserved_least: list[int]
    reserved_most: list[int]


def memory_bins(of: Curve, start_ns: int, end_ns: int, bins: int) -> MemoryBins:
    """Bins of the window, at most this many, none shorter than a nanosecond."""
    edges = bin_edges(start_ns, end_ns, max(1, min(bins, end_ns - start_ns)))
    allocated = extremes(of.ts, of.allocated, of.before, edges)
    none = np.empty(0, np.int64)
    reserved = (none, none) if of.reserved is None else extremes(of.ts, of.reserved, int(of.reserved[0]), edges)
    return MemoryBins(start_ns, end_ns, *(each.tolist() for each in (*allocated, *reserved)))


def bin_edges(start_ns: int, end_ns: int, bins: int) -> Int64:
    """Edges of the bins, computed without products that would overflow for a window of years."""
    whole, rest = divmod(end_ns - start_ns, bins)
    number = np.arange(bins + 1, dtype=np.int64)
    edges: Int64 = start_ns + number * whole + number * rest // bins
    return edges


def extremes(ts: Int64, values: Int64, before: int, edges: Int64) -> tuple[Int64, Int64]:
    """(least, most) of each bin. values[i] holds from ts[i] on, `before` until the first of them."""
    all_of = np.append(before, values)
    first = np.searchsorted(ts, edges[:-1], side="right")  # an event on an edge belongs to the bin that begins there
    past = np.maximum(np.searchsorted(ts, edges[1:], side="left"), first) + 1
    pairs = np.stack((first, past), axis=1).ravel()
    padded = np.append(all_of, all_of[-1])
    return np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]
