"""Why kernels that could run on tensor cores do not, and what that costs at most.

    aten::mm  float [128, 100] x [100, 64], ampere_sgemm_64x64_nn, 40 us on an A100
    why       FP32 inputs, and TF32 is off
    gain      40 us x (1 - 19.5 / 156) = 35 us, the ratio of the peaks without and with tensor cores,
              and never more than what the memory leaves: 40 us - bytes / bandwidth

If the peaks of a device are not listed, the gain is computed from the least ratio for its compute capability, and the
memory does not limit it.

The reasons come from the recorded facts of the op (types and shapes of its inputs), of the kernel (its name) and of
other kernels (whether any FP32 product ran as TF32). If none of these shows the cause, the reason says so.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import TYPE_BYTES, types_of
from tb_steptime.metrics.flops.peaks import HALVES, Peaks, device_peaks, device_ratios
from tb_steptime.metrics.gpu.activities import Product, find_products, input_text
from tb_steptime.metrics.kernel_names.name_rules import Answer
from tb_steptime.metrics.kernel_names.work_kinds import MISALIGNED_KERNEL
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.metrics.tensor_cores.usage import (
    BINS,
    CONVOLUTION,
    TF32_CAPABILITY,
    device_has_tensor_cores,
    kernel_answers,
    kernel_bins,
)
from tb_steptime.text import Reason, count
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import forward_of, kernel_origins
from tb_steptime.trace.table import Bool, Float64, Int32, Int64, Kind, UInt8, distinct_in, is_in

T = TypeVar("T")

#: Bytes of a row that tensor cores load at once, as cuBLAS and cuDNN require ("Matrix Multiplication Background",
#: NVIDIA's deep-learning performance guide).
UNIT_BYTES = 16
#: 8-bit types that tensor cores support. Which chip supports which of them is not modelled.
EIGHTHS = tuple(name for name, size in TYPE_BYTES.items() if size == 1 and name != "unsigned char")
#: Number of elements in a unit, for the types that tensor cores support.
_UNITS = {name: UNIT_BYTES // TYPE_BYTES[name] for name in ("float", "double", *HALVES, *EIGHTHS)}

_PRODUCTS = _TENSOR_CORE, _MATMUL_LIKE = BINS.index("tensor_core"), BINS.index("matmul_like")

_ATTENTION = expression(r"attention")
_MATH_ATTENTION = expression(r"aten::_scaled_dot_product_attention_math$")
_ONE_HALF, _ONE_FLOAT = [(name,) for name in HALVES], [("float",)]

#: Decompositions, solvers and their gradients, in which PyTorch turns TF32 off (`NoTF32Guard`), and which autocast does
#: not cast.
_DECOMPOSES = expression(
    r"aten::(_?linalg_(?!vector_norm|norm|multi_dot)\w+|(_?cholesky|pinverse|inverse|logdet|slogdet|lu_|matrix_exp)\w*)$"
    r"|(autograd::engine::evaluate_function: )?(Linalg|Cholesky)\w*Backward\d*$"
)
#: Families whose kernels have FP32 inputs, used for the input type if no op records it.
_FP32_FAMILIES = ("sgemm", "simt", "xmma_ffma", "plain_convolution", "scudnn", "cudnn_fp32", "fmha_cutlass_old")
_FAMILY_TYPES = {
    **dict.fromkeys(_FP32_FAMILIES, "float"),
    **dict.fromkeys(("hgemm", "xmma_hfma", "hcudnn"), "c10::Half"),
    **dict.fromkeys(("dgemm", "xmma_dfma"), "double"),
    "cgemm": "c10::complex<float>",
}  # fmt: skip
#: Families that multiply 16-bit numbers directly, two at a time, without widening them to FP32.
_HALF_VECTORS = ("hgemm", "xmma_hfma", "hcudnn")
#: Families of kernels without a counterpart on tensor cores.
_WITHOUT_COUNTERPART = ("gemv", "depthwise")


class Ineligibility(msgspec.Struct, frozen=True):
    """Why a kernel is not on tensor cores.

    id       stable and public
    setting  what to type to change it, if anything
    """

    id: str
    reason: Reason
    setting: str | None = None


TF32_OFF = Ineligibility("tf32_off", Reason("tf32_off"), 'torch.set_float32_matmul_precision("high")')
TF32_OFF_CONVOLUTION = Ineligibility("tf32_off", Reason("tf32_off_in_cudnn"), "torch.backends.cudnn.allow_tf32 = True")
FP32 = Ineligibility("fp32", Reason("fp32_unsupported"), 'torch.autocast("cuda", dtype=torch.float16)')
TF32_NO_FASTER = Ineligibility("fp32", Reason("tf32_no_faster"), 'torch.autocast("cuda", dtype=torch.bfloat16)')
TF32_MAY_BE_NO_FASTER = msgspec.structs.replace(TF32_NO_FASTER, reason=Reason("tf32_may_be_no_faster"))
WIDENED = Ineligibility(
    "widened", Reason("attention_in_fp32"), "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)"
)
#: Replaces the id and reason of `FP32` in attention without a fused kernel.
MATH_ATTENTION, _BY_MATH = "attention_math", Reason("attention_by_math")
DECOMPOSITION = Ineligibility("decomposition", Reason("decomposed_in_fp32"))
DTYPE = Ineligibility("dtype", Reason("type_unsupported"))
ALIGNED_KERNEL = Ineligibility("alignment", Reason("misaligned_kernel"))
LAYOUT = Ineligibility("layout_conversion", Reason("layout_converted"), "model.to(memory_format=torch.channels_last)")
NO_KERNEL = Ineligibility("no_kernel", Reason("no_matrix_product"))
STAGE = Ineligibility("stage", Reason("stage_of_product"))
LIBRARY = Ineligibility("library_choice", Reason("library_choice"))
NOT_RECORDED = Ineligibility("untold", Reason("inputs_not_recorded"))


class Rates(msgspec.Struct, frozen=True):
    """TFLOP/s without and with tensor cores for one kernel. `width` is the number of bytes that it would then move, as
    a share of those that it moves now. Unless the device's peaks are listed, only the ratio of the rates is known."""

    plain: float
    tensor: float
    width: float
    listed: bool = True

    @property
    def ratio(self) -> float:
        return self.tensor / self.plain

    @property
    def saved(self) -> float:
        """The share of the kernel's time that the ratio of the peaks saves at most."""
        return max(0.0, 1.0 - self.plain / self.tensor)


class Eligibility(msgspec.Struct, frozen=True, eq=False):
    """Whether each kernel could use tensor cores, with one entry per row of the kernel table.

    eligible   whether it is a product or a stage of one, which runs on tensor cores or could
    why        place in `reasons` of why it does not; -1 if it does, or is neither
    gain_ns    by how much it would be shorter at most, in a steady step; 0 if nothing is known or nothing can be done
    rates      place in `peaks` of the rates from which the gain was computed; -1 without a gain
    double     whether it is a product or a stage of one whose inputs are FP64, on whichever cores
    """

    eligible: Bool
    why: Int32
    gain_ns: Int64
    rates: Int32
    double: Bool
    reasons: list[Ineligibility]
    peaks: list[Rates]


class _Case(msgspec.Struct, frozen=True):
    """The facts on which a reason depends. Kernels with equal facts have the same reason."""

    answer: Answer
    kernel: str
    bin: int
    product: Product | None
    device: int
    converted: bool  # whether a layout conversion runs in the same call of the op
    tf32: bool  # whether another kernel of this trace runs the same kind of op as TF32
    decomposes: bool  # whether it is part of a decomposition, a solver, or the gradient of one
    attention: int  # 1: attention widened its inputs of 16 bits to FP32 before this op; 2: these are FP32; else 0


@shared
def eligibility(trace: Trace) -> Eligibility:
    """Returns the eligibility of every kernel of the trace. Each distinct case (kernel, op, shapes, types) is judged
    once."""
    place, cases = _cases(trace)
    judged = [_judge(trace, case) for case in cases]
    reasons = _distinct([why for why, _ in judged])
    peaks = _distinct([rates for _, rates in judged])
    why = np.array([reasons.index(each) if each else -1 for each, _ in judged], np.int32)[place]
    rates = np.array([peaks.index(each) if each else -1 for _, each in judged], np.int32)[place]
    bins = kernel_bins(trace)
    double = np.array([_is_double(case) for case in cases], bool)[place]
    return Eligibility(is_in(bins, _PRODUCTS), why, _gains(trace, rates, peaks), rates, double, reasons, peaks)


def _distinct(values: list[T | None]) -> list[T]:
    result: list[T] = []
    for value in values:
        if value is not None and value not in result:
            result.append(value)
    return result


def _cases(trace: Trace) -> tuple[Int64, list[_Case]]:
    answers, bins = kernel_answers(trace), kernel_bins(trace)
    products = find_products(trace)
    layout = kernel_answers(trace).where(lambda answer: answer.family == "layout")
    converting = distinct_in(products.op[layout & (products.op >= 0)])
    converted = is_in(products.op, converting)
    attention = _in_math_attention(trace)
    tf32 = _runs_as_tf32(trace)
    decomposes = in_decompositions(trace)
    flags = converted.astype(np.uint8), decomposes.astype(np.uint8)
    groups = Groups.of(answers.place, bins, products.place, *flags, attention)
    event = trace.kernels.event[groups.first]
    cases = []
    for row, name, device in zip(
        groups.first.tolist(), trace.events.name[event].tolist(), trace.events.device[event].tolist(), strict=True
    ):
        product = products.distinct[products.place[row]] if products.place[row] >= 0 else None
        case = _Case(
            answers.distinct[answers.place[row]], trace.strings[name], int(bins[row]), product, device,
            bool(converted[row]), product is not None and _is_convolution(product.op) in tf32, bool(decomposes[row]),
            int(attention[row]),
        )  # fmt: skip
        cases.append(case)
    return groups.place, cases


def _is_convolution(op: str) -> bool:
    return bool(CONVOLUTION.search(op))


@shared
def in_decompositions(trace: Trace) -> Bool:
    """Returns which kernels are launched within a decomposition, a solver, or the gradient of one."""
    rows = rows_named(trace, (Kind.CPU_OP,), _DECOMPOSES.match)
    return np.asarray(innermost(trace, rows, kernel_origins(trace).place) >= 0, bool)


def _in_math_attention(trace: Trace) -> UInt8:
    """Returns which kernels' product op lies in attention that is computed op by op, or in its backward pass, with the
    numbers of `_Case.attention`. Autocast does not reach the ops of such attention. It casts the inputs to 16 bits, and
    attention widens these to FP32. On a CPU, torch 2.13 runs the products on FP32 with and without autocast, and on 16
    bits with the setting of `WIDENED`."""
    events, op = trace.events, find_products(trace).op.astype(np.int64)
    attention = rows_named(trace, (Kind.CPU_OP,), _MATH_ATTENTION.match)
    inside = np.zeros(len(op), np.uint8)
    if not len(attention) or events.dtypes is None:
        return inside
    places = events.dtypes[attention].astype(np.int64)
    first_types = {each: types_of(input_text(trace, each))[:1] for each in distinct_in(places[places >= 0]).tolist()}
    recorded = np.flatnonzero((op >= 0) & (op < len(events)))
    forward = forward_of(trace, op[recorded])
    made_by = np.where(forward >= 0, forward, op[recorded]).astype(np.int64)
    for number, types in ((1, _ONE_HALF), (2, _ONE_FLOAT)):
        chosen = attention[is_in(places, [each for each, first in first_types.items() if first in types])]
        inside[recorded[innermost(trace, chosen, made_by) >= 0]] = number
    return inside


def _runs_as_tf32(trace: Trace) -> set[bool]:
    """Returns for which of convolutions (True) and products (False) an FP32 one runs on tensor cores. Attention does
    not show it, because its memory-efficient kernels compute FP32 products as three TF32 products with any setting."""
    products, bins = find_products(trace), kernel_bins(trace)
    on_them = distinct_in(products.place[(bins == _TENSOR_CORE) & (products.place >= 0)])
    calls = [products.distinct[place] for place in on_them.tolist()]
    calls = [each for each in calls if _ATTENTION.search(each.op) is None]
    return {_is_convolution(each.op) for each in calls if _first_type(each) == "float"}


def _first_type(product: Product) -> str:
    """Returns the type of the first operand that is a tensor, even if the amount of work is unknown."""
    if product.work is not None:
        return product.work.dtype
    return next((word.strip('"') for word in product.dtypes.strip("[]").split(",") if word.strip('"')), "")


def _judge(trace: Trace, case: _Case) -> tuple[Ineligibility | None, Rates | None]:
    if case.answer.family in _WITHOUT_COUNTERPART and case.product is not None:
        return NO_KERNEL, None
    if case.bin != _MATMUL_LIKE:
        return None, None
    properties = trace.devices.get(case.device)
    listed = device_peaks(trace, case.device)
    dtype = _dtype(case)
    missing = _missing_types(properties.compute_capability if properties else None, listed)
    peaks = listed
    if listed is None and device_has_tensor_cores(trace, case.device):
        peaks = device_ratios(trace, case.device)
    why = _why(case, dtype, missing, peaks)
    if why is TF32_NO_FASTER and listed is None:
        why = TF32_MAY_BE_NO_FASTER
    rates = None if peaks is None or why in (NO_KERNEL, DTYPE, DECOMPOSITION) else _rates(case, dtype, peaks)
    return why, msgspec.structs.replace(rates, listed=listed is not None) if rates else None


def _dtype(case: _Case) -> str:
    named = _first_type(case.product) if case.product else ""
    if not named and case.answer.family == "cgemm" and case.product and _is_convolution(case.product.op):
        return "float"  # a convolution by Fourier transform: only its inner products are complex
    return named or _FAMILY_TYPES.get(case.answer.family, "")


def _is_double(case: _Case) -> bool:
    multiplies = case.bin in _PRODUCTS or case.answer.family in _WITHOUT_COUNTERPART
    return multiplies and _dtype(case) == "double"


def _missing_types(capability: tuple[int, int] | None, peaks: Peaks | None) -> set[str]:
    """Returns which of FP32 and FP64 the device's tensor cores do not support. TF32 and FP64 were introduced by the
    same chips."""
    if peaks is None:
        return {"float", "double"} if capability is None or capability < TF32_CAPABILITY else set()
    return {name for name, peak in (("float", peaks.tf32), ("double", peaks.fp64_tensor)) if peak is None}


def _why(case: _Case, dtype: str, missing: set[str], peaks: Peaks | None) -> Ineligibility:
    work = case.product.work if case.product else None
    if work is not None and (work.depthwise or (len(work.lengths) == 3 and 1 in work.lengths[:2])):
        return NO_KERNEL
    if not dtype:
        return STAGE if case.answer.role == "stage" else NOT_RECORDED
    if dtype == "float" and case.decomposes:
        return DECOMPOSITION
    if dtype not in _UNITS or (dtype == "double" and dtype in missing):
        return DTYPE
    if case.answer.role == "stage":
        return STAGE
    if dtype == "float" and (dtype in missing or (peaks is not None and not peaks.tf32_is_faster)):
        in_16_bits = FP32 if dtype in missing else TF32_NO_FASTER
        return (in_16_bits, WIDENED, msgspec.structs.replace(in_16_bits, id=MATH_ATTENTION, reason=_BY_MATH))[
            case.attention
        ]
    if dtype == "float" and not case.tf32:
        return TF32_OFF_CONVOLUTION if case.product and _is_convolution(case.product.op) else TF32_OFF
    layout = LAYOUT if case.converted and dtype in HALVES else LIBRARY
    return _misaligned(case, _UNITS[dtype]) or layout


def _misaligned(case: _Case, unit: int) -> Ineligibility | None:
    lengths = case.product.work.lengths if case.product and case.product.work else ()
    odd = [length for length in lengths if length % unit]
    if odd:
        return Ineligibility("alignment", Reason("misaligned_size", {"length": count(odd[0]), "unit": count(unit)}))
    return ALIGNED_KERNEL if MISALIGNED_KERNEL.search(case.kernel) else None


def _rates(case: _Case, dtype: str, peaks: Peaks) -> Rates | None:
    """Returns the rates of a kernel without and with tensor cores. FP32 moves to TF32 if that is faster, else to 16
    bits, which halves its bytes. An unknown type counts as FP32.

    The result is None for 8 bits, because no data sheet lists the rate of plain cores for them, and for FP64 where its
    rates are not known.
    """
    if dtype == "double":
        return Rates(peaks.fp64, peaks.fp64_tensor, 1.0) if peaks.fp64 and peaks.fp64_tensor else None
    if dtype in EIGHTHS:
        return None
    if dtype in HALVES:
        plain = peaks.plain_half if case.answer.family in _HALF_VECTORS else peaks.fp32
        return Rates(plain, peaks.half, 1.0)
    if dtype == "float" and peaks.tf32 is not None and peaks.tf32_is_faster:
        return Rates(peaks.fp32, peaks.tf32, 1.0)
    return Rates(peaks.fp32, peaks.half, 0.5)


def _gains(trace: Trace, rates: Int32 | Int64, peaks: list[Rates]) -> Int64:
    """Returns the gain of each kernel: its time * min(ratio of the peaks, 1 - time that memory takes / time of the op's
    kernels)."""
    dur = steady_activity_ns(trace, trace.kernels.event)
    saved = np.array([*(each.saved for each in peaks), 0.0])[rates]
    width = np.array([*(each.width for each in peaks), 0.0])[rates]
    left = np.maximum(0.0, 1.0 - memory_share(trace, rates >= 0) * width)
    return np.asarray(np.floor(dur * np.minimum(saved, left)), np.int64)


def memory_share(trace: Trace, chosen: Bool) -> Float64:
    """Returns for each chosen kernel the minimum number of bytes of its op's call / memory bandwidth, as a share of the
    time of the call's chosen kernels. It is 0 if the bytes are unknown, and for all other kernels."""
    products, dur = find_products(trace), steady_activity_ns(trace, trace.kernels.event)
    share, device = np.zeros(len(dur)), trace.events.device[trace.kernels.event]
    rows = np.flatnonzero(chosen & (products.place >= 0) & (dur > 0))
    if not len(rows):
        return share
    least = [product.work.least_bytes or 0 if product.work else 0 for product in products.distinct]
    moved = np.array(least, float)[products.place[rows]]
    call = Groups.of(products.op[rows]).place
    share[rows] = moved / _bandwidths(trace, device[rows]) / np.bincount(call, dur[rows])[call]
    return share


def _bandwidths(trace: Trace, device: Int32) -> Float64:
    """Returns the bytes per ns (GB/s) of each device; infinity if unknown."""
    bandwidth = np.full(len(device), np.inf)
    for each in trace.devices:
        peaks = device_peaks(trace, each)
        bandwidth[device == each] = peaks.memory if peaks else np.inf
    return bandwidth
