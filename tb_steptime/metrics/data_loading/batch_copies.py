"""The batch on its way to the device: copies from the host by the thread that waits for the loader.

loader   llll          llll
copy         cccc          cccc     bytes, and from which memory
kernels        kkkkkk        kkkk
hidden         --            --     a kernel runs beside the copy; the rest of it the device computes nothing
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.copy_directions import way
from tb_steptime.metrics.gpu.utilization import devices_with_activity, kernel_intervals
from tb_steptime.metrics.host.sync_groups import blocking_groups
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.loader_marks import loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, Kind


class BatchCopy(msgspec.Struct, frozen=True):
    """Copies of batches, means per step. total_ns = hidden_ns + alone_ns: with a kernel beside, and without.

    pageable: None where the trace does not say which host memory; mixed counts as pageable. blocked_ns: the host stands
    in calls that make them. bytes, bytes_per_second: None where no size is recorded.
    """

    count: float
    bytes: int | None
    bytes_per_second: float | None
    total_ns: int
    hidden_ns: int
    alone_ns: int
    blocked_ns: int
    pageable: bool | None


#: Smaller ones than this share of the largest are numbers, not batches.
_BATCH_FRACTION = 0.01


def batch_copies(trace: Trace) -> BatchCopy | None:
    """Of the loaders' batches, mean per step; None where nothing is loaded or nothing is copied."""
    rows = _rows(trace)
    if not len(rows):
        return None
    events, activity = trace.events, find_launches(trace).activity[rows]
    steps = len(find_steps(trace).steps)
    hidden_ns = sum(_beside_kernels(trace, activity, device) for device in devices_with_activity(trace)) // steps
    total_ns = int(events.dur_ns[activity].sum()) // steps
    sizes, of_ns = _sizes(trace, activity)
    groups = blocking_groups(trace)
    return BatchCopy(
        count=len(rows) / steps,
        bytes=None if sizes is None else sizes // steps,
        bytes_per_second=sizes * 1e9 / of_ns if sizes is not None and of_ns else None,
        total_ns=total_ns,
        hidden_ns=hidden_ns,
        alone_ns=total_ns - hidden_ns,
        blocked_ns=int(groups.blocked_ns[np.isin(groups.copy, rows)].sum()) // steps,
        pageable=_pageable(trace, activity),
    )


def _rows(trace: Trace) -> Int64:
    """Rows of `find_launches`: copies to a device, made in the steps by a thread that waits for a loader."""
    events, launches = trace.events, find_launches(trace)
    threads = np.unique(events.thread[loader_rows(trace)])
    to_device = np.array([way(name).direction == "HtoD" for name in trace.strings.strings], bool)
    rows = np.flatnonzero(events.kind[launches.activity] == Kind.MEMCPY)
    rows = rows[to_device[events.name[launches.activity[rows]]] & (launches.call[rows] >= 0)]
    rows = rows[np.isin(events.thread[launches.call[rows]], threads)]
    low, high = find_steps(trace).window
    start = events.start_ns[launches.activity[rows]]
    rows = rows[(start >= low) & (start < high)]
    if events.bytes is None or not len(rows):
        return rows
    size = events.bytes[launches.activity[rows]]
    batches: Int64 = rows[(size < 0) | (size >= _BATCH_FRACTION * size.max())]
    return batches


def _beside_kernels(trace: Trace, activity: Int32, device: int) -> int:
    events = trace.events
    mine = activity[events.device[activity] == device]
    return int(kernel_intervals(trace, device).overlap_ns(events.start_ns[mine], events.ends(mine)).sum())


def _sizes(trace: Trace, activity: Int32) -> tuple[int | None, int]:
    """Bytes of those copies that say them, and these copies' time."""
    if trace.events.bytes is None:
        return None, 0
    size = trace.events.bytes[activity]
    known = size >= 0
    return (int(size[known].sum()), int(trace.events.dur_ns[activity[known]].sum())) if known.any() else (None, 0)


def _pageable(trace: Trace, activity: Int32) -> bool | None:
    sources = {way(trace.strings[int(name)]).source for name in np.unique(trace.events.name[activity])}
    if "Pageable" in sources:
        return True
    return False if sources <= {"Pinned"} else None
