"""The way of each recorded batch, from the worker that produced it to the training loop.

worker          [dataset ....][collate]
transfer                               [transfer]              until it is an object of the main process
prefetched                                       [ready ...]   until the loop asks
training loop                                              [wait]     from asking to having it
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


@dataclass(frozen=True, eq=False)
class Ways:
    """One entry per batch that the loop asked for in the steps, in that order; times in ns, -1 where not known.

    received, produced   its rows of the records; -1: its production is not recorded
    step                 which of the span's steps asked for it
    ready_ns             how long it was ready until asked for, since the first step began
    arrived_ns           when it was ready for the loop: an instant of the trace, UNKNOWN_TIME where not known
    """

    received: Int64
    produced: Int64
    step: Int64
    dataset_ns: Int64
    collate_ns: Int64
    transfer_ns: Int64
    ready_ns: Int64
    wait_ns: Int64
    arrived_ns: Int64

    def __len__(self) -> int:
        return len(self.received)


@shared(find_steps)
def find_ways(trace: Trace) -> Ways | None:
    """None without a recorder's files, or where these hold no batch of the steps."""
    records = trace.loader_records
    if records is None:
        return None
    steps = find_steps(trace).steps
    begin = np.array([step.host_start_ns for step in steps], np.int64)
    end = begin + np.array([step.host_ns for step in steps], np.int64)
    asked = records.received.asked_ns
    step = np.searchsorted(begin, asked, side="right") - 1
    rows = np.flatnonzero((step >= 0) & (asked < end[step]))
    return _ways(records, rows, step[rows], int(begin[0])) if len(rows) else None


def producers(records: LoaderRecords) -> Int64:
    """For each row of `Received` that of `Produced`, the same batch of the same pass; -1 for none."""
    made, taken = records.produced, records.received
    keys = _key(made.loader, made.pass_number, made.batch)
    order = np.argsort(keys, kind="stable")
    wanted = _key(taken.loader, taken.pass_number, taken.batch)
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    row = order[place]
    found: Int64 = np.where((keys[row] == wanted) & (taken.batch >= 0), row, -1)
    return found


def ready_at(records: LoaderRecords, produced: Int64) -> Int64:
    """When each received batch was ready: pinned; without a thread that pins, when its worker handed it over, as the
    message stays in the queue until the loop reads it."""
    taken = records.received
    made: Int64 = (
        np.where(produced >= 0, records.produced.end_ns[produced], UNKNOWN_TIME)
        if len(records.produced)
        else np.full(len(taken), UNKNOWN_TIME)
    )
    return np.where(taken.pinned_ns != UNKNOWN_TIME, taken.pinned_ns, made)


def _key(loader: Int64, pass_number: Int64, batch: Int64) -> Int64:
    key: Int64 = (loader << 56) + (pass_number << 32) + batch
    return key


def _ways(records: LoaderRecords, rows: Int64, step: Int64, begin_ns: int) -> Ways:
    taken, made = records.received, records.produced
    every = producers(records)
    produced = every[rows]
    there = ready_at(records, every)[rows]
    known = produced >= 0
    at = np.maximum(produced, 0)
    asked, returned = taken.asked_ns[rows], taken.returned_ns[rows]

    def of_made(column: Int64) -> Int64:
        return np.where(known, column[at], -1) if len(made) else np.full(len(rows), -1, np.int64)

    return Ways(
        rows,
        produced,
        step,
        of_made(made.collate_ns - made.start_ns),
        of_made(made.end_ns - made.collate_ns),
        _transfer(records, rows, of_made(made.end_ns), known),
        np.where(there == UNKNOWN_TIME, -1, np.maximum(asked - np.maximum(there, begin_ns), 0)),
        returned - asked,
        there,
    )


def _transfer(records: LoaderRecords, rows: Int64, end: Int64, known: np.ndarray) -> Int64:
    """From the worker's end to the object in this process, without the time that it only lay in the queue."""
    taken = records.received
    pinned, object_ns, arrived = taken.pinned_ns[rows], taken.unpickled_ns[rows], taken.arrived_ns[rows]
    told = known & (object_ns != UNKNOWN_TIME)
    late = np.maximum(end, taken.asked_ns[rows])
    alone = np.where(object_ns >= late, object_ns - late, object_ns - arrived)
    result: Int64 = np.where(told, np.where(pinned != UNKNOWN_TIME, pinned - end, alone), -1)
    return np.maximum(result, -1)
