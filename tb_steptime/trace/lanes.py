"""Events of one kind on one thread, such as its ops. Measurements look up again and again which of them is open.

rows      3  aaaaaaaaaaaa        start, end   of each
          4    bbbbb             parents      -1, 0, 1, 0: places among these rows
          7      cc
          9           dd
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Int32, Int64, Kind

#: Returns rows of the event table, ascending; always the same ones for a given trace.
RowsOf = Callable[[Trace], Int64]


class Lane(msgspec.Struct, frozen=True, eq=False):
    """The events of a lane. rows: int32, rows of the event table, ascending; start, end: int64, of each row, in ns."""

    rows: Int32
    start: Int64
    end: Int64


def op_rows(trace: Trace) -> Int64:
    """Rows of the ops of all threads."""
    return trace.events.rows(Kind.CPU_OP)


@shared
def lane(trace: Trace, rows_of: RowsOf, thread: int) -> Lane:
    """The lane of one thread."""
    rows = rows_of(trace)
    return lane_of(trace, rows[trace.events.thread.take(rows) == thread])


def lane_of(trace: Trace, rows: Int64) -> Lane:
    """The lane of these rows, which must be of one thread and ascending."""
    return Lane(rows.astype(np.int32), trace.events.start_ns.take(rows), trace.events.ends(rows))
