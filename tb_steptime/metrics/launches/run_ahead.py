"""How far the host is ahead of the device when it launches: run-ahead, by place and over the span.

    host     [a][b][c]                     run-ahead of c = its start - its launch call's start
    device       aaaaabbbbbccccc

An activity that starts at most STARVED_NS after its call began found an empty queue: the device waited for it.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.launches.queue import find_queue, queued_intervals
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, SITES, activity_sites
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.ops import GRAPH_CALL
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, distinct_in, median

#: A launch takes 4 to 10 us to reach an idle device, and somewhat more under a profiler.
STARVED_NS = 15_000

#: Number of activities processed at once: the temporary columns of all would take tens of MB for a large trace.
_AT_ONCE = 1 << 17


class LaunchFigures(msgspec.Struct, frozen=True):
    """Figures of the launches in the whole span. A launch is a call that launched anything; with CUDA graphs one launch
    starts many activities.

    calls, activities   launches and device activities per step
    run_ahead_p50_ns    median run-ahead of the activities
    starved_share       share of the activities whose run-ahead is 15 us or less
    unlinked            number of activities in the steps whose launch is not recorded
    queue_mean, queue_max   mean and greatest number of queued activities of all streams, over the window
    empty_share         share of the window in which nothing is queued
    graphs              launches of captured graphs per step
    """

    calls: float
    activities: float
    run_ahead_p50_ns: int | None
    starved_share: float | None
    unlinked: int
    queue_mean: float
    queue_max: int
    empty_share: float
    graphs: float


class LaunchedFrom(NamedTuple):
    """Activities of a device that start in the steps and were launched from one place or phase.

    launches: activities per step. starved_share, run_ahead_p50_ns: as in `LaunchFigures`, of the activities whose
    launch call is recorded; None if there are none.
    """

    launches: float
    starved_share: float | None
    run_ahead_p50_ns: int | None


def run_ahead_ns(trace: Trace) -> Int64:
    """Returns for each row of `find_launches` its start minus its call's start, at least 0; -1 if the call is
    unknown."""
    return _ahead(trace, find_launches(trace).call, find_launches(trace).activity)


def by_site(trace: Trace, device: int) -> dict[str, LaunchedFrom]:
    """Returns the figures by id of the place; places that launched nothing are left out."""
    return _launched_from(trace, device, activity_sites(trace), tuple(site.id for site in SITES))


def by_phase(trace: Trace, device: int) -> dict[str, LaunchedFrom]:
    """Returns the figures by phase; phases that launched nothing are left out."""
    return _launched_from(trace, device, SITE_PHASE[activity_sites(trace)], PHASES)


@shared
def _all_in_steps(trace: Trace) -> Bool:
    events, activity, steps = trace.events, find_launches(trace).activity, find_steps(trace)
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
    here = np.flatnonzero(_in_steps(trace, device))
    call = launches.call[here]
    linked = call >= 0
    calls = distinct_in(call[linked])
    ahead = run_ahead_ns(trace)[here][linked]
    mean, peak, empty_share = _queue_figures(trace, device)
    return LaunchFigures(
        calls=len(calls) / steps,
        activities=len(here) / steps,
        run_ahead_p50_ns=_median(ahead),
        starved_share=float((ahead <= STARVED_NS).mean()) if len(ahead) else None,
        unlinked=int((~linked).sum()),
        queue_mean=mean,
        queue_max=peak,
        empty_share=empty_share,
        graphs=_graphs(trace, calls) / steps,
    )


def _launched_from(trace: Trace, device: int, group: UInt8, names: tuple[str, ...]) -> dict[str, LaunchedFrom]:
    launches, steps = find_launches(trace), len(find_steps(trace).steps)
    here = _in_steps(trace, device)
    found = {}
    for place in distinct_in(group[here]).tolist():
        mine = np.flatnonzero(here & (group == place))
        known = mine[launches.call[mine] >= 0]
        ahead = _ahead(trace, launches.call[known], launches.activity[known])
        starved = float((ahead <= STARVED_NS).mean()) if len(ahead) else None
        found[names[place]] = LaunchedFrom(len(mine) / steps, starved, _median(ahead))
    return found


def _in_steps(trace: Trace, device: int) -> Bool:
    """Marks the rows of `find_launches` that are of the device and start within a step."""
    inside: Bool = _all_in_steps(trace) & (trace.events.device.take(find_launches(trace).activity) == device)
    return inside


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


def _graphs(trace: Trace, calls: Int64) -> int:
    """Returns how many of the calls launch a captured graph."""
    names, count = np.unique(trace.events.name[calls], return_counts=True)
    return sum(
        n for name, n in zip(names.tolist(), count.tolist(), strict=True) if GRAPH_CALL.search(trace.strings[name])
    )


def _median(values: Int64) -> int | None:
    return int(median(values)) if len(values) else None
