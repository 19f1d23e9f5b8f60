"""The same collective on every rank of its group: the n-th of the group in a step is the n-th of the group in that step
on the others, where all have equally many, and they agree in kind and bytes.

    rank 0   step 5   [all-reduce 25][all-reduce 7]       matched       step 6   [all-reduce 25]    not: rank 1 has two
    rank 1   step 5     [all-reduce 25][all-reduce 7]                   step 6   [all-reduce 25][all-reduce 7]
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.communication.exchanges import ExchangeClass
from tb_steptime.ranks.instances import GroupKey, Instances
from tb_steptime.trace.table import Bool, Int64

#: Between two ranks, and not of a group as a whole; or not known to be of one.
NOT_MATCHED = ("send_receive", "unknown")
#: Of these each rank may exchange another number of bytes.
_UNEVEN = ("all_to_all", "gather", "scatter")


@dataclass(frozen=True, eq=False)
class Matched:
    """Collectives of one group, m of them, on n of its ranks. members: places of these among the job's ranks.

    step, of: (m,), place among the job's steps and in classes; alike: (m,), all ranks exchange as many bytes.
    start (epoch time), length, exposed: (m, n), ns.
    """

    group: GroupKey
    classes: Sequence[ExchangeClass]
    members: Int64
    step: Int64
    of: Int64
    alike: Bool
    start: Int64
    length: Int64
    exposed: Int64


@dataclass(frozen=True)
class Matching:
    """matched: one for each group of at least two ranks that were recorded. unlike: collectives of steps that all ranks
    of the group have, which differ over ranks in number, kind or bytes; alone: of groups with one recorded rank."""

    matched: list[Matched]
    unlike: int
    alone: int


def match(ranks: Sequence[Instances], steps: int) -> Matching:
    """Of the job's ranks in order, over so many steps."""
    members: dict[GroupKey, list[tuple[int, Int64]]] = defaultdict(list)
    for place, each in enumerate(ranks):
        exchanged = np.array([one.kind not in NOT_MATCHED for one in each.classes], bool)
        for group in np.unique(each.group).tolist():
            rows = np.flatnonzero((each.group == group) & exchanged[each.of]) if len(exchanged) else np.empty(0, int)
            if len(rows):
                members[each.groups[group]].append((place, rows))
    matched, unlike, alone = [], 0, 0
    for group, of in members.items():
        if len(of) < 2 or (not group.ranks and group.size and len(of) > group.size):
            alone += max(len(rows) for _, rows in of)
            continue
        found, unlike_here = _match_group(group, of, ranks, steps)
        matched.append(found)
        unlike += unlike_here
    return Matching(matched, unlike, alone)


def _match_group(
    group: GroupKey, members: list[tuple[int, Int64]], ranks: Sequence[Instances], steps: int
) -> tuple[Matched, int]:
    """And how many of these collectives do not match."""
    counts = np.array([np.bincount(ranks[place].step[rows], minlength=steps) for place, rows in members])
    everywhere = counts.min(axis=0) > 0
    equal = everywhere & (counts.min(axis=0) == counts.max(axis=0))
    of = [(ranks[place], rows[equal[ranks[place].step[rows]]]) for place, rows in members]
    classes: dict[ExchangeClass, int] = {}
    numbers = np.stack([_numbered(each, rows, classes) for each, rows in of], axis=1)
    agree, alike = _agreement(list(classes), numbers)

    def column(name: str) -> Int64:
        return np.stack([getattr(each, name)[rows] for each, rows in of], axis=1)[agree]

    unlike = int(counts.max(axis=0)[everywhere & ~equal].sum()) + int((~agree).sum())
    return Matched(
        group=group,
        classes=list(classes),
        members=np.array([place for place, _ in members], np.int64),
        step=of[0][0].step[of[0][1]][agree],
        of=numbers[agree, 0],
        alike=alike[agree],
        start=column("start"),
        length=column("length"),
        exposed=column("exposed"),
    ), unlike


def _numbered(each: Instances, rows: Int64, classes: dict[ExchangeClass, int]) -> Int64:
    """The class of each row, by its place among those of all ranks; new ones are added."""
    bare = [msgspec.structs.replace(one, group=None) for one in each.classes]
    used = {number: classes.setdefault(bare[number], len(classes)) for number in np.unique(each.of[rows]).tolist()}
    place = np.array([used.get(number, -1) for number in range(len(bare))], np.int64)
    return place[each.of[rows]]


def _agreement(classes: Sequence[ExchangeClass], numbers: Int64) -> tuple[Bool, Bool]:
    """Of each row whether all ranks name one kind, and as many bytes where these have to agree; and whether they do."""
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(one.kind for one in classes))}
    kind = np.array([kinds[one.kind] for one in classes], np.int64)[numbers]
    size = np.array([-1 if one.bytes is None else one.bytes for one in classes], np.int64)[numbers]
    uneven = np.array([one.kind in _UNEVEN for one in classes], bool)[numbers[:, 0]]
    one_kind = (kind == kind[:, :1]).all(axis=1)
    alike: Bool = (size == size[:, :1]).all(axis=1)
    return one_kind & (alike | uneven), alike
