"""Code that is loaded onto a device: each kernel once, at its first launch or before it.

runtime  [cuModuleLoadData]  [ first launch of k  ]   [k]  [k]      the trace names the call; or its first launch takes
device                                             kkkk  kkk kkk    far longer than launches do
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.host.blocking_calls import blocking_calls
from tb_steptime.metrics.launches.queue import FULL_QUEUE, find_queue, launch_calls
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import named_in
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.stops import loading_calls, loading_overheads
from tb_steptime.trace.table import Int64, Kind, distinct, median

#: A first launch that takes so many usual ones has loaded its kernel: 100 us and more, where 5 us are usual.
LOADING_TIMES = 20


def loading_rows(trace: Trace) -> Int64:
    """Rows of calls and of the profiler's marks in which code is loaded, in time order."""
    named = np.concatenate((loading_calls(trace), loading_overheads(trace)))
    first = [_slow_first_launches(trace, device) for device in devices_with_activity(trace)]
    return distinct(np.concatenate((named, *first)))


def _slow_first_launches(trace: Trace, device: int) -> Int64:
    """Launches, each the first one of its kernel in the recording, that took far longer than usual although the queue
    had room. Captured graphs are left out: their first launch takes long for other reasons."""
    events, launches = trace.events, launch_calls(trace, device)
    call, activity = launches.call, launches.activity
    graphs = named_in(trace, call.astype(np.int64), lambda name: GRAPH_CALL.search(name) is not None)
    plain = (events.kind[activity] == Kind.KERNEL) & ~graphs[events.name[call]]
    plain &= np.isin(call, blocking_calls(trace).row, invert=True)
    call, activity = call[plain], activity[plain]
    if not len(call):
        return np.empty(0, np.int64)
    usual_ns = median(events.dur_ns[call])
    first = call[np.unique(events.name[activity], return_index=True)[1]]
    slow = first[events.dur_ns[first] >= LOADING_TIMES * usual_ns]
    room = find_queue(trace, device).depth_at(events.start_ns[slow] - 1) < FULL_QUEUE
    loading: Int64 = slow[room].astype(np.int64)
    return loading
