"""The tail of a recording: the end of the recording hides what a device does after its last recorded work.

launch    [a][b][c]  [d][e]             |      d and e are launched, their work is not in the trace: it runs on
device     aaabbbccc                    |
tail                ####################|

step      |1         |2         |3               |      the profiler stops inside the last step: longer after the
device    |kkkkkkkk  |kkkkkkkk  |kkkkkkkk        |      device's last work than any other step
tail                                      #######|

A tail that other steps have as well is part of the step. So is that of a recording of one step, and that of a device
that finishes while another one still works.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.metrics.steady.before_recording import before_recording
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Int64

#: Calls that device work always follows; a set or copy of nothing has none.
_LAUNCHES = expression(r"(cuda|cu|hip)\w*(LaunchKernel|GraphLaunch|LaunchCooperativeKernel)")

#: The tails of other steps vary, too: a tail must be this many times as long, and longer by this amount.
TIMES_LONGER, LONGER_NS = 2, 1_000_000


def after_recording(trace: Trace, device: int) -> Intervals:
    """Returns the tail up to the end of the last step, from the end of the device's last work, or from when other steps
    had ended."""
    steps, busy = find_steps(trace), busy_intervals(trace, device)
    if not len(busy):
        return Intervals.empty()
    last, end = int(busy.end[-1]), steps.window[1]
    if _cut_off(trace):
        return Intervals.of((max(last, steps.steps[-1].start_ns), end))
    usual_ns = int(_tails(trace, device)[:-1].max(initial=-1))
    longer = usual_ns >= 0 and end - last > max(TIMES_LONGER * usual_ns, usual_ns + LONGER_NS)
    tail = Intervals.of((last + usual_ns, end)) if longer else Intervals.empty()
    return Intervals.empty() if 2 * _elsewhere_ns(trace, device, tail) > tail.total_ns else tail


def _elsewhere_ns(trace: Trace, device: int, tail: Intervals) -> int:
    """Returns how long other devices of the process work during the tail: for them the step continues."""
    others = (each for each in devices_with_activity(trace) if each != device)
    return sum((busy_intervals(trace, each) & tail).total_ns for each in others)


def _tails(trace: Trace, device: int) -> Int64:
    """Returns how long the device is idle at the end of each step in which it works, ns; -1 for other steps."""
    steps, busy = find_steps(trace), busy_intervals(trace, device)
    begun = np.searchsorted(busy.start, steps.end_ns) - 1
    end = np.minimum(busy.end[begun], steps.end_ns)
    return np.where((begun >= 0) & (end > steps.start_ns), steps.end_ns - end, -1)


def _cut_off(trace: Trace) -> bool:
    """Whether the last launches have no recorded work."""
    calls = rows_named(trace, CALL_KINDS, _LAUNCHES.match)
    known, launched = find_launches(trace).call, np.zeros(len(trace.events), bool)
    launched[known[known >= 0]] = True
    lost = calls[~launched[calls]]
    return len(lost) > 0 and int(lost[-1]) > int(known.max(initial=-1))


def cut_off_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when a device is idle after its last recorded work, except in waits for a batch, which are judged."""
    return after_recording(trace, device) - loader_intervals(trace) - before_recording(trace, device)
