"""How much work is queued, in bins of a window.

    launches    x  x x     x         depth  1  2 3 2  1 2 1 0     mean: exact integral over the bin; peak: its greatest
    starts              x   x   x

A launch is queued from its call until its first activity begins: a captured graph counts once.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.timeline.answers import Depth
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64

#: As many bins as a wide screen has columns.
MAX_BINS = 2048


def write_queue(trace: Trace, columns: Columns) -> None:
    """Instants at which the depth changes, the depth from each on, and its integral up to each."""
    events, launches = trace.events, find_launches(trace)
    linked = np.flatnonzero(launches.call >= 0)
    calls, first = np.unique(launches.call[linked], return_index=True)
    started = events.start_ns[launches.activity[linked[first]]]  # activities come in time order: the call's first
    launched = np.minimum(events.start_ns[calls], started)  # clocks of two devices: never negative
    instants = np.concatenate((launched, started))
    order = np.argsort(instants, kind="stable")  # at one instant launches first
    depth = np.cumsum(np.where(order < len(calls), 1, -1))
    instants = instants[order]
    area = np.concatenate(([0], np.cumsum(depth[:-1] * np.diff(instants)))) if len(order) else depth
    columns.add("queue.instant", instants)
    columns.add("queue.depth", depth.astype(np.int32))
    columns.add("queue.area", area.astype(np.int64))


def queue_depth(events: EventFile, start_ns: int, end_ns: int, detail_ns: int) -> Depth | None:
    """None where no launch is recorded."""
    instant, depth = events.column("queue.instant"), events.column("queue.depth")
    if not len(instant):
        return None
    bin_ns = max(detail_ns, -(-(end_ns - start_ns) // MAX_BINS))
    edges = np.arange(start_ns, end_ns + bin_ns, bin_ns, dtype=np.int64)
    area = _area_before(events, edges)
    mean = np.rint(1000 * np.diff(area) / bin_ns).astype(np.int64)
    at = np.maximum(np.searchsorted(instant, edges, side="right") - 1, 0)  # the knot that is in force at each edge
    opening = np.where(instant[at] <= edges, depth[at], 0)
    past = np.searchsorted(instant, edges)
    peak = _peaks(depth, past, opening)
    return Depth(bin_ns, mean.tolist(), peak.tolist())


def _area_before(events: EventFile, instants: Int64) -> Int64:
    """Integral of the depth up to each instant."""
    instant, depth, area = (events.column(f"queue.{name}") for name in ("instant", "depth", "area"))
    at = np.searchsorted(instant, instants, side="right") - 1
    known = np.maximum(at, 0)
    result: Int64 = np.where(at < 0, 0, area[known] + depth[known] * (instants - instant[known]))
    return result


def _peaks(depth: Int64, past: Int64, opening: Int64) -> Int64:
    """The greatest depth in each bin: what it opens with, and all changes inside it."""
    low, high = int(past[0]), int(past[-1])
    peak = opening[:-1].astype(np.int64)
    inside = np.flatnonzero(np.diff(past))
    if len(inside):
        greatest = np.maximum.reduceat(depth[low:high], past[inside] - low)
        peak[inside] = np.maximum(peak[inside], greatest)
    return peak
