"""How far the host is ahead of the device when it launches: run-ahead by place, over the span and per step.

    host     [a][b][c]                     run-ahead of c = its start - its launch call's start
    device       aaaaabbbbbccccc

An activity that starts at most STARVED_NS after its call began found an empty queue. The device waited for it.

The queue between host and device, over all streams, contains what is launched and has not started.

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

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE, SITES
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.intervals import Intervals, equal_bins
from tb_steptime.trace.model import Trace, are_named, find_launches, launched_before, shared
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, distinct_in, is_in, median

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
_AT_ONCE = 1 << 17


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
    for first in range(0, len(launches.call), _AT_ONCE):
        piece = slice(first, first + _AT_ONCE)
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


#: A launch takes 4 to 10 us to reach an idle device, and somewhat more under a profiler.
STARVED_NS = 15_000

QUEUE_MEAN = Metric(
    "queue_mean", "Queue depth", Unit.NUMBER,
    "How many launches wait for the GPU, as a mean over time and over all streams together. Near 0, the GPU has "
    "no next work ready.",
    colour="runtime",
)  # fmt: skip
RUN_AHEAD = Metric(
    "run_ahead_p50", "Run-ahead", Unit.NS,
    "How far the CPU is ahead of the GPU: median time from a launch call to the start of its work. Near 0, the "
    "GPU waits for the CPU.",
    colour="runtime",
)  # fmt: skip
STARVED_SHARE = Metric(
    "starved_share", "Starved launches", Unit.FRACTION,
    "Share of the work that starts within 15 µs of its launch call: the GPU was waiting for it.", colour="runtime",
)  # fmt: skip
NO_LAUNCHES = Reason("no_launch_calls")


class LaunchFigures(msgspec.Struct, frozen=True):
    """Figures of the launches in the whole span. A launch is a call that launched anything. With CUDA graphs one launch
    starts many activities.

    calls, activities   launches and device activities per step
    run_ahead_p50_ns    median run-ahead of the activities
    starved_share       share of the activities whose run-ahead is 15 us or less
    unlinked            number of activities in the steps whose launch is not recorded
    queue_mean, queue_max   mean and greatest number of queued activities of all streams, over the window
    empty_share         share of the window in which nothing is queued
                        These three are None if no activity in the steps has a recorded launch.
    graphs              number of launches of captured graphs per step
    """

    calls: float
    activities: float
    run_ahead_p50_ns: int | None
    starved_share: float | None
    unlinked: int
    queue_mean: float | None
    queue_max: int | None
    empty_share: float | None
    graphs: float


class LaunchedFrom(msgspec.Struct, frozen=True):
    """The activities of a device that start in the steps and were launched from one place or phase.

    launches: number of activities per step. calls: number of calls that launched them, per step; a graph is one.
    starved_share, run_ahead_p50_ns: as in `LaunchFigures`, of the activities whose launch call is recorded; None if
    there are none.
    """

    launches: float
    starved_share: float | None
    run_ahead_p50_ns: int | None
    calls: float = 0.0


def run_ahead_ns(trace: Trace) -> Int64:
    """Returns for each row of `find_launches` its start minus its call's start, at least 0; -1 if the call is
    unknown."""
    return _ahead(trace, find_launches(trace).call, find_launches(trace).activity)


def by_site(trace: Trace, device: int, steps: Steps | None = None) -> dict[str, LaunchedFrom]:
    """Returns the figures by id of the place; places that launched nothing are left out. steps: None for all."""
    return _launched_from(trace, device, activity_sites(trace), tuple(site.id for site in SITES), steps)


def by_phase(trace: Trace, device: int) -> dict[str, LaunchedFrom]:
    """Returns the figures by phase; phases that launched nothing are left out."""
    return _launched_from(trace, device, SITE_PHASE[activity_sites(trace)], PHASES)


@shared
def _all_in_steps(trace: Trace) -> Bool:
    events = trace.events
    activity = find_launches(trace).activity
    steps = find_steps(trace)
    inside = np.empty(len(activity), bool)
    for first in range(0, len(activity), _AT_ONCE):
        start = events.start_ns[activity[first : first + _AT_ONCE]]
        inside[first : first + _AT_ONCE] = steps.holding(start) >= 0
    return inside


@shared
def launch_figures(trace: Trace, device: int) -> LaunchFigures:
    """Returns the figures of the device's activities that start within the steps, and of its queue in the span's
    window."""
    launches, steps = find_launches(trace), len(find_steps(trace).steps)
    within = np.flatnonzero(_are_in_steps(trace, device))
    call = launches.call[within]
    linked = call >= 0
    calls = distinct_in(call[linked])
    ahead = run_ahead_ns(trace)[within][linked]
    mean, peak, empty_share = _queue_figures(trace, device) if len(ahead) else (None, None, None)
    return LaunchFigures(
        calls=len(calls) / steps,
        activities=len(within) / steps,
        run_ahead_p50_ns=_median(ahead),
        starved_share=float((ahead <= STARVED_NS).mean()) if len(ahead) else None,
        unlinked=int((~linked).sum()),
        queue_mean=mean,
        queue_max=peak,
        empty_share=empty_share,
        graphs=int(are_named(trace, calls, GRAPH_CALL.search).sum()) / steps,
    )


def _launched_from(
    trace: Trace, device: int, group: UInt8, names: tuple[str, ...], chosen: Steps | None = None
) -> dict[str, LaunchedFrom]:
    launches, steps = find_launches(trace), len((chosen or find_steps(trace)).steps)
    within = _are_in_steps(trace, device)
    if chosen is not None:
        within[within] = chosen.holding(trace.events.start_ns[launches.activity[within]]) >= 0
    by_place = {}
    for place in distinct_in(group[within]).tolist():
        of_place = np.flatnonzero(within & (group == place))
        with_call = of_place[launches.call[of_place] >= 0]
        ahead = _ahead(trace, launches.call[with_call], launches.activity[with_call])
        starved = float((ahead <= STARVED_NS).mean()) if len(ahead) else None
        calls = len(distinct_in(launches.call[with_call])) / steps
        by_place[names[place]] = LaunchedFrom(len(of_place) / steps, starved, _median(ahead), calls)
    return by_place


def _are_in_steps(trace: Trace, device: int) -> Bool:
    """Returns which rows of `find_launches` are of the device and start within a step."""
    return np.asarray(_all_in_steps(trace) & (trace.events.device.take(find_launches(trace).activity) == device), bool)


def _ahead(trace: Trace, call: Int32, activity: Int32) -> Int64:
    """Returns how long after its call's start each activity starts, at least 0; -1 without a call."""
    events = trace.events
    result = np.full(len(call), -1, np.int64)
    for first in range(0, len(call), _AT_ONCE):
        rows, piece = call[first : first + _AT_ONCE], slice(first, first + _AT_ONCE)
        ahead = events.start_ns.take(activity[piece]) - events.start_ns.take(rows)
        result[piece] = np.where(rows >= 0, np.maximum(ahead, 0), -1)
    return result


def _queue_figures(trace: Trace, device: int) -> tuple[float, int, float]:
    """Returns the mean and the greatest depth in the span's window, and the share of it in which nothing is queued."""
    low, high = find_steps(trace).window
    if high <= low:
        return 0.0, 0, 1.0
    queue, edges = find_queue(trace, device), np.array([low, high], np.int64)
    mean = int(queue.integral_ns(edges)[0]) / (high - low)
    queued = queued_intervals(trace, device) & Intervals.of((low, high))
    return mean, int(queue.peaks(edges)[0]), 1 - queued.total_ns / (high - low)


def _median(values: Int64) -> int | None:
    return int(median(values)) if len(values) else None


def queue_mean(trace: Trace, device: int) -> Figure:
    """Returns the mean over the window and, for each step, the mean within the step."""
    mean = launch_figures(trace, device).queue_mean
    return unknown(trace, NO_LAUNCHES) if mean is None else Figure(mean, tuple(queue_per_step(trace, device)))


def run_ahead(trace: Trace, device: int) -> Figure:
    whole = launch_figures(trace, device).run_ahead_p50_ns
    return _figure(whole, [ahead for ahead, _ in _ahead_by_step(trace, device)])


def starved_share(trace: Trace, device: int) -> Figure:
    whole = launch_figures(trace, device).starved_share
    return _figure(whole, [share for _, share in _ahead_by_step(trace, device)])


def _figure(whole: float | None, steps: list[float | None]) -> Figure:
    return Figure(whole, tuple(steps), NO_LAUNCHES if whole is None else None)


@shared
def _ahead_by_step(trace: Trace, device: int) -> list[tuple[float | None, float | None]]:
    """Returns the median run-ahead and the starved share of the activities with a launch call that start in each
    step."""
    steps = find_steps(trace)
    launches = find_launches(trace)
    events = trace.events
    rows = np.flatnonzero((events.device[launches.activity] == device) & (launches.call >= 0))
    start, ahead = events.start_ns[launches.activity[rows]], run_ahead_ns(trace)[rows]
    first, end = (np.searchsorted(start, instants) for instants in (steps.start_ns, steps.end_ns))
    starved = np.concatenate(([0], np.cumsum(ahead <= STARVED_NS)))
    for low, high in zip(first.tolist(), end.tolist(), strict=True):  # steps are disjoint, so each sorts its own part
        ahead[low:high].sort()
    with_launches = np.flatnonzero(end > first)
    median = (ahead[(first + end - 1)[with_launches] // 2] + ahead[(first + end)[with_launches] // 2]) / 2
    share = (starved[end] - starved[first])[with_launches] / (end - first)[with_launches]
    by_step: list[tuple[float | None, float | None]] = [(None, None)] * len(first)
    for step, of_step in zip(with_launches.tolist(), zip(median.tolist(), share.tolist(), strict=True), strict=True):
        by_step[step] = of_step
    return by_step
