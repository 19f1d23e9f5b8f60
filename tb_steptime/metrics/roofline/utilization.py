"""MFU and HFU: the share of the GPU's peak rate that the model's arithmetic uses, and the number of operations per
step.

step      |------------------------ 100 ms ------------------------|
products    312 TFLOP of BF16 on a GPU with 989 TFLOP/s: 31.5 ms at the peak          MFU 31.5 %
            60 of these TFLOP repeat a forward pass in backward       MFU without them, HFU with them

Products, convolutions and attention count, as in `torch.utils.flop_counter`. What a causal mask leaves out is counted,
and elementwise ops are not. Each input type is compared with its own peak. An op counts in the step in which its first
kernel starts. Kernels without an op, such as those of captured graphs, do not count. MFU is then too low, and None if
they take most of the time on products.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, mean_figure, ratio_figure, share_of_step, unknown
from tb_steptime.metrics.flops.peaks import Peaks, device_peaks
from tb_steptime.metrics.gpu.activities import Product
from tb_steptime.metrics.gpu.utilization import exchanging, kernel_rows
from tb_steptime.metrics.phases.checkpoints import are_recomputed
from tb_steptime.metrics.roofline.kernel_work import kernel_work, product_calls
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins, tensor_products
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int64

MFU = Metric(
    "mfu", "MFU", Unit.FRACTION,
    "Model FLOPs utilization: the time that products, convolutions and attention would take at the GPU's peak rate for "
    "their type, as a share of the step. Elementwise ops and work that backward repeats (checkpointing) are left out; "
    "what a causal mask leaves out is counted.", colour="tensor",
)  # fmt: skip
HFU = Metric(
    "hfu", "HFU", Unit.FRACTION,
    "Hardware FLOPs utilization: as MFU, with the forward work that backward repeats (checkpointing). Equal to MFU "
    "where nothing is seen to be repeated.", colour="tensor",
)  # fmt: skip
MODEL_FLOPS = Metric(
    "model_gflop", "Model GFLOP", Unit.NUMBER,
    "Billions of floating-point operations of products, convolutions and attention a step on this GPU, without those "
    "that backward repeats. A multiply and an add are two.", colour="tensor",
)  # fmt: skip
KNOWN_FLOPS_SHARE = Metric(
    "known_flops_share", "Kernel time with known FLOPs", Unit.FRACTION,
    "Kernel time in ops whose operations follow from recorded shapes, as a share of the kernel time without that of "
    "communication.",
    colour="tensor",
)  # fmt: skip

#: Minimum share of the time on products whose operations are known. With less, MFU is unknown.
LEAST_KNOWN = 0.5

NO_SHAPES = Reason("inputs_not_recorded")
NO_PEAKS = Reason("peaks_not_known")
NO_FLOPS = Reason("flops_mostly_unknown")


class ComputingOps(msgspec.Struct, frozen=True, eq=False):
    """Ops that compute on a device, with one entry for each.

    flops       operations of the op
    roof_ns     its time at the peak of its type; NaN if unknown
    start_ns    start of its first kernel
    recomputed  whether it repeats a part of the forward pass in the backward pass
    """

    flops: Float64
    roof_ns: Float64
    start_ns: Int64
    recomputed: Bool


@shared
def computed_ops(trace: Trace, device: int) -> ComputingOps:
    """Returns the products with known operations that have kernels on the device."""
    products, rows = product_calls(trace), kernel_rows(trace, device)
    rows = rows[products.op[rows] >= 0]
    ops, first = np.unique(products.op[rows].astype(np.int64), return_index=True)
    rows = rows[first]
    flops = np.array([product.work.flops if product.work else 0 for product in products.distinct], np.float64)
    recomputed = np.zeros(len(ops), bool)
    recorded = ops < len(trace.events)
    recomputed[recorded] = are_recomputed(trace, ops[recorded])
    return ComputingOps(
        flops=flops[products.place[rows]],
        roof_ns=products_at_peak_ns(trace, device, rows),
        start_ns=trace.events.start_ns[trace.kernels.event[rows]],
        recomputed=recomputed,
    )


def products_at_peak_ns(trace: Trace, device: int, rows: Int64) -> Float64:
    """Returns for each of these kernels the time that its whole op would take at the peak of its type, in ns; NaN if
    unknown. The value is undefined for kernels that do not belong to a product."""
    peaks, products = device_peaks(trace, device), product_calls(trace)
    if peaks is None or not products.distinct:
        return np.full(len(rows), np.nan)
    numbers, column = np.unique(tensor_products(trace)[rows], return_inverse=True)
    times = [[_at_peak_ns(peaks, product, number) for number in numbers.tolist()] for product in products.distinct]
    return np.array(times, np.float64)[products.place[rows], column]


def _at_peak_ns(peaks: Peaks, product: Product, number: int) -> float:
    roof = peaks.roof(product.work.dtype, number) if product.work else None
    return product.work.flops / roof / 1000 if product.work and roof else np.nan  # TFLOP/s = 1000 FLOP/ns


def mfu(trace: Trace, device: int) -> Figure:
    """Returns the time at the peak as a share of the step, without recomputed ops."""
    return _utilization(trace, device, ~computed_ops(trace, device).recomputed)


def hfu(trace: Trace, device: int) -> Figure:
    """Returns the time at the peak as a share of the step, including recomputed ops."""
    return _utilization(trace, device, np.ones(len(computed_ops(trace, device).flops), bool))


def _utilization(trace: Trace, device: int, counted: Bool) -> Figure:
    reason = _why_not(trace, device) or (NO_PEAKS if device_peaks(trace, device) is None else None)
    if reason is not None:
        return unknown(trace, reason)
    roof_ns = computed_ops(trace, device).roof_ns
    at_peak = _per_step(trace, device, np.where(counted, np.nan_to_num(roof_ns), 0.0))
    return share_of_step(trace, at_peak)


def model_gflop(trace: Trace, device: int) -> Figure:
    """Returns the mean number of operations per step without recomputed ones, in billions."""
    reason = _why_not(trace, device)
    ops = computed_ops(trace, device)
    values = _per_step(trace, device, np.where(ops.recomputed, 0.0, ops.flops / 1e9))
    return unknown(trace, reason) if reason else mean_figure(values)


def _per_step(trace: Trace, device: int, values: Float64) -> Float64:
    steps, start = find_steps(trace), computed_ops(trace, device).start_ns
    order = np.argsort(start, kind="stable")
    sums = np.concatenate((np.zeros(1), np.cumsum(values[order])))
    low, high = (np.searchsorted(start[order], edges) for edges in (steps.start_ns, steps.end_ns))
    return sums[high] - sums[low]


def _why_not(trace: Trace, device: int) -> Reason | None:
    """Returns the reason why the operations of the device's steps are unknown; None if they are known."""
    if trace.events.shapes is None:
        return NO_SHAPES
    share = known_products(trace, device)
    return NO_FLOPS if share is None or share < LEAST_KNOWN else None


def known_products(trace: Trace, device: int) -> float | None:
    """Returns the share of the time of product kernels whose operations are known; None without any such kernel."""
    rows = kernel_rows(trace, device)
    dur = trace.events.dur_ns.take(trace.kernels.event.take(rows))
    on_cores = kernel_bins(trace).take(rows)
    is_product = (on_cores == BINS.index("tensor_core")) | (on_cores == BINS.index("matmul_like"))
    whole = int(dur[is_product].sum())
    part = int(dur[is_product & (product_calls(trace).op[rows] >= 0)].sum())
    return part / whole if whole else None


def known_flops_share(trace: Trace, device: int) -> Figure:
    """Returns the kernel time in ops with a formula and known sizes as a share of the kernel time of all but
    collectives."""
    if trace.events.shapes is None:
        return unknown(trace, NO_SHAPES)
    rows, work = kernel_rows(trace, device), kernel_work(trace)
    rows = rows[~exchanging(trace, rows)]
    has_work = work.has_work[rows]
    event, steps = trace.kernels.event[rows], find_steps(trace)
    start, dur = trace.events.start_ns[event], trace.events.dur_ns[event]
    low, high = steps.window
    step = steps.begun_at(start)
    inside = (start >= low) & (start < high) & (step >= 0)
    count = len(steps.steps)
    part, whole = (
        np.bincount(step[inside], np.where(chosen, dur, 0)[inside], minlength=count)
        for chosen in (has_work, np.ones(len(has_work), bool))
    )
    joined = [np.concatenate(([column.sum()], column)) for column in (part, whole)]
    return ratio_figure(joined[0], joined[1], Reason("no_kernels_in_steps"))
