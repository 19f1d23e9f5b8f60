"""What the host needs for a step when nothing holds it up: the floor that no faster kernel can get below.

wait     lll                      for the batch
blocked           bbb             in a call that waits for the device, or for room in its full queue
host     |--------------------|   floor = the step less both
"""

from __future__ import annotations

import re

import numpy as np

from tb_steptime.metrics.base import Better, Metric
from tb_steptime.metrics.data_loading import loader_intervals
from tb_steptime.phrases import Unit
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, Kind

#: Calls that return only when the device has done something. EventQuery and StreamWaitEvent do not block the host.
BLOCKING_CALL = re.compile(
    r"(cuda|cu|hip)(Device|Ctx|Stream|Event)Synchronize|(cuda|hip)Memcpy(2D|3D)?$|cuMemcpy(DtoH|HtoD|DtoD)(_v2)?$|hipMemcpyWithStream"
)
#: Launches that wait for a copy of pageable memory: the name says only that they are asynchronous.
ASYNC_COPY_CALL = re.compile(r"(cuda|hip)Memcpy(2D|3D)?Async")
PAGEABLE_COPY = re.compile(r"Pageable")

#: A launch with this many activities queued before it waits for room: the queue of CUDA holds 1024 launches.
FULL_QUEUE = 1000

HOST_FLOOR = Metric(
    "host_floor", "Host floor", Unit.NS, Better.LOWER,
    "Time that the host needs for the step without its waits for the loader and for the GPU: no faster kernel can "
    "bring "
    "the step below it.", colour="cpu",
)  # fmt: skip


@per_trace
def host_floor_ns(trace: Trace) -> Int64:
    """Per step, ns: the step less the union of the loader's waits and the blocked time."""
    steps = find_steps(trace)
    held_up = loader_intervals(trace) | blocked_intervals(trace)
    return steps.end_ns - steps.start_ns - held_up.overlap_ns(steps.start_ns, steps.end_ns)


def blocked_intervals(trace: Trace) -> Intervals:
    """When a host thread is inside a call that waits for the device."""
    events = trace.events
    calls = events.rows(Kind.RUNTIME, Kind.DRIVER)
    blocking = np.array([BLOCKING_CALL.match(name) is not None for name in trace.strings.strings], bool)
    rows = np.concatenate((calls[blocking[events.name[calls]]], _pageable_copies(trace), _held_launches(trace)))
    return Intervals.union(events.start_ns[rows], events.ends(rows))


def _pageable_copies(trace: Trace) -> Int64:
    """Copy calls that stage pageable memory: the wait sits in the call."""
    launches, events = find_launches(trace), trace.events
    pageable = np.array([PAGEABLE_COPY.search(name) is not None for name in trace.strings.strings], bool)
    copies = (events.kind[launches.activity] == Kind.MEMCPY) & pageable[events.name[launches.activity]]
    return np.unique(launches.call[copies & (launches.call >= 0)])


def _held_launches(trace: Trace) -> Int32:
    """Launch calls that began when the queue was full: queued = launched - started before the call."""
    launches, events = find_launches(trace), trace.events
    linked = launches.call >= 0
    launched = np.sort(events.start_ns[launches.call[linked]])
    started = np.sort(events.start_ns[launches.activity[linked]])
    calls = np.unique(launches.call[linked])
    at = events.start_ns[calls]
    depth = np.searchsorted(launched, at) - np.searchsorted(started, at)
    return calls[depth >= FULL_QUEUE]
