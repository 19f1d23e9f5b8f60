"""The marks that torch.profiler writes around steps, on the thread that calls `prof.step()`: ProfilerStep#5."""

from __future__ import annotations

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Int64, Kind, distinct_in

#: A number of more digits is none that a profiler counts to, nor one that a column holds.
STEP_MARK = expression(r"ProfilerStep\s*#\s*(\d{1,18})(?!\d)")


@shared()
def step_marks(trace: Trace) -> Int64:
    """Rows of the host-side step marks, in time order: no two at a time."""
    is_mark = np.array([STEP_MARK.match(name) is not None for name in trace.strings.strings], bool)
    rows = trace.events.rows(Kind.USER)
    return _one_at_a_time(trace, rows[is_mark[trace.events.name[rows]]]) if len(rows) else rows


def _one_at_a_time(trace: Trace, marks: Int64) -> Int64:
    """A process has one profiler, so marks at the same time are of several processes whose files were merged: those of
    the thread with most marks, then with most events.

    process 1  |---- #5 ----|---- #6 ----|
    process 2     |---- #5 ----|---- #6 ----|     not twice as many steps of half the length
    """
    if (trace.events.start_ns[marks[1:]] >= trace.events.ends(marks[:-1])).all():
        return marks
    thread = trace.events.thread[marks]
    number, events = np.bincount(thread), np.bincount(trace.events.thread)
    kept = max(distinct_in(thread).tolist(), key=lambda each: (number[each], events[each]))
    mine: Int64 = marks[thread == kept]
    return mine


def mark_number(trace: Trace, row: int) -> int:
    """The number of the step that this mark is around."""
    match = STEP_MARK.match(trace.strings[int(trace.events.name[row])])
    assert match is not None
    return int(match.group(1))
