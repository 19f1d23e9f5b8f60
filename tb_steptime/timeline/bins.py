"""Values for bins of a window: how much work is queued, and how busy the GPUs are.

    launches    x  x x     x         depth  1  2 3 2  1 2 1 0     mean: exact integral over the bin; peak: its greatest
    starts              x   x   x

A launch is queued from its call until its first activity begins: a captured graph counts once.

    GPU 0    kkkk..kk|........|kkkkkkkk     bins of 8: busy 6, 0, 8
    GPU 1    kk......|........|........     and 2, 0, 0: their sum is 8, 0, 8 of 16

A recording without a GPU shows instead when the host ran an op or a named range, on any thread.
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.launches.queue import all_launch_calls
from tb_steptime.metrics.memory.curves import bin_edges
from tb_steptime.timeline.answers import BusyBins, Depth, KernelsNamed
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.host_ranges import host_ranges
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64, Kind

#: Number of bins of the queue, as a wide screen has columns; and maximum number of bins in a request.
QUEUE_BINS = 2048
MAX_BINS = 4096
#: Number of kernel names that fit in a line.
MOST_NAMES = 3


def write_queue(trace: Trace, columns: Columns) -> None:
    """Writes the instants at which the depth changes, the depth from each instant on, and its integral up to each."""
    start, launches = trace.events.start_ns, all_launch_calls(trace)
    started = start[launches.activity]
    launched = np.minimum(start[launches.call], started)  # by two clocks; must not be negative
    instants = np.concatenate((launched, started))
    order = np.argsort(instants, kind="stable")  # launches first at equal times
    depth = np.cumsum(np.where(order < len(launched), 1, -1))
    instants = instants[order]
    area = np.concatenate(([0], np.cumsum(depth[:-1] * np.diff(instants)))) if len(order) else depth
    columns.add("queue.instant", instants)
    columns.add("queue.depth", depth.astype(np.int32))
    columns.add("queue.area", area.astype(np.int64))


def queue_depth(events: EventFile, start_ns: int, end_ns: int, detail_ns: int) -> Depth | None:
    """Returns the queue depth in bins, or None if no launch is recorded."""
    instant, depth = events.column("queue.instant"), events.column("queue.depth")
    if not len(instant):
        return None
    bin_ns = max(detail_ns, -(-(end_ns - start_ns) // QUEUE_BINS))
    edges = np.arange(start_ns, end_ns + bin_ns, bin_ns, dtype=np.int64)
    area = _area_before(events, edges)
    mean = np.rint(1000 * np.diff(area) / bin_ns).astype(np.int64)
    at = np.maximum(np.searchsorted(instant, edges, side="right") - 1, 0)  # the knot that applies at each edge
    opening = np.where(instant[at] <= edges, depth[at], 0)
    ends = np.searchsorted(instant, edges)
    peak = _peaks(depth, ends, opening)
    return Depth(bin_ns, mean.tolist(), peak.tolist())


def _area_before(events: EventFile, instants: Int64) -> Int64:
    """Returns the integral of the depth up to each instant."""
    instant, depth, area = (events.column(f"queue.{name}") for name in ("instant", "depth", "area"))
    at = np.searchsorted(instant, instants, side="right") - 1
    row = np.maximum(at, 0)
    return np.where(at < 0, 0, area[row] + depth[row] * (instants - instant[row]))


def _peaks(depth: Int64, ends: Int64, opening: Int64) -> Int64:
    """Returns the maximum depth in each bin: the depth at its begin, and all changes inside it."""
    low, high = int(ends[0]), int(ends[-1])
    peak = opening[:-1].astype(np.int64)
    inside = np.flatnonzero(np.diff(ends))
    if len(inside):
        greatest = np.maximum.reduceat(depth[low:high], ends[inside] - low)
        peak[inside] = np.maximum(peak[inside], greatest)
    return peak


def write_busy(trace: Trace, columns: Columns) -> None:
    """Writes when each device is busy, one device after another, and when kernels begin."""
    devices = devices_by_activity(trace)
    lanes = [busy_intervals(trace, device) for device in devices] or [host_ranges(trace)]
    columns.add("busy.start", np.concatenate([lane.start for lane in lanes]))
    columns.add("busy.end", np.concatenate([lane.end for lane in lanes]))
    columns.add("busy.bounds", np.cumsum([0, *map(len, lanes)], dtype=np.int64))
    columns.add("busy.devices", np.array([len(devices)], np.int64))
    kernels = trace.events.rows(Kind.KERNEL)
    kernels = kernels[np.argsort(trace.events.start_ns[kernels], kind="stable")]
    columns.add("busy.kernels", trace.events.start_ns[kernels])
    columns.add("busy.kernel_dur", trace.events.dur_ns[kernels])
    columns.add("busy.kernel_name", trace.events.name[kernels])


def busy_bins(events: EventFile, start_ns: int, end_ns: int, bins: int) -> BusyBins:
    """Returns the busy time of the window in this many bins, or in fewer where bins would be shorter than a
    nanosecond."""
    bins = max(1, min(bins, MAX_BINS, end_ns - start_ns))
    edges = bin_edges(start_ns, end_ns, bins)
    busy = sum((lane.overlap_ns(edges[:-1], edges[1:]) for lane in _lanes(events)), np.zeros(bins, np.int64))
    ends = np.searchsorted(events.column("busy.kernels"), edges)
    devices = int(events.column("busy.devices")[0])
    subject: Literal["gpu", "host"] = "gpu" if devices else "host"
    most = _most(events, int(ends[0]), int(ends[-1]))
    return BusyBins(start_ns, end_ns, subject, max(1, devices), busy.tolist(), np.diff(ends).tolist(), most)


def _most(events: EventFile, first: int, end: int) -> list[KernelsNamed]:
    """Returns the names with the most time among the kernels [first, end) in time order. Of names with the same time,
    the first in the trace comes first."""
    names, name_of = np.unique(events.column("busy.kernel_name")[first:end], return_inverse=True)
    name_of = name_of.reshape(-1)
    count, total = np.bincount(name_of), np.zeros(len(names), np.int64)
    np.add.at(total, name_of, events.column("busy.kernel_dur")[first:end])
    longest = np.argsort(-total, kind="stable")[:MOST_NAMES].tolist()
    return [KernelsNamed(events.shown_name(int(names[each])), int(count[each]), int(total[each])) for each in longest]


def _lanes(events: EventFile) -> list[Intervals]:
    start, end, bounds = (events.int64(f"busy.{name}") for name in ("start", "end", "bounds"))
    return [Intervals(start[low:high], end[low:high]) for low, high in itertools.pairwise(bounds)]
