"""Matches rows of the candidate with rows of the base that are not identical.

Each row is matched once, in passes from the surest to the weakest:

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
from typing import Generic, Literal, TypeVar

from tb_steptime.comparison.intervals import Sample

MatchedBy = Literal[
    "name", "op", "module", "shapes", "fused", "kernel", "op_name", "place", "base_only", "candidate_only"
]

#: Rows whose times differ by less than this share are ordered by when they run.
LIKE_FRACTION = 0.2

P = TypeVar("P")


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
