"""Attention that separate ops compute: products with a softmax between them, which one fused kernel could replace.

    stream 7    bmm   div   add   softmax   dropout   bmm          forward
                q k   scale mask                      v
                bmm   bmm   masked_scale   softmax backward   div   bmm   bmm          backward

Only the kernels on the matrix of weights between the products count, including conversions to another type and the
copy that `masked_fill` makes, because a fused kernel never writes this matrix to memory. The products remain. A
softmax at the end of a classifier has no batched products on both sides, and a softmax whose size differs from that of
the products does not belong to attention.
"""

from __future__ import annotations

from math import prod

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import shapes_of
from tb_steptime.metrics.gpu.activities import KernelSite, find_products, kernel_site, way
from tb_steptime.metrics.kernels.stream_kernels import KernelKind, StreamKernels, begin_in, stream_kernels
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import forward_of, kernel_origins, op_at
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: Maximum number of kernels between a product and the softmax: scale, mask, bias, casts, dropout, and a few more.
MOST_BETWEEN = 12

#: The op of torch that computes attention, which may use separate ops inside.
_FUSED_OP = "aten::scaled_dot_product_attention"
#: Ops that copy their input as it is, and change the copy.
_MASKING_OP = expression(r"^aten::masked_(?:fill|scatter)$")

#: The kinds of kernels between the products. Reductions are gradients of a bias, which remain.
_BETWEEN = (KernelKind.ELEMENTWISE, KernelKind.COPY, KernelKind.GENERATED, KernelKind.REDUCTION)


class _Between(msgspec.Struct, frozen=True):
    """The places of a softmax of attention and of the products around it in `StreamKernels`. size: the number of
    weights; None if not recorded."""

    softmax: int
    before: int
    after: int
    size: int | None


class EagerAttention(msgspec.Struct, frozen=True):
    """Attention that is computed by separate ops; means per step.

    site          where the softmax with the most time comes from; its shapes are those of the attention weights
    calls         number of softmaxes, forward and backward
    softmax_ns    time of their kernels
    other_ns      time of scale, mask, dropout, conversions and copies of the weights between the products
    written_out   share of the forward pass' softmaxes that torch's own attention op computes in this way, because no
                  fused kernel supports the inputs
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
    copies = copies_of_weights(trace, device)
    copies = copies[chosen.holding(trace.events.start_ns[copies]) >= 0]
    is_softmax = kernels.kind[of_attention] == KernelKind.SOFTMAX
    softmaxes, number = kernels.row[of_attention[is_softmax]], len(chosen.steps)
    ops = rows_named(trace, (Kind.CPU_OP,), lambda name: name == _FUSED_OP)
    softmax = kernel_origins(trace).op[softmaxes].astype(np.int64)
    forward = softmax[forward_of(trace, softmax) < 0]  # in the backward pass, no op encloses the parts of torch's op
    return EagerAttention(
        site=kernel_site(trace, softmaxes),
        calls=len(softmaxes) / number,
        softmax_ns=int(dur[is_softmax].sum()) / number,
        other_ns=int(dur[~is_softmax].sum() + steady_activity_ns(trace, copies).sum()) / number,
        written_out=float((innermost(trace, ops, forward) >= 0).mean()) if len(forward) else 0.0,
    )


@shared
def in_attention(trace: Trace, device: int) -> Bool:
    """Returns which of the device's `stream_kernels` fused attention would replace. No other advice counts these."""
    kernels = stream_kernels(trace, device)
    is_attention = np.zeros(len(kernels.row), bool)
    for attention in _attentions(trace, device):
        is_attention[_replaced(trace, kernels, attention)] = True
    return is_attention


@shared
def copies_of_weights(trace: Trace, device: int) -> Int64:
    """Returns the copies within the device by the driver, as rows of the event table, that fused attention would
    replace. No other advice counts these."""
    events, kernels = trace.events, stream_kernels(trace, device)
    copies = rows_named(trace, (Kind.MEMCPY,), lambda name: way(name).direction == "DtoD")
    copies = copies[events.device[copies] == device]
    if not len(copies):
        return copies
    op = op_at(trace, find_launches(trace).calls_of(copies))
    masks = in_masking_ops(trace, op)
    event, is_of_weights = trace.kernels.event[kernels.row], np.zeros(len(copies), bool)
    for attention in _attentions(trace, device):
        first, last = event[attention.before], event[attention.after]
        between = np.arange(*np.searchsorted(events.start_ns[copies], events.start_ns[[first, last]]))
        for place in between[events.stream[copies[between]] == events.stream[first]].tolist():
            size = _size_of_op(trace, int(op[place]))
            known = size is not None and attention.size is not None
            is_of_weights[place] = size == attention.size if known else masks[place]
    return copies[is_of_weights]


def in_masking_ops(trace: Trace, op: Int64) -> Bool:
    """Returns which of these ops, -1 for none, run inside an op that changes a copy of its input."""
    return innermost(trace, rows_named(trace, (Kind.CPU_OP,), _MASKING_OP.match), op) >= 0


@shared
def _attentions(trace: Trace, device: int) -> list[_Between]:
    """Returns each softmax of the device's `stream_kernels` that has the products of attention around it."""
    kernels = stream_kernels(trace, device)
    result = []
    for softmax in np.flatnonzero(kernels.kind == KernelKind.SOFTMAX).tolist():
        before, after = _next_product(kernels, softmax, -1), _next_product(kernels, softmax, 1)
        size = _size(trace, kernels, softmax)
        if before is not None and after is not None and _multiplies(trace, kernels, after, size):
            result.append(_Between(softmax, before, after, size))
    return result


def _replaced(trace: Trace, kernels: StreamKernels, attention: _Between) -> Int64:
    """Returns the places of the softmax's kernel and of those on the weights between the products around it."""
    places: Int64 = np.arange(attention.before + 1, attention.after)
    kind = kernels.kind[places]
    counts = (kind != KernelKind.COPY) & (kind != KernelKind.REDUCTION)
    copies = places[kind == KernelKind.COPY].tolist()
    counts[kind == KernelKind.COPY] = [
        _copies_weights(trace, kernels, copy, attention.size, places[kind == KernelKind.ELEMENTWISE]) for copy in copies
    ]
    return places[counts]


def _next_product(kernels: StreamKernels, place: int, way: int) -> int | None:
    """Returns the next batched product before (-1) or after (1), with only elementwise kernels in between; None if
    there is none."""
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
    return _size_of_op(trace, int(kernel_origins(trace).op[kernels.row[place]]))


def _size_of_op(trace: Trace, op: int) -> int | None:
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
    """Returns whether a copy is of the weights and not of the values. If sizes are not recorded, a copy of the weights
    has the grid of another elementwise kernel on them."""
    own = _size(trace, kernels, copy)
    if size is not None and own is not None:
        return own == size
    grid = trace.kernels.grid
    if grid is None or grid[kernels.row[copy]].min() < 1:
        return False
    return bool((grid[kernels.row[others]] == grid[kernels.row[copy]]).all(axis=1).any())
