"""Figures that show whether the CPU limits the step: for the main device, means over the steps."""

from __future__ import annotations

from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.idle.host_floor import HOST_FLOOR
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.launches.run_ahead import QUEUE_MEAN, RUN_AHEAD, STARVED_SHARE, LaunchFigures
from tb_steptime.text import Unit

IDLE_SHARE = Metric(
    "gpu_idle_share", "GPU idle", Unit.FRACTION, "Share of the step in which the GPU does nothing."
)  # fmt: skip
GPU_BUSY_TIME = Metric(
    "gpu_busy_time", "GPU busy", Unit.NS,
    "Time of the step in which the GPU runs kernels, copies or memory sets.", colour="kernel",
)  # fmt: skip
QUEUE_PEAK = Metric(
    "queue_peak", "Queue, peak", Unit.COUNT,
    "The most launches that wait for the GPU at once. The launch queue of CUDA holds 1024.", colour="runtime",
)  # fmt: skip
FULL_QUEUE_TIME = Metric(
    "full_queue_time", "Queue full", Unit.NS,
    "Time of the step in launch calls that wait because the launch queue is full. The CPU seems busy, but only "
    "waits for the GPU.", colour="runtime",
)  # fmt: skip

#: In the order in which they are shown.
HOST_FIGURES = (
    IDLE_SHARE, GPU_BUSY_TIME, HOST_FLOOR, QUEUE_MEAN, QUEUE_PEAK, STARVED_SHARE, RUN_AHEAD, FULL_QUEUE_TIME,
)  # fmt: skip


def host_figures(
    step_ns: int, idle: IdleNs, host_floor_ns: float | None, launches: LaunchFigures, full_queue_ns: int
) -> dict[str, float]:
    """Returns the figures by metric id, in the order of HOST_FIGURES; unknown ones are left out. idle: idle time of the
    mean step."""
    values = (
        idle.total_ns / step_ns if step_ns else 0.0, step_ns - idle.total_ns, host_floor_ns, launches.queue_mean,
        launches.queue_max, launches.starved_share, launches.run_ahead_p50_ns, full_queue_ns,
    )  # fmt: skip
    shown = zip(HOST_FIGURES, values, strict=True)
    return {metric.id: value for metric, value in shown if value is not None}
