"""Details of a kernel's launches: how long they last, when they run, and how the most frequent shape fills the GPU."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.occupancy import filling, is_persistent, slots, sm_counts
from tb_steptime.metrics.gpu.utilization import blocks
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernels.launch_places import kernel_makers
from tb_steptime.metrics.kernels.table import rows_in_window
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import equal_bins, weighted_overlap
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.ops import kernel_op_names
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int32, Int64, distinct

#: Number of bars of a distribution. They are enough to separate two peaks, and few enough to read.
LENGTH_BINS = 24
#: Number of bins of a kernel's calls over the span.
CALL_BINS = 120
#: Maximum number of places from which a kernel is launched.
SITES = 8


class LaunchLengths(msgspec.Struct, frozen=True):
    """A distribution. count[i] launches last at least edges_ns[i] and less than edges_ns[i + 1]; the last edge is
    included.

    Edges grow by one factor, as far as whole ns allow. There is one bin if all launches last equally long.
    """

    edges_ns: list[int]
    count: list[int]


class LaunchTimes(msgspec.Struct, frozen=True):
    """Launches in equal bins of the span, the last of which may be shorter.

    count: number of launches that start in the bin. busy_ns: their time within the bin, by exact overlap. What lasts
    beyond the span's window is in no bin.
    """

    start_ns: int
    bin_ns: int
    count: list[int]
    busy_ns: list[int]


class LaunchShape(msgspec.Struct, frozen=True):
    """The most frequent launch shape of a kernel, and how it fills the GPU. The blocks run in waves of at most sm_count
    x resident.

    grid            as recorded; some calls of ROCm count work-items
    registers       number of registers per thread
    shared_memory   bytes per block
    launches        number of launches with this shape
    shape_count     number of different shapes of the kernel
    persistent      whether the name shows that the blocks loop over tiles

    Values are None if the trace or the limits of the GPU do not show them.
    """

    grid: list[int]
    block: list[int]
    registers: int | None
    shared_memory: int | None
    launches: int
    shape_count: int
    blocks: int | None
    sm_count: int | None
    resident: int | None
    slots: int | None
    waves: int | None
    tail: int | None
    slot_efficiency: float | None
    occupancy: float | None
    kineto_occupancy: float | None
    persistent: bool


class LaunchSite(msgspec.Struct, frozen=True):
    """Where some launches come from: the innermost op and module around them, and the user's line. For a backward
    kernel, module and line are those of its forward op. A field is None if there is none, or it is not recorded."""

    op: str | None
    module: str | None
    source: str | None
    count: int
    total_ns: int


class KernelDetail(msgspec.Struct, frozen=True):
    """A kernel's launches in detail. shape: None if the trace does not contain the kernel's grids. sites: those with
    the most time."""

    name: str
    lengths: LaunchLengths
    calls: LaunchTimes
    shape: LaunchShape | None
    short: str = ""
    sites: list[LaunchSite] = []


def kernel_details(trace: Trace, device: int, limit: int) -> list[KernelDetail]:
    """Returns details of the kernels with the most time on the device, longest first. Only launches that start within
    the span's window count."""
    rows = rows_in_window(trace)
    rows = rows[trace.events.device[trace.kernels.event[rows]] == device]
    event = trace.kernels.event[rows]
    groups = Groups.of(trace.events.name[event].astype(np.int64))
    order = np.argsort(groups.place, kind="stable")
    ends = np.cumsum(np.bincount(groups.place, minlength=len(groups.first)))
    most = np.argsort(-groups.sum(trace.events.dur_ns[event]), kind="stable")[:limit]
    parts = np.split(rows[order], ends[:-1]) if len(rows) else []
    return [_detail(trace, parts[place]) for place in most.tolist()]


def _detail(trace: Trace, rows: Int64) -> KernelDetail:
    event = trace.kernels.event[rows]
    name = trace.name_of(event[0])
    shape, short = _shape(trace, rows), kernel_names(trace)[name]
    times = launch_times(trace, event, find_steps(trace).window)
    return KernelDetail(name, lengths(trace.events.dur_ns[event]), times, shape, short, _sites(trace, rows))


def _sites(trace: Trace, rows: Int64) -> list[LaunchSite]:
    op = np.maximum(kernel_op_names(trace, rows), -1)
    dur = trace.events.dur_ns[trace.kernels.event[rows]]
    makers = kernel_makers(trace)
    module, line = (words.at(rows) for words in (makers.module, makers.line))
    groups = Groups.of(op, module.number, line.number)
    total = groups.sum(dur)
    longest = np.argsort(-total, kind="stable")[:SITES]
    columns = (groups.first[longest].tolist(), groups.count()[longest].tolist(), total[longest].tolist())
    return [
        LaunchSite(trace.strings.get(int(op[first])), module[first], line[first], count, ns)
        for first, count, ns in zip(*columns, strict=True)
    ]


def lengths(dur_ns: Int64) -> LaunchLengths:
    """Returns the distribution of some lengths, of which there must be at least one."""
    low, high = int(dur_ns.min()), int(dur_ns.max())
    if low == high:
        return LaunchLengths([low, high], [len(dur_ns)])
    edges = distinct(np.rint(np.geomspace(max(low, 1), max(high, 1), LENGTH_BINS + 1)).astype(np.int64))
    edges[0], edges[-1] = low, high  # rounding must lose no launch
    if len(edges) < 2:
        return LaunchLengths([low, high], [len(dur_ns)])
    place = np.searchsorted(edges[1:-1], dur_ns, side="right")
    return LaunchLengths(edges.tolist(), np.bincount(place, minlength=len(edges) - 1).tolist())


def launch_times(trace: Trace, event: Int64, window: tuple[int, int]) -> LaunchTimes:
    """Returns when these events, which must begin within the window, begin and run."""
    low, high = window
    bin_ns, edges = equal_bins(low, high, CALL_BINS)
    start, dur = trace.events.start_ns[event], trace.events.dur_ns[event]
    count = np.bincount((start - low) // bin_ns, minlength=len(edges) - 1)
    busy = np.rint(weighted_overlap(start, start + dur, np.ones(len(event)), edges)).astype(np.int64)
    return LaunchTimes(low, bin_ns, count.tolist(), busy.tolist())


def _shape(trace: Trace, rows: Int64) -> LaunchShape | None:
    number = _shape_numbers(trace)[rows]
    rows, number = rows[number >= 0], number[number >= 0]
    if not len(rows):
        return None
    count = np.bincount(number)
    most = int(count.argmax())
    return _shape_of(trace, int(rows[number == most][0]), int(count[most]), int((count > 0).sum()))


@shared
def _shape_numbers(trace: Trace) -> Int32:
    """Returns the number of each kernel's launch shape; -1 if the trace does not record its grid."""
    kernels = trace.kernels
    if kernels.grid is None:
        return np.full(len(kernels), -1, np.int32)
    wide = (axis for columns in (kernels.grid, kernels.block) if columns is not None for axis in columns.T)
    narrow = (column for column in (kernels.registers, kernels.shared_memory) if column is not None)
    numbers = Groups.of(*wide, *narrow).place
    return np.where(kernels.grid.min(axis=1) > 0, numbers, -1).astype(np.int32)


def _shape_of(trace: Trace, row: int, launches: int, shape_count: int) -> LaunchShape:
    kernels, fill = trace.kernels, filling(trace)
    assert kernels.grid is not None
    return LaunchShape(
        grid=kernels.grid[row].tolist(),
        block=[] if kernels.block is None else kernels.block[row].tolist(),
        registers=_none_if_unknown(kernels.registers, row),
        shared_memory=_none_if_unknown(kernels.shared_memory, row),
        launches=launches,
        shape_count=shape_count,
        blocks=_none_if_unknown(blocks(trace), row),
        sm_count=int(sm_counts(trace)[row]) or None,
        resident=_none_if_unknown(fill.resident, row),
        slots=int(slots(trace)[row]) or None,
        waves=_none_if_unknown(fill.waves, row),
        tail=_none_if_unknown(fill.tail, row),
        slot_efficiency=_finite(fill.slot_efficiency, row),
        occupancy=_finite(fill.occupancy, row),
        kineto_occupancy=_finite(kernels.kineto_occupancy, row),
        persistent=bool(is_persistent(trace)[row]),
    )


def _none_if_unknown(column: Int64 | Int32 | None, row: int) -> int | None:
    return None if column is None or column[row] < 0 else int(column[row])


def _finite(column: Float64 | None, row: int) -> float | None:
    return None if column is None or not np.isfinite(column[row]) else float(column[row])
