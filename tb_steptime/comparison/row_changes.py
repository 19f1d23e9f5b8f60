"""Rows of one kind on both sides, largest change first: which are matched, which are new or gone.

Spans of a side are pooled first, then rows are matched, then each pair has its change with an interval.

Rows that are not identical are matched, too. Each row is matched once, in passes from the most to the least certain:

    base        sgemm  under mm [8,64]      helper under mm [8,64]      relu
    candidate   tensor-core gemm under mm [8,64]                        relu
    pass 1      by name and place:   relu
    pass 2      by op and shapes:    sgemm -> tensor-core gemm          the longest of a key stand for each other:
    left        helper: gone                                            helpers come and go with the algorithm

The tables are those of kernels, ops, blocking calls and copies. Keys match a kernel of the candidate with one of the
base, from the most to the least certain:

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
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from tb_steptime.comparison.intervals import Sample, Status, change_of_samples, pooled, status_of
from tb_steptime.comparison.sides import ComparedSpan, Side
from tb_steptime.metrics.host.blocking_calls import BlockingPlace
from tb_steptime.metrics.host.copies import CopyPlace
from tb_steptime.metrics.host.op_times import OpTime
from tb_steptime.metrics.kernel_names.short_names import kind_of
from tb_steptime.metrics.kernels.launch_places import LaunchPlace
from tb_steptime.metrics.phases.sites import PhaseId

TableId = Literal["kernels", "ops", "blocking", "copies"]

#: Maximum number of rows of a table, those with the largest changes.
ROWS = 200


class RowChange(msgspec.Struct, frozen=True):
    """A row of both sides, or of one of them: then the names of the other are None. Times and counts are per step.

    *_name: a kernel's, an op's, the calls as written, or from where to where a copy goes; *_short: to show. op, shapes,
    module, source, phase: of the base, or of the candidate where it is new. *_ns: of a kernel or copy its time, of an
    op its own, of calls how long the host is blocked. low, high: 95 % interval of the change, None where a side has too
    few steps. status: "changed" is more than noise, and a microsecond at least.
    """

    base_name: str | None
    candidate_name: str | None
    base_short: str | None
    candidate_short: str | None
    op: str | None
    shapes: str
    module: str | None
    source: str | None
    phase: PhaseId | None
    matched_by: MatchedBy
    status: Status
    base_ns: int
    candidate_ns: int
    low: float | None
    high: float | None
    base_calls: float
    candidate_calls: float

    @property
    def change_ns(self) -> int:
        return self.candidate_ns - self.base_ns


class ChangeTable(msgspec.Struct, frozen=True):
    """The changes of one kind of rows. more: how many rows of smaller changes are left out."""

    of: TableId
    rows: list[RowChange]
    more: int = 0


@dataclass(frozen=True)
class PlaceTexts:
    """The texts of a place in its row."""

    name: str
    short: str
    op: str | None = None
    shapes: str = ""
    module: str | None = None
    source: str | None = None
    phase: PhaseId | None = None


MatchedBy = Literal[
    "name", "op", "module", "shapes", "fused", "kernel", "op_name", "place", "base_only", "candidate_only"
]

#: Rows whose times differ by less than this share are ordered by when they run.
LIKE_FRACTION = 0.2


class Place(Protocol):
    """A place with sums over the compared steps of a span."""

    @property
    def count(self) -> int: ...

    @property
    def deviation_ns(self) -> float | None: ...


P = TypeVar("P", bound=Place)


@dataclass(frozen=True, eq=False)
class Row(Generic[P]):
    """A place over all spans of a side, per step. order: orders places with about the same time."""

    place: P
    ns: Sample
    calls: float
    order: int = 0


@dataclass(frozen=True)
class Match(Generic[P]):
    """Two rows that are matched, or one row without a match."""

    base: Row[P] | None
    candidate: Row[P] | None
    by: MatchedBy


#: The key by which rows are matched. A row with the key None is not matched.
Key = Callable[[P], Hashable]
Pairs = list[tuple[Row[P], Row[P]]]
#: A function from the rows that are left on both sides to the pairs that are matched.
Pairing = Callable[[Sequence[Row[P]], Sequence[Row[P]]], Pairs[P]]
Passes = Sequence[tuple[MatchedBy, Pairing[P]]]


def matched(base: Sequence[Row[P]], candidate: Sequence[Row[P]], passes: Passes[P]) -> list[Match[P]]:
    """Returns the matches. Every row of both sides is in one of them."""
    matches: list[Match[P]] = []
    left, right = list(base), list(candidate)
    for by, pairing in passes:
        pairs = pairing(left, right)
        matches += [Match(one, other, by) for one, other in pairs]
        paired = {id(row) for pair in pairs for row in pair}
        left, right = ([row for row in rows if id(row) not in paired] for rows in (left, right))
    return [*matches, *(Match(row, None, "base_only") for row in left),
            *(Match(None, row, "candidate_only") for row in right)]  # fmt: skip


def by(key: Key[P]) -> Pairing[P]:
    """Returns a function that pairs rows with equal keys by their ranks."""

    def pairs(base: Sequence[Row[P]], candidate: Sequence[Row[P]]) -> Pairs[P]:
        by_value = _by_key(candidate, key)
        return [
            pair
            for value, rows in _by_key(base, key).items()
            if value in by_value
            for pair in zip(ranked(rows), ranked(by_value[value]), strict=False)
        ]

    return pairs


def _by_key(rows: Sequence[Row[P]], key: Key[P]) -> dict[Hashable, list[Row[P]]]:
    by_value: dict[Hashable, list[Row[P]]] = defaultdict(list)
    for row in rows:
        if (value := key(row.place)) is not None:
            by_value[value].append(row)
    return by_value


def ranked(rows: Sequence[Row[P]]) -> list[Row[P]]:
    """Returns the rows, longest first. Rows that take about as long as the one before are in the order in which they
    run."""
    by_time = sorted(rows, key=lambda row: (-row.ns.mean, row.order))
    groups: list[list[Row[P]]] = []
    for row in by_time:
        if groups and row.ns.mean >= (1 - LIKE_FRACTION) * groups[-1][-1].ns.mean:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [row for group in groups for row in sorted(group, key=lambda row: row.order)]


@dataclass(frozen=True)
class Kind(Generic[P]):
    """One kind of table. of: returns the places of a span; key: places with the same key in several spans of a side
    form one row; order: orders rows with about the same time."""

    id: TableId
    of: Callable[[ComparedSpan], Sequence[P]]
    key: Callable[[P], Hashable]
    passes: Passes[P]
    ns: Callable[[P], int]
    texts: Callable[[P], PlaceTexts]
    order: Callable[[P], int] = lambda place: 0


def table(kind: Kind[P], base: Side, candidate: Side) -> ChangeTable:
    """Returns the largest changes of all rows of both sides."""
    matches = matched(_rows(kind, base), _rows(kind, candidate), kind.passes)
    rows = [_change(kind, match, len(base.step_ns), len(candidate.step_ns)) for match in matches]
    rows.sort(key=lambda row: (-abs(row.change_ns), -row.base_ns, row.base_name or "", row.candidate_name or ""))
    return ChangeTable(kind.id, rows[:ROWS], len(rows[ROWS:]))


def _rows(kind: Kind[P], side: Side) -> list[Row[P]]:
    by_key: dict[Hashable, list[P | None]] = defaultdict(lambda: [None] * len(side.spans))
    for number, span in enumerate(side.spans):
        for place in kind.of(span):
            by_key[kind.key(place)][number] = place
    steps = [int(span.whole.sum()) for span in side.spans]
    return [_row(kind, places, steps) for places in by_key.values()]


def _row(kind: Kind[P], places: Sequence[P | None], steps: Sequence[int]) -> Row[P]:
    """Returns the row of one place in all spans of a side. None stands for a span that does not have it."""
    present = [place for place in places if place is not None]
    samples = [
        Sample(count, 0.0, 0.0) if place is None else Sample(count, kind.ns(place) / count, place.deviation_ns)
        for place, count in zip(places, steps, strict=True)
    ]
    calls = sum(place.count for place in present) / sum(steps)
    return Row(present[0], pooled(samples), calls, kind.order(present[0]))


def _change(kind: Kind[P], match: Match[P], base_steps: int, candidate_steps: int) -> RowChange:
    one, other = match.base, match.candidate
    shown = one or other
    assert shown is not None
    before = one.ns if one else Sample(base_steps, 0.0, 0.0)
    after = other.ns if other else Sample(candidate_steps, 0.0, 0.0)
    change = change_of_samples(before, after)
    base, candidate = (kind.texts(row.place) if row else None for row in (one, other))
    texts = kind.texts(shown.place)
    return RowChange(
        base_name=base.name if base else None,
        candidate_name=candidate.name if candidate else None,
        base_short=base.short if base else None,
        candidate_short=candidate.short if candidate else None,
        op=texts.op,
        shapes=texts.shapes,
        module=texts.module,
        source=texts.source,
        phase=texts.phase,
        matched_by=match.by,
        status="gone" if other is None else "new" if one is None else status_of(change),
        base_ns=round(before.mean),
        candidate_ns=round(after.mean),
        low=change.low,
        high=change.high,
        base_calls=one.calls if one else 0.0,
        candidate_calls=other.calls if other else 0.0,
    )


def tables(base: Side, candidate: Side) -> list[ChangeTable]:
    """Returns the tables that have rows. Where a side has no GPU, only the ops are compared."""
    ops = table(_OPS, base, candidate)
    if not all(span.compare.kernels for side in (base, candidate) for span in side.spans):
        return [ops] if ops.rows else []
    others = (table(_BLOCKING, base, candidate), table(_COPIES, base, candidate))
    return [each for each in (table(_KERNELS, base, candidate), ops, *others) if each.rows]


def table_of(id: TableId, tables_here: list[ChangeTable]) -> ChangeTable:
    """Returns the table, empty where there is none."""
    return next((each for each in tables_here if each.of == id), ChangeTable(id, []))


def _kernel(place: LaunchPlace) -> PlaceTexts:
    return PlaceTexts(place.name, place.short, place.op, place.shapes, place.module, phase=place.phase)


def _op(place: OpTime) -> PlaceTexts:
    return PlaceTexts(place.name, place.name)


def _blocking(place: BlockingPlace) -> PlaceTexts:
    op = place.outer_op if place.outer_op and place.outer_op.startswith("aten::") else place.op
    return PlaceTexts(place.call, place.call, op, module=place.module, source=place.source, phase=place.phase)


def _copy(place: CopyPlace) -> PlaceTexts:
    route = f"{place.direction} {place.source} → {place.target}"
    return PlaceTexts(route, route, place.op, phase=place.phase)


def fields(*names: str, needs: Sequence[str] = ()) -> Key[Any]:
    """Returns the key of these fields of a place. The key is None where one of the fields that it needs is empty."""
    values = attrgetter(*names)
    return lambda place: values(place) if all(getattr(place, need) for need in needs) else None


_blocking_place = fields("op", "outer_op", "phase", "direction", "module", "source")
_BLOCKING_PASSES: Passes[BlockingPlace] = (
    ("name", by(lambda place: (place.call, _blocking_place(place)))),
    ("place", by(_blocking_place)),
    ("op", by(fields("op", "outer_op", "phase", needs=("op",)))),
)
_copy_place = fields("direction", "source", "target", "op", "phase")
#: A copy from pinned instead of pageable memory is another row of the same place.
_COPY_PASSES: Passes[CopyPlace] = (("name", by(_copy_place)), ("place", by(fields("direction", "op", "phase"))))


_COMPILED = re.compile(r"^triton_\w*?fused_?(?P<ops>[a-z_0-9]*?)_?\d*$")
_LIBRARY = re.compile(r"^(aten::)?_?(cudnn_|miopen_|native_)?|_$")


def _same_kind(key: Key[LaunchPlace]) -> Key[LaunchPlace]:
    """Returns the same key, restricted to one kind of kernel."""

    def both(place: LaunchPlace) -> Hashable:
        value = key(place)
        return None if value is None else (value, kind_of(place.short))

    return both


_by_name = fields("name", "op", "shapes", "module", "phase")
_by_op = fields("op", "shapes", "module", "phase", needs=("op", "shapes"))
_by_module = fields("module", "phase", needs=("module",))
_by_shapes = fields("op", "shapes", needs=("op", "shapes"))


def fused_ops(name: str) -> str | None:
    """Returns the ops that a compiled kernel's name lists, or None for any other kernel.

    >>> fused_ops("triton_poi_fused_add_relu_0"), fused_ops("volta_sgemm_128x64_nn")
    ('add_relu', None)
    """
    match = _COMPILED.match(name)
    return match["ops"] if match and match["ops"] else None


def is_fused_from(name: str, op: str | None) -> bool:
    """Returns whether a compiled kernel's name lists the op.

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
    left, pairs = ranked(base), []
    for other in ranked([row for row in candidate if fused_ops(row.place.name)]):
        one = next((row for row in left if is_fused_from(other.place.name, row.place.op)), None)
        if one is not None:
            pairs.append((one, other))
            left.remove(one)
    return pairs


PASSES: Passes[LaunchPlace] = (
    ("name", by(_by_name)),
    ("op", by(_same_kind(_by_op))),
    ("op", by(_by_op)),
    ("shapes", by(_same_kind(_by_shapes))),
    ("module", by(_same_kind(_by_module))),
    ("module", by(_by_module)),
    ("shapes", by(_by_shapes)),
    ("fused", _fused),
    ("kernel", by(lambda place: place.name)),
    ("op_name", by(_same_kind(fields("op", "phase", needs=("op",))))),
)


_KERNELS = Kind(
    "kernels",
    of=lambda span: span.compare.kernels,
    key=_by_name,
    passes=PASSES,
    ns=lambda place: place.total_ns,
    texts=_kernel,
    order=lambda place: place.order,
)
_OPS = Kind(
    "ops",
    of=lambda span: span.compare.ops,
    key=lambda place: place.name,
    passes=(("name", by(lambda place: place.name)),),
    ns=lambda place: place.self_ns,
    texts=_op,
)
_BLOCKING = Kind(
    "blocking",
    of=lambda span: span.compare.blocking,
    key=lambda place: (place.call, place.kind, _blocking_place(place)),
    passes=_BLOCKING_PASSES,
    ns=lambda place: place.total_ns,
    texts=_blocking,
)
_COPIES = Kind(
    "copies",
    of=lambda span: span.compare.copies,
    key=_copy_place,
    passes=_COPY_PASSES,
    ns=lambda place: place.total_ns,
    texts=_copy,
)
