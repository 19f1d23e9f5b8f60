"""Which node of a CUDA graph waited for which: ends of arrows in the order of the file -> pairs of events.

    {"ph": "s", "cat": "ac2g", "id": 1099511627776, "pid": 0, "tid": 7, "ts": 20}     at the end of the one before
    {"ph": "f", "cat": "ac2g", "id": 1099511627776, "pid": 0, "tid": 13, "ts": 25}    at the start of the one after

CUPTI's monitor numbers these arrows from 2^40 on. Smaller numbers are arrows of launches, which the correlation ids
give as well.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np

from tb_steptime.trace.device_tables import DependencyTable, no_dependencies
from tb_steptime.trace.kineto.numbers import time_ns
from tb_steptime.trace.kineto.row_types import FIRST_DEPENDENCY, PlacedEnd, PlacedStart
from tb_steptime.trace.table import DEVICE_KINDS, Bool, EventTable, Int32, Int64, Kind, distinct

_LAST_ID = 2**62
#: Tolerance of times: those of events and of arrows are rounded independently.
_ROUNDING_NS = 1


def is_dependency(id: object) -> bool:
    return isinstance(id, int) and FIRST_DEPENDENCY <= id < _LAST_ID


class FlowColumns:
    """Columns that grow while a file is read, in its order. An arrow's end without a time is left out."""

    def __init__(self) -> None:
        self._id, self._ts = array("q"), array("q")
        self._thread = array("i")
        self._ends = array("b")

    def add(self, rows: Sequence[PlacedStart], thread: Callable[[object, object], int]) -> None:
        """Keep the ends of arrows between nodes of graphs. thread: maps a pid and a tid to the number of their
        thread."""
        for row in rows:
            time = time_ns(row.ts)
            if time is not None:
                self._id.append(row.id)
                self._ts.append(time)
                self._thread.append(thread(row.pid, row.tid))
                self._ends.append(isinstance(row, PlacedEnd))

    def add_arrows(self, before_ns: Int64, before: Int32, after_ns: Int64, after: Int32) -> None:
        """Add arrows whose ends are both known, by their times and thread numbers."""
        ids = (FIRST_DEPENDENCY + len(self._id) + np.arange(len(before_ns), dtype=np.int64)).tobytes()
        for ts, thread, is_end in ((before_ns, before, 0), (after_ns, after, 1)):
            self._id.frombytes(ids)
            self._ts.frombytes(ts.astype(np.int64).tobytes())
            self._thread.frombytes(thread.astype(np.int32).tobytes())
            self._ends.frombytes(np.full(len(ts), is_end, np.int8).tobytes())

    def table(self, events: EventTable, origin_ns: int) -> DependencyTable:
        """Pairs of activities joined by an arrow whose two ends were both found."""
        if not self._id:
            return no_dependencies()
        id, ts = np.frombuffer(self._id, np.int64), np.frombuffer(self._ts, np.int64) - origin_ns
        thread, ends = np.frombuffer(self._thread, np.int32), np.frombuffer(self._ends, np.int8) != 0
        rows = events.rows(*DEVICE_KINDS, Kind.MARK)
        before = _at(events, rows, events.ends(rows), thread[~ends], ts[~ends])
        after = _at(events, rows, events.start_ns[rows], thread[ends], ts[ends])
        pairs = _joined(id[~ends], before, id[ends], after)
        return DependencyTable(*(side.astype(np.int32) for side in pairs))


def _at(events: EventTable, rows: Int64, instants: Int64, thread: Int32, ts: Int64) -> Int64:
    """The row of a thread's event that is at each time, within the rounding; -1 for none."""
    found = np.full(len(ts), -1, np.int64)
    threads = events.thread[rows]
    for each in distinct(thread).tolist():
        mine, asked = rows[threads == each], np.flatnonzero(thread == each)
        if not len(mine):
            continue
        at = instants[threads == each]
        order = np.argsort(at, kind="stable")
        place = np.minimum(np.searchsorted(at[order], ts[asked] - _ROUNDING_NS), len(mine) - 1)
        near: Bool = np.abs(at[order][place] - ts[asked]) <= _ROUNDING_NS
        found[asked[near]] = mine[order[place[near]]]
    return found


def _joined(before_id: Int64, before: Int64, after_id: Int64, after: Int64) -> tuple[Int64, Int64]:
    """Each start of an arrow paired with all of its ends, without repeats, sorted by the later activity."""
    before_id, before = before_id[before >= 0], before[before >= 0]
    after_id, after = after_id[after >= 0], after[after >= 0]
    order = np.argsort(before_id, kind="stable")
    place = np.searchsorted(before_id[order], after_id)
    there = place < len(order)
    there[there] = before_id[order][place[there]] == after_id[there]
    pairs = np.unique(np.stack((after[there], before[order[place[there]]]), axis=1), axis=0)
    return pairs[:, 1], pairs[:, 0]
