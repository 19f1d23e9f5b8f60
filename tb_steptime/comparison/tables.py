"""The tables of a comparison: kernels, ops, blocking calls and copies.

Keys match a kernel of the candidate with one of the base, from the surest to the weakest:

    name      same kernel, same place (op, shapes of its inputs, module, phase)
    op        same op, input shapes, module and phase: fp32 -> tensor-core GEMM, cuDNN -> Triton
    module    same module and phase: eager -> inductor
    shapes    same op and input shapes, in another module
    fused     the compiled kernel has the op in its name: triton_poi_fused_add_relu_0 for aten::relu
    kernel    same kernel, another place
    op name   same op and phase, other input shapes, the same kind of kernel
Within a key, kernels of the same kind (products, conversions, reductions) are matched first.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from tb_steptime.comparison.row_changes import (
    ChangeTable,
    Key,
    Kind,
    Pairs,
    Passes,
    PlaceTexts,
    Row,
    TableId,
    by,
    ranked,
    table,
)
from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.host.blocking_calls import BlockingPlace
from tb_steptime.metrics.host.copies import CopyPlace
from tb_steptime.metrics.host.cpu_ops import OpTime
from tb_steptime.metrics.kernel_names.short_names import kind_of
from tb_steptime.metrics.kernels.launch_places import LaunchPlace


def tables(base: Side, candidate: Side) -> list[ChangeTable]:
    """Returns the tables that have rows. Where a side has no GPU, only the ops are compared."""
    ops = table(_OPS, base, candidate)
    if not all(span.compare.kernels for side in (base, candidate) for span in side.spans):
        return [ops] if ops.rows else []
    found = (
        table(_KERNELS, base, candidate),
        ops,
        table(_BLOCKING, base, candidate),
        table(_COPIES, base, candidate),
    )
    return [each for each in found if each.rows]


def table_of(id: TableId, found: list[ChangeTable]) -> ChangeTable:
    """Returns the table, empty where there is none."""
    return next((each for each in found if each.of == id), ChangeTable(id, []))


def _kernel(place: LaunchPlace) -> PlaceTexts:
    return PlaceTexts(place.name, place.short, place.op, place.shapes, place.module, phase=place.phase)


def _op(place: OpTime) -> PlaceTexts:
    return PlaceTexts(place.name, place.name)


def _blocking(place: BlockingPlace) -> PlaceTexts:
    op = place.outer_op if place.outer_op and place.outer_op.startswith("aten::") else place.op
    return PlaceTexts(place.call, place.call, op, module=place.module, source=place.source, phase=place.phase)


def _copy(place: CopyPlace) -> PlaceTexts:
    way = f"{place.direction} {place.source} → {place.target}"
    return PlaceTexts(way, way, place.op, phase=place.phase)


def _blocking_place(place: BlockingPlace) -> Hashable:
    return place.op, place.outer_op, place.phase, place.direction, place.module, place.source


def _op_that_blocks(place: BlockingPlace) -> Hashable:
    return (place.op, place.outer_op, place.phase) if place.op else None


_BLOCKING_PASSES: Passes[BlockingPlace] = (
    ("name", by(lambda place: (place.call, _blocking_place(place)))),
    ("place", by(_blocking_place)),
    ("op", by(_op_that_blocks)),
)
#: A copy from pinned instead of pageable memory is another row of the same place.
_COPY_PASSES: Passes[CopyPlace] = (
    ("name", by(lambda place: (place.direction, place.source, place.target, place.op, place.phase))),
    ("place", by(lambda place: (place.direction, place.op, place.phase))),
)


_COMPILED = re.compile(r"^triton_\w*?fused_?(?P<ops>[a-z_0-9]*?)_?\d*$")
_LIBRARY = re.compile(r"^(aten::)?_?(cudnn_|miopen_|native_)?|_$")


def _alike(key: Key[LaunchPlace]) -> Key[LaunchPlace]:
    """Returns the same key, restricted to one kind of kernel."""

    def both(place: LaunchPlace) -> Hashable:
        of = key(place)
        return None if of is None else (of, kind_of(place.short))

    return both


def by_name(place: LaunchPlace) -> Hashable:
    return place.name, place.op, place.shapes, place.module, place.phase


def _by_op(place: LaunchPlace) -> Hashable:
    return (place.op, place.shapes, place.module, place.phase) if place.op and place.shapes else None


def _by_module(place: LaunchPlace) -> Hashable:
    return (place.module, place.phase) if place.module else None


def _by_shapes(place: LaunchPlace) -> Hashable:
    return (place.op, place.shapes) if place.op and place.shapes else None


def _by_op_name(place: LaunchPlace) -> Hashable:
    return (place.op, place.phase) if place.op else None


def fused_ops(name: str) -> str | None:
    """Returns the ops that a compiled kernel's name lists; None for any other kernel.

    >>> fused_ops("triton_poi_fused_add_relu_0"), fused_ops("volta_sgemm_128x64_nn")
    ('add_relu', None)
    """
    found = _COMPILED.match(name)
    return found["ops"] if found and found["ops"] else None


def is_fused_from(name: str, op: str | None) -> bool:
    """Whether a compiled kernel's name lists the op.

    >>> is_fused_from("triton_red_fused__softmax_mul_3", "aten::_softmax")
    True
    >>> is_fused_from("triton_poi_fused_mul_1", "aten::mm")
    False
    """
    ops = fused_ops(name)
    plain = _LIBRARY.sub("", op) if op else ""
    return bool(ops and plain) and f"_{plain}_" in f"_{ops}_"


def _fused(base: Sequence[Row[LaunchPlace]], candidate: Sequence[Row[LaunchPlace]]) -> Pairs[LaunchPlace]:
    """Matches compiled kernels, the longest first, each with the longest kernel whose op its name lists."""
    left, found = ranked(base), []
    for other in ranked([row for row in candidate if fused_ops(row.place.name)]):
        one = next((row for row in left if is_fused_from(other.place.name, row.place.op)), None)
        if one is not None:
            found.append((one, other))
            left.remove(one)
    return found


PASSES: Passes[LaunchPlace] = (
    ("name", by(by_name)),
    ("op", by(_alike(_by_op))),
    ("op", by(_by_op)),
    ("shapes", by(_alike(_by_shapes))),
    ("module", by(_alike(_by_module))),
    ("module", by(_by_module)),
    ("shapes", by(_by_shapes)),
    ("fused", _fused),
    ("kernel", by(lambda place: place.name)),
    ("op_name", by(_alike(_by_op_name))),
)


_KERNELS = Kind(
    "kernels",
    of=lambda span: span.compare.kernels,
    key=by_name,
    passes=PASSES,
    ns=lambda place: place.total_ns,
    said=_kernel,
    order=lambda place: place.order,
)
_OPS = Kind(
    "ops",
    of=lambda span: span.compare.ops,
    key=lambda place: place.name,
    passes=(("name", by(lambda place: place.name)),),
    ns=lambda place: place.self_ns,
    said=_op,
)
_BLOCKING = Kind(
    "blocking",
    of=lambda span: span.compare.blocking,
    key=lambda place: (place.call, place.kind, _blocking_place(place)),
    passes=_BLOCKING_PASSES,
    ns=lambda place: place.total_ns,
    said=_blocking,
)
_COPIES = Kind(
    "copies",
    of=lambda span: span.compare.copies,
    key=lambda place: (place.direction, place.source, place.target, place.op, place.phase),
    passes=_COPY_PASSES,
    ns=lambda place: place.total_ns,
    said=_copy,
)
