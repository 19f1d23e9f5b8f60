"""Which kernel of the candidate stands for which of the base, where the name is not the same.

Each kernel is matched once, by the first of these that agrees, from the surest to the weakest. Where a place has
several kernels, the longest stand for each other: helpers (offsets, a split's sum) come and go with the algorithm.

    name      same kernel, same place (op, shapes of its inputs, module, phase)
    op        same op, input shapes, module and phase: fp32 -> tensor-core GEMM, cuDNN -> Triton
    module    same module and phase: eager -> inductor
    shapes    same op and input shapes, in another module
    kernel    same kernel, another place
    op name   same op and phase, other input shapes
What is left is in one of them only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from tb_steptime.compare.sides import Side
from tb_steptime.metrics.kernels.launch_places import LaunchPlace

MatchedBy = Literal["name", "op", "module", "shapes", "kernel", "op_name", "base_only", "candidate_only"]

#: Rows of a comparison: the largest changes.
ROWS = 200


class KernelChange(msgspec.Struct, frozen=True):
    """A kernel on both sides, per step; names are None on the side that has none. op, shapes, module: of the base, or
    of the candidate where it is new."""

    base_name: str | None
    candidate_name: str | None
    base_short: str | None
    candidate_short: str | None
    op: str | None
    shapes: str
    module: str | None
    matched_by: MatchedBy
    base_ns: int
    candidate_ns: int
    base_calls: float
    candidate_calls: float

    @property
    def change_ns(self) -> int:
        return self.candidate_ns - self.base_ns


@dataclass(frozen=True)
class _Pooled:
    """A place over all spans of a side, per step."""

    place: LaunchPlace
    ns: float
    calls: float


_Key = Callable[[LaunchPlace], Hashable]

#: From the surest to the weakest; a key of None matches nothing.
_KEYS: Mapping[MatchedBy, _Key] = {
    "name": lambda place: (place.name, place.op, place.shapes, place.module, place.phase),
    "op": lambda place: (place.op, place.shapes, place.module, place.phase) if place.op and place.shapes else None,
    "module": lambda place: (place.module, place.phase) if place.module else None,
    "shapes": lambda place: (place.op, place.shapes) if place.op and place.shapes else None,
    "kernel": lambda place: place.name,
    "op_name": lambda place: (place.op, place.phase) if place.op else None,
}


def kernel_changes(base: Side, candidate: Side) -> tuple[list[KernelChange], int]:
    """Rows with most change first; and how many more there are."""
    left, right = _pooled(base), _pooled(candidate)
    rows = []
    for matched_by, key in _KEYS.items():
        pairs, left, right = _matched(left, right, key)
        rows += [_row(one, other, matched_by) for one, other in pairs]
    rows += [_row(one, None, "base_only") for one in left]
    rows += [_row(None, other, "candidate_only") for other in right]
    rows.sort(key=lambda row: (-abs(row.change_ns), -row.base_ns, row.base_name or "", row.candidate_name or ""))
    return rows[:ROWS], len(rows[ROWS:])


def _pooled(side: Side) -> list[_Pooled]:
    """Most time first; of equals, the one that ran first."""
    places: dict[Hashable, LaunchPlace] = {}
    ns: dict[Hashable, float] = defaultdict(float)
    calls: dict[Hashable, float] = defaultdict(float)
    for span in side.spans:
        for place in sorted(span.compare.kernels, key=lambda place: place.order):
            key = _KEYS["name"](place)
            places.setdefault(key, place)
            ns[key] += place.total_ns / len(side.step_ns)
            calls[key] += place.count / len(side.step_ns)
    found = [_Pooled(place, ns[key], calls[key]) for key, place in places.items()]
    return sorted(found, key=lambda one: (-one.ns, one.place.order))


def _matched(
    left: Sequence[_Pooled], right: Sequence[_Pooled], key: _Key
) -> tuple[list[tuple[_Pooled, _Pooled]], list[_Pooled], list[_Pooled]]:
    """Pairs, in the order of both sides, and what is left on each."""
    waiting: dict[Hashable, list[_Pooled]] = defaultdict(list)
    for other in right:
        if key(other.place) is not None:
            waiting[key(other.place)].append(other)
    pairs, alone = [], []
    for one in left:
        found = waiting.get(key(one.place)) if key(one.place) is not None else None
        if found:
            pairs.append((one, found.pop(0)))
        else:
            alone.append(one)
    taken = {id(other) for _, other in pairs}
    return pairs, alone, [other for other in right if id(other) not in taken]


def _row(one: _Pooled | None, other: _Pooled | None, matched_by: MatchedBy) -> KernelChange:
    known = one or other
    assert known is not None
    return KernelChange(
        base_name=one.place.name if one else None,
        candidate_name=other.place.name if other else None,
        base_short=one.place.short if one else None,
        candidate_short=other.place.short if other else None,
        op=known.place.op,
        shapes=known.place.shapes,
        module=known.place.module,
        matched_by=matched_by,
        base_ns=round(one.ns) if one else 0,
        candidate_ns=round(other.ns) if other else 0,
        base_calls=one.calls if one else 0.0,
        candidate_calls=other.calls if other else 0.0,
    )
