"""What the host needs for a step when it never waits: the floor that no faster kernel can get below.

wait     lll                      for the batch
blocked           bbb             in a call that waits for the device, or for room in its full queue
host     |--------------------|   floor = the step less both
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.base import Figure, Metric, mean_figure
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.launches.queue import all_launch_calls, stalled_launches
from tb_steptime.text import Unit
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

HOST_FLOOR = Metric(
    "host_floor", "Host floor", Unit.NS,
    "Time that the CPU itself needs for a step, without its waits for data and for the GPU. Faster kernels cannot "
    "make the step shorter than this.", colour="cpu",
)  # fmt: skip


def host_floor(trace: Trace) -> Figure:
    return mean_figure(host_floor_ns(trace))


@shared(all_launch_calls, blocking_calls, devices_with_activity, find_steps, loader_intervals)
def host_floor_ns(trace: Trace) -> Int64:
    """Per step, ns: the step less the union of the loader's waits and the blocked time."""
    steps = find_steps(trace)
    waits = loader_intervals(trace) | blocked_intervals(trace)
    return steps.end_ns - steps.start_ns - waits.overlap_ns(steps.start_ns, steps.end_ns)


def blocked_intervals(trace: Trace) -> Intervals:
    """When a host thread is inside a call that waits for the device, or waits for room in the full queue of one."""
    events, calls = trace.events, blocking_calls(trace)
    rows = calls.row[np.isin(calls.kind, WAITING)]
    blocked = Intervals.union(events.start_ns[rows], events.ends(rows))
    for device in devices_with_activity(trace):
        stalled = stalled_launches(trace, device)
        start = events.start_ns[stalled.call]
        blocked = blocked | Intervals.union(start, start + stalled.wait_ns)
    return blocked
