"""The tail of a recording: what a device does after its last recorded work, the end of the recording hides.

launch    [a][b][c]  [d][e]             |      d and e are launched, their work is not in the trace: it runs on
device     aaabbbccc                    |
tail                #####################

Of several steps the last one's tail tells nothing either: what the host did, and for how long, until the next step's
first work is seen in the others. In a recording of one step it is a part of that.
"""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Kind

#: Calls that always have work on the device follow; a set or copy of nothing has none.
_LAUNCHES = re.compile(r"(cuda|cu|hip)\w*(LaunchKernel|GraphLaunch|LaunchCooperativeKernel)")


def after_recording(trace: Trace, device: int) -> Intervals:
    """From the end of the device's last work to the end of the last step; empty where that time is the step's own."""
    steps, busy = find_steps(trace).steps, busy_intervals(trace, device)
    if not len(busy) or not (len(steps) > 1 or _cut_off(trace)):
        return Intervals.empty()
    last = steps[-1]
    return Intervals.of((max(int(busy.end[-1]), last.start_ns), last.end_ns))


def _cut_off(trace: Trace) -> bool:
    """Whether work was launched last of which the trace has no record."""
    calls = rows_named(trace, (Kind.RUNTIME, Kind.DRIVER), lambda name: _LAUNCHES.match(name) is not None)
    known = np.unique(find_launches(trace).call)
    lost = np.setdiff1d(calls, known, assume_unique=True)
    return len(lost) > 0 and int(lost[-1]) > int(known[-1])
