"""The profiler's own time: it asks for a buffer, writes one out, or waits for the device to hand its records over.

overhead   [Activity Buffer Request, 1.5 ms]        while it lasts, nothing of the job runs on the host
device                                       kkk

Of its rows those of the loading of code are the job's: without the profiler a first launch loads it as well.
"""

from __future__ import annotations

from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.stops import LOADING_OVERHEAD
from tb_steptime.trace.table import Kind


def profiler_time(trace: Trace) -> Intervals:
    """When the profiler works, whether or not a device does."""
    rows = rows_named(trace, (Kind.OVERHEAD,), lambda name: LOADING_OVERHEAD.match(name) is None)
    return Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))
