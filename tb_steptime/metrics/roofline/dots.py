"""The roofline of a GPU: how fast ops compute, by inputs and kernel, and what bounds them.

TFLOP/s
   |        ________________  roof of the type of the inputs
   |      /        o          compute-bound: right of where the roofs meet
   |    /  o                  memory-bound: left of there
   |  /  o                    neither: shorter than their launch calls, or on few of the GPU's SMs
   |/______________________
        FLOP / byte

Bytes are the least that the op must move, so a dot may be too far to the right, and its distance from the memory roof
is at most the one shown. A call is an op with all its kernels, in the span's window. Its number of operations follows
from a formula; for causal attention, only those operations count that the mask leaves.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import Work
from tb_steptime.metrics.flops.peaks import Peaks, device_peaks
from tb_steptime.metrics.gpu.activities import Product
from tb_steptime.metrics.gpu.occupancy import is_persistent
from tb_steptime.metrics.gpu.utilization import blocks_per_sm, exchanging, kernel_rows_in_window
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernel_names.work_kinds import needs_fewer
from tb_steptime.metrics.kernels.waste import SMALL_GRID_FRACTION
from tb_steptime.metrics.roofline.kernel_work import kernel_work
from tb_steptime.metrics.tensor_cores.attainable import EMPTY_NS
from tb_steptime.metrics.tensor_cores.usage import MARGIN, tensor_products
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.table import Bool, Int64, distinct, is_in

Bound = Literal["memory", "compute", "launch", "grid"]

#: Share of the roof that good kernels reach; gains are computed up to it.
GOOD_FRACTION = 0.8
#: Maximum number of dots. Those with the most time are shown, and the others are added up.
DOTS = 150


class RooflineDot(msgspec.Struct, frozen=True):
    """Calls of one op on inputs of the same shapes and types, whose longest kernel is the same.

    shapes, dtype      the shapes of the inputs as compact JSON, and the type that the roof is chosen by
    kernel, short      full and short name of the longest kernel
    kernel_count       number of kernels that one call launches, as a mean
    calls, total_ns    number of calls in the span, and the summed length of their kernels
    flops, bytes       operations of one call, and the bytes that it moves at least
    tensor_cores       whether the longest kernel runs on tensor cores
    roof_tflops        peak rate for the type of the inputs; None if the data sheet of the GPU or the type is unknown
    efficiency         time that the calls would take at the roof / time that their kernels take
    above              why the efficiency is more than 1; None if it is not. The name of a kernel may show an
                       algorithm that needs fewer operations (Winograd, Fourier), caches may hold the inputs, expanded
                       inputs may take less memory than their shapes suggest, or the clock may be higher than in the
                       data sheet
    bound              what limits the calls; None if the roofs are unknown
    gain_ns            the most time that the span would save if the calls reached GOOD_FRACTION of their roof; 0 if
                       the roofs are unknown
    """

    op: str
    shapes: str
    dtype: str
    kernel: str
    short: str
    kernel_count: float
    calls: int
    total_ns: int
    flops: int
    bytes: int
    tensor_cores: bool
    roof_tflops: float | None
    efficiency: float | None
    above: Above | None
    bound: Bound | None
    gain_ns: int


class Roof(msgspec.Struct, frozen=True):
    """The peak rate for inputs of one type.

    tensor_cores  whether this is the rate of tensor cores; FP32 inputs have a second roof without them
    products      number of products on tensor cores for each product, 0 without tensor cores; fused attention computes
                  each product of FP32 inputs as three TF32 products
    """

    dtype: str
    tensor_cores: bool
    tflops: float
    products: int = 0


class Roofline(msgspec.Struct, frozen=True):
    """The roofline of a device.

    memory_gbs           peak bandwidth of its memory in GB/s; None if the peaks of the GPU are unknown
    roofs                the roofs of the dots, the highest first
    dots                 the groups of calls with the most time
    more_dots, more_ns   number and kernel time of all other dots, which are not shown
    unknown_ns           kernel time of ops without a formula, or without recorded inputs, except collectives, which
                         compute nothing
    """

    memory_gbs: float | None
    roofs: list[Roof]
    dots: list[RooflineDot]
    more_dots: int
    more_ns: int
    unknown_ns: int


class _Calls(msgspec.Struct, frozen=True, eq=False):
    """Calls of ops with known work, with one entry per call.

    place       place of its work among the distinct ones
    kernel      name of its longest kernel
    kernels     number of its kernels
    total_ns    summed length of its kernels
    products    number of products on tensor cores for each product of the op in its longest kernel; 0 without them
    launch_ns   mean length of the runtime calls that launch its kernels; -1 if one of them launches several kernels
    few_blocks  whether the blocks of its longest kernel use less than half of the SMs
    fewer       whether the name of a kernel shows that it needs fewer operations than the formula counts
    """

    place: Int64
    kernel: Int64
    kernels: Int64
    total_ns: Int64
    products: Int64
    launch_ns: Int64
    few_blocks: Bool
    fewer: Bool


def roofline(trace: Trace, device: int) -> Roofline:
    """Returns the roofline of the kernels that start within the span's window, with the dots that take the most time
    first."""
    rows, work = kernel_rows_in_window(trace, device), kernel_work(trace)
    usable = [each.work is not None and bool(each.work.least_bytes) for each in work.distinct]
    is_usable = np.array([*usable, False], bool)[work.place[rows]]
    dur = trace.events.dur_ns[trace.kernels.event[rows]]
    peaks = device_peaks(trace, device)
    calls = _calls(trace, rows[is_usable])
    groups = Groups.of(calls.place, calls.kernel)
    total = groups.sum(calls.total_ns)
    order = np.argsort(-total, kind="stable")
    dots = [_dot(trace, calls, groups, group, peaks) for group in order[:DOTS].tolist()]
    products = calls.products[groups.first[order[:DOTS]]].tolist()
    roofs = {
        (dot.dtype, dot.roof_tflops): Roof(dot.dtype, dot.tensor_cores, dot.roof_tflops, number)
        for dot, number in zip(dots, products, strict=True)
        if dot.roof_tflops
    }
    return Roofline(
        memory_gbs=peaks.memory if peaks else None,
        roofs=sorted(roofs.values(), key=lambda each: -each.tflops),
        dots=dots,
        more_dots=len(order) - len(dots),
        more_ns=int(total[order[DOTS:]].sum()),
        unknown_ns=int(dur[~is_usable & ~exchanging(trace, rows)].sum()),
    )


def _calls(trace: Trace, rows: Int64) -> _Calls:
    events = trace.events
    event = trace.kernels.event[rows]
    work = kernel_work(trace)
    groups, dur = Groups.of(work.op[rows]), events.dur_ns[event]
    order = np.argsort(dur, kind="stable")
    longest = np.zeros(len(groups), np.int64)
    longest[groups.place[order]] = order  # the last write stays: the longest kernel
    per_sm = blocks_per_sm(trace)[rows[longest]]
    call = kernel_origins(trace).call
    call_of_row, ordered = call[rows[longest]], np.sort(call)
    several = is_in(call_of_row, distinct(ordered[1:][ordered[1:] == ordered[:-1]]))
    return _Calls(
        place=work.place[rows[longest]].astype(np.int64),
        kernel=events.name[event[longest]].astype(np.int64),
        kernels=groups.count(),
        total_ns=groups.sum(dur),
        products=tensor_products(trace)[rows[longest]],
        launch_ns=np.where((call_of_row >= 0) & ~several, trace.events.dur_ns[call_of_row], -1),
        few_blocks=(np.nan_to_num(per_sm, nan=1.0) < SMALL_GRID_FRACTION) & ~is_persistent(trace)[rows[longest]],
        fewer=groups.sum(are_named(trace, event, needs_fewer).astype(np.int64)) > 0,
    )


def _dot(trace: Trace, calls: _Calls, groups: Groups, group: int, peaks: Peaks | None) -> RooflineDot:
    members = np.flatnonzero(groups.place == group)
    first = int(members[0])
    product = kernel_work(trace).distinct[int(calls.place[members[0]])]
    name = trace.strings[int(calls.kernel[first])]
    total_ns = int(calls.total_ns[members].sum())
    assert product.work is not None
    roof = peaks.roof(product.work.dtype, int(calls.products[first])) if peaks else None
    at_roof = _at_roof_ns(product.work, roof, peaks)
    efficiency = None if at_roof is None or not total_ns else at_roof * len(members) / total_ns
    fewer = bool(calls.fewer[members].any())
    computes = _computes(product.work, roof, peaks)
    gain_ns = 0
    if at_roof is not None:  # up to GOOD_FRACTION of the roof; no kernel is shorter than an empty one
        gain_ns = max(0, round(total_ns - len(members) * max(at_roof / GOOD_FRACTION, EMPTY_NS)))
    return RooflineDot(
        op=product.op,
        shapes=product.shapes,
        dtype=product.work.dtype,
        kernel=name,
        short=kernel_names(trace)[name],
        kernel_count=float(calls.kernels[members].mean()),
        calls=len(members),
        total_ns=total_ns,
        flops=_flops(product.work),
        bytes=product.work.least_bytes or 0,
        tensor_cores=bool(calls.products[first]),
        roof_tflops=roof,
        efficiency=efficiency,
        above=None if efficiency is None else why_above(efficiency, product.work, fewer, computes),
        bound=_bound(calls, members, product, roof, peaks) if at_roof is not None else None,
        gain_ns=gain_ns,
    )


def _flops(work: Work) -> int:
    return work.least_flops if work.causal else work.flops


def _at_roof_ns(work: Work, roof: float | None, peaks: Peaks | None) -> float | None:
    """Returns the time of one call at the roof. Ops without arithmetic depend on memory only."""
    if peaks is None or (roof is None and work.lengths):
        return None
    computing = _flops(work) / roof / 1000 if roof else 0.0  # TFLOP/s = 1000 FLOP/ns
    return max(computing, (work.least_bytes or 0) / peaks.memory)  # GB/s = bytes/ns


def _bound(calls: _Calls, members: Int64, product: Product, roof: float | None, peaks: Peaks | None) -> Bound:
    assert product.work is not None
    launched = calls.launch_ns[members]
    if (launched >= 0).all() and calls.total_ns[members].sum() < (launched * calls.kernels[members]).sum():
        return "launch"
    if calls.total_ns[members][calls.few_blocks[members]].sum() * 2 > calls.total_ns[members].sum():
        return "grid"
    return "compute" if _computes(product.work, roof, peaks) else "memory"


def _computes(work: Work, roof: float | None, peaks: Peaks | None) -> bool:
    """Returns whether the op is compute-bound, that is, to the right of the point where the roofs meet."""
    ridge = 1000 * roof / peaks.memory if roof and peaks else np.inf  # FLOP/byte
    return bool(_flops(work) >= ridge * (work.least_bytes or 1))


# Reasons why calls are above their roof. Their kernels' names show them, or the roof does not consider them.
#
# convolution 3x3, FP32 on a V100     37 TFLOP/s by its formula, and the roof is 15.7
#     winogradForwardData4x4   volta_sgemm_64x64_nn   winogradForwardOutput4x4
# Its kernels multiply tiles with Winograd's algorithm: 36 products, although the formula counts 144.
#
# The efficiency is not limited to 1. It stays as the formula gives it, with the reason beside it.

Above = Literal["algorithm", "cache", "clock", "unexplained"]


def why_above(efficiency: float, work: Work, fewer: bool, computes: bool) -> Above | None:
    """Returns the reason why calls with that efficiency are above their roof; None if they are not.

    fewer     whether the name of one of their kernels shows that it needs fewer operations
    computes  whether their roof is that of arithmetic, not of memory
    """
    if efficiency <= 1:
        return None
    if fewer and work.least_flops < work.flops:
        return "algorithm"
    if not computes:
        return "cache"
    return "clock" if efficiency <= MARGIN else "unexplained"
