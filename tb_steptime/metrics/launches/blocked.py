"""When the host waits for a device: in calls that block, and for room in a full queue."""

from __future__ import annotations

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.launches.queue import stalled_launches
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import is_in


def blocked_intervals(trace: Trace) -> Intervals:
    """When a host thread is inside a call that waits for the device, or waits for room in the full queue of one."""
    events, calls = trace.events, blocking_calls(trace)
    rows = calls.row[is_in(calls.kind, WAITING)]
    blocked = Intervals.of_events(events, rows)
    for device in devices_with_activity(trace):
        stalled = stalled_launches(trace, device)
        start = events.start_ns[stalled.call]
        blocked = blocked | Intervals.union(start, start + stalled.wait_ns)
    return blocked
