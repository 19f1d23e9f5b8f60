"""Waits of a thread that launches nothing, for which another thread waits, too, though no call shows that.

results    [synchronize        ]      [synchronize        ]      passes the results on, and another one launches
launches   [l][l]               [l][l]                    [l]    nothing is recorded until soon after
device        kkkkkkkkkkkkkkkkkk   kkkkkkkkkkkkkkkkkkkkkkk

This is how servers work that prepare the next step while a separate thread receives the results of the last one. A
thread that waits for its own purposes, as to write metrics or a checkpoint, delays nothing:

metrics    [synchronize ]             [synchronize ]
launches   [l][l]       .........[l][l]            ........      the waits end at any time
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, calls_that_launch, shared
from tb_steptime.trace.table import CALL_KINDS, Bool, Columns, Int64, Kind, distinct_in, is_in

#: Minimum length of a time in which nothing is recorded of a thread, and minimum number of such times.
LONG_NS, FEWEST = 100_000, 3
#: Another thread's wait ended at most this share of the time, and this long, before the end. If the two had nothing to
#: do with each other, it would do so in a fifth of these times.
SOON_FRACTION, SOON_NS = 0.2, 30_000


class Handovers(Columns, frozen=True, eq=False):
    """The times of a thread that end because a wait of another thread has ended.

    wait      row of the call that waits
    thread    the thread that launches, as a row of `Trace.threads`
    end_ns    when something is recorded of it again
    """

    wait: Int64
    thread: Int64
    end_ns: Int64


@shared
def background_waits(trace: Trace) -> Int64:
    """Returns the rows of the calls that wait for a device in threads that launch no kernels, in time order."""
    waits = blocking_calls(trace).of(*WAITING)
    launching = calls_that_launch(trace, Kind.KERNEL)
    launch = distinct_in(trace.events.thread[launching])
    return waits[is_in(trace.events.thread[waits], launch, invert=True)] if len(launch) else waits[:0]


@shared
def handovers(trace: Trace) -> Handovers:
    """Returns what the threads that launch wait for in this way. A thread is left out if most of its long times without
    records end at other times."""
    events, waits = trace.events, background_waits(trace)
    found = list[Handovers]()
    if len(waits):
        waits = waits[np.argsort(events.ends(waits), kind="stable")]
        for thread in distinct_in(events.thread[calls_that_launch(trace, Kind.KERNEL)]).tolist():
            start, end = _unrecorded(trace, thread)
            last, ends = _last_wait(events.ends(waits), start, end)
            length = end - start
            ends &= 2 * (events.start_ns[waits[last]] - start) <= length  # one that always waits ends at any time, too
            if np.count_nonzero(ends) >= FEWEST and 2 * length[ends].sum() > length.sum():
                found.append(Handovers(waits[last[ends]], np.full(np.count_nonzero(ends), thread), end[ends]))
    return Handovers.empty().followed_by(*found)


def _unrecorded(trace: Trace, thread: int) -> tuple[Int64, Int64]:
    """Returns when the long times begin and end in which the thread runs no op and no call."""
    rows = trace.events.rows(Kind.CPU_OP, *CALL_KINDS)
    works = Intervals.of_events(trace.events, rows[trace.events.thread[rows] == thread])
    start, end = works.end[:-1], works.start[1:]
    long = end - start >= LONG_NS
    return start[long], end[long]


def _last_wait(returned: Int64, start: Int64, end: Int64) -> tuple[Int64, Bool]:
    """Returns the place of the last wait that returned before the end of each of these times, and whether it returned
    within it, and soon before. returned: ascending."""
    last = np.searchsorted(returned, end, side="right") - 1
    since = end - returned[np.maximum(last, 0)]
    soon = since <= np.maximum(SOON_NS, SOON_FRACTION * (end - start))
    return last, (last >= 0) & (since < end - start) & soon
