"""How far the host is ahead of the device when it launches: run-ahead by place, over the span and per step.

host     [a][b][c]                     run-ahead of c = its start - its launch call's start
device       aaaaabbbbbccccc

An activity that starts at most STARVED_NS after its call began found an empty queue. The device waited for it.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.launches.queue import AT_ONCE, find_queue, queue_per_step, queued_intervals
from tb_steptime.metrics.phases.assignment import activity_sites
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE, SITES
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, shared
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, distinct_in, median

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
    for first in range(0, len(activity), AT_ONCE):
        start = events.start_ns[activity[first : first + AT_ONCE]]
        inside[first : first + AT_ONCE] = steps.holding(start) >= 0
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
    for first in range(0, len(call), AT_ONCE):
        rows, piece = call[first : first + AT_ONCE], slice(first, first + AT_ONCE)
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
