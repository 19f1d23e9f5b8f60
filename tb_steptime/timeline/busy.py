"""How busy the GPUs are in a window, in bins of equal length: the overview above the picture, and a range measured.

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
from tb_steptime.timeline.answers import BusyBins
from tb_steptime.timeline.event_file import Columns, EventFile
from tb_steptime.trace.host_ranges import host_ranges
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64, Kind

#: More than a wide screen has columns.
MAX_BINS = 4096


def write_busy(trace: Trace, columns: Columns) -> None:
    """When each device is busy, one device after another, and when kernels begin."""
    devices = devices_by_activity(trace)
    lanes = [busy_intervals(trace, device) for device in devices] or [host_ranges(trace)]
    columns.add("busy.start", np.concatenate([lane.start for lane in lanes]))
    columns.add("busy.end", np.concatenate([lane.end for lane in lanes]))
    columns.add("busy.bounds", np.cumsum([0, *map(len, lanes)], dtype=np.int64))
    columns.add("busy.devices", np.array([len(devices)], np.int64))
    columns.add("busy.kernels", np.sort(trace.events.start_ns[trace.events.rows(Kind.KERNEL)]))


def busy_bins(events: EventFile, start_ns: int, end_ns: int, bins: int) -> BusyBins:
    """The window in as many bins, or in as many as it has nanoseconds."""
    bins = max(1, min(bins, MAX_BINS, end_ns - start_ns))
    edges = _edges(start_ns, end_ns, bins)
    busy = sum((lane.overlap_ns(edges[:-1], edges[1:]) for lane in _lanes(events)), np.zeros(bins, np.int64))
    kernels = np.diff(np.searchsorted(events.column("busy.kernels"), edges))
    devices = int(events.column("busy.devices")[0])
    of: Literal["gpu", "host"] = "gpu" if devices else "host"
    return BusyBins(start_ns, end_ns, of, max(1, devices), busy.tolist(), kernels.tolist())


def _edges(start_ns: int, end_ns: int, bins: int) -> Int64:
    """Without products that a window of years would overflow."""
    whole, rest = divmod(end_ns - start_ns, bins)
    number = np.arange(bins + 1, dtype=np.int64)
    edges: Int64 = start_ns + number * whole + number * rest // bins
    return edges


def _lanes(events: EventFile) -> list[Intervals]:
    start, end, bounds = (_long(events, f"busy.{name}") for name in ("start", "end", "bounds"))
    return [Intervals(start[low:past], end[low:past]) for low, past in itertools.pairwise(bounds)]


def _long(events: EventFile, name: str) -> Int64:
    column: Int64 = events.column(name)
    return column
