"""The longest time within a gap in which the CPU begins no op and makes no call: one piece of work.

threads    [l]--op--[l]--op--[l]                 [l]     [l] ---------------- op ---------------- [l]
gap           ggggg    ggggg    ggggggggggggggggg           gggggggggggggggggggggggggggggggggggggg
undivided      ..        ..      uuuuuuuuuuuuuuu             uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import CALL_KINDS, Int32, Int64, Kind, distinct, is_in


def undivided_ns(trace: Trace, launching: Int32, start: Int64, when: Intervals) -> Int64:
    """Returns the longest piece of each gap, ns, within `when`.

    start: of the gaps, in time order, to which all of `when` belongs. launching: the thread of the launch that ends
    each gap. Its events divide the gap, and so do those of the threads that train and of the autograd engine, which
    work in turns. Calls are left out: a graph saves the launches.
    """
    events = trace.events
    threads = np.array([*training_threads(trace), *autograd_threads(trace), *launching], np.int32)
    ops, calls = (
        rows[is_in(events.thread[rows], threads)] for rows in (events.rows(Kind.CPU_OP), events.rows(*CALL_KINDS))
    )
    when = when - Intervals.of_events(events, calls)
    edges = distinct(np.concatenate((when.start, when.end, events.start_ns[ops], events.ends(ops))))
    begun, length = edges[:-1], np.diff(edges)
    inside = np.flatnonzero(when.overlap_ns(begun, edges[1:]) == length)
    longest = np.zeros(len(start), np.int64)
    np.maximum.at(longest, np.searchsorted(start, begun[inside], side="right") - 1, length[inside])
    return longest
