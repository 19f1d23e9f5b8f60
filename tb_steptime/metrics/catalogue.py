"""Every metric with the function that measures it: the one list that views, tables, the CLI and the docs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tb_steptime.metrics.base import Figure, Metric, Series, unknown
from tb_steptime.metrics.data_loading import figures as data_loading
from tb_steptime.metrics.gpu import counters, occupancy
from tb_steptime.metrics.gpu import utilization as gpu
from tb_steptime.metrics.idle import figures as idle
from tb_steptime.metrics.idle import host_floor
from tb_steptime.metrics.idle import sums as idle_sums
from tb_steptime.metrics.idle.reasons import HOST_BOUND, HOST_LATE, devices_by_activity
from tb_steptime.metrics.launches import run_ahead
from tb_steptime.metrics.memory import peak as memory
from tb_steptime.metrics.roofline import utilization as roofline
from tb_steptime.metrics.steady import host as steady_host
from tb_steptime.metrics.steps import parts
from tb_steptime.metrics.tensor_cores import usage as tensor_cores
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace

NO_DEVICE = Reason("no_gpu_activity")

Measure = Callable[[Trace], Figure]
DeviceMeasure = Callable[[Trace, int], Figure]


def main_device(trace: Trace) -> int | None:
    """Returns the span's main device, which is the one that is busy longest; None if nothing ran on a device."""
    devices = devices_by_activity(trace)
    return devices[0] if devices else None


def measure(trace: Trace, metric_id: str, device: int | None) -> Series:
    """Measures one metric of the catalogue. device: used by metrics of a device; None means that nothing ran on one."""
    if metric_id in OF_DEVICE:
        figure = unknown(trace, NO_DEVICE) if device is None else OF_DEVICE[metric_id][1](trace, device)
        return Series(metric_id, device, figure.value, list(figure.steps), figure.reason)
    figure = OF_PROCESS[metric_id][1](trace)
    return Series(metric_id, None, figure.value, list(figure.steps), figure.reason)


OF_PROCESS: Mapping[str, tuple[Metric, Measure]] = {
    metric.id: (metric, of)
    for metric, of in (
        (parts.STEP_TIME, parts.step_time),
        (parts.HOST_STEP_TIME, parts.host_step_time),
        (data_loading.EXPOSED_DATA_LOADING, data_loading.exposed_data_loading),
        (data_loading.EXPOSED_SHARE, data_loading.exposed_share),
        (data_loading.HIDDEN_DATA_LOADING, data_loading.hidden_data_loading),
        (data_loading.DATA_LOADING_WAIT, data_loading.data_loading_wait),
        (data_loading.BATCH_TIME, data_loading.batch_time),
        (data_loading.STEP_WITHOUT_WAIT, data_loading.step_without_wait),
        (data_loading.NEEDED_WORKERS, data_loading.needed_workers),
        (host_floor.HOST_FLOOR, host_floor.host_floor),
        (steady_host.UNDISTURBED_HOST_TIME, steady_host.undisturbed_host_time),
        *((metric, parts.part_time(metric.id.removesuffix("_time"))) for metric in parts.PART_METRICS),
        (memory.PEAK_ALLOCATED, memory.peak_allocated),
        (memory.PEAK_RESERVED, memory.peak_reserved),
    )
}

_DEVICE_FIGURES: tuple[tuple[Metric, DeviceMeasure], ...] = (
    (gpu.GPU_UTILIZATION, gpu.gpu_utilization),
    (gpu.EST_SM_EFFICIENCY, gpu.est_sm_efficiency),
    (occupancy.EST_ACHIEVED_OCCUPANCY, occupancy.est_achieved_occupancy),
    (occupancy.KINETO_ACHIEVED_OCCUPANCY, occupancy.kineto_achieved_occupancy),
    *((metric, counters.measuring(metric.id)) for metric in counters.COUNTER_METRICS),
    (tensor_cores.TENSOR_CORE_SHARE, tensor_cores.share_of("share_low")),
    (tensor_cores.TENSOR_CORE_SHARE_HIGH, tensor_cores.share_of("share_high")),
    (tensor_cores.KERNEL_SUM_TIME, tensor_cores.time_of("kernel_ns")),
    (tensor_cores.TENSOR_CORE_TIME, tensor_cores.time_of("tensor_core_ns")),
    (tensor_cores.MATMUL_LIKE_TIME, tensor_cores.time_of("matmul_like_ns")),
    (tensor_cores.UNKNOWN_KERNEL_TIME, tensor_cores.time_of("unknown_ns")),
    (roofline.MFU, roofline.mfu),
    (roofline.HFU, roofline.hfu),
    (roofline.MODEL_FLOPS, roofline.model_gflop),
    (roofline.KNOWN_FLOPS_SHARE, roofline.known_flops_share),
    (idle.HOST_BOUND_SHARE, idle.host_bound_share),
    (idle.HOST_BOUND_TIME, idle.idle_time(*HOST_BOUND)),
    (idle.HOST_LATE_TIME, idle.idle_time(*HOST_LATE)),
    *((metric, idle.idle_time(reason)) for reason, metric in idle.REASON_METRICS.items()),
    (idle.LAUNCHES, idle.launches),
    (run_ahead.QUEUE_MEAN, run_ahead.queue_mean),
    (run_ahead.RUN_AHEAD, run_ahead.run_ahead),
    (run_ahead.STARVED_SHARE, run_ahead.starved_share),
    (idle_sums.BUBBLE_TIME, idle_sums.bubble_time),
)
OF_DEVICE: Mapping[str, tuple[Metric, DeviceMeasure]] = {metric.id: (metric, of) for metric, of in _DEVICE_FIGURES}

#: The catalogue, in the order in which a chooser lists it.
METRICS: tuple[Metric, ...] = tuple(metric for table in (OF_PROCESS, OF_DEVICE) for metric, _ in table.values())
METRIC_BY_ID: Mapping[str, Metric] = {metric.id: metric for metric in METRICS}

#: Metrics for which lower is worse. For all others higher is worse, if they can be bad at all.
MORE_IS_BETTER = frozenset((
    "gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy", "kineto_achieved_occupancy", "tensor_core_share",
    "measured_sm_active", "measured_tensor_active", "tensor_core_share_high", "tensor_core_time", "mfu", "hfu",
    "run_ahead", "queue_mean", "data_loading_hidden",
))  # fmt: skip

#: The tiles of the overview, in order.
TILES = (
    "step_time", "gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy", "tensor_core_share",
    "data_loading_exposed", "host_bound_share",
)  # fmt: skip
DATA_LOADING_TILES = (
    "data_loading_exposed",
    "data_loading_hidden",
    "batch_time",
    "step_without_wait",
    "needed_workers",
)
HOST_TILES = ("host_bound_share", "starved_share", "queue_mean", "launches", "host_floor")
