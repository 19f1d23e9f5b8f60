"""The way of each recorded batch, from the worker that produced it to the training loop.

worker          [dataset ....][collate]
transfer                               [transfer]              until it is an object of the main process
prefetched                                       [ready ...]   until the loop asks
training loop                                              [wait]     from asking to having it
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.data_loading.marks import in_steps
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords, Received
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, median


class BatchTimings(Received, frozen=True, eq=False):
    """One row per batch that the loop asked for in the steps, in that order; times in ns, -1 where not known.

    step        which of the span's steps asked for it
    produced    its row of `Produced`; -1: its production is not recorded
    ready_ns    how long it was ready until asked for, since the first step began
    """

    step: Int64
    produced: Int64
    dataset_ns: Int64
    collate_ns: Int64
    transfer_ns: Int64
    ready_ns: Int64
    wait_ns: Int64


@shared
def find_timings(trace: Trace) -> BatchTimings | None:
    """The timings; None without a recorder's files, or if these have no batch of the steps."""
    records = trace.loader_records
    if records is None:
        return None
    rows, step = in_steps(trace, records.received.asked_ns)
    return _timings(records, rows, step, find_steps(trace).steps[0].host_start_ns) if len(rows) else None


def producers(records: LoaderRecords) -> Int64:
    """For each row of `Received` the row of `Produced` with the same batch of the same pass; -1 for none."""
    keys, wanted = records.produced.keys, records.received.keys
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    row = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    found: Int64 = np.where((keys[row] == wanted) & (records.received.batch >= 0), row, -1)
    return found


def ready_at(records: LoaderRecords, produced: Int64) -> Int64:
    """When each received batch was ready: when it was pinned; without a pinning thread, when its worker handed it over,
    as the message stays in the queue until the loop reads it."""
    pinned, made = records.received.pinned_ns, _of(records.produced.end_ns, produced, UNKNOWN_TIME)
    return np.where(pinned != UNKNOWN_TIME, pinned, made)


def _of(column: Int64, rows: Int64, missing: int) -> Int64:
    """Entries of a column at these rows; `missing` for row -1."""
    found: Int64 = np.append(column, missing)[rows]
    return found


def sampler_ns(timings: BatchTimings) -> int | None:
    """Median time from having a batch until the loader returns it; None if not recorded. In this time the loader draws
    the indices of a later batch and sends them to a worker.

    loop    asked [ waits | receives | draws indices ] returned
    """
    pinned, unpickled = timings.pinned_ns, timings.unpickled_ns
    there = np.maximum(np.where(pinned != UNKNOWN_TIME, pinned, unpickled), timings.asked_ns)
    known = (unpickled != UNKNOWN_TIME) & (there <= timings.returned_ns)
    return round(median((timings.returned_ns - there)[known])) if known.any() else None


def _timings(records: LoaderRecords, rows: Int64, step: Int64, begin_ns: int) -> BatchTimings:
    taken, made, every = records.received.of(rows), records.produced, producers(records)
    produced, there = every[rows], ready_at(records, every)[rows]
    columns = (
        *taken.columns,
        step,
        produced,
        _of(made.collate_ns - made.start_ns, produced, -1),
        _of(made.end_ns - made.collate_ns, produced, -1),
        _transfer(taken, _of(made.end_ns, produced, UNKNOWN_TIME)),
        np.where(there == UNKNOWN_TIME, -1, np.maximum(taken.asked_ns - np.maximum(there, begin_ns), 0)),
        taken.returned_ns - taken.asked_ns,
    )
    return BatchTimings(*columns)


def _transfer(taken: Received, end_ns: Int64) -> Int64:
    """From the worker's end to the object in this process, without the time in which it only lay in the queue."""
    known = (end_ns != UNKNOWN_TIME) & (taken.unpickled_ns != UNKNOWN_TIME)
    late = np.maximum(end_ns, taken.asked_ns)
    alone = taken.unpickled_ns - np.where(taken.unpickled_ns >= late, late, taken.arrived_ns)
    way = np.where(taken.pinned_ns != UNKNOWN_TIME, taken.pinned_ns - end_ns, alone)
    return np.maximum(np.where(known, way, -1), -1)
