"""Copies from one place of a GPU to another, by purpose: another layout, another type, concatenation of tensors.

    aten::reshape > aten::clone > aten::copy_    float [8,12,3137,64] from float       layout
    aten::to > aten::_to_copy > aten::copy_      bfloat16 [512,512] from float         type
    aten::cat                                    [[8,196,768],[8,1,768]]               concatenation
    aten::slice_backward > aten::copy_           gradients of a part                   assignment

Copies between host and device, those of optimizers and of gradient exchange, those of the weights of attention, and a
library's own conversions between NCHW and NHWC have other causes and are left out. So are copies that no other op
requests: they fill the buffers of a framework or of a captured graph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import types_of
from tb_steptime.metrics.gpu.activities import KernelSite, activity_site, way
from tb_steptime.metrics.kernels.eager_attention import in_attention
from tb_steptime.metrics.kernels.kernel_kinds import KernelKind, in_layer, stream_kernels
from tb_steptime.metrics.steady.step import steady_activity_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import kernel_origins, op_at
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in

CopyKind = Literal["layout", "type", "concatenation", "assignment"]
KINDS: tuple[CopyKind, ...] = get_args(CopyKind)

#: Ops that request another layout or size, and so copy if the tensor does not have it; and ops that request another
#: type. Ops that a user writes come first, then the ops inside them.
_LAYOUT_OPS = (expression(r"^aten::(?:contiguous|reshape|flatten|repeat|pad|roll)$"), expression(r"^aten::clone$"))
_ASSIGNING_OPS = (expression(r"^aten::_?(?:slice|select|index|narrow|split|unfold|diagonal|scatter)"),)
_TYPE_OPS = (expression(r"^aten::(?:to|type_as|_autocast_to_\w+)$"), expression(r"^aten::_to_copy$"))


class CopiesOfKind(msgspec.Struct, frozen=True):
    """Copies for one purpose; means per step. op: the op that requests most of the copies; site: where the copies with
    the most time come from."""

    kind: CopyKind
    op: str
    site: KernelSite
    count: float
    total_ns: float


class _Copies(NamedTuple):
    """Kernels and copies, as rows of the event table: of the activity, of its launching call, of its op. joins: by
    cat."""

    event: Int64
    call: Int64
    op: Int64
    joins: Bool

    def chosen(self, which: Bool) -> _Copies:
        return _Copies(self.event[which], self.call[which], self.op[which], self.joins[which])

    def and_those(self, more: _Copies) -> _Copies:
        event, call, op = (np.concatenate(pair) for pair in zip(self[:3], more[:3], strict=True))
        return _Copies(event, call, op, np.concatenate((self.joins, more.joins)))


def device_copies(trace: Trace, device: int) -> list[CopiesOfKind]:
    """The copies within the device that start in the span's window, those with the most time first."""
    copies = _by_kernels(trace, device).and_those(_by_copy_engines(trace, device))
    request, kind = _kinds(trace, copies.op, copies.joins)
    copies, request, kind = copies.chosen(request >= 0), request[request >= 0], kind[request >= 0]
    found = [
        _of_kind(trace, KINDS[each], copies.chosen(kind == each), request[kind == each])
        for each in distinct_in(kind).tolist()
    ]
    return sorted(found, key=lambda each: -each.total_ns)


def _by_kernels(trace: Trace, device: int) -> _Copies:
    kernels, origins = stream_kernels(trace, device), kernel_origins(trace)
    chosen = is_in(kernels.kind, (KernelKind.COPY, KernelKind.CONCATENATION)) & kernels.of_layer
    chosen &= ~in_attention(trace, device)
    rows, joins = kernels.row[chosen], kernels.kind[chosen] == KernelKind.CONCATENATION
    call, op = origins.call[rows].astype(np.int64), origins.op[rows].astype(np.int64)
    return _Copies(trace.kernels.event[rows], call, op, joins)


def _by_copy_engines(trace: Trace, device: int) -> _Copies:
    """Copies by the copy engine: contiguous() and clone() use it if the layout stays the same."""
    within = rows_named(trace, (Kind.MEMCPY,), lambda name: way(name).direction == "DtoD")
    low, high = find_steps(trace).window
    start = trace.events.start_ns[within]
    event = within[(trace.events.device[within] == device) & (start >= low) & (start < high)]
    call = find_launches(trace).calls_of(event)
    op = op_at(trace, call)
    known = (op >= 0) & in_layer(trace, call)
    joins = are_named(trace, op[known], lambda name: name == "aten::cat")
    return _Copies(event[known], call[known], op[known], joins)


def _kinds(trace: Trace, op: Int64, joins: Bool) -> tuple[Int64, Int64]:
    """For each copy the row of the op that requests it, -1 for none, and its place in KINDS."""
    layout, cast, assigning = (_requesting_op(trace, op, ops) for ops in (_LAYOUT_OPS, _TYPE_OPS, _ASSIGNING_OPS))
    is_cast = (cast >= 0) & (_changes_type(trace, op) | (layout < 0))
    choices = [joins, is_cast, layout >= 0]
    kind = np.select(choices, [KINDS.index(each) for each in ("concatenation", "type", "layout")], len(KINDS) - 1)
    return np.select(choices, [op, cast, layout], assigning), kind.astype(np.int64)


def _requesting_op(trace: Trace, op: Int64, patterns: Sequence[re.Pattern[str]]) -> Int64:
    """The innermost op around each copy whose name matches the first of the patterns that any of them does; -1 for
    none."""
    found = np.full(len(op), -1, np.int64)
    for pattern in patterns:
        around = rows_named(trace, (Kind.CPU_OP,), pattern.match)
        found = np.where(found >= 0, found, innermost(trace, around, op))
    return found


def _changes_type(trace: Trace, op: Int64) -> Bool:
    """Whether source and target differ in type; False if not recorded."""
    if trace.events.dtypes is None:
        return np.zeros(len(op), bool)
    row = trace.events.dtypes[op].astype(np.int64)
    differs = {each: _two(trace.inputs[each]) for each in distinct_in(row[row >= 0]).tolist()}
    return np.array([differs.get(each, False) for each in row.tolist()], bool)


def _two(dtypes: str) -> bool:
    return len({each for each in types_of(dtypes)[:2] if each}) > 1


def _of_kind(trace: Trace, kind: CopyKind, copies: _Copies, request: Int64) -> CopiesOfKind:
    steps, dur = len(find_steps(trace).steps), steady_activity_ns(trace, copies.event)
    names, place = np.unique(trace.events.name[request], return_inverse=True)
    leading = int(names[np.bincount(place.reshape(-1), dur + 1).argmax()])
    event, call, op, _ = copies.chosen(trace.events.name[request] == leading)
    site = activity_site(trace, event, call, op)
    return CopiesOfKind(kind, trace.strings[leading], site, len(dur) / steps, int(dur.sum()) / steps)
