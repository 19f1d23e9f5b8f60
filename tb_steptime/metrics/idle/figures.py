"""Idle time as metrics of the catalogue: by reason, and the part that the host could avoid. `idle_partition` computes
it."""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.metrics.base import Figure, Metric, mean_figure, share_of_step
from tb_steptime.metrics.idle.reasons import HOST_BOUND, starts_per_step
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.text import Unit
from tb_steptime.trace.model import Trace

HOST_BOUND_TIME = Metric(
    "host_bound_time", "Waiting for the host", Unit.NS,
    "Time in which the GPU is idle because the CPU has not launched its next work yet, or the launch is still on "
    "its way. Waits for data are not counted here.", colour="cpu",
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

#: The metric for each reason's time. Data loading has its own metrics.
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
        "idle_nothing_recorded_time", "Idle, outside ops", Unit.NS,
        "Time in which the GPU is idle and no op or call is recorded on the thread that launches its next work: mostly "
        "Python between ops.", colour="other"),
    "launch_latency": Metric(
        "launch_latency_time", "Launch latency", Unit.NS,
        "Time in which the GPU is idle after the launch call has begun and before its work starts, at most until 50 µs "
        "after the call returned.", colour="runtime"),
    "queued": Metric(
        "queued_time", "Gaps between queued work", Unit.NS,
        "Time in which the GPU is idle although its next work is already launched: short hardware gaps.",
        colour="other"),
    "collective_wait": Metric(
        "idle_collective_time", "Idle before collectives", Unit.NS,
        "Time in which the GPU is idle although its next work, a collective, is launched: it waits for other ranks, "
        "for a stream or for an event.", colour="comm"),
    "dependency": Metric(
        "idle_dependency_time", "Idle, waits for other work", Unit.NS,
        "Time in which the GPU is idle for more than 10 µs although its next work is already launched, or for more "
        "than 50 µs after its launch call returned: it waits for an event, another stream or another GPU.",
        colour="comm"),
    "unrecorded_work": Metric(
        "unrecorded_work_time", "Unrecorded work", Unit.NS,
        "Time in which no work of the GPU is recorded although it must be busy: a launch, a synchronize or a copy "
        "takes far longer than an idle GPU lets it take, or the work of recorded launches is missing.",
        colour="kernel"),
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


def host_bound_share(trace: Trace, device: int) -> Figure:
    return share_of_step(trace, idle_partition(trace)[device].sum_ns(HOST_BOUND))


def idle_time(*reasons: str) -> Callable[[Trace, int], Figure]:
    """Returns a function that measures the time of these reasons together."""
    return lambda trace, device: mean_figure(idle_partition(trace)[device].sum_ns(reasons))


def launches(trace: Trace, device: int) -> Figure:
    return mean_figure(starts_per_step(trace, device))
