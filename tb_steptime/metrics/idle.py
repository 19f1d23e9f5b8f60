"""Why a GPU is idle: a partition of its idle time by what the next activity was waiting for.

    call         lll                       launch of the next activity
    device  kkkk        kkkk
    idle        hhhlllll                   host late, then launch latency

Reasons are disjoint and sum to the idle time; the loader's waits come first, so that exposed data loading is one
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.base import Better, Metric
from tb_steptime.metrics.data_loading import loader_intervals
from tb_steptime.metrics.gpu import busy_intervals
from tb_steptime.phrases import Unit
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int64

#: Reasons in the order in which they are shown.
REASONS = ("data_loading", "host_late", "launch_latency", "queued", "unknown", "tail")

#: Reasons that a host which launches sooner, or a launch that is shorter, would end.
HOST_BOUND = ("host_late", "launch_latency")

HOST_BOUND_TIME = Metric(
    "host_bound_time", "Waiting for the host", Unit.NS, Better.LOWER,
    "Time in which the GPU is idle because the host has not launched its next work, or the launch has not reached "
    "it. Waits "
    "for data are not counted here.", colour="cpu",
)  # fmt: skip
HOST_BOUND_SHARE = Metric(
    "host_bound_share", "Host-bound share", Unit.FRACTION, Better.LOWER,
    "Waiting for the host as a share of the step.", colour="cpu",
)  # fmt: skip

#: What each reason's time is called; data loading has its own metrics.
REASON_METRICS = {
    "host_late": Metric(
        "host_late_time", "Waiting for a launch call", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle until the call begins that launches its next work; waits for data left out.",
        colour="cpu"),
    "launch_latency": Metric(
        "launch_latency_time", "Launch latency", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle after the launching call began and before its work starts.", colour="runtime"),
    "queued": Metric(
        "queued_time", "Gaps between queued work", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle although its next work was launched before: short gaps of the hardware, or a "
        "wait "
        "for another stream or rank.", colour="other"),
    "unknown": Metric(
        "idle_unknown_time", "Idle, cause unknown", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle before work whose launch the trace does not hold.", colour="other"),
    "tail": Metric(
        "idle_tail_time", "Idle at the end", Unit.NS, Better.LOWER,
        "Time in which the GPU is idle and nothing follows in this recording.", colour="other"),
}  # fmt: skip
LAUNCHES = Metric(
    "launches", "Launches a step", Unit.COUNT, Better.LOWER,
    "Kernels, copies and sets that start on the GPU within the step.", colour="runtime",
)  # fmt: skip


class IdleNs(msgspec.Struct, frozen=True):
    """Idle time by reason, ns: it sums to the idle time. The order is that of every picture.

    blocking_call, allocator, cpu_work, nothing_recorded: the launch call had not begun, and that is what the launching
    thread did (blocking_call also where the launching call itself waits); launch_latency: it had; queued: launched
    before the gap began, and the gap is at most 10 us; dependency: likewise, and longer; unknown: no launch record;
    tail: nothing follows in this recording.
    """

    data_loading: int = 0
    blocking_call: int = 0
    allocator: int = 0
    cpu_work: int = 0
    nothing_recorded: int = 0
    launch_latency: int = 0
    queued: int = 0
    dependency: int = 0
    unknown: int = 0
    tail: int = 0

    @property
    def total_ns(self) -> int:
        return sum(msgspec.structs.astuple(self))

    @property
    def late_ns(self) -> int:
        """Idle because the next launch came late, or was slow to reach the device: the host's share."""
        return self.blocking_call + self.allocator + self.cpu_work + self.nothing_recorded + self.launch_latency


@dataclass(frozen=True, eq=False)
class Idle:
    """One device's idle time within the span's window, by reason: disjoint intervals, and ns per step (int64)."""

    intervals: Mapping[str, Intervals]
    per_step_ns: Mapping[str, Int64]

    @property
    def host_bound_ns(self) -> Int64:
        """ns per step in which the device waits for the host."""
        late, latency = (self.per_step_ns[reason] for reason in HOST_BOUND)
        return late + latency


@per_trace
def devices_by_activity(trace: Trace) -> tuple[int, ...]:
    """Devices with any activity, the one that is busy longest first."""
    rows = trace.events.rows(*DEVICE_KINDS)
    ids = np.unique(trace.events.device[rows])
    busy = {int(device): busy_intervals(trace, int(device)).total_ns for device in ids}
    return tuple(sorted(busy, key=lambda device: (-busy[device], device)))


@per_trace
def idle_partition(trace: Trace) -> Mapping[int, Idle]:
    """The partition of each device that has any activity."""
    return {device: _partition(trace, device) for device in devices_by_activity(trace)}


def starts_per_step(trace: Trace, device: int) -> Int64:
    """How many activities of the device start within each step."""
    steps, rows = find_steps(trace), trace.events.rows(*DEVICE_KINDS)
    start = trace.events.start_ns[rows[trace.events.device[rows] == device]]
    counts = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return np.asarray(counts, np.int64)


def _partition(trace: Trace, device: int) -> Idle:
    steps = find_steps(trace)
    windows = Intervals.union(steps.start_ns, steps.end_ns)
    idle = windows - busy_intervals(trace, device)
    loading = idle & loader_intervals(trace)
    reasons = {"data_loading": loading}
    for reason, intervals in _by_launch(trace, device, *steps.window).items():
        reasons[reason] = (intervals & windows) - loading
    per_step = {reason: reasons[reason].overlap_ns(steps.start_ns, steps.end_ns) for reason in REASONS}
    return Idle(reasons, per_step)


def _by_launch(trace: Trace, device: int, low: int, high: int) -> dict[str, Intervals]:
    """Each gap of the device goes to the reason that the launch of the activity after it gives."""
    gaps = busy_intervals(trace, device).gaps(low, high)
    start, call_start = _next_activity(trace, device, gaps.end)
    follows, linked = start < np.iinfo(np.int64).max, call_start >= 0
    late = np.clip(call_start, gaps.start, gaps.end)  # host late before this instant, launch latency after it
    waited = follows & linked & (call_start >= gaps.start)
    queued = follows & linked & ~waited
    return {
        "host_late": Intervals(gaps.start, np.where(waited, late, gaps.start)) | Intervals.empty(),
        "launch_latency": Intervals(np.where(waited, late, gaps.end), gaps.end) | Intervals.empty(),
        "queued": Intervals(gaps.start[queued], gaps.end[queued]),
        "unknown": Intervals(gaps.start[follows & ~linked], gaps.end[follows & ~linked]),
        "tail": Intervals(gaps.start[~follows], gaps.end[~follows]),
    }


def _next_activity(trace: Trace, device: int, instants: Int64) -> tuple[Int64, Int64]:
    """Start of the first activity at or after each instant (int64 max: none) and of its launch call (-1: none)."""
    events, launches = trace.events, find_launches(trace)
    here = events.device[launches.activity] == device
    start, call = events.start_ns[launches.activity[here]], launches.call[here]
    row = np.searchsorted(start, instants)
    known = row < len(start)
    row = np.minimum(row, max(len(start) - 1, 0))
    call_start = np.where(call[row] >= 0, events.start_ns[call[row]], -1)
    return np.where(known, start[row], np.iinfo(np.int64).max), np.where(known, call_start, -1)
