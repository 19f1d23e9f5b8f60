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
from tb_steptime.metrics.host.copies import copy_row
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.loader_marks import loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind


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
    activity = find_launches(trace).activity[rows]
    ways = [way(trace.strings[int(name)]) for name in np.unique(trace.events.name[activity])]
    copies = copy_row(trace, ways[0], rows)
    return BatchCopy(
        count=copies.count,
        bytes=copies.bytes,
        bytes_per_second=copies.bytes_per_second,
        total_ns=copies.total_ns,
        hidden_ns=copies.hidden_ns,
        alone_ns=copies.total_ns - copies.hidden_ns,
        blocked_ns=copies.blocked_ns,
        pageable=_pageable({each.source for each in ways}),
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


def _pageable(sources: set[str]) -> bool | None:
    if "Pageable" in sources:
        return True
    return False if sources <= {"Pinned"} else None
