"""How busy a device is: GPU utilization and est. SM efficiency, over the span, over each step, and in time bins.

    kernel, stream 7   aaaaaaaa            a: 0.5 blocks per SM
    kernel, stream 9       bbbbbbbb        b: 2 blocks per SM
    utilization        ------------        1 while any kernel runs
    SM efficiency      ....########        0.5, then min(1, 2.5), then min(1, 2)

`occupancy` measures how full the used SMs are, and the package `idle` why the device waits.

Kernels of collectives are recognised by their names (`metrics.kernel_names`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, ratio_figure, unknown
from tb_steptime.metrics.kernel_names.work_kinds import is_collective, is_collective_call
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.intervals import BEFORE_ALL, NEVER, Intervals, sums_before
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Bool, Float64, Int64, Kind, distinct_in, is_in, values_at

GPU_UTILIZATION = Metric(
    "gpu_utilization", "GPU utilization", Unit.FRACTION,
    "Share of the span's time in which at least one kernel runs on the GPU, however small the kernel is. "
    "Copies and memory sets do not count here; where it says 'GPU works', they do.", colour="kernel",
)  # fmt: skip
EST_SM_EFFICIENCY = Metric(
    "est_sm_efficiency", "Est. SM efficiency", Unit.FRACTION,
    "How many of the GPU's multiprocessors (SMs) have work, as a mean over all the time. At each instant: "
    "blocks of the running kernels / SMs, at most 1. Idle time counts as 0.", colour="kernel",
)  # fmt: skip

NO_BLOCKS = Reason("no_blocks_recorded")
NO_KERNELS = Reason("no_kernels_in_steps")

#: Launch calls of ROCm whose grid counts work-items (threads) and not blocks, as globalWorkSize of
#: hipExtModuleLaunchKernel does.
WORK_ITEM_CALLS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")

#: Fractions are summed as integers of this unit, so that a kernel's end subtracts exactly what its start added.
FIXED_POINT = 1 << 32


@shared
def has_device_activity(trace: Trace) -> bool:
    """Returns whether anything of this trace ran on a device."""
    return bool(len(trace.events.rows(*DEVICE_KINDS)))


@shared
def devices_with_activity(trace: Trace) -> tuple[int, ...]:
    """Returns the ids of the devices on which a kernel, a copy or a memset ran, ascending."""
    device = trace.events.device[trace.events.rows(*DEVICE_KINDS)]
    return tuple(distinct_in(device[device >= 0]).tolist())


@shared
def kernel_rows(trace: Trace, device: int) -> Int64:
    """Returns the rows of the kernel table that ran on the device, in time order."""
    return np.flatnonzero(trace.events.device.take(trace.kernels.event) == device)


def kernel_rows_in_window(trace: Trace, device: int, steps: Steps | None = None) -> Int64:
    """Returns the rows of the kernel table that ran on the device and start within the window of all steps, or in one
    of these steps, in time order."""
    rows, (low, high) = kernel_rows(trace, device), find_steps(trace).window
    start = trace.events.start_ns.take(trace.kernels.event.take(rows))
    return rows[(start >= low) & (start < high) if steps is None else steps.holding(start) >= 0]


def runs_alone(trace: Trace, rows: Int64) -> Bool:
    """Returns which of these kernels, given in time order, run while none of the others does.

    kernel 7 | aaa..bbb.ccc |
    kernel 9 | ......d..... |   ->  only a and c are alone
    """
    start = trace.events.start_ns.take(trace.kernels.event.take(rows))
    end = trace.events.ends(trace.kernels.event[rows])
    reach = np.concatenate(([BEFORE_ALL], np.maximum.accumulate(end)))[:-1]
    after = np.concatenate((start, [NEVER]))[1:]
    return (start >= reach) & (after >= end)


@shared
def kernel_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when at least one kernel runs on the device, over the whole recording."""
    return activity_intervals(trace, device, Kind.KERNEL)


@shared
def busy_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when kernels, copies or memsets of any stream run on the device, over the whole recording."""
    kernels = kernel_intervals(trace, device)
    copies = activity_intervals(trace, device, Kind.MEMCPY, Kind.MEMSET)
    return kernels | copies if len(copies) else kernels


def activity_intervals(trace: Trace, device: int, *kinds: Kind) -> Intervals:
    """Returns when activities of these kinds run on the device, over the whole recording."""
    events, rows = trace.events, trace.events.rows(*kinds)
    rows = rows[events.device[rows] == device]
    return Intervals.of_events(events, rows)


def gpu_utilization(trace: Trace, device: int) -> Figure:
    """Returns the union of the device's kernels within the window / the window, as torch-tb-profiler does."""
    kernels = kernel_intervals(trace, device)
    covered = kernels.overlap_ns(*windows(trace))
    return ratio_figure(covered, windows_ns(trace), None)


@shared
def blocks(trace: Trace) -> Int64 | None:
    """Returns the number of blocks of each kernel's grid, -1 if the file does not record it; None if it records no grid
    at all.

    ROCm counts the grid of some launch calls in work-items. If it does not record the launch call, the number is
    unknown.
    """
    grid, block = trace.kernels.grid, trace.kernels.block
    if grid is None:
        return None
    in_items, uncertain = _units_of_calls(trace)
    if (mended := trace.kernels.in_blocks) is not None:
        in_items, uncertain = in_items & ~mended, uncertain & ~mended
    if in_items.any():
        threads = np.full_like(grid, -1) if block is None else block
        grid = np.where(in_items[:, None], np.where(threads > 0, -(-grid // np.maximum(threads, 1)), -1), grid)
    counted: Int64 = grid.prod(axis=1, dtype=np.int64)
    return np.where((grid.min(axis=1, initial=1) > 0) & ~uncertain, counted, -1)


@shared
def blocks_per_sm(trace: Trace) -> Float64:
    """Returns the blocks per SM of each kernel. It is NaN if unknown.

    The value is recomputed from the grid and the device's SMs if both are known, because the file rounds to six digits
    and has contained negative numbers and infinities. Otherwise it is the file's value, if that is finite and positive.
    Some profilers write only grids. These are used if the blocks of all kernels of a device are known, because a
    missing kernel would count as none.
    """
    kernels, on = trace.kernels, trace.events.device[trace.kernels.event]
    recorded = np.full(len(kernels), np.nan) if kernels.blocks_per_sm is None else kernels.blocks_per_sm
    result = np.where(np.isfinite(recorded) & (recorded > 0), recorded, np.nan)
    counted = blocks(trace)
    for device in trace.devices.values():
        sm_count = device.sm_count
        on_device = on == device.id
        if counted is None or not sm_count:
            continue
        has_count = on_device & (counted > 0)
        if not np.isnan(recorded[on_device]).all() or has_count.sum() == on_device.sum():
            result[has_count] = counted[has_count] / sm_count
    return result


@shared
def sm_levels(trace: Trace, device: int) -> Levels | None:
    """Returns min(1, sum over running kernels of blocks per SM) over the whole recording. Kernels without the value add
    nothing; None if no kernel has it."""
    height, rows = blocks_per_sm(trace), kernel_rows(trace, device)
    rows = rows[np.isfinite(height[rows])]
    if not len(rows):
        return None
    event = trace.kernels.event[rows]
    return levels(trace.events.start_ns[event], trace.events.ends(event), height[rows])


@shared
def est_sm_efficiency(trace: Trace, device: int) -> Figure:
    """Returns min(1, sum over running kernels of blocks per SM), integrated over the window / the window, as
    torch-tb-profiler does."""
    level = sm_levels(trace, device)
    if level is None:
        return unknown(trace, NO_BLOCKS if len(kernel_rows(trace, device)) else NO_KERNELS)
    return ratio_figure(level.integral_ns(*windows(trace)), windows_ns(trace), None)


def windows(trace: Trace) -> tuple[Int64, Int64]:
    """Returns the starts and the ends of the windows for which figures are measured: first the span's, then each
    step's."""
    steps = find_steps(trace)
    low, high = steps.window
    return np.concatenate(([low], steps.start_ns)), np.concatenate(([high], steps.end_ns))


def windows_ns(trace: Trace) -> Int64:
    """Returns the lengths of `windows`. The time between recordings that count as steps is not the span's, because the
    profiler was off."""
    (start, end), steps = windows(trace), find_steps(trace)
    length = end - start
    return np.append(length[1:].sum(), length[1:]) if steps.by == "recording" else length


def sums_in_windows(trace: Trace, in_bins: Callable[[Int64], Sequence[Float64]]) -> list[Float64]:
    """Returns the sums over each of `windows` of what `in_bins` measures, one entry for each of its columns. in_bins:
    gets the edges of bins."""
    start, end = windows(trace)
    edges, place = np.unique(np.concatenate((start, end)), return_inverse=True)
    low, high = place.reshape(2, -1)
    before = [np.concatenate(([0.0], np.cumsum(each))) for each in in_bins(edges)]
    return [column[high] - column[low] for column in before]


def _units_of_calls(trace: Trace) -> tuple[Bool, Bool]:
    events = trace.events
    calls = distinct_in(events.name[events.rows(*CALL_KINDS)]).tolist()
    of_rocm = [name for name in calls if trace.strings[name].startswith("hip")]
    if not of_rocm:
        uncertain = (trace.job.runtime or "").startswith("HIP")  # it records no launch call of a kernel
        return np.zeros(len(trace.kernels), bool), np.full(len(trace.kernels), uncertain)
    by_name = values_at(events.name, find_launches(trace).calls_of(trace.kernels.event))
    in_items = is_in(by_name, [name for name in of_rocm if trace.strings[name] in WORK_ITEM_CALLS])
    return in_items, ~is_in(by_name, [name for name in of_rocm if "Graph" not in trace.strings[name]])


class Levels(msgspec.Struct, frozen=True, eq=False):
    """A step function of time: value[i] from knots[i] to knots[i+1], and 0 before the first knot and after the last
    one."""

    knots: Int64
    value: Float64

    def integral_ns(self, start: Int64, end: Int64) -> Float64:
        """Returns the integral over each window [start[i], end[i])."""
        before_start, before_end = np.split(self._before(np.concatenate((start, end))), 2)
        return np.subtract(before_end, before_start)

    def _before(self, instants: Int64) -> Float64:
        if len(self.knots) < 2:
            return np.zeros(len(instants))
        total = sums_before(self.value * np.diff(self.knots))
        segment = np.clip(np.searchsorted(self.knots, instants, side="right") - 1, 0, len(self.value) - 1)
        inside = np.clip(instants, self.knots[0], self.knots[-1]) - self.knots[segment]
        return total[segment] + self.value[segment] * inside


def levels(start: Int64, end: Int64, height: Float64) -> Levels:
    """Returns min(1, sum of the heights of the open intervals) at each instant. Heights above 1 count as 1, because the
    sum is limited to 1 anyway and small numbers stay exact."""
    units = np.rint(np.minimum(height, 1.0) * FIXED_POINT).astype(np.int64)
    knots = np.concatenate((start, end))
    order = np.argsort(knots)
    knots = knots[order]  # no time lies between knots at one instant, so their order does not matter
    running = np.cumsum(np.concatenate((units, -units))[order])[:-1]
    return Levels(knots, np.minimum(running, FIXED_POINT) / FIXED_POINT)


@shared
def collective_names(trace: Trace) -> Bool:
    """Returns for each string of the trace's table whether it is a collective's name: that of a kernel, a CPU op or a
    named range."""
    judged = np.zeros(len(trace.strings), bool)
    for judge, kinds in ((is_collective, (Kind.KERNEL,)), (is_collective_call, (Kind.CPU_OP, Kind.USER))):
        for name in distinct_in(trace.events.name[trace.events.rows(*kinds)]).tolist():
            judged[name] |= judge(trace.strings[name])
    return judged


def collective_kernels(trace: Trace) -> Int64:
    """Returns the rows of the event table that are kernels of collectives, on any device."""
    kernels = trace.events.rows(Kind.KERNEL)
    return kernels[collective_names(trace)[trace.events.name[kernels]]]


def computing_kernels(trace: Trace) -> Int64:
    """Returns the rows of the event table that are all other kernels."""
    kernels = trace.events.rows(Kind.KERNEL)
    return kernels[~collective_names(trace)[trace.events.name[kernels]]]


def exchanging(trace: Trace, rows: Int64) -> Bool:
    """Returns which of these rows of `Trace.kernels` are collectives."""
    return collective_names(trace)[trace.events.name[trace.kernels.event[rows]]]


def computing_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when at least one computing kernel runs on the device, over the whole recording. Every kernel but a
    collective's computes."""
    events, kernels = trace.events, kernel_rows(trace, device)
    exchanges = exchanging(trace, kernels)
    if not exchanges.any():
        return kernel_intervals(trace, device)
    rows = trace.kernels.event[kernels[~exchanges]]
    return Intervals.of_events(events, rows)
