"""Every metric with the function that measures it: the one list that views, tables, the CLI and the docs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tb_steptime.metrics.base import Metric, Series
from tb_steptime.metrics.data_loading import waits as data_loading
from tb_steptime.metrics.data_loading.loaders import find_batches, waited_for
from tb_steptime.metrics.data_loading.recorded.loading import what_is_recorded
from tb_steptime.metrics.data_loading.scaling.throughput import find_throughput, production_ns
from tb_steptime.metrics.gpu import occupancy
from tb_steptime.metrics.gpu import utilization as gpu
from tb_steptime.metrics.gpu.utilization import Figure
from tb_steptime.metrics.idle import reasons as idle
from tb_steptime.metrics.idle import sums as idle_sums
from tb_steptime.metrics.launches import host_floor
from tb_steptime.metrics.launches import per_step as launch_metrics
from tb_steptime.metrics.steps import parts as step_time
from tb_steptime.metrics.tensor_cores import usage as tensor_cores
from tb_steptime.text import Reason
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64

NO_LOADER = Reason("no_loader_events")
ON_OTHER_THREAD = Reason("loader_on_other_thread")
NO_DEVICE = Reason("no_gpu_activity")
SEVERAL = Reason("differs_by_loader")
NOT_SEEN = Reason("workers_not_in_trace")
IN_A_ROW = Reason("loader_count_unknown")

Measure = Callable[[Trace], Figure]
DeviceMeasure = Callable[[Trace, int], Figure]


def main_device(trace: Trace) -> int | None:
    """The device whose figures stand for the span: the one that is busy longest. None: nothing ran on a device."""
    devices = idle.devices_by_activity(trace)
    return devices[0] if devices else None


def measure(trace: Trace, metric_id: str, device: int | None) -> Series:
    """One metric of the catalogue. device is needed by the figures of a device; None there is "no GPU activity"."""
    if metric_id in _OF_DEVICE:
        figure = gpu.unknown(trace, NO_DEVICE) if device is None else _OF_DEVICE[metric_id][1](trace, device)
        return Series(metric_id, device, figure.value, list(figure.steps), figure.reason)
    figure = _OF_PROCESS[metric_id][1](trace)
    return Series(metric_id, None, figure.value, list(figure.steps), figure.reason)


def _mean(values: Int64) -> Figure:
    return Figure(float(values.mean()), tuple(values.tolist()))


def _lengths(trace: Trace) -> Int64:
    steps = find_steps(trace)
    return steps.end_ns - steps.start_ns


def _share_of_step(trace: Trace, values: Int64) -> Figure:
    """The span's share weighs steps by their length."""
    with_total = [np.concatenate(([column.sum()], column)) for column in (values, _lengths(trace))]
    return gpu.figure(with_total[0], with_total[1], None)


def _step_time(trace: Trace) -> Figure:
    return _mean(_lengths(trace))


def _host_step_time(trace: Trace) -> Figure:
    return _mean(np.array([step.host_ns for step in find_steps(trace).steps], np.int64))


def _part_time(part: str) -> Measure:
    def of(trace: Trace) -> Figure:
        return _mean(np.array([getattr(row, part) for row in step_time.step_breakdown(trace)], np.int64))

    return of


def _waits(column: str) -> Measure:
    def of(trace: Trace) -> Figure:
        waits = _loader_waits(trace)
        return _no_waits(trace) if waits is None else _mean(getattr(waits, column))

    return of


def _loader_waits(trace: Trace) -> data_loading.LoaderWaits | None:
    """None, too, where batches of the steps are taken by a thread of which no wait is recorded."""
    return None if _on_other_thread(trace) else data_loading.loader_waits(trace)


def _on_other_thread(trace: Trace) -> bool:
    return what_is_recorded(trace) is not None and waited_for(trace) is None


def _no_waits(trace: Trace) -> Figure:
    return gpu.unknown(trace, ON_OTHER_THREAD if _on_other_thread(trace) else NO_LOADER)


def _exposed_share(trace: Trace) -> Figure:
    waits = _loader_waits(trace)
    return _no_waits(trace) if waits is None else _share_of_step(trace, waits.exposed_ns)


def _batch_time(trace: Trace) -> Figure:
    production = production_ns(trace)
    if production is not None:
        return Figure(production, (None,) * len(find_steps(trace).steps), None)
    if _loader_waits(trace) is None:
        return _no_waits(trace)
    return gpu.unknown(trace, NOT_SEEN if len(find_batches(trace).loaders) == 1 else SEVERAL)


def _needed_workers(trace: Trace) -> Figure:
    batch, throughput, main = _batch_time(trace), find_throughput(trace), waited_for(trace)
    if main is None and batch.reason is None:
        return _no_waits(trace)
    if batch.value is None or throughput is None:
        return gpu.unknown(trace, batch.reason or (IN_A_ROW if main and main.in_a_row > 1 else gpu.NO_TIME))
    return Figure(throughput.needed, (None,) * len(batch.steps), None)


def _without_wait(trace: Trace) -> Figure:
    waits = _loader_waits(trace)
    return _no_waits(trace) if waits is None else _mean(_lengths(trace) - waits.exposed_ns)


def _host_floor(trace: Trace) -> Figure:
    return _mean(host_floor.host_floor_ns(trace))


def _idle_time(reason: str) -> DeviceMeasure:
    def of(trace: Trace, device: int) -> Figure:
        return _mean(idle_sums.idle_partition(trace)[device].per_step_ns[reason])

    return of


def _host_bound_share(trace: Trace, device: int) -> Figure:
    return _share_of_step(trace, idle_sums.idle_partition(trace)[device].host_bound_ns)


def _host_bound_time(trace: Trace, device: int) -> Figure:
    return _mean(idle_sums.idle_partition(trace)[device].host_bound_ns)


def _host_late_time(trace: Trace, device: int) -> Figure:
    return _mean(idle_sums.idle_partition(trace)[device].host_late_ns)


def _launches(trace: Trace, device: int) -> Figure:
    return _mean(idle.starts_per_step(trace, device))


_OF_PROCESS: Mapping[str, tuple[Metric, Measure]] = {
    metric.id: (metric, of)
    for metric, of in (
        (step_time.STEP_TIME, _step_time),
        (step_time.HOST_STEP_TIME, _host_step_time),
        (data_loading.EXPOSED_DATA_LOADING, _waits("exposed_ns")),
        (data_loading.EXPOSED_SHARE, _exposed_share),
        (data_loading.HIDDEN_DATA_LOADING, _waits("hidden_ns")),
        (data_loading.DATA_LOADING_WAIT, _waits("wait_ns")),
        (data_loading.BATCH_TIME, _batch_time),
        (data_loading.STEP_WITHOUT_WAIT, _without_wait),
        (data_loading.NEEDED_WORKERS, _needed_workers),
        (host_floor.HOST_FLOOR, _host_floor),
        *((metric, _part_time(metric.id.removesuffix("_time"))) for metric in step_time.PART_METRICS),
    )
}

_DEVICE_FIGURES: tuple[tuple[Metric, DeviceMeasure], ...] = (
    (gpu.GPU_UTILIZATION, gpu.gpu_utilization),
    (gpu.EST_SM_EFFICIENCY, gpu.est_sm_efficiency),
    (occupancy.EST_ACHIEVED_OCCUPANCY, occupancy.est_achieved_occupancy),
    (occupancy.KINETO_ACHIEVED_OCCUPANCY, occupancy.kineto_achieved_occupancy),
    (tensor_cores.TENSOR_CORE_SHARE, tensor_cores.tensor_core_share),
    (tensor_cores.TENSOR_CORE_SHARE_HIGH, tensor_cores.tensor_core_share_high),
    (tensor_cores.KERNEL_SUM_TIME, tensor_cores.kernel_sum_time),
    (tensor_cores.TENSOR_CORE_TIME, tensor_cores.tensor_core_time),
    (tensor_cores.MATMUL_LIKE_TIME, tensor_cores.matmul_like_time),
    (tensor_cores.UNKNOWN_KERNEL_TIME, tensor_cores.unknown_kernel_time),
    (idle.HOST_BOUND_SHARE, _host_bound_share),
    (idle.HOST_BOUND_TIME, _host_bound_time),
    (idle.HOST_LATE_TIME, _host_late_time),
    *((metric, _idle_time(reason)) for reason, metric in idle.REASON_METRICS.items()),
    (idle.LAUNCHES, _launches),
    (launch_metrics.QUEUE_MEAN, launch_metrics.queue_mean),
    (launch_metrics.RUN_AHEAD, launch_metrics.run_ahead),
    (launch_metrics.STARVED_SHARE, launch_metrics.starved_share),
    (idle_sums.BUBBLE_TIME, idle_sums.bubble_time),
)
_OF_DEVICE: Mapping[str, tuple[Metric, DeviceMeasure]] = {metric.id: (metric, of) for metric, of in _DEVICE_FIGURES}

#: The catalogue, in the order in which a chooser lists it.
METRICS: tuple[Metric, ...] = tuple(metric for table in (_OF_PROCESS, _OF_DEVICE) for metric, _ in table.values())

#: Tiles of the overview, in order.
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

#: Figures in time bins: (trace, device, edges of the bins) -> fraction per bin; None: not measurable.
BINNED: Mapping[str, Callable[[Trace, int, Int64], Float64 | None]] = {
    "est_sm_efficiency": gpu.sm_efficiency_in,
    "gpu_utilization": gpu.utilization_in,
    "est_achieved_occupancy": occupancy.occupancy_in,
    "tensor_core_share": tensor_cores.tensor_core_share_in,
}
