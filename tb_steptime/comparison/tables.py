"""The tables of a comparison: kernels, ops, blocking calls and copies."""

from __future__ import annotations

from collections.abc import Hashable

from tb_steptime.comparison.kernel_keys import PASSES, by_name
from tb_steptime.comparison.matching import Passes, by
from tb_steptime.comparison.row_changes import ChangeTable, Kind, PlaceTexts, TableId, table
from tb_steptime.comparison.sides import Side
from tb_steptime.metrics.host.blocking_places import BlockingPlace
from tb_steptime.metrics.host.copy_places import CopyPlace
from tb_steptime.metrics.host.op_times import OpTime
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
