"""Divides kernel time into four bins: kernels that run on tensor cores (AMD: matrix cores), that could, that could not,
and unknown ones.

The answer for a name comes from `name_rules`. If a name does not show it, arithmetic may (`resolve`). A stage around a
product (a layout conversion, a transform) follows its op: if no kernel of a convolution or product ran on tensor cores,
the time of its stages could move there.

Kernel time here is the sum of the kernels' lengths, so concurrent kernels both count. A kernel belongs to the step in
whose window it starts, and to the span if it starts within the span's window. If steps are adjacent, their splits
therefore add up to the span's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.flops.peaks import HALVES, Peaks, device_peaks
from tb_steptime.metrics.gpu.activities import find_products
from tb_steptime.metrics.gpu.utilization import NO_KERNELS, kernel_rows, windows
from tb_steptime.metrics.kernel_names.name_rules import Answer, classify, has_tensor_cores
from tb_steptime.text import Reason, Unit, fraction
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost, outermost
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.table import CALL_KINDS, Bool, Float64, Int32, Int64, Kind, UInt8, distinct_in, is_in

# Arithmetic resolves kernels whose names do not show their cores. A rate beyond that of plain cores proves tensor
# cores.
#
#     aten::mm   |---|  [4096, 4096] x [4096, 4096]: 137 GFLOP
#     unknown      kkkk 500 us: 275 TFLOP/s on an A100, whose plain cores reach 78 at most: tensor cores
#
# The proof is conservative: it uses the fewest operations that the op can need, the longest time for which the kernel
# may have run, and a peak that no clock exceeds. If it fails, nothing is concluded, because a slow kernel may run on
# tensor cores, too.

#: A rate is beyond that of plain cores if it is more than this many times their data-sheet peak. Cards may be clocked
#: higher than their sheets say.
MARGIN = 1.15

#: Resolution of older recordings' clocks, one microsecond. A kernel may have run this much longer than recorded.
TICK_NS = 1000

#: TensorFloat-32 came with compute capability 8.0.
TF32_CAPABILITY = (8, 0)


class KernelAnswers(msgspec.Struct, frozen=True, eq=False):
    """The answers for the kernels. The one for a row of the kernel table is `distinct[place[row]]`. Kernels with equal
    places have one name."""

    distinct: list[Answer]
    place: Int32 | Int64

    def where(self, matches: Callable[[Answer], bool]) -> Bool:
        """Returns for each kernel whether its answer passes `matches`. Each distinct answer is tested once."""
        return np.array([matches(answer) for answer in self.distinct], bool)[self.place]


def resolve(trace: Trace, named: KernelAnswers) -> KernelAnswers:
    """Returns the answers by name. Arithmetic completes them, and the reason of those that it leaves open says what the
    inputs' type makes likely."""
    unknown = named.where(lambda answer: answer.answer == "unknown")
    rows = np.flatnonzero(unknown & (find_products(trace).place >= 0))
    if not len(rows):
        return named
    products = find_products(trace)
    device = trace.events.device[trace.kernels.event[rows]]
    names = ["" if product.work is None else product.work.dtype for product in products.distinct]
    dtypes, dtype_of = np.unique(np.array(names, str), return_inverse=True)
    dtype_of = dtype_of.reshape(-1)
    groups = Groups.of(named.place[rows], dtype_of[products.place[rows]])
    best = np.zeros(len(groups))
    np.maximum.at(best, groups.place, np.nan_to_num(rates(trace, named)[rows]))
    proved = []
    for i, rate in zip(groups.first.tolist(), best.tolist(), strict=True):
        answer = named.distinct[named.place[rows[i]]]
        dtype = str(dtypes[dtype_of[products.place[rows[i]]]])
        proved.append(_proved(trace, answer, int(device[i]), dtype, rate))
    place = named.place.copy()
    place[rows] = len(named.distinct) + groups.place
    return KernelAnswers([*named.distinct, *proved], place)


def _proved(trace: Trace, answer: Answer, device: int, dtype: str, rate: float) -> Answer:
    """Returns the answer after arithmetic. It is "yes" if the rate, in TFLOP/s, proves it. Otherwise the same answer
    says what is likely."""
    properties, peaks = trace.devices.get(device), device_peaks(trace, device)
    plain = peaks.plain(dtype) if peaks else None
    if plain is not None and rate > MARGIN * plain:
        reason = f"proved by arithmetic: {rate:.0f} TFLOP/s, at most {plain:g} without tensor cores"
        return Answer("yes", "arithmetic", reason, "matmul")
    likely = _likely(properties.compute_capability if properties else None, dtype, peaks)
    return msgspec.structs.replace(answer, reason=answer.reason + likely)


def _likely(capability: tuple[int, int] | None, dtype: str, peaks: Peaks | None) -> str:
    """Returns what the type of the inputs makes likely; "" if it makes nothing likely."""
    if dtype in HALVES:
        return "; likely on tensor cores, by the 16-bit inputs of its op"
    plain_fp32 = capability is not None and capability < TF32_CAPABILITY and (peaks is None or peaks.tf32 is None)
    return "; likely not on tensor cores, by the FP32 inputs of its op" if dtype == "float" and plain_fp32 else ""


def rates(trace: Trace, named: KernelAnswers) -> Float64:
    """Returns the TFLOP/s of each kernel that is the only one, or of the only name, in its product's op; NaN for all
    others.

    The rate is a lower bound: the minimum number of operations of the op over the time of all its product and unknown
    kernels, as a mean over the launches of the same kernel for the same shapes.
    """
    products = find_products(trace)
    dur = trace.events.dur_ns[trace.kernels.event] + TICK_NS
    computes = named.where(lambda answer: answer.answer == "unknown" or answer.role == "matmul")
    products_run = np.flatnonzero(computes & (products.place >= 0))
    result = np.full(len(dur), np.nan)
    if not len(products_run):
        return result
    call = Groups.of(products.op[products_run]).place
    flops = np.array([float(product.work.least_flops) if product.work else 0.0 for product in products.distinct])[
        products.place[products_run]
    ]
    share = flops * dur[products_run] / np.bincount(call, dur[products_run])[call]
    same = Groups.of(named.place[products_run], products.place[products_run]).place
    rate = np.bincount(same, share) / np.bincount(same, dur[products_run]) / 1000  # FLOP/ns = GFLOP/s
    count = np.bincount(call[Groups.of(call, named.place[products_run]).first])
    result[products_run] = np.where((count[call] == 1) & (flops > 0), rate[same], np.nan)
    return result


KernelBin = Literal["tensor_core", "matmul_like", "unknown", "other"]


class BinMeaning(msgspec.Struct, frozen=True):
    """A bin of kernel time. `short` is its label over a column, and `answer` its answer to the question whether a
    kernel runs on tensor cores."""

    id: KernelBin
    label: str
    short: str
    answer: str
    meaning: str
    colour: str
    hatched: bool


#: Bins in the order of the bar.
KERNEL_BINS = (
    BinMeaning("tensor_core", "Tensor cores", "Tensor cores", "yes",
               "Kernels that run on tensor cores (AMD: matrix cores).", "tensor", False),
    BinMeaning("matmul_like", "Matmul-like, no tensor cores", "Matmul-like", "no",
               "Matrix products, convolutions and attention without tensor cores. This time could move to tensor "
               "cores.", "kernel", True),
    BinMeaning("unknown", "Unknown", "Unknown", "unknown",
               "Kernels whose names do not show whether they use tensor cores.", "other", True),
    BinMeaning("other", "Other kernels", "Other", "not eligible",
               "Kernels that cannot use tensor cores: elementwise, reductions, normalization, copies; and products "
               "without them that a library only runs to compare algorithms.", "kernel", False),
)  # fmt: skip


TENSOR_CORE_SHARE = Metric(
    "tensor_core_share", "Tensor-core share", Unit.FRACTION,
    "Share of kernel time in kernels that run on tensor cores (AMD: matrix cores), as their names show. "
    "Kernels whose names do not show it are not counted, so the true share may be higher. Where these are more than "
    "half of kernel time the share is not known.", colour="tensor",
)  # fmt: skip
TENSOR_CORE_SHARE_HIGH = Metric(
    "tensor_core_share_high", "Tensor-core share, at most", Unit.FRACTION,
    "The same share if every kernel whose name does not show it ran on tensor cores.", colour="tensor",
)  # fmt: skip
KERNEL_SUM_TIME = Metric(
    "kernel_sum_time", "Kernel time", Unit.NS,
    "Sum of the lengths of the kernels that start in the step; kernels that run at the same time both count.",
    colour="kernel",
)  # fmt: skip
TENSOR_CORE_TIME = Metric(
    "tensor_core_time", "Time on tensor cores", Unit.NS,
    "Kernel time in kernels that run on tensor cores.", colour="tensor",
)  # fmt: skip
MATMUL_LIKE_TIME = Metric(
    "matmul_like_time", "Matmul-like without tensor cores", Unit.NS,
    "Kernel time in matrix products, convolutions and attention that run on CUDA cores, with their layout "
    "conversions and transforms. It could move to tensor cores.", colour="kernel",
)  # fmt: skip
UNKNOWN_KERNEL_TIME = Metric(
    "unknown_kernel_time", "Unknown kernels", Unit.NS,
    "Kernel time in kernels whose names do not say whether they use tensor cores, such as Triton kernels.",
    colour="other",
)  # fmt: skip

NO_TENSOR_CORES = Reason("no_tensor_cores")

#: If names leave more than this share of the kernel time unclassified, the bounds of the tensor-core share are
#: meaningless, because the range between them is wider than everything that is known.
MOST_UNCLASSIFIED = 0.5

#: Bins of kernel time, in the order of the columns here and of `Split`.
BINS: tuple[KernelBin, ...] = get_args(KernelBin)
_TENSOR_CORE, _MATMUL_LIKE, _UNKNOWN, _OTHER = range(len(BINS))

#: Ops that are a matrix product, a convolution or attention, including backward ops.
PRODUCT_OP = expression(
    r"aten::(?:\w*conv(?!ert)\w*|_?(?:add|badd|addb)?b?mm(?:_\w*)?|linear|matmul|_scaled_mm|_grouped_mm"
    r"|_?scaled_dot_product_\w+)$"
)


#: Ops that are convolutions.
CONVOLUTION = expression(r"conv")
#: The call by which cuDNN's comparison of their algorithms waits.
_WAITS_FOR_EVENT = expression(r"EventSynchronize")


class Split(msgspec.Struct, frozen=True):
    """Kernel time in ns, where kernel_ns = tensor_core_ns + matmul_like_ns + unknown_ns + other_ns."""

    kernel_ns: int
    tensor_core_ns: int
    matmul_like_ns: int
    unknown_ns: int
    other_ns: int

    @property
    def share_low(self) -> float | None:
        """The share on tensor cores if no unknown kernel used them; None without kernels."""
        return self.tensor_core_ns / self.kernel_ns if self.kernel_ns else None

    @property
    def share_high(self) -> float | None:
        """The share on tensor cores if every unknown kernel used them; None without kernels."""
        return (self.tensor_core_ns + self.unknown_ns) / self.kernel_ns if self.kernel_ns else None

    @property
    def unclassified(self) -> float | None:
        """The share of unclassified kernels, if it is so large that the share on tensor cores is unknown."""
        return self.unknown_ns / self.kernel_ns if self.unknown_ns > MOST_UNCLASSIFIED * self.kernel_ns else None

    @property
    def matmul_like_share(self) -> float | None:
        """The share that could use tensor cores and does not; None without kernels."""
        return self.matmul_like_ns / self.kernel_ns if self.kernel_ns else None


class Splits(msgspec.Struct, frozen=True):
    """A device's kernel time over the span's window, and over each step."""

    total: Split
    steps: tuple[Split, ...]


@shared
def kernel_answers(trace: Trace) -> KernelAnswers:
    """Returns the answer for each kernel. Each distinct name is judged once per device. If the name does not show it,
    the arithmetic of its op may."""
    events, event = trace.events, trace.kernels.event
    groups = Groups.of(events.device[event], events.name[event])
    first = event[groups.first]
    pairs = zip(events.device[first].tolist(), events.name[first].tolist(), strict=True)
    return resolve(trace, KernelAnswers([_answer(trace, *pair) for pair in pairs], groups.place.astype(np.int32)))


def tensor_products(trace: Trace) -> Int64:
    """Returns for each row of the kernel table the number of products on tensor cores for each product of its op; 0
    without tensor cores."""
    answers = kernel_answers(trace)
    return np.array([answer.products for answer in answers.distinct], np.int64)[answers.place]


@shared
def kernel_bins(trace: Trace) -> UInt8:
    """Returns the bin of each row of the kernel table, as a place in `BINS`."""
    answers = kernel_answers(trace)
    bins = np.array([_bin(answer) for answer in answers.distinct], np.uint8)[answers.place]
    is_stage = answers.where(lambda answer: answer.role == "stage")
    bins[is_stage & _in_plain_product(trace, bins)] = _MATMUL_LIKE
    bins[only_compared(trace) & (bins == _MATMUL_LIKE)] = _OTHER
    return bins


@shared
def split_kernel_time(trace: Trace, device: int) -> Splits:
    """Returns the device's kernel time by bin. Each kernel's whole length belongs to one bin, in the span and in the
    step where it starts."""
    rows = kernel_rows(trace, device)
    event, bins = trace.kernels.event[rows], kernel_bins(trace)[rows]
    order = np.argsort(trace.events.start_ns[event], kind="stable")
    start, dur = trace.events.start_ns[event][order], trace.events.dur_ns[event][order]
    low, high = (np.searchsorted(start, instants) for instants in windows(trace))
    columns = [_between(np.where(bins[order] == code, dur, 0), low, high) for code in range(len(BINS))]
    splits = [Split(sum(parts), *parts) for parts in zip(*columns, strict=True)]
    return Splits(splits[0], tuple(splits[1:]))


def _between(values: Int64, low: Int64, high: Int64) -> list[int]:
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    sums: list[int] = (before[np.maximum(high, low)] - before[low]).tolist()
    return sums


def share_of(bound: Literal["share_low", "share_high"]) -> Callable[[Trace, int], Figure]:
    """Returns the function that measures this bound of the share on tensor cores. `share_low` leaves out kernels whose
    names do not show it, and `share_high` counts them."""

    def measured(trace: Trace, device: int) -> Figure:
        if not device_has_tensor_cores(trace, device):
            return unknown(trace, NO_TENSOR_CORES)
        splits = split_kernel_time(trace, device)
        if splits.total.unclassified is not None:
            return unknown(trace, mostly_unclassified(splits.total.unclassified))
        value = getattr(splits.total, bound)
        shares = tuple(getattr(step, bound) if step.unclassified is None else None for step in splits.steps)
        return Figure(value, shares, NO_KERNELS if value is None else None)

    return measured


def mostly_unclassified(share: float) -> Reason:
    return Reason("mostly_unclassified", {"share": fraction(share)})


def time_of(column: str) -> Callable[[Trace, int], Figure]:
    """Returns the function that measures the mean of this column of `Split` per step, in ns."""

    def measured(trace: Trace, device: int) -> Figure:
        steps = [getattr(step, column) for step in split_kernel_time(trace, device).steps]
        return Figure(sum(steps) / len(steps), tuple(steps))

    return measured


def device_has_tensor_cores(trace: Trace, device: int) -> bool:
    """Returns whether the device has tensor cores. A device that the trace does not describe is assumed to have
    them."""
    properties = trace.devices.get(device)
    return properties is None or has_tensor_cores(properties.compute_capability, properties.name)


def _bin(answer: Answer) -> int:
    if answer.answer == "yes":
        return _TENSOR_CORE
    if answer.answer == "unknown":
        return _UNKNOWN
    return _MATMUL_LIKE if answer.matmul_like else _OTHER


def _answer(trace: Trace, device: int, name: int) -> Answer:
    properties = trace.devices.get(device)
    if properties is None:
        return classify(trace.strings[name])
    return classify(trace.strings[name], properties.compute_capability, properties.name)


@shared
def only_compared(trace: Trace) -> Bool:
    """Returns which kernels a convolution only tries. These are the ones that it launches before its last wait for an
    event.

    op       [cudnn_convolution                                  ]
    call      r k r [wait] r l r [wait]   l                             r: cudaEventRecord
    stream      kkkkkk       llll         llll
    tried       ######       ####

    Nothing else in a convolution waits for events. cuDNN's comparison records one event before and one after each
    algorithm, and waits for the second (time_sorted_plan in cudnn_frontend_find_plan.h). Without a search, cuDNN also
    records events to order its own streams, but does not wait for them.
    """
    events, op = trace.events, find_products(trace).op.astype(np.int64)
    tried = np.zeros(len(op), bool)
    waits = rows_named(trace, CALL_KINDS, _WAITS_FOR_EVENT.search)
    own = np.flatnonzero((op >= 0) & (op < len(events)))
    calls = distinct_in(op[own])
    calls = calls[are_named(trace, calls, CONVOLUTION.search)]
    if not len(waits) or not len(calls):
        return tried
    around, last = innermost(trace, calls, waits), np.full(len(calls) + 1, -1)
    np.maximum.at(last, np.searchsorted(calls, around[around >= 0]), events.start_ns[waits[around >= 0]])
    launch = kernel_origins(trace).call[own].astype(np.int64)
    until = np.where(is_in(op[own], calls), last[np.searchsorted(calls, op[own])], -1)
    tried[own] = (launch >= 0) & (events.start_ns[np.maximum(launch, 0)] < until)
    return tried


def _in_plain_product(trace: Trace, bins: UInt8) -> Bool:
    """Returns for each kernel whether it was launched by a product op of which no kernel ran, or may have run, on
    tensor cores."""
    ops = rows_named(trace, (Kind.CPU_OP,), PRODUCT_OP.match)
    op = outermost(trace, ops, innermost(trace, ops, find_launches(trace).calls_of(trace.kernels.event)))
    inside = op >= 0
    elsewhere = np.zeros(int(op.max(initial=-1)) + 1, bool)
    elsewhere[op[inside & is_in(bins, (_TENSOR_CORE, _UNKNOWN))]] = True
    return inside & ~elsewhere[np.where(inside, op, 0)] if len(elsewhere) else inside


#: Words by which the PyTorch Profiler tab recognizes a tensor-core kernel, anywhere in the name and on any GPU. They
#: come from torch-tb-profiler 0.4.3, whose list goes back to PyProf's of 2020.
PROFILER_TAB_WORDS = (
    "h884", "s884", "h1688", "s1688", "hmma", "i8816", "16816", "c1688", "xmma_gemm", "xmma_sparse_gemm",
    "xmma_implicit_gemm", "xmma_sparse_conv", "xmma_warp_specialized_implicit_gemm", "first_layer_wgrad_kernel",
    "dgrad_1x1_stride_2x2", "conv1x1", "conv2d_c1_k1", "direct_group",
)  # fmt: skip

#: From this difference on, 0.05 percentage points, two shares are displayed as different numbers.
VISIBLE_FRACTION = 0.0005


class ProfilerTab(msgspec.Struct, frozen=True):
    """The share that the PyTorch Profiler tab shows (None without kernels), and why ours differs (None if it does
    not)."""

    share: float | None
    why: Reason | None


def profiler_tab(trace: Trace, device: int) -> ProfilerTab:
    """Returns the tensor-core share of kernel time as the PyTorch Profiler tab counts it, over the whole recording, in
    steps or not."""
    rows = kernel_rows(trace, device)
    dur, bins = trace.events.dur_ns[trace.kernels.event[rows]], kernel_bins(trace)[rows]
    whole = int(dur.sum())
    if not whole:
        return ProfilerTab(None, None)
    counted = are_named(trace, trace.kernels.event[rows], lambda name: any(map(name.__contains__, PROFILER_TAB_WORDS)))
    share = int(dur[counted].sum()) / whole
    ours = split_kernel_time(trace, device).total.share_low
    if ours is None or not device_has_tensor_cores(trace, device) or abs(share - ours) < VISIBLE_FRACTION:
        return ProfilerTab(share, None)
    missed = int(dur[~counted & (bins == _TENSOR_CORE)].sum()) / whole
    wrong = int(dur[counted & (bins != _TENSOR_CORE)].sum()) / whole
    return ProfilerTab(share, _why(missed, wrong))


def _why(missed: float, wrong: float) -> Reason:
    if missed >= VISIBLE_FRACTION and wrong >= VISIBLE_FRACTION:
        return Reason("profiler_tab_misses_and_miscounts", {"missed": fraction(missed), "wrong": fraction(wrong)})
    if missed >= VISIBLE_FRACTION:
        return Reason("profiler_tab_misses", {"missed": fraction(missed)})
    if wrong >= VISIBLE_FRACTION:
        return Reason("profiler_tab_miscounts", {"wrong": fraction(wrong)})
    return Reason("profiler_tab_counts_outside_steps")
