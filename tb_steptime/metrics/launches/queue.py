"""The queue between host and device, over all streams, which contains what is launched and has not started.

host     [a][b][c]                    depth = launched - started
device       aaaaabbbbbccccc          a call counts once, from its start to the start of the first activity that it
depth    1112333322222111110          launched: a captured graph is one entry, whatever it holds

Work that was launched before the recording is in the queue from the recording's begin until it starts. If clocks
disagree and an activity starts before its call, it was never queued, so the depth is not negative.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.trace.intervals import Intervals, equal_bins
from tb_steptime.trace.model import Trace, find_launches, launched_before, shared
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Int32, Int64, is_in, median

#: Number of bins of the coarsest level, factor between levels, and maximum number of bins of the finest level.
COARSEST_BINS, FINER, FINEST_BINS = 256, 4, 16_384
#: Minimum bin length, and maximum number of bins per launch. A finer level would show single launches, which the
#: timeline does better.
FINEST_BIN_NS, BINS_PER_LAUNCH = 2_000, 4

#: A launch that finds this many in the queue waits for room. CUDA's queue holds 1024.
FULL_QUEUE = 1000
#: A call at a full queue that takes at most this many times the usual time found room. Queues of AMD hold more than
#: 1024.
STALLED_TIMES = 2

#: Number of launches that are processed at once. The temporary columns of all would take tens of MB for a large trace.
AT_ONCE = 1 << 17


class QueueLevel(msgspec.Struct, frozen=True):
    """The queue at one resolution. There is one entry per bin from the window's start on: the mean depth in
    thousandths, and the peak."""

    bin_ns: int
    mean_permille: list[int]
    peak: list[int]


class LaunchCalls(msgspec.Struct, frozen=True, eq=False):
    """Calls that launched anything, as rows of the event table in time order, and the first activity that each
    launched."""

    call: Int32
    activity: Int32


class StalledLaunches(msgspec.Struct, frozen=True, eq=False):
    """Launch calls that had to wait for room, as rows of the event table in time order. wait_ns: the time of each
    beyond the median of those that found room."""

    call: Int32
    wait_ns: Int64


class Queue(msgspec.Struct, frozen=True, eq=False):
    """The sorted instants at which the depth increases and decreases, ns. There are equally many of each."""

    launched: Int64
    started: Int64

    def depth_at(self, instants: Int64) -> Int64:
        """Returns the depth just after each instant."""
        up = np.searchsorted(self.launched, instants, side="right")
        return (up - np.searchsorted(self.started, instants, side="right")).astype(np.int64)

    def integral_ns(self, edges: Int64) -> Int64:
        """Returns depth x time between neighbouring edges, exactly."""
        return np.diff(_time_since(self.launched, edges) - _time_since(self.started, edges))

    def peaks(self, edges: Int64) -> Int64:
        """Returns the greatest depth within [edges[i], edges[i+1])."""
        peak = self.depth_at(edges[:-1])
        inside = slice(*np.searchsorted(self.launched, (edges[0], edges[-1])).tolist())
        launched = self.launched[inside]
        np.maximum.at(peak, np.searchsorted(edges, launched, side="right") - 1, self.depth_at(launched))
        return peak


def launch_calls(trace: Trace, device: int) -> LaunchCalls:
    """Returns the calls that launch work of the device."""
    every = all_launch_calls(trace)
    on_device = trace.events.device.take(every.activity) == device
    return LaunchCalls(every.call[on_device], every.activity[on_device])


@shared
def all_launch_calls(trace: Trace) -> LaunchCalls:
    """Returns the calls that launch work of any device."""
    launches = find_launches(trace)
    linked = np.flatnonzero(launches.call >= 0)
    call, first = np.unique(launches.call[linked], return_index=True)  # activities are in time order
    return LaunchCalls(call.astype(np.int32), launches.activity[linked[first]])


@shared
def find_queue(trace: Trace, device: int) -> Queue:
    """Returns the queue of the device over the whole recording."""
    start, launches = trace.events.start_ns, launch_calls(trace, device)
    earlier = _queued_before(trace, device)
    started = np.concatenate((start.take(launches.activity), earlier))
    launched = np.minimum(np.concatenate((start.take(launches.call), np.zeros_like(earlier))), started)
    launched.sort(kind="stable")  # this sort is fast, because the instants are nearly sorted
    started.sort(kind="stable")
    return Queue(launched, started)


def _queued_before(trace: Trace, device: int) -> Int64:
    """Returns for each call from before the recording when its first activity starts; none if no call is recorded."""
    events, activity = trace.events, find_launches(trace).activity.astype(np.int64)
    is_linked = (events.correlation_id.take(activity) > 0) & (events.device.take(activity) == device)
    activity = activity[is_linked] if len(all_launch_calls(trace).call) else activity[:0]
    activity = activity[launched_before(trace, activity)]
    _, first = np.unique(events.correlation_id[activity], return_index=True)
    return events.start_ns[activity[first]].astype(np.int64)


def queued_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when anything is in the queue."""
    start, launches = trace.events.start_ns, launch_calls(trace, device)
    pieces = [Intervals.of((0, int(_queued_before(trace, device).max(initial=0))))]
    for first in range(0, len(launches.call), AT_ONCE):
        piece = slice(first, first + AT_ONCE)
        pieces.append(Intervals.union(start[launches.call[piece]], start[launches.activity[piece]]))
    return Intervals.joined(pieces)


def queue_levels(trace: Trace, device: int) -> list[QueueLevel]:
    """Returns the queue over the span's window, coarse to fine. Each bin consists of FINER bins of the next level."""
    queue, (low, high) = find_queue(trace, device), find_steps(trace).window
    if high <= low:
        return []
    finest = _finest(high - low, len(queue.launched))
    edges = equal_bins(low, high, finest)[1]
    integral, peak = queue.integral_ns(edges), queue.peaks(edges)
    return list(_joined(integral, peak, edges, finest // COARSEST_BINS))


def _joined(integral: Int64, peak: Int64, edges: Int64, count: int) -> Iterator[QueueLevel]:
    """Yields the levels from the coarsest, with `count` of the finest bins per bin, to the finest."""
    bin_ns = int(edges[1] - edges[0])
    while count:
        first = np.arange(0, len(peak), count)
        whole = np.diff(np.append(edges[:-1][first], edges[-1]))
        mean = np.rint(1000 * np.add.reduceat(integral, first) / whole).astype(np.int64)
        yield QueueLevel(bin_ns * count, mean.tolist(), np.maximum.reduceat(peak, first).tolist())
        count //= FINER


def _finest(window_ns: int, launches: int) -> int:
    """Returns the number of bins of the finest useful level."""
    bins = COARSEST_BINS
    most = min(FINEST_BINS, window_ns // FINEST_BIN_NS, BINS_PER_LAUNCH * launches)
    while bins * FINER <= most:
        bins *= FINER
    return bins


@shared
def queue_per_step(trace: Trace, device: int) -> list[float]:
    """Returns the mean depth within each step."""
    steps = find_steps(trace)
    queue = find_queue(trace, device)
    edges = np.stack((steps.start_ns, steps.end_ns), axis=1).ravel()
    length = np.maximum(steps.duration_ns, 1)
    return (queue.integral_ns(edges)[::2] / length).tolist()


def full_queue_ns(trace: Trace, device: int, chosen: Steps | None = None) -> int:
    """Returns the time for which launch calls that begin in the steps wait for room in the full queue, ns per step.
    chosen: None for all steps."""
    steps, stalled = chosen or find_steps(trace), stalled_launches(trace, device)
    start = trace.events.start_ns[stalled.call]
    in_steps = steps.intervals.overlap_ns(start, start + 1) > 0
    return int(stalled.wait_ns[in_steps].sum()) // len(steps.steps)


@shared
def stalled_launches(trace: Trace, device: int) -> StalledLaunches:
    """Returns the launch calls that began with a full queue and took far longer than usual. Blocking calls are left
    out, because they wait for the device whatever is in the queue."""
    events, calls = trace.events, launch_calls(trace, device).call
    calls = calls[is_in(calls, blocking_calls(trace).row, invert=True)]
    full = find_queue(trace, device).depth_at(events.start_ns[calls] - 1) >= FULL_QUEUE
    usual_ns = int(median(events.dur_ns[calls[~full]])) if not full.all() else 0
    stalled = calls[full]
    stalled = stalled[events.dur_ns[stalled] > STALLED_TIMES * usual_ns]
    return StalledLaunches(stalled, events.dur_ns[stalled].astype(np.int64) - usual_ns)


def _time_since(knots: Int64, instants: Int64) -> Int64:
    """Returns the sum of instant - knot over the knots before each instant, exactly."""
    if not len(knots):
        return np.zeros(len(instants), np.int64)
    origin = int(knots[0])  # small numbers keep the sums from overflowing
    count = np.searchsorted(knots, instants, side="left")
    sums = np.concatenate(([0], np.cumsum(knots - origin)))[count]
    return np.asarray(count * (instants - origin) - sums, np.int64)


def blocked_intervals(trace: Trace) -> Intervals:
    """Returns when a host thread is inside a call that waits for the device, or waits for room in the full queue of a
    device."""
    events = trace.events
    blocked = Intervals.of_events(events, blocking_calls(trace).of(*WAITING))
    for device in devices_with_activity(trace):
        stalled = stalled_launches(trace, device)
        start = events.start_ns[stalled.call]
        blocked = blocked | Intervals.union(start, start + stalled.wait_ns)
    return blocked
