"""The batch on its way to the device: copies from the host by the thread that waits for the loader.

loader   llll          llll
copy         cccc          cccc     bytes, and from which memory
kernels        kkkkkk        kkkk
hidden         --            --     a kernel runs beside the copy; the rest of it the device computes nothing
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.copy_directions import Way
from tb_steptime.metrics.host.copies import copies_in_steps, copy_row
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.loader_marks import loader_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64


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
    rows, ways = _copies(trace)
    if not len(rows):
        return None
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


def _copies(trace: Trace) -> tuple[Int64, list[Way]]:
    """To a device, in the steps, by a thread that waits for a loader: rows of `find_launches`, and their ways."""
    events, launches = trace.events, find_launches(trace)
    rows, number, ways = copies_in_steps(trace)
    to_device = np.array([each.direction == "HtoD" for each in ways], bool)
    made = to_device[number] & (launches.call[rows] >= 0)
    made &= np.isin(events.thread[launches.call[rows]], np.unique(events.thread[loader_rows(trace)]))
    if events.bytes is not None and made.any():
        size = events.bytes[launches.activity[rows]]
        made &= (size < 0) | (size >= _BATCH_FRACTION * size[made].max())
    return rows[made], [ways[each] for each in np.unique(number[made]).tolist()]


def _pageable(sources: set[str]) -> bool | None:
    if "Pageable" in sources:
        return True
    return False if sources <= {"Pinned"} else None
