"""MFU and HFU: the share of the GPU's peak rate that the model's arithmetic uses, and the number of operations per
step.

step      |------------------------ 100 ms ------------------------|
products    312 TFLOP of BF16 on a GPU with 989 TFLOP/s: 31.5 ms at the peak          MFU 31.5 %
            60 of these TFLOP repeat a forward pass in backward       MFU without them, HFU with them

Products, convolutions and attention count, as in `torch.utils.flop_counter`. What a causal mask leaves out is counted,
and elementwise ops are not. Each input type is compared with its own peak. An op counts in the step in which its first
kernel starts. Kernels without an op, such as those of captured graphs, do not count. MFU is then too low, and None if
they take most of the time on products.

Each kernel works for an op, whose computation and memory traffic have a known minimum.

    aten::linear  |--------------------|
    aten::addmm     |----------------|        the innermost product counts
    aten::copy_       |--|                    but an op with bytes of its own launches its own kernels
    kernels             c        g

Ops inside a product that have no formula, such as transforms, may launch its kernels. A memory-bound op has only the
kernels of which it is the innermost op.

The estimated use of tensor cores and memory by ops is compared with what the GPU measured of both in the same time.

kernels    [ product: 40 us at the peak ]   [ add: 10 us at the peak bandwidth ]
samples    (  0.55  ](  0.60  ](  0.40   ](   0.20   ]
est.       time at the peak / time that samples cover

The work of an op is spread evenly over its kernels. An estimate would be too low if much of the work were unknown,
although the formula is right. It is therefore only given if the work of nearly all kernel time is known.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, mean_figure, ratio_figure, share_of_step, unknown
from tb_steptime.metrics.flops.least_bytes import MEMORY_OPS, moved_by
from tb_steptime.metrics.flops.peaks import Peaks, device_peaks
from tb_steptime.metrics.gpu.activities import (
    Product,
    Products,
    find_products,
    input_text,
    inputs_of,
    labelled_ops,
    names_among,
)
from tb_steptime.metrics.gpu.counters import DRAM, TENSOR_ACTIVE, Samples, Validation, beside_samples, samples
from tb_steptime.metrics.gpu.utilization import exchanging, kernel_rows
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins, tensor_products
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import sums_before, weighted_overlap
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, are_named, named_in, shared
from tb_steptime.trace.nesting import innermost, outermost
from tb_steptime.trace.ops import kernel_op_names, kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int64, Kind, is_in

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
    flops = np.array([each.work.flops if each.work else 0 for each in products.distinct], np.float64)
    recomputed = np.zeros(len(ops), bool)
    recorded = ops < len(trace.events)
    recomputed[recorded] = recomputed_ops(trace, ops[recorded])
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
    times = [[_at_peak_ns(peaks, each, number) for number in numbers.tolist()] for each in products.distinct]
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


# Forward work that the backward pass repeats because its results were not kept (activation checkpointing).
#
#     forward    |-- aten::linear --|
#     backward        |- evaluate_function: GeluBackward0 --------------|
#                        |-- aten::linear --|  A node's own formula never calls it, so the forward pass runs again.
#                     |- evaluate_function: CheckpointFunctionBackward -|
#                        |-- aten::addmm --|   It is directly within this node, so the forward pass runs again.
#
# A gradient of a gradient (create_graph=True) calls other ops than these. Custom nodes that call `F.linear` in their
# backward are mistaken for repeated forward work.

#: Ops that modules call, but no gradient formula.
_FORWARD_ONLY = frozenset(
    f"aten::{name}" for name in ("linear", "conv1d", "conv2d", "conv3d", "scaled_dot_product_attention")
)
#: The node of a checkpoint that repeats its forward pass and then runs a backward pass of its own.
_CHECKPOINT = "CheckpointFunctionBackward"


def recomputed_ops(trace: Trace, ops: Int64) -> Bool:
    """Returns which of these ops, rows of the event table, belong to a forward pass within the backward pass."""
    nodes = backward_nodes(trace).event.astype(np.int64)
    node = innermost(trace, nodes, ops)
    inside = node >= 0
    if not inside.any():
        return inside
    rows = trace.events.rows(Kind.CPU_OP)
    forward_only = are_named(trace, rows, _FORWARD_ONLY.__contains__)
    calls = rows[forward_only]
    around = np.where(is_in(ops, calls), ops, innermost(trace, calls, ops))
    in_nodes = (around >= 0) & (innermost(trace, nodes, around) >= 0)
    checkpoint = named_in(trace, nodes, lambda name: name.endswith(_CHECKPOINT))[trace.events.name[node]]
    return inside & (in_nodes | checkpoint)


@shared
def product_calls(trace: Trace) -> Products:
    """Returns the products with known operations that are not inside another product with kernels of its own, in the
    form of `find_products`. Versions of torch from 2021 compute the gradient of a convolution's input in an op inside
    the convolution's backward, to which it belongs."""
    products = find_products(trace)
    computing = np.flatnonzero(products.has_work & ~_moves(trace))
    ops, first = np.unique(products.op[computing].astype(np.int64), return_index=True)
    op, place = np.full_like(products.op, -1), np.full_like(products.place, -1)
    if len(computing):
        of_ops, rows = np.arange(len(ops)), ops[ops < len(trace.events)]
        of_ops[: len(rows)] = np.searchsorted(rows, outermost(trace, rows, rows))
        root = of_ops[np.searchsorted(ops, products.op[computing])]
        op[computing], place[computing] = ops[root], products.place[computing][first][root]
    return Products(op, place, products.distinct)


@shared
def kernel_work(trace: Trace) -> Products:
    """Returns for each row of the kernel table the op with a formula, and the work of one call of it; -1 for none."""
    products, labelled = product_calls(trace), labelled_ops(trace)
    own = np.where(labelled >= 0, labelled, kernel_origins(trace).op)
    rows = np.flatnonzero(_moves(trace))
    keys = inputs_of(trace, rows, own[rows])
    groups = Groups.of(*keys)
    moving = [_moving(trace, key) for key in zip(*(key[groups.first].tolist() for key in keys), strict=True)]
    op, place = products.op.copy(), products.place.copy()
    op[rows], place[rows] = own[rows], len(products.distinct) + groups.place
    return Products(op, place, [*products.distinct, *moving])


def _moves(trace: Trace) -> Bool:
    """Returns which kernels' innermost op moves a known number of bytes. Labelled kernels count if they ran for that
    very op."""
    labels = kernel_labels(trace)
    moves = names_among(trace, kernel_op_names(trace, np.arange(len(trace.kernels))), MEMORY_OPS)
    return moves if labels is None else moves & ((labels.op < 0) | labels.is_same)


def _moving(trace: Trace, key: tuple[int, ...]) -> Product:
    op = trace.strings[key[0]]
    shapes, dtypes, settings = (input_text(trace, row) for row in key[1:])
    return Product(op, shapes, dtypes, moved_by(op, shapes, dtypes, settings))


#: Minimum share of the kernel time during a counter's samples that must have known work.
LEAST_VALIDATED = 0.9


@shared
def validated_tensor_work(trace: Trace, device: int) -> Validation | None:
    """Returns the time at the peak of products on tensor cores, and the measured activity of tensor cores; None if one
    of the two is unknown."""
    counter, rows = samples(trace, device, TENSOR_ACTIVE.id), kernel_rows(trace, device)
    if counter is None or device_peaks(trace, device) is None:
        return None
    on_cores = kernel_bins(trace)[rows] == BINS.index("tensor_core")
    at_peak = products_at_peak_ns(trace, device, rows)
    return _validated(trace, counter, rows[on_cores], product_calls(trace), at_peak[on_cores])


@shared
def validated_traffic(trace: Trace, device: int) -> Validation | None:
    """Returns the time that reading inputs and writing results once each takes at the peak bandwidth, and the measured
    use of the bandwidth; None if one of the two is unknown."""
    counter = samples(trace, device, DRAM.id)
    rows = kernel_rows(trace, device)
    peaks = device_peaks(trace, device)
    if counter is None or peaks is None:
        return None
    rows, work = rows[~exchanging(trace, rows)], kernel_work(trace)
    nbytes = [each.work.least_bytes if each.work else None for each in work.distinct]
    bytes_moved = np.array([np.nan if each is None else each for each in nbytes] + [np.nan], np.float64)
    return _validated(trace, counter, rows, work, bytes_moved[work.place[rows]] / peaks.memory)  # GB/s = bytes/ns


def _validated(trace: Trace, counter: Samples, rows: Int64, ops: Products, at_peak_ns: Float64) -> Validation | None:
    """Returns the estimate for the time of these samples beside their mean; None if the work of too little kernel time
    is known.

    at_peak_ns  for each of these rows of the kernel table the time that its whole op would take at the peak; NaN if
                unknown
    """
    event = trace.kernels.event[rows]
    length = trace.events.dur_ns[event]
    has_bound = (ops.op[rows] >= 0) & ~np.isnan(at_peak_ns)
    if not has_bound.any() or length[has_bound].sum() < LEAST_VALIDATED * length.sum():
        return None
    begin = trace.events.start_ns[event[has_bound]]
    finish = trace.events.ends(event[has_bound])
    groups = Groups.of(ops.op[rows[has_bound]].astype(np.int64))
    rate = at_peak_ns[has_bound] / np.maximum(groups.sum(length[has_bound]).astype(np.float64)[groups.place], 1)

    def estimated(start: Int64, end: Int64) -> Float64:
        edges, place = np.unique(np.concatenate((start, end)), return_inverse=True)
        before = sums_before(weighted_overlap(begin, finish, rate, edges))
        first, last = place.reshape(2, -1)
        return np.subtract(before[last], before[first])

    return beside_samples(trace, counter, estimated)
