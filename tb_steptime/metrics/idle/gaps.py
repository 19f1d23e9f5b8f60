"""The gaps of a device: when nothing runs on any of its streams, and which activity ended each gap.

stream 7   kkkk      kkkk
stream 9     kkk         kk
gap             ggggg
ended by             k
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64


class Gaps(msgspec.Struct, frozen=True, eq=False):
    """Gaps of one device within the span's window, in time order, including times between its steps, if any.

    launch   row of `find_launches` of the first activity after the gap; -1: none follows in this recording
    """

    start: Int64
    end: Int64
    launch: Int32


@shared
def find_gaps(trace: Trace, device: int) -> Gaps:
    gaps = busy_intervals(trace, device).gaps(*find_steps(trace).window)
    rows = launch_rows(trace, device)
    starts = trace.events.start_ns.take(find_launches(trace).activity.take(rows))
    place = np.searchsorted(starts, gaps.end)
    follows = place < len(rows)
    launch = np.full(len(gaps), -1, np.int32)
    launch[follows] = rows[place[follows]]
    return Gaps(gaps.start, gaps.end, launch)


@shared
def launch_rows(trace: Trace, device: int) -> Int32:
    """Returns the rows of `find_launches` of the device's activities, in time order."""
    on = trace.events.device.take(find_launches(trace).activity)
    return np.flatnonzero(on == device).astype(np.int32)


@shared
def idle_outside_loader(trace: Trace, device: int) -> Intervals:
    """Returns when the device is idle within the steps, without the loader's waits and without time excluded from
    judgement."""
    steps = find_steps(trace)
    idle = steps.intervals - busy_intervals(trace, device)
    return idle - loader_intervals(trace) - excluded_time(trace, device).total
