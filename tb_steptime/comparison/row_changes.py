"""Rows of one kind on both sides, largest change first: which are matched, which are new or gone.

Spans of a side are pooled first, then rows are matched, then each pair has its change with an interval.

Rows that are not identical are matched, too. Each row is matched once, in passes from the surest to the weakest:

    base        sgemm  under mm [8,64]      helper under mm [8,64]      relu
    candidate   tensor-core gemm under mm [8,64]                        relu
    pass 1      by name and place:   relu
    pass 2      by op and shapes:    sgemm -> tensor-core gemm          the longest of a key stand for each other:
    left        helper: gone                                            helpers come and go with the algorithm
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from tb_steptime.comparison.intervals import Sample, Status, change_of_samples, pooled, status_of
from tb_steptime.comparison.sides import ComparedSpan, Side
from tb_steptime.metrics.phases.marks import PhaseId

TableId = Literal["kernels", "ops", "blocking", "copies"]

#: Maximum number of rows of a table, those with the largest changes.
ROWS = 200


class RowChange(msgspec.Struct, frozen=True):
    """A row of both sides, or of one of them: then the names of the other are None. Per step.

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
    """more: how many rows of smaller changes are left out."""

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


#: The key by which rows are matched; a row with the key None is not matched.
Key = Callable[[P], Hashable]
Pairs = list[tuple[Row[P], Row[P]]]
#: Takes the rows that are left on both sides, and returns the pairs that are matched.
Pairing = Callable[[Sequence[Row[P]], Sequence[Row[P]]], Pairs[P]]
Passes = Sequence[tuple[MatchedBy, Pairing[P]]]


def matched(base: Sequence[Row[P]], candidate: Sequence[Row[P]], passes: Passes[P]) -> list[Match[P]]:
    """Returns every row of both sides, in one match each."""
    found: list[Match[P]] = []
    left, right = list(base), list(candidate)
    for by, pairing in passes:
        pairs = pairing(left, right)
        found += [Match(one, other, by) for one, other in pairs]
        taken = {id(row) for pair in pairs for row in pair}
        left, right = ([row for row in rows if id(row) not in taken] for rows in (left, right))
    return [*found, *(Match(row, None, "base_only") for row in left),
            *(Match(None, row, "candidate_only") for row in right)]  # fmt: skip


def by(key: Key[P]) -> Pairing[P]:
    """Pairs rows with equal keys by their ranks."""

    def pairs(base: Sequence[Row[P]], candidate: Sequence[Row[P]]) -> Pairs[P]:
        there = _by_key(candidate, key)
        return [
            pair
            for of, rows in _by_key(base, key).items()
            if of in there
            for pair in zip(ranked(rows), ranked(there[of]), strict=False)
        ]

    return pairs


def _by_key(rows: Sequence[Row[P]], key: Key[P]) -> dict[Hashable, list[Row[P]]]:
    found: dict[Hashable, list[Row[P]]] = defaultdict(list)
    for row in rows:
        if (of := key(row.place)) is not None:
            found[of].append(row)
    return found


def ranked(rows: Sequence[Row[P]]) -> list[Row[P]]:
    """Returns the rows, longest first; rows that take about as long as the one before are in the order in which they
    run."""
    by_time = sorted(rows, key=lambda row: (-row.ns.mean, row.order))
    stretches: list[list[Row[P]]] = []
    for row in by_time:
        if stretches and row.ns.mean >= (1 - LIKE_FRACTION) * stretches[-1][-1].ns.mean:
            stretches[-1].append(row)
        else:
            stretches.append([row])
    return [row for stretch in stretches for row in sorted(stretch, key=lambda row: row.order)]


@dataclass(frozen=True)
class Kind(Generic[P]):
    """One kind of table. of: returns the places of a span; key: places with the same key in several spans of a side
    form one row; order: orders rows with about the same time."""

    id: TableId
    of: Callable[[ComparedSpan], Sequence[P]]
    key: Callable[[P], Hashable]
    passes: Passes[P]
    ns: Callable[[P], int]
    said: Callable[[P], PlaceTexts]
    order: Callable[[P], int] = lambda place: 0


def table(kind: Kind[P], base: Side, candidate: Side) -> ChangeTable:
    """Returns the largest changes of all rows of both sides."""
    matches = matched(_rows(kind, base), _rows(kind, candidate), kind.passes)
    rows = [_change(kind, match, len(base.step_ns), len(candidate.step_ns)) for match in matches]
    rows.sort(key=lambda row: (-abs(row.change_ns), -row.base_ns, row.base_name or "", row.candidate_name or ""))
    return ChangeTable(kind.id, rows[:ROWS], len(rows[ROWS:]))


def _rows(kind: Kind[P], side: Side) -> list[Row[P]]:
    found: dict[Hashable, list[P | None]] = defaultdict(lambda: [None] * len(side.spans))
    for number, span in enumerate(side.spans):
        for place in kind.of(span):
            found[kind.key(place)][number] = place
    steps = [int(span.whole.sum()) for span in side.spans]
    return [_row(kind, places, steps) for places in found.values()]


def _row(kind: Kind[P], places: Sequence[P | None], steps: Sequence[int]) -> Row[P]:
    """Describes one place in all spans of a side; None stands for a span that does not have it."""
    known = [place for place in places if place is not None]
    samples = [
        Sample(count, 0.0, 0.0) if place is None else Sample(count, kind.ns(place) / count, place.deviation_ns)
        for place, count in zip(places, steps, strict=True)
    ]
    calls = sum(place.count for place in known) / sum(steps)
    return Row(known[0], pooled(samples), calls, kind.order(known[0]))


def _change(kind: Kind[P], match: Match[P], base_steps: int, candidate_steps: int) -> RowChange:
    one, other = match.base, match.candidate
    shown = one or other
    assert shown is not None
    before = one.ns if one else Sample(base_steps, 0.0, 0.0)
    after = other.ns if other else Sample(candidate_steps, 0.0, 0.0)
    change = change_of_samples(before, after)
    base, candidate = (kind.said(row.place) if row else None for row in (one, other))
    said = kind.said(shown.place)
    return RowChange(
        base_name=base.name if base else None,
        candidate_name=candidate.name if candidate else None,
        base_short=base.short if base else None,
        candidate_short=candidate.short if candidate else None,
        op=said.op,
        shapes=said.shapes,
        module=said.module,
        source=said.source,
        phase=said.phase,
        matched_by=match.by,
        status="gone" if other is None else "new" if one is None else status_of(change),
        base_ns=round(before.mean),
        candidate_ns=round(after.mean),
        low=change.low,
        high=change.high,
        base_calls=one.calls if one else 0.0,
        candidate_calls=other.calls if other else 0.0,
    )
