"""Events of one kind on one thread, such as its ops: measurements look up again and again which of them is open.

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

#: Gives rows of the event table, ascending: the same ones for a trace each time.
RowsOf = Callable[[Trace], Int64]


class Lane(msgspec.Struct, frozen=True, eq=False):
    """rows: int32, of the event table, ascending; start, end: int64, of each, ns."""

    rows: Int32
    start: Int64
    end: Int64


def op_rows(trace: Trace) -> Int64:
    """Rows of the ops of all threads."""
    return trace.events.rows(Kind.CPU_OP)


@shared
def lane(trace: Trace, rows_of: RowsOf, thread: int) -> Lane:
    """Those of one thread."""
    rows = rows_of(trace)
    return lane_of(trace, rows[trace.events.thread.take(rows) == thread])


def lane_of(trace: Trace, rows: Int64) -> Lane:
    """Of rows of one thread, ascending."""
    return Lane(rows.astype(np.int32), trace.events.start_ns.take(rows), trace.events.ends(rows))
