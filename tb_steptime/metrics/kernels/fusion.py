"""Chains of memory-bound kernels that a compiler would fuse: norms, rotary embeddings, masks.

    stream 7    mm | pow mean add rsqrt mul mul | mm          6 kernels, of which the longest takes 90 us of 250 us

A fused kernel reads and writes at least as much as the longest kernel of the chain, so the time of that one remains,
and at least a quarter of the chain, which may compute several results. A chain consists of kernels of one stream that
ops of a layer launched one after another, that no compiler generated, and that fused attention would not replace.

What a chain of elementwise kernels and reductions computes, according to its ops.

pow mean add rsqrt mul mul        a norm by the root of the mean square (RMSNorm)
mean sub pow mean add sqrt div    a norm by mean and variance (LayerNorm)
mul neg cat mul add               a rotary embedding, of halves that are turned
"""

from __future__ import annotations

import enum
import re
from math import prod
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import shapes_of
from tb_steptime.metrics.gpu.activities import KernelSite, find_products, kernel_site
from tb_steptime.metrics.gpu.utilization import kernel_rows_in_window
from tb_steptime.metrics.kernel_names.work_kinds import (
    CONCATENATION_KERNEL,
    ELEMENTWISE_KERNEL,
    FIXED_NORM_KERNEL,
    GENERATED_KERNEL,
    GENERATED_SOFTMAX_KERNEL,
    NORM_TRANSFORM_KERNEL,
    REDUCTION_KERNEL,
    SOFTMAX_KERNEL,
)
from tb_steptime.metrics.phases.assignment import PHASES, kernel_phases
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.metrics.tensor_cores.usage import kernel_answers
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, are_named, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import forward_of, kernel_origins
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Bool, Float64, Int64, Kind, UInt8, distinct_in, is_in

# The kind of each kernel in the sequence of its stream, as needed for fusing: a product, a softmax, elementwise work.
#
#     stream 7    bmm   mul   add   softmax   dropout   bmm   cat   add
#     kind        P     E     E     S         E         P     C     E
#
# The op takes precedence over the kernel's name.


class KernelKind(enum.IntEnum):
    """OTHER ends every chain."""

    OTHER = 0
    PRODUCT = 1  # a matrix product, convolution or attention
    BATCHED = 2  # a product of many matrices: bmm, baddbmm
    SOFTMAX = 3
    ELEMENTWISE = 4  # batch norm by fixed statistics, too
    REDUCTION = 5
    CONCATENATION = 6
    COPY = 7  # an elementwise kernel that only copies, perhaps to another layout or type
    GENERATED = 8  # by a compiler, which has fused what it could


_ATEN = expression(r"^aten::")
_BATCHED_OP = expression(r"^aten::(?:baddbmm_?|bmm)$")
_SOFTMAX_OP = expression(r"^aten::_?(?:safe_|masked_)?softmax(?:_backward(?:_data)?)?$")
_COPY_OP = expression(r"^aten::copy_$")

_BY_NAME = (
    (ELEMENTWISE_KERNEL, KernelKind.ELEMENTWISE),
    (FIXED_NORM_KERNEL, KernelKind.ELEMENTWISE),
    (REDUCTION_KERNEL, KernelKind.REDUCTION),
    (CONCATENATION_KERNEL, KernelKind.CONCATENATION),
    (GENERATED_KERNEL, KernelKind.GENERATED),
    (GENERATED_SOFTMAX_KERNEL, KernelKind.SOFTMAX),
)

#: Work that does not belong to a layer: of optimizers, of summing gradients, and of exchanging them. What follows the
#: last backward pass, such as an average of the weights, is none either: compiling the model does not reach it.
_NO_LAYER = expression(
    r"AccumulateGrad|c10d|torch\.distributed|record_param_comms|Optimizer\.|_foreach_|_amp_"
    r"|(?i:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all)"
)
_NO_LAYER_PHASES = tuple(PHASES.index(phase) for phase in ("optimizer", "zero_grad", "data_loading", "other"))


class StreamKernels(msgspec.Struct, frozen=True, eq=False):
    """Kernels of one device that start in the span's window, stream after stream, in time order.

    row        of the kernel table
    kind       a `KernelKind`
    broken     a copy, a set, a step or another stream begins before it, so that a chain cannot continue from the kernel
               before
    of_layer   part of a layer's forward or backward pass, and launched by an op
    """

    row: Int64
    kind: UInt8
    broken: Bool
    of_layer: Bool


@shared
def stream_kernels(trace: Trace, device: int) -> StreamKernels:
    """Returns the kernels in the order in which each stream runs them."""
    events, rows = trace.events, kernel_rows_in_window(trace, device)
    event = trace.kernels.event[rows]
    order = np.lexsort((events.start_ns[event], events.stream[event]))
    rows = rows[order]
    return StreamKernels(rows, _kinds(trace, rows), _broken(trace, device, rows), _of_layer(trace, rows))


def _kinds(trace: Trace, rows: Int64) -> UInt8:
    event, op = trace.kernels.event[rows], kernel_origins(trace).op[rows].astype(np.int64)
    matmul = kernel_answers(trace).where(lambda answer: answer.role == "matmul")[rows]
    kind = np.full(len(rows), KernelKind.OTHER, np.uint8)
    for pattern, its_kind in _BY_NAME:
        kind[are_named(trace, event, pattern.search)] = its_kind
    alone = (op >= 0) & (np.bincount(op + 1)[op + 1] == 1)  # so no other kernel of the op measured statistics for it
    kind[are_named(trace, event, NORM_TRANSFORM_KERNEL.search) & alone] = KernelKind.ELEMENTWISE
    kind[matmul] = KernelKind.PRODUCT
    copying = _with_op(trace, op, _COPY_OP)
    kind[copying & (kind == KernelKind.ELEMENTWISE)] = KernelKind.COPY
    kind[_with_op(trace, op, _BATCHED_OP) & matmul] = KernelKind.BATCHED
    kind[are_named(trace, event, SOFTMAX_KERNEL.search) & ~_with_op(trace, op, _ATEN)] = KernelKind.SOFTMAX
    kind[_with_op(trace, op, _SOFTMAX_OP)] = KernelKind.SOFTMAX
    return kind


def _with_op(trace: Trace, op: Int64, pattern: re.Pattern[str]) -> Bool:
    """Returns which of these ops, -1 for none, have a name that matches the pattern."""
    result = op >= 0
    result[result] = are_named(trace, op[result], pattern.search)
    return result


def _broken(trace: Trace, device: int, rows: Int64) -> Bool:
    """Returns where a chain is broken: by a copy or memset of the same stream, or the begin of a step or stream."""
    events, event = trace.events, trace.kernels.event[rows]
    others = events.rows(*(kind for kind in DEVICE_KINDS if kind != Kind.KERNEL))
    others = others[events.device[others] == device]
    begins = find_steps(trace).start_ns
    broken = np.ones(len(rows), bool)
    for stream in distinct_in(events.stream[event] + 1).tolist():
        on_stream = np.flatnonzero(events.stream[event] == stream - 1)
        between = np.sort(np.concatenate((events.start_ns[others[events.stream[others] == stream - 1]], begins)))
        before = np.searchsorted(between, events.start_ns[event[on_stream]], side="right")
        broken[on_stream[1:]] = before[1:] != before[:-1]
    return broken


def _of_layer(trace: Trace, rows: Int64) -> Bool:
    origins = kernel_origins(trace)
    anchor = np.where(origins.call[rows] >= 0, origins.call[rows], origins.op[rows]).astype(np.int64)
    is_excluded = is_in(kernel_phases(trace)[rows], _NO_LAYER_PHASES)
    return (origins.op[rows] >= 0) & ~is_excluded & in_layer(trace, anchor)


def in_layer(trace: Trace, calls: Int64) -> Bool:
    """Returns which calls or ops are not inside a range of an optimizer, of summing gradients or of exchanging them."""
    excluded = rows_named(trace, (Kind.CPU_OP, Kind.USER), _NO_LAYER.search)
    return innermost(trace, excluded, calls) < 0


# Attention that is computed by separate ops: products with a softmax between them, which one fused kernel could
# replace.
#
#     stream 7    bmm   div   add   softmax   dropout   bmm          forward
#                 q k   scale mask                      v
#                 bmm   bmm   masked_scale   softmax backward   div   bmm   bmm          backward
#
# Only the kernels on the matrix of weights between the products count, conversions to another type among them: a fused
# kernel never writes it to memory. The products remain. A softmax at the end of a classifier has no batched products on
# both sides, and a softmax whose size differs from that of the products does not belong to attention.

#: Maximum number of kernels between a product and the softmax: scale, mask, bias, casts, dropout, and a few more.
MOST_BETWEEN = 12

#: The op of torch that computes attention, even if it uses separate ops inside.
_FUSED_OP = "aten::scaled_dot_product_attention"

#: Kinds of kernels between the products. Sums after them are gradients of a bias, which remain.
_BETWEEN = (KernelKind.ELEMENTWISE, KernelKind.COPY, KernelKind.GENERATED, KernelKind.REDUCTION)


class EagerAttention(msgspec.Struct, frozen=True):
    """Attention that is computed by separate ops; means per step.

    site          where the softmax with the most time comes from; its shapes are those of the attention weights
    calls         number of softmaxes, forward and backward
    softmax_ns    time of their kernels
    other_ns      time of scale, mask, dropout and conversions between the products
    written_out   share of the softmaxes of the forward pass that torch's own attention op computes in this way, because
                  no fused kernel accepts the inputs
    """

    site: KernelSite
    calls: float
    softmax_ns: float
    other_ns: float
    written_out: float

    @property
    def total_ns(self) -> float:
        return self.softmax_ns + self.other_ns


def eager_attention(trace: Trace, device: int, steps: Steps | None = None) -> EagerAttention | None:
    """Returns the unfused attention among the device's kernels that start in the steps; None if there is none. steps:
    None for all."""
    kernels, chosen = stream_kernels(trace, device), steps or find_steps(trace)
    of_attention = np.flatnonzero(in_attention(trace, device) & begin_in(trace, chosen, kernels.row))
    if not len(of_attention):
        return None
    dur = steady_activity_ns(trace, trace.kernels.event[kernels.row[of_attention]])
    is_softmax = kernels.kind[of_attention] == KernelKind.SOFTMAX
    softmaxes, number = kernels.row[of_attention[is_softmax]], len(chosen.steps)
    ops = rows_named(trace, (Kind.CPU_OP,), lambda name: name == _FUSED_OP)
    softmax = kernel_origins(trace).op[softmaxes].astype(np.int64)
    forward = softmax[forward_of(trace, softmax) < 0]  # in the backward pass no op encloses the parts of torch's op
    return EagerAttention(
        site=kernel_site(trace, softmaxes),
        calls=len(softmaxes) / number,
        softmax_ns=int(dur[is_softmax].sum()) / number,
        other_ns=int(dur[~is_softmax].sum()) / number,
        written_out=float((innermost(trace, ops, forward) >= 0).mean()) if len(forward) else 0.0,
    )


@shared
def in_attention(trace: Trace, device: int) -> Bool:
    """Returns which of the device's `stream_kernels` fused attention would replace. No other advice counts these."""
    kernels = stream_kernels(trace, device)
    is_attention = np.zeros(len(kernels.row), bool)
    for place in np.flatnonzero(kernels.kind == KernelKind.SOFTMAX).tolist():
        is_attention[_around(trace, kernels, place)] = True
    return is_attention


def _around(trace: Trace, kernels: StreamKernels, softmax: int) -> Int64:
    """Returns the places of the softmax's kernel and of those between the products around it; empty if it is not
    attention."""
    before, after = _next_product(kernels, softmax, -1), _next_product(kernels, softmax, 1)
    size = _size(trace, kernels, softmax)
    if before is None or after is None or not _multiplies(trace, kernels, after, size):
        return np.empty(0, np.int64)
    places: Int64 = np.arange(before + 1, after)
    kind = kernels.kind[places]
    counts = (kind != KernelKind.COPY) & (kind != KernelKind.REDUCTION)
    copies = places[kind == KernelKind.COPY].tolist()
    counts[kind == KernelKind.COPY] = [
        _copies_weights(trace, kernels, copy, size, places[kind == KernelKind.ELEMENTWISE]) for copy in copies
    ]
    places_around: Int64 = places[counts]
    return places_around


def _next_product(kernels: StreamKernels, place: int, way: int) -> int | None:
    """Returns the next batched product before (-1) or after (1), with only elementwise kernels in between."""
    for _ in range(MOST_BETWEEN + 1):
        place += way
        if not 0 <= place < len(kernels.kind):
            return None
        if kernels.kind[place] == KernelKind.BATCHED:
            return place
        if kernels.kind[place] not in _BETWEEN:
            return None
    return None


def _size(trace: Trace, kernels: StreamKernels, place: int) -> int | None:
    """Returns the number of elements of the first input of the kernel's op; None if not recorded."""
    op = int(kernel_origins(trace).op[kernels.row[place]])
    row = int(trace.events.shapes[op]) if trace.events.shapes is not None and op >= 0 else -1
    shapes = shapes_of(trace.inputs[row]) if row >= 0 else None
    return prod(shapes[0]) if shapes and shapes[0] else None


def _multiplies(trace: Trace, kernels: StreamKernels, product: int, size: int | None) -> bool:
    """Returns whether the product has an operand of that size; True if sizes are not recorded."""
    products = find_products(trace)
    place = int(products.place[kernels.row[product]])
    shapes = shapes_of(products.distinct[place].shapes) if place >= 0 else None
    return size is None or shapes is None or size in [prod(shape) for shape in shapes if shape]


def _copies_weights(trace: Trace, kernels: StreamKernels, copy: int, size: int | None, others: Int64) -> bool:
    """Returns whether a copy is of the weights and not of the values. Without sizes, a copy of the weights has the grid
    of another elementwise kernel on them."""
    own = _size(trace, kernels, copy)
    if size is not None and own is not None:
        return own == size
    grid = trace.kernels.grid
    if grid is None or grid[kernels.row[copy]].min() < 1:
        return False
    return bool((grid[kernels.row[others]] == grid[kernels.row[copy]]).all(axis=1).any())


#: Share of a chain's time that always remains.
STAYS_FRACTION = 0.25
#: Maximum number of ops of a chain that are named.
NAMED_OPS = 4

#: Kernels on complex numbers: inductor leaves their ops as they are (`unsupported_input_tensor` in its lowering.py).
_COMPLEX = expression(r"\bcomplex<|7complexI[fd]")
#: From this many calls in a row on, the same op with the same kernel is called for each of many tensors, or over and
#: over to measure it: no call passes its result on to the next one.
_REPEATED = 16
_FUSIBLE = (KernelKind.ELEMENTWISE, KernelKind.REDUCTION, KernelKind.CONCATENATION, KernelKind.COPY)


class ChainsOfKind(msgspec.Struct, frozen=True):
    """Chains of one kind; means per step.

    site       where the chain with the most time comes from
    ops        the first distinct ops of that chain
    gain_ns    the most that fusing them would save
    """

    kind: ChainKind
    site: KernelSite
    ops: list[str]
    chains: float
    kernels: float
    total_ns: float
    gain_ns: float


class FusibleChains(msgspec.Struct, frozen=True):
    """The chains of a device. kinds: those with the most gain first; compiled: the device runs kernels that a compiler
    generated."""

    kinds: list[ChainsOfKind]
    compiled: bool

    @property
    def total_ns(self) -> float:
        return sum(each.total_ns for each in self.kinds)

    @property
    def gain_ns(self) -> float:
        return sum(each.gain_ns for each in self.kinds)


class _Chains(msgspec.Struct, frozen=True, eq=False):
    """Kernels that form chains.

    row      row of the kernel table, chain after chain
    number   number of the kernel's chain
    first    place of each chain's first kernel
    """

    row: Int64
    number: Int64
    first: Int64
    total_ns: Int64
    gain_ns: Float64


def fusible_chains(trace: Trace, device: int, steps: Steps | None = None) -> FusibleChains:
    """Finds the fusible chains among the device's kernels that start in the steps. steps: None for all."""
    kernels, chosen = stream_kernels(trace, device), steps or find_steps(trace)
    chains = _chains(trace, kernels, in_attention(trace, device) | ~begin_in(trace, chosen, kernels.row))
    kind, number = chain_kinds(trace, _op_names(trace, chains.row), chains.first), len(chosen.steps)
    kinds_found = [_of_kind(trace, chains, kind == place, KINDS[place], number) for place in distinct_in(kind).tolist()]
    compiled = bool((kernels.kind == KernelKind.GENERATED).any())
    return FusibleChains(sorted(kinds_found, key=lambda each: -each.gain_ns), compiled)


def begin_in(trace: Trace, steps: Steps, rows: Int64) -> Bool:
    """Returns which of these kernels start in the steps."""
    return steps.holding(trace.events.start_ns[trace.kernels.event[rows]]) >= 0


def _chains(trace: Trace, kernels: StreamKernels, excluded: Bool) -> _Chains:
    """Returns the chains of two or more kernels. Concatenations alone, as of keys and then of values, are none: the
    first one passes nothing on to the second. Likewise one op that is called many times in a row."""
    excluded = excluded | _repeats(trace, kernels) | are_named(trace, trace.kernels.event[kernels.row], _COMPLEX.search)
    fusible = is_in(kernels.kind, _FUSIBLE) & kernels.of_layer & ~excluded
    begins = fusible & (kernels.broken | ~np.concatenate(([False], fusible))[:-1])
    number = np.cumsum(begins) - 1
    number, row = number[fusible], kernels.row[fusible]
    passes_on = np.bincount(number, kernels.kind[fusible] != KernelKind.CONCATENATION)
    several = ((np.bincount(number) > 1) & (passes_on > 0))[number] if len(number) else np.zeros(0, bool)
    number, row = np.unique(number[several], return_inverse=True)[1].reshape(-1), row[several]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    dur = steady_activity_ns(trace, trace.kernels.event[row])
    total = exact_sums(number, dur, len(first))
    longest = np.maximum.reduceat(dur, first) if len(first) else total
    return _Chains(row, number, first, total, np.minimum(total - longest, total * (1 - STAYS_FRACTION)))


def _repeats(trace: Trace, kernels: StreamKernels) -> Bool:
    """Returns which kernels are in a row of many with the same name and the same name of their op."""
    op = kernel_origins(trace).op[kernels.row].astype(np.int64)
    kernel_name, op_name = trace.events.name[trace.kernels.event[kernels.row]], trace.events.name[op]
    differs = (np.diff(kernel_name, prepend=-1) != 0) | (np.diff(op_name, prepend=-1) != 0) | (op < 0) | kernels.broken
    number = np.cumsum(differs) - 1
    repeats: Bool = np.bincount(number)[number] >= _REPEATED if len(number) else differs
    return repeats


def _of_kind(trace: Trace, chains: _Chains, chosen: Bool, kind: ChainKind, steps: int) -> ChainsOfKind:
    longest = chains.row[chains.number == np.where(chosen, chains.total_ns, -1).argmax()]
    return ChainsOfKind(
        kind=kind,
        site=kernel_site(trace, longest),
        ops=_ops_of(trace, longest),
        chains=int(chosen.sum()) / steps,
        kernels=int(chosen[chains.number].sum()) / steps,
        total_ns=int(chains.total_ns[chosen].sum()) / steps,
        gain_ns=float(chains.gain_ns[chosen].sum()) / steps,
    )


def _ops_of(trace: Trace, rows: Int64) -> list[str]:
    """Returns the first distinct ops, in order."""
    names = dict.fromkeys(_op_names(trace, rows).tolist())
    return [trace.strings[name] for name in names][:NAMED_OPS]


def _op_names(trace: Trace, rows: Int64) -> Int64:
    return trace.events.name[kernel_origins(trace).op[rows]].astype(np.int64)


ChainKind = Literal["rms_norm", "layer_norm", "rotary", "elementwise"]
KINDS: tuple[ChainKind, ...] = get_args(ChainKind)


class _Op(enum.IntFlag):
    SQUARE = enum.auto()
    MEAN = enum.auto()
    ROOT = enum.auto()
    VARIANCE = enum.auto()
    DIFFERENCE = enum.auto()
    NEGATION = enum.auto()
    CONCATENATION = enum.auto()
    PRODUCT = enum.auto()
    SUM = enum.auto()


#: Effect of an op, by its name without namespace and in-place mark.
_OPS = {
    "pow": _Op.SQUARE, "square": _Op.SQUARE, "mean": _Op.MEAN, "rsqrt": _Op.ROOT, "sqrt": _Op.ROOT,
    "var": _Op.VARIANCE, "std": _Op.VARIANCE | _Op.ROOT, "var_mean": _Op.VARIANCE,
    "sub": _Op.DIFFERENCE, "neg": _Op.NEGATION, "cat": _Op.CONCATENATION, "mul": _Op.PRODUCT, "add": _Op.SUM,
}  # fmt: skip


def chain_kinds(trace: Trace, names: Int64, first: Int64) -> Int64:
    """Returns for each chain its place in KINDS. names: the ops of all chains, rows of the string table, chain after
    chain; first: the place of each chain's first one."""
    if not len(first):
        return first
    does = np.array([int(_OPS.get(_bare(text), 0)) for text in trace.strings.strings], np.int64)
    has = np.bitwise_or.reduceat(does[names], first)
    by_variance = _has_all(has, _Op.MEAN | _Op.DIFFERENCE | _Op.ROOT) | _has_all(has, _Op.VARIANCE | _Op.ROOT)
    by_square = _has_all(has, _Op.MEAN | _Op.ROOT) & (_has_all(has, _Op.SQUARE) | _has_all(has, _Op.PRODUCT))
    turned = _has_all(has, _Op.NEGATION | _Op.CONCATENATION | _Op.PRODUCT | _Op.SUM)
    places = [KINDS.index(kind) for kind in ("layer_norm", "rms_norm", "rotary")]
    return np.select([by_variance, by_square, turned], places, KINDS.index("elementwise")).astype(np.int64)


def _has_all(has: Int64, ops: _Op) -> Bool:
    has_all: Bool = (has & int(ops)) == int(ops)
    return has_all


def _bare(op: str) -> str:
    return op.removeprefix("aten::").removesuffix("_") if op.startswith("aten::") else ""
