"""Cuts events of a host thread that overlap only because their times were rounded.

as written   [aten::mul       ]                [cudaLaunchKernel ]      ends 1 ns after the op that calls it
                             [aten::add    ]   [aten::add       ]       starts 1 ns before the one before it ends
as nested    [aten::mul      ][aten::add    ]  [[cudaLaunchKernel]]

The calls of a thread nest, and Kineto writes exact times. A tool that reads the file as floating-point numbers and
writes it again rounds start and length separately: microseconds since 1970 lose up to an eighth of a microsecond each.
An op that starts a nanosecond before the previous one ends would count as a call inside it, and its own time as none.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import parents
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in

#: Maximum overlap or excess that counts as rounding: that of whole microseconds.
ROUNDING_NS = 1_000
#: Number of times that parents are looked for: ops nest this deep between two that cross.
_MOST_ROUNDS = 10
#: Python frames are left out: the profiler itself times them apart from ranges, by up to half a microsecond.
_ON_HOST = (Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER)


def without_crossings(trace: Trace) -> Trace:
    """The trace with such events cut, each by at most `ROUNDING_NS`; unchanged if there are none. Start times stay, so
    the order of the rows does, too."""
    events = trace.events
    host = events.rows(*_ON_HOST)
    thread, found = events.thread[host], []
    for each in distinct_in(thread).tolist():
        mine = host[thread == each]
        end = _nested_ends(events.start_ns[mine], events.ends(mine))
        if end is not None:
            found.append((mine, end))
    if not found:
        return trace
    dur = events.dur_ns.copy()
    for mine, end in found:
        dur[mine] = end - events.start_ns[mine]
    return replace(trace, events=replace(events, dur_ns=dur), memo={})


def _nested_ends(start: Int64, end: Int64) -> Int64 | None:
    """Returns the ends of the events of one thread, in the order of the event table, without overlaps by rounding; None
    if there are none. After a crossing the parents of the following rows are wrong, so they are looked for again."""
    cut = end.copy()
    for _ in range(_MOST_ROUNDS):
        parent = parents(start, cut)
        crosses = np.flatnonzero(_crosses(cut, parent))
        if not _cut(start, cut, parent, crosses):
            break
    return cut if (cut != end).any() else None


def _cut(start: Int64, end: Int64, parent: Int32, crosses: Int64) -> bool:
    """Cuts the ends of rows that cross others, in place; whether any was cut."""
    any_cut = False
    for row in crosses.tolist():
        above = int(parent[row])
        while above >= 0 and start[row] < end[above] < end[row]:
            overlap, excess = int(end[above] - start[row]), int(end[row] - end[above])
            if overlap <= ROUNDING_NS and 2 * overlap <= end[row] - start[row]:
                end[above], any_cut = start[row], True
            elif excess <= ROUNDING_NS:
                end[row], any_cut = end[above], True
            above = int(parent[above])
    return any_cut


def _crosses(end: Int64, parent: Int32) -> Bool:
    """Which events end after the one in which they begin."""
    inside = parent >= 0
    crosses: Bool = inside.copy()
    crosses[inside] = end[inside] > end[parent[inside]]
    return crosses
