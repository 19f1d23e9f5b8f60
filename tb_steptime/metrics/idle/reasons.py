"""The reasons for which a GPU is idle, and what their time is called. How it is found: `idle_segments`."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.text import Unit
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Int64, distinct_in

#: Reasons that a host which launches sooner, or a launch that is shorter, would end. The first four are one in the
#: catalogue too: the launch call had not begun.
HOST_LATE = ("blocking_call", "allocator", "cpu_work", "nothing_recorded")
HOST_BOUND = (*HOST_LATE, "launch_latency")

HOST_BOUND_TIME = Metric(
    "host_bound_time", "Waiting for the host", Unit.NS,
    "Time in which the GPU is idle because the host has not launched its next work, or the launch has not reached it. "
    "Waits for data are not counted here.", colour="cpu",
)  # fmt: skip
HOST_BOUND_SHARE = Metric(
    "host_bound_share", "Host-bound share", Unit.FRACTION,
    "Waiting for the host as a share of the step.", colour="cpu",
)  # fmt: skip
HOST_LATE_TIME = Metric(
    "host_late_time", "Waiting for a launch call", Unit.NS,
    "Time in which the GPU is idle before the launch call of its next work begins, or inside a launch call that "
    "blocks. Waits for data are not counted here.", colour="cpu",
)  # fmt: skip

#: What each reason's time is called; data loading has its own metrics.
REASON_METRICS = {
    "blocking_call": Metric(
        "idle_blocking_call_time", "Idle at blocking calls", Unit.NS,
        "Time in which the GPU is idle and the thread that launches its next work is inside a call that waits for "
        "the GPU, such as a synchronize or a copy of pageable memory.", colour="blocking"),
    "allocator": Metric(
        "idle_allocator_time", "Idle at memory allocation", Unit.NS,
        "Time in which the GPU is idle and the thread that launches its next work allocates or frees memory through "
        "the driver.", colour="blocking"),
    "cpu_work": Metric(
        "idle_cpu_work_time", "Idle during CPU work", Unit.NS,
        "Time in which the GPU is idle and the thread that launches its next work runs ops or other calls first.",
        colour="cpu"),
    "nothing_recorded": Metric(
        "idle_nothing_recorded_time", "Idle, nothing recorded", Unit.NS,
        "Time in which the GPU is idle and nothing is recorded on the thread that launches its next work: mostly "
        "Python between ops.", colour="other"),
    "launch_latency": Metric(
        "launch_latency_time", "Launch latency", Unit.NS,
        "Time in which the GPU is idle after the launch call has begun and before its work starts. Waits for other "
        "GPUs of the process are not counted here.", colour="runtime"),
    "queued": Metric(
        "queued_time", "Gaps between queued work", Unit.NS,
        "Time in which the GPU is idle although its next work is already launched: short hardware gaps.",
        colour="other"),
    "dependency": Metric(
        "idle_dependency_time", "Idle, waits for other work", Unit.NS,
        "Time in which the GPU is idle for more than 10 us although its next work is already launched: it waits for "
        "an event, another stream or another rank, or (50 us after the launch call returned) for another GPU of the "
        "process.", colour="comm"),
    "unknown": Metric(
        "idle_unknown_time", "Idle, cause unknown", Unit.NS,
        "Time in which the GPU is idle before work whose launch is not in the trace.", colour="other"),
    "tail": Metric(
        "idle_tail_time", "Idle at the end", Unit.NS,
        "Time in which the GPU is idle and no work follows in this recording.", colour="other"),
}  # fmt: skip
LAUNCHES = Metric(
    "launches", "Launches a step", Unit.COUNT,
    "Kernels, copies and sets that start on the GPU within the step.", colour="runtime",
)  # fmt: skip


class IdleNs(msgspec.Struct, frozen=True):
    """Idle time by reason, ns: it sums to the idle time. The order is that of every picture.

    blocking_call, allocator, cpu_work, nothing_recorded: the launch call had not begun, and that is what the launching
    thread did (blocking_call also where the launching call itself waits); launch_latency: it had; queued: launched
    before the gap began, and the gap is at most 10 us; dependency: likewise, and longer, or it waits for another device
    of the process more than 50 us after its call returned; unknown: no launch record;
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


#: Reasons in the order in which they are shown; a segment of idle time has the place of its reason here.
REASONS = IdleNs.__struct_fields__


@shared(busy_intervals)
def devices_by_activity(trace: Trace) -> tuple[int, ...]:
    """Devices with any activity, the one that is busy longest first."""
    ids = distinct_in(trace.events.device[trace.events.rows(*DEVICE_KINDS)] + 1) - 1  # -1: the file does not say
    busy = {device: busy_intervals(trace, device).total_ns for device in ids.tolist()}
    return tuple(sorted(busy, key=lambda device: (-busy[device], device)))


def starts_per_step(trace: Trace, device: int) -> Int64:
    """How many activities of the device start within each step."""
    steps, rows = find_steps(trace), trace.events.rows(*DEVICE_KINDS)
    start = trace.events.start_ns[rows[trace.events.device[rows] == device]]
    counts = np.searchsorted(start, steps.end_ns) - np.searchsorted(start, steps.start_ns)
    return np.asarray(counts, np.int64)
