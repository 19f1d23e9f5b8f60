"""GPU: utilization of each device over time, and which kernels, ops and modules take its time."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.analyses.base import NOT_COMPUTED, Analysis, Series, TimelineStep
from tb_steptime.metrics.catalogue import measure
from tb_steptime.metrics.gpu.counters import sampled_fractions
from tb_steptime.metrics.gpu.occupancy import SLOT_EFFICIENCY, kineto_zero_fraction, slot_efficiency
from tb_steptime.metrics.gpu.utilization import windows_ns
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION
from tb_steptime.metrics.idle.gaps import idle_outside_loader
from tb_steptime.metrics.idle.reasons import HOST_LATE, devices_by_activity
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.metrics.kernels.details import KernelDetail, kernel_details
from tb_steptime.metrics.kernels.table import By, KernelGroup, kernel_table
from tb_steptime.metrics.kernels.time_bins import MEASURED_BINS, TIME_BIN_METRICS, Bins, metrics_in_bins
from tb_steptime.metrics.operators.keys import OpsRecorded, recorded
from tb_steptime.metrics.roofline.dots import Roofline, roofline
from tb_steptime.metrics.tensor_cores.usage import Split, split_kernel_time
from tb_steptime.text import Reason
from tb_steptime.trace.host_ranges import named_ranges, short_range
from tb_steptime.trace.intervals import equal_bins
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

TILES = ("gpu_utilization", "est_sm_efficiency", "slot_efficiency", "est_achieved_occupancy", "tensor_core_share")

#: Number of time bins at a figure's coarsest level, and how many bins of a finer level make one of the level above.
COARSEST_BINS, FINER = 256, 4
#: Minimum length of a bin: a finer level would show single kernels, which the kernel table does better.
FINEST_BIN_NS = 2_000
#: Maximum number of values of all figures, levels and devices, and per byte of the trace's JSON. Compressed, each value
#: takes about a byte, and a trace a fifteenth of its JSON.
BIN_VALUES, BIN_VALUES_PER_JSON_BYTE = 100_000, 0.01 / 15

#: Maximum number of rows of each table; the rest is folded into one line. OPENED_KERNELS: how many kernels, those with
#: most time, can be opened.
TABLE_ROWS: dict[By, int] = {
    "name": 200, "name,op": 200, "name,module": 200, "name,line": 200, "op": 100, "module": 200, "line": 100,
}  # fmt: skip
OPENED_KERNELS = 60

#: Minimum share of the idle time within a range for the range to be named.
RANGE_FRACTION = 0.05

NO_ACTIVITY = Reason("no_gpu_activity")


class BinLevel(msgspec.Struct, frozen=True):
    """A figure at one resolution: thousandths per bin from the span's start on; None where nothing runs."""

    bin_ns: int
    permille: list[int | None]


class MetricLevels(msgspec.Struct, frozen=True):
    """One figure in time, by exact overlap; levels from coarse to fine, each bin FINER bins of the next.

    value: the figure over the whole window; None where nothing runs.
    """

    metric: str
    value: float | None
    levels: list[BinLevel]


class KernelGrouping(msgspec.Struct, frozen=True):
    """The groups with the most time. more_rows, more_count, more_ns: number, launches and time of the other groups."""

    by: By
    rows: list[KernelGroup]
    more_rows: int
    more_count: int
    more_ns: int


class IdleTime(msgspec.Struct, frozen=True):
    """Idle time of a device.

    share    idle time / window
    reason   the reason of most of it, as in IdleNs, but with one id ("host_late") for all reasons for which the host is
             late; None if the device is busy
    range    if the device waits for data, the named range with most of its other idle time; None if no range has much
             of it
    """

    share: float
    reason: str | None
    range: str | None


class DeviceGpu(msgspec.Struct, frozen=True):
    """One device. tiles: figures of the window and its steps, then shares from the GPU's own counters if they were
    sampled. split: its kernel time; the rows and the rest of each table sum to split.kernel_ns. There are tables by
    line if call stacks were recorded, and of modules if modules were.

    idle, roofline: None in a summary that is older than they are. kineto_zero_fraction: share of kernel time for which
    Kineto wrote an impossible occupancy of 0.
    """

    device: int
    name: str
    sm_count: int | None
    tiles: list[Series]
    time_bins: list[MetricLevels]
    idle: IdleTime | None
    split: Split
    kineto_zero_fraction: float | None
    tables: list[KernelGrouping]
    details: list[KernelDetail]
    roofline: Roofline | None = None


class GpuResult(msgspec.Struct, frozen=True):
    """The result of the GPU view. start_ns, end_ns: the window of all figures; unknown: why there is no device."""

    unknown: Reason | None
    start_ns: int
    end_ns: int
    steps: list[TimelineStep]
    devices: list[DeviceGpu]


def analyse(trace: Trace) -> GpuResult:
    steps = find_steps(trace)
    low, high = steps.window
    devices = devices_by_activity(trace)
    tables = {by: kernel_table(trace, by) for by in _groupings(recorded(trace))}
    return GpuResult(
        unknown=None if devices else NO_ACTIVITY,
        start_ns=low,
        end_ns=high,
        steps=[TimelineStep(step.name, step.start_ns, step.end_ns) for step in steps.steps],
        devices=[_device(trace, device, len(devices), tables) for device in devices],
    )


def _groupings(facts: OpsRecorded) -> list[By]:
    """Returns the groupings for which something is recorded. The grouping by module is always included, as in earlier
    releases."""
    missing = {"name,module": not facts.modules, "name,line": not facts.stacks, "line": not facts.stacks}
    return [by for by in TABLE_ROWS if not missing.get(by)]


def _device(trace: Trace, device: int, device_count: int, tables: dict[By, list[KernelGroup]]) -> DeviceGpu:
    properties = trace.devices.get(device)
    split = split_kernel_time(trace, device).total
    values = max(BIN_VALUES, round(BIN_VALUES_PER_JSON_BYTE * trace.json_bytes))
    own_tables = {by: [row for row in rows if row.device == device] for by, rows in tables.items()}
    return DeviceGpu(
        device=device,
        name=trace.device_name(device),
        sm_count=properties.sm_count if properties else None,
        tiles=[_tile(trace, device, metric) for metric in (*TILES, *sampled_fractions(trace, device))],
        time_bins=_time_bins(trace, device, values // device_count),
        idle=_idle_time(trace, device),
        split=split,
        kineto_zero_fraction=kineto_zero_fraction(trace, device),
        tables=[_table(by, rows) for by, rows in own_tables.items()],
        details=kernel_details(trace, device, OPENED_KERNELS),
        roofline=roofline(trace, device),
    )


def _tile(trace: Trace, device: int, metric: str) -> Series:
    if metric != SLOT_EFFICIENCY.id:
        return measure(trace, metric, device)
    figure = slot_efficiency(trace, device)
    return Series(metric, device, figure.value, list(figure.steps), figure.reason)


def _table(by: By, rows: list[KernelGroup]) -> KernelGrouping:
    shown, more = rows[: TABLE_ROWS[by]], rows[TABLE_ROWS[by] :]
    return KernelGrouping(by, shown, len(more), sum(row.count for row in more), sum(row.total_ns for row in more))


def _time_bins(trace: Trace, device: int, values: int) -> list[MetricLevels]:
    low, high = find_steps(trace).window
    if high <= low:
        return []
    levels = _levels(high - low, values)
    edges = equal_bins(low, high, COARSEST_BINS * FINER ** (levels - 1))[1]
    return [
        _metric_levels(metric.id, binned, edges, levels) for metric, binned in metrics_in_bins(trace, device, edges)
    ]


def _levels(window_ns: int, values: int) -> int:
    """Returns how many levels are useful, at least one."""
    levels, bins = 1, COARSEST_BINS
    while True:
        bins *= FINER
        size = (len(TIME_BIN_METRICS) - len(MEASURED_BINS)) * bins * FINER // (FINER - 1)
        if size > values or window_ns < bins * FINEST_BIN_NS:
            return levels
        levels += 1


def _metric_levels(metric: str, finest: Bins, edges: Int64, levels: int) -> MetricLevels:
    bin_ns = int(edges[1] - edges[0])
    joined = [FINER**level for level in reversed(range(levels))]
    value = float(finest.joined(len(finest.part)).values[0])
    return MetricLevels(
        metric,
        None if np.isnan(value) else value,
        [BinLevel(bin_ns * count, finest.joined(count).permille) for count in joined],
    )


def _idle_time(trace: Trace, device: int) -> IdleTime:
    partition = idle_partition(trace)[device]
    by_reason = {key: int(ns.sum()) for key, ns in partition.per_step_ns.items() if key not in HOST_LATE}
    by_reason["host_late"] = int(partition.sum_ns(HOST_LATE).sum())
    idle_ns, span_ns = sum(by_reason.values()), int(windows_ns(trace)[0])
    share = idle_ns / span_ns if span_ns > 0 else 0.0
    if share < IDLE_FRACTION:
        return IdleTime(share, None, None)
    reason = max(by_reason, key=lambda key: by_reason[key])
    if reason != "data_loading":
        return IdleTime(share, reason, None)
    idle = idle_outside_loader(trace, device)
    idle_by_range = {name: (ranges & idle).total_ns for name, ranges in named_ranges(trace).items()}
    name = max(idle_by_range, key=lambda key: idle_by_range[key], default=None)
    return IdleTime(
        share, reason, short_range(name) if name and idle_by_range[name] >= RANGE_FRACTION * idle_ns else None
    )


ANALYSIS = Analysis("gpu", "GPU", GpuResult, analyse, GpuResult(NOT_COMPUTED, 0, 0, [], []))
