"""Tensor cores: how much kernel time runs on them, could, or is unknown."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.analyses.base import NOT_COMPUTED, Analysis, Series
from tb_steptime.metrics.catalogue import main_device, measure
from tb_steptime.metrics.gpu.utilization import NO_KERNELS, kernel_rows_in_window
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernels.waste import LaunchWaste, launch_waste
from tb_steptime.metrics.tensor_cores.opportunities import (
    Obstacle,
    Opportunity,
    OpSplit,
    PhaseSplit,
    opportunities,
    split_by_op,
    split_by_phase,
)
from tb_steptime.metrics.tensor_cores.product_rates import ProductRates, product_rates
from tb_steptime.metrics.tensor_cores.usage import (
    BINS,
    NO_TENSOR_CORES,
    KernelBin,
    Split,
    device_has_tensor_cores,
    kernel_answers,
    kernel_bins,
    profiler_tab,
    split_kernel_time,
)
from tb_steptime.text import Reason
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

TILES = ("tensor_core_share", "kernel_sum_time", "matmul_like_time", "unknown_kernel_time")

#: Maximum number of names in the table; the others are folded into one line.
KERNEL_ROWS = 200

NO_ACTIVITY = Reason("no_gpu_activity")


class SplitStep(msgspec.Struct, frozen=True):
    """The split of the time of the kernels that start in one step."""

    name: str
    split: Split


class KernelRow(msgspec.Struct, frozen=True):
    """Kernels of one name that went to one bin: tensor_core, matmul_like, unknown or other.

    short is the kernel's short name, reason what the deciding rule says of the name. A name may have two rows: a layout
    conversion is matmul-like where its op ran on the plain cores, and other where it served tensor cores. share is of
    the device's kernel time.
    """

    name: str
    bin: KernelBin
    reason: str
    count: int
    total_ns: int
    share: float
    short: str = ""


class DeviceSplit(msgspec.Struct, frozen=True):
    """A device's kernels over the span. total.kernel_ns = sum of the four. The share is in [share_low, share_high],
    unless `unclassified` says that too much kernel time is of unknown kernels for the range to mean anything.

    profiler_tab_share is what the PyTorch Profiler tab counts, profiler_tab_why why it differs (None: it does not).
    Rows are the kernels with most time, `more` folds the rest. ops and phases split the same kernels, to the same
    total. Opportunities are what makes up matmul_like_ns, most gain first; opportunities_more folds the rest, and
    obstacles sums all of them by why they are none yet. Gains are over the span, at most. waste is per step. rates: how
    fast products run on tensor cores; None in summaries of before it was measured.
    """

    device: int
    name: str
    total: Split
    share_low: float | None
    share_high: float | None
    matmul_like_share: float | None
    profiler_tab_share: float | None
    profiler_tab_why: Reason | None
    steps: list[SplitStep]
    kernels: list[KernelRow]
    more_count: int
    more_kernels: int
    more_ns: int
    ops: list[OpSplit]
    phases: list[PhaseSplit]
    opportunities: list[Opportunity]
    obstacles: list[Obstacle]
    opportunities_more_count: int
    opportunities_more_ns: int
    opportunities_more_gain_ns: int
    waste: LaunchWaste
    rates: ProductRates | None = None
    unclassified: float | None = None


class TensorCoresResult(msgspec.Struct, frozen=True):
    """The result of the tensor core view. unknown: why there is nothing to split (no kernels, a GPU without tensor
    cores)."""

    unknown: Reason | None
    devices: list[DeviceSplit]
    tiles: list[Series]


def analyse(trace: Trace) -> TensorCoresResult:
    devices = [_device(trace, device) for device in devices_by_activity(trace)]
    return TensorCoresResult(
        unknown=_unknown(trace, devices),
        devices=devices,
        tiles=[measure(trace, metric, main_device(trace)) for metric in TILES],
    )


def _unknown(trace: Trace, devices: list[DeviceSplit]) -> Reason | None:
    if not devices:
        return NO_ACTIVITY
    if not any(each.total.kernel_ns for each in devices):
        return NO_KERNELS
    return None if any(device_has_tensor_cores(trace, each.device) for each in devices) else NO_TENSOR_CORES


def _device(trace: Trace, device: int) -> DeviceSplit:
    splits = split_kernel_time(trace, device)
    total, steps = splits.total, splits.steps
    has = device_has_tensor_cores(trace, device)
    tab = profiler_tab(trace, device)
    rows = _kernel_table(trace, device, total.kernel_ns)
    more = rows[KERNEL_ROWS:]
    result = opportunities(trace, device)
    return DeviceSplit(
        device=device,
        name=trace.device_name(device),
        total=total,
        share_low=total.share_low if has else None,
        share_high=total.share_high if has else None,
        matmul_like_share=total.matmul_like_share if has else None,
        profiler_tab_share=tab.share,
        profiler_tab_why=tab.why,
        steps=[SplitStep(step.name, split) for step, split in zip(find_steps(trace).steps, steps, strict=True)],
        kernels=rows[:KERNEL_ROWS],
        more_count=sum(row.count for row in more),
        more_kernels=len(more),
        more_ns=sum(row.total_ns for row in more),
        ops=split_by_op(trace, device),
        phases=split_by_phase(trace, device),
        opportunities=result.rows,
        obstacles=result.obstacles,
        opportunities_more_count=result.more_count,
        opportunities_more_ns=result.more_ns,
        opportunities_more_gain_ns=result.more_gain_ns,
        waste=launch_waste(trace, device),
        rates=product_rates(trace, device) if has else None,
        unclassified=total.unclassified if has else None,
    )


def _kernel_table(trace: Trace, device: int, kernel_ns: int) -> list[KernelRow]:
    """Returns the kernels of the device that start within the span's window, by name and bin, those with most time
    first."""
    rows = kernel_rows_in_window(trace, device)
    event, answers = trace.kernels.event[rows], kernel_answers(trace)
    keys = answers.place[rows] * len(BINS) + kernel_bins(trace)[rows]
    distinct, first, place = np.unique(keys, return_index=True, return_inverse=True)
    dur = trace.events.dur_ns[event]
    total = exact_sums(place, dur, len(distinct))
    launches = np.bincount(place, minlength=len(distinct))
    names = [trace.strings[row] for row in trace.events.name[event[first]].tolist()]
    shorter = kernel_names(trace)
    table = [
        KernelRow(
            name=names[i],
            short=shorter[names[i]],
            bin=BINS[int(distinct[i]) % len(BINS)],
            reason=answers.distinct[int(distinct[i]) // len(BINS)].reason,
            count=int(launches[i]),
            total_ns=int(total[i]),
            share=int(total[i]) / kernel_ns if kernel_ns else 0.0,
        )
        for i in range(len(distinct))
    ]
    return sorted(table, key=lambda row: (-row.total_ns, row.name, row.bin))


ANALYSIS = Analysis("tensor_cores", "Tensor cores", TensorCoresResult, analyse, TensorCoresResult(NOT_COMPUTED, [], []))
