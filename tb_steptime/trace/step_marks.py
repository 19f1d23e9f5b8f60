"""The marks that torch.profiler writes around steps, on the thread that calls `prof.step()`: ProfilerStep#5."""

from __future__ import annotations

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.table import Int32, Int64, Kind, distinct_in

#: Name of a step mark. A number of more digits exceeds what a profiler counts to, and what a column holds.
STEP_MARK = expression(r"ProfilerStep\s*#\s*(\d{1,18})(?!\d)")


#: Share of the device's work, and of the time in which it is launched: marks that contain less of both do not enclose
#: steps.
MEANINGLESS_FRACTION = 0.05


@shared
def all_marks(trace: Trace) -> Int64:
    """Returns the rows of all step marks, whatever they enclose. No two are at the same time."""
    rows = rows_named(trace, (Kind.USER,), STEP_MARK.match)
    return _one_at_a_time(trace, rows) if len(rows) else rows


@shared
def step_marks(trace: Trace) -> Int64:
    """Returns the rows of the host-side step marks, in time order. No two are at the same time. There are none if the
    marks are meaningless."""
    marks = all_marks(trace)
    return marks[:0] if len(marks) and mean_nothing(trace, marks) else marks


def mean_nothing(trace: Trace, marks: Int64) -> bool:
    """Returns whether the marks do not enclose the device's work: they contain next to none of it, and most contain no
    launch.

    mark     #|                                |          one of 22 us in a recording with 85 ms of work: `prof.step()`
    device   kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk         was called after it, or the host's part was not recorded

    Marks around steps between long evaluations have launches, and stay.
    """
    events, launches = trace.events, find_launches(trace)
    if not len(launches.activity):
        return False
    start = events.start_ns[marks]
    end = events.ends(marks)
    linked = launches.call >= 0
    if not linked.any():
        work = Intervals.of_events(events, launches.activity)
        return int((work & Intervals.union(start, end)).total_ns) < MEANINGLESS_FRACTION * work.total_ns
    call, length = launches.call[linked], events.dur_ns[launches.activity[linked]]
    if _hold_launches(trace, marks, call):
        return False
    mark = np.searchsorted(start, events.start_ns[call], side="right") - 1
    inside = (mark >= 0) & (events.start_ns[call] < end[mark])
    with_launch = len(distinct_in(mark[inside]))
    if not with_launch:
        return True
    launching_ns = int(events.ends(call).max() - events.start_ns[call].min())
    return bool(
        2 * with_launch < len(marks)
        and int(length[inside].sum()) < MEANINGLESS_FRACTION * int(length.sum())
        and int((end - start).sum()) < MEANINGLESS_FRACTION * max(launching_ns, int(length.sum()))
    )


def _hold_launches(trace: Trace, marks: Int64, call: Int32) -> bool:
    """Returns whether half of the marks contain a launch, as in nearly all traces. Row numbers decide, of which few
    have to be looked up."""
    launching = np.sort(call)
    end = np.searchsorted(trace.events.start_ns, trace.events.ends(marks))
    hold_launch = np.searchsorted(launching, end) > np.searchsorted(launching, marks)
    return 2 * int(hold_launch.sum()) >= len(marks)


def _one_at_a_time(trace: Trace, marks: Int64) -> Int64:
    """Returns the marks of one thread if some are at the same time. A process has one profiler, so such marks come from
    several processes whose files were merged. The thread with the most marks counts, then that with the most events.

    process 1  |---- #5 ----|---- #6 ----|
    process 2     |---- #5 ----|---- #6 ----|     not twice as many steps of half the length
    """
    if (trace.events.start_ns[marks[1:]] >= trace.events.ends(marks[:-1])).all():
        return marks
    thread = trace.events.thread[marks]
    number, events = np.bincount(thread), np.bincount(trace.events.thread)
    main = max(distinct_in(thread).tolist(), key=lambda each: (number[each], events[each]))
    return marks[thread == main]


def mark_number(trace: Trace, row: int) -> int:
    """Returns the number of the step that this mark encloses."""
    match = STEP_MARK.match(trace.name_of(row))
    assert match is not None
    return int(match.group(1))
