"""Copies within a GPU by purpose: another layout, another type, concatenation of tensors.

    aten::reshape > aten::clone > aten::copy_    float [8,12,3137,64] from float       layout
    aten::to > aten::_to_copy > aten::copy_      bfloat16 [512,512] from float         type
    aten::cat                                    [[8,196,768],[8,1,768]]               concatenation
    aten::slice_backward > aten::copy_           gradients of a part                   assignment

Copies between host and device, those of optimizers and of gradient exchange, those of the weights of attention, those
that `masked_fill` makes to change them, and a library's own conversions between NCHW and NHWC have other causes and are
left out. Copies that no other op requests are left out too, because they fill the buffers of a framework or of a
captured graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import types_of
from tb_steptime.metrics.gpu.activities import KernelSite, activity_site, way
from tb_steptime.metrics.kernels.eager_attention import copies_of_weights, in_attention, in_masking_ops
from tb_steptime.metrics.kernels.stream_kernels import KernelKind, in_layer, stream_kernels
from tb_steptime.metrics.steady.device import steady_activity_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import kernel_origins, op_at
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Columns, Int64, Kind, distinct_in, is_in

CopyKind = Literal["layout", "type", "concatenation", "assignment"]
KINDS: tuple[CopyKind, ...] = get_args(CopyKind)

#: Ops that request another layout or size, and so copy if the tensor does not have it, and ops that request another
#: type. Ops that a user calls come first, then the ops inside them.
_LAYOUT_OPS = (expression(r"^aten::(?:contiguous|reshape|flatten|repeat|pad|roll)$"), expression(r"^aten::clone$"))
_ASSIGNING_OPS = (expression(r"^aten::_?(?:slice|select|index|narrow|split|unfold|diagonal|scatter)"),)
_TYPE_OPS = (expression(r"^aten::(?:to|type_as|_autocast_to_\w+)$"), expression(r"^aten::_to_copy$"))


class CopiesOfKind(msgspec.Struct, frozen=True):
    """The copies for one purpose; means per step. op: the op that requests most of the copies. site: where the copies
    with the most time come from."""

    kind: CopyKind
    op: str
    site: KernelSite
    count: float
    total_ns: float


class _Copies(Columns, frozen=True, eq=False):
    """Kernels and copies, as rows of the event table: the activity, its launching call, and its op. joins: whether
    `cat` made it."""

    event: Int64
    call: Int64
    op: Int64
    joins: Bool


def device_copies(trace: Trace, device: int, steps: Steps | None = None) -> list[CopiesOfKind]:
    """Returns the copies within the device that start in the steps, most time first. steps: None for all."""
    chosen = steps or find_steps(trace)
    copies = _copies_by_kernels(trace, device).followed_by(_copies_by_engines(trace, device))
    copies = copies.where(chosen.holding(trace.events.start_ns[copies.event]) >= 0)
    request, kind = _kinds(trace, copies.op, copies.joins)
    copies, request, kind = copies.where(request >= 0), request[request >= 0], kind[request >= 0]
    result = [
        _copies_of_kind(trace, KINDS[number], copies.where(kind == number), request[kind == number], len(chosen.steps))
        for number in distinct_in(kind).tolist()
    ]
    return sorted(result, key=lambda copied: -copied.total_ns)


def _copies_by_kernels(trace: Trace, device: int) -> _Copies:
    kernels, origins = stream_kernels(trace, device), kernel_origins(trace)
    chosen = is_in(kernels.kind, (KernelKind.COPY, KernelKind.CONCATENATION)) & kernels.of_layer
    chosen &= ~in_attention(trace, device)
    rows, joins = kernels.row[chosen], kernels.kind[chosen] == KernelKind.CONCATENATION
    call, op = origins.call[rows].astype(np.int64), origins.op[rows].astype(np.int64)
    return _Copies(trace.kernels.event[rows], call, op, joins)


def _copies_by_engines(trace: Trace, device: int) -> _Copies:
    """Returns the copies by the copy engine, which contiguous() and clone() use if the layout stays the same."""
    within = rows_named(trace, (Kind.MEMCPY,), lambda name: way(name).direction == "DtoD")
    event = within[trace.events.device[within] == device]
    event = event[~is_in(event, copies_of_weights(trace, device))]
    call = find_launches(trace).calls_of(event)
    op = op_at(trace, call)
    in_steps_ops = (op >= 0) & in_layer(trace, call)
    joins = are_named(trace, op[in_steps_ops], lambda name: name == "aten::cat")
    return _Copies(event[in_steps_ops], call[in_steps_ops], op[in_steps_ops], joins)


def _kinds(trace: Trace, op: Int64, joins: Bool) -> tuple[Int64, Int64]:
    """Returns for each copy the row of the op that requests it, -1 for none, and its place in KINDS."""
    layout, cast, assigning = (_requesting_op(trace, op, ops) for ops in (_LAYOUT_OPS, _TYPE_OPS, _ASSIGNING_OPS))
    layout = np.where(in_masking_ops(trace, op), -1, layout)
    is_cast = (cast >= 0) & (_changes_type(trace, op) | (layout < 0))
    choices = [joins, is_cast, layout >= 0]
    kind = np.select(choices, [KINDS.index(name) for name in ("concatenation", "type", "layout")], len(KINDS) - 1)
    return np.select(choices, [op, cast, layout], assigning), kind.astype(np.int64)


def _requesting_op(trace: Trace, op: Int64, patterns: Sequence[re.Pattern[str]]) -> Int64:
    """Returns for each copy an op that requests it, the innermost one around it that matches a pattern; -1 for none.
    Earlier patterns take precedence."""
    requesting = np.full(len(op), -1, np.int64)
    for pattern in patterns:
        around = rows_named(trace, (Kind.CPU_OP,), pattern.match)
        requesting = np.where(requesting >= 0, requesting, innermost(trace, around, op))
    return requesting


def _changes_type(trace: Trace, op: Int64) -> Bool:
    """Returns whether source and target differ in type; False if types are not recorded."""
    if trace.events.dtypes is None:
        return np.zeros(len(op), bool)
    row = trace.events.dtypes[op].astype(np.int64)
    types = {inputs: types_of(trace.inputs[inputs])[:2] for inputs in distinct_in(row[row >= 0]).tolist()}
    differs = {inputs: len(set(filter(None, of_copy))) > 1 for inputs, of_copy in types.items()}
    return np.array([differs.get(inputs, False) for inputs in row.tolist()], bool)


def _copies_of_kind(trace: Trace, kind: CopyKind, copies: _Copies, request: Int64, steps: int) -> CopiesOfKind:
    dur = steady_activity_ns(trace, copies.event)
    names, place = np.unique(trace.events.name[request], return_inverse=True)
    leading = int(names[np.bincount(place.reshape(-1), dur + 1).argmax()])
    most = copies.where(trace.events.name[request] == leading)
    site = activity_site(trace, most.event, most.call, most.op)
    return CopiesOfKind(kind, trace.strings[leading], site, len(dur) / steps, int(dur.sum()) / steps)
