"""The same collective on every rank of its group: the n-th of the group in a step is the n-th of the group in that step
on the others, where all have equally many, and they agree in kind and bytes.

    rank 0   step 5   [all-reduce 25][all-reduce 7]       matched       step 6   [all-reduce 25]    not: rank 1 has two
    rank 1   step 5     [all-reduce 25][all-reduce 7]                   step 6   [all-reduce 25][all-reduce 7]

Current releases of PyTorch number the collectives of a group in the same way on all of its ranks ("Seq"). Where all
ranks have these numbers, equal ones are the same collective, whatever else a recording lost:

    rank 0   step 6   [41][42][43]        41 and 43 are matched, in whatever order they run
    rank 1   step 6       [41][43]        42 is not: rank 1 lost it

A captured collective has the number that it had at capture in every replay of its graph. Where a number is repeated
after others, it does not identify a collective: a step is then matched only if all ranks have the same numbers in the
same order.

    rank 0   step 6   [41][42][43] [41]    [43]      one 42 on each rank, and not the same one
    rank 1   step 6   [41]    [43] [41][42][43]

Figures are means over steps, and a step in which something is lost would add too little: if there are complete steps,
only those are matched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
import numpy as np

from tb_steptime.metrics.communication.exchanges import START_UNIT_NS, ExchangeClass, Exchanges
from tb_steptime.metrics.communication.packed import unpacked
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.table import Bool, Int32, Int64, distinct

#: Maximum number of collectives x ranks. If there are more, only those of the first steps are matched, so that a job of
#: a thousand ranks fits in memory.
MOST_CELLS = 1_000_000
#: Minimum number of steps for leaving out the first one, in which ranks wait for each other's profiler to start.
FEWEST_STEPS = 3


@dataclass(frozen=True)
class GroupKey:
    """A process group of the job. name: None where the file has none; ranks: its members in the whole job, empty where
    they are not listed; size: given in that case, where it is known."""

    name: str | None
    ranks: tuple[int, ...]
    size: int | None
    description: str = ""


@dataclass(frozen=True, eq=False)
class Instances:
    """The collectives of one rank, in the order of steps and of start.

    row               place in `Exchanges`
    step              place among the job's steps
    group, of         places in groups and classes
    start             epoch time in ns
    length, exposed   ns
    sequence          see `Exchanges`, -1 where not recorded
    """

    groups: Sequence[GroupKey]
    classes: Sequence[ExchangeClass]
    row: Int64
    group: Int32
    of: Int32
    step: Int32
    start: Int64
    length: Int64
    exposed: Int64
    sequence: Int64

    @property
    def are_messages(self) -> Bool:
        """A mask of those that are sent from one rank to another."""
        return np.array([one.kind == "send_receive" for one in self.classes], bool)[self.of]


_NO_GROUP = GroupKey(None, (), None)


def instances_of(spans: Sequence[RankSpan], names: Sequence[str], first: int = 0) -> list[Instances]:
    """Returns for each rank the instances in the job's steps (names), beginning with the step `first`, as many as
    MOST_CELLS allows. The steps are the same for every rank. Raises what reading results raises."""
    exchanges = [span.ranks_result.exchanges for span in spans]
    steps = [_job_steps(span, each, names) for span, each in zip(spans, exchanges, strict=True)]
    end = first + steps_within([step[step >= first] - first for step in steps], len(names) - first)
    return [_instances(span, each, step, first, end) for span, each, step in zip(spans, exchanges, steps, strict=True)]


def _job_steps(span: RankSpan, exchanges: Exchanges, names: Sequence[str]) -> Int32:
    """Returns for each collective the place of its step among the job's."""
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[name] for name in span.step_names], np.int32)[unpacked(exchanges.step)]


def _instances(span: RankSpan, exchanges: Exchanges, step: Int32, first: int, end: int) -> Instances:
    in_steps = (step >= first) & (step < end)
    class_of, length, exposed = (
        unpacked(column)[in_steps] for column in (exchanges.of, exchanges.length, exchanges.exposed)
    )
    groups = [len(exchanges.groups) if alike.group is None else alike.group for alike in exchanges.classes]
    sequence = unpacked(exchanges.sequence) if exchanges.sequence.count else np.full(len(step), -1, np.int64)
    return Instances(
        groups=[
            *(GroupKey(group.name, tuple(group.ranks), group.size, group.description) for group in exchanges.groups),
            _NO_GROUP,
        ],
        classes=exchanges.classes,
        row=np.flatnonzero(in_steps),
        group=np.array(groups, np.int32)[class_of],
        of=class_of.astype(np.int32),
        step=step[in_steps],
        start=unpacked(exchanges.start)[in_steps] * START_UNIT_NS + span.origin_ns,
        length=length,
        exposed=np.where(exposed < 0, length, exposed),
        sequence=sequence[in_steps],
    )


def steps_within(steps_of_ranks: Sequence[Int32], steps: int, most_cells: int = MOST_CELLS) -> int:
    """Returns how many of the first steps are matched, at least one, so that all ranks together have at most
    `most_cells` collectives.

    >>> steps_within([np.array([0, 0, 1, 2]), np.array([0, 0, 1, 2])], 3, most_cells=6)
    2
    """
    counts = np.zeros(steps, np.int64)
    for of_rank in steps_of_ranks:
        counts += np.bincount(of_rank, minlength=steps)
    return max(1, int(np.searchsorted(np.cumsum(counts), most_cells, side="right")))


#: Kinds that are not matched: those between two ranks instead of the whole group, and unknown ones.
NOT_MATCHED = ("send_receive", "unknown")
#: Kinds in which each rank may exchange a different number of bytes.
UNEVEN = ("all_to_all", "gather", "scatter")


#: The collectives of one rank, and rows of them.
_Rows = tuple[Instances, Int64]


@dataclass(frozen=True, eq=False)
class MatchedGroup:
    """Collectives of one group, m of them, on n of its ranks.

    members           places of these ranks among the job's
    step, of          (m,), places among the job's steps and in classes
    bytes             (m, n), -1 where not recorded
    start             (m, n), epoch times in ns
    length, exposed   (m, n), ns
    row               (m, n), the place in each rank's `Exchanges`
    by_number         whether they are matched by number, not by order
    later_ns          (m, n), how long after this rank the last one begins; None where the ranks share no clock
    gathers_more      (m,), which take longer than others of their kind because they gather more; None if none of them
                      does
    """

    group: GroupKey
    classes: Sequence[ExchangeClass]
    members: Int64
    step: Int64
    of: Int64
    bytes: Int64
    start: Int64
    length: Int64
    exposed: Int64
    row: Int64
    by_number: bool = False
    later_ns: Int64 | None = None
    gathers_more: Bool | None = None

    @cached_property
    def alike(self) -> Bool:
        """Whether all ranks exchange the same number of bytes, (m,)."""
        return (self.bytes == self.bytes[:, :1]).all(axis=1)

    def ranks(self, spans: Sequence[RankSpan]) -> list[int]:
        """Returns the numbers of the n ranks. spans: those of the job."""
        return [spans[place].rank for place in self.members.tolist()]

    @cached_property
    def wait_ns(self) -> Int64:
        """The time for which each rank waits for the last one, (m, n). wait + transfer + off = length."""
        return self.length - self.transfer_ns - self.off_ns

    @cached_property
    def off_ns(self) -> Int64:
        """The time that a rank takes beyond the wait for the last one and the transfer, because its kernel was off its
        device, (m, n). It is 0 where the ranks share no clock."""
        if self.later_ns is None:
            return np.zeros_like(self.length)
        return np.maximum(self.length - self.transfer_ns - self.later_ns, 0)

    @cached_property
    def transfer_ns(self) -> Int64:
        """The length on the rank on which it is shortest, which arrived last, (m, n). Where ranks exchange different
        numbers of bytes, only ranks with as many or more are compared."""
        least = np.repeat(self.length.min(axis=1)[:, None], self.length.shape[1], axis=1)
        unequal = np.flatnonzero(~self.alike)
        least[unequal] = _least_of_as_many(self.length[unequal], self.bytes[unequal])
        return least


def _least_of_as_many(length: Int64, size: Int64) -> Int64:
    """Returns for each rank the shortest length on any rank with as many bytes or more. All are (m, n).

    >>> _least_of_as_many(np.array([[90, 60, 40, 70]]), np.array([[4, 8, 2, 8]])).tolist()
    [[60, 60, 40, 60]]
    """
    order = np.argsort(-size, axis=1, kind="stable")
    sizes = np.take_along_axis(size, order, axis=1)
    least = np.minimum.accumulate(np.take_along_axis(length, order, axis=1), axis=1)
    for place in range(least.shape[1] - 2, -1, -1):  # ranks with equally many have the same
        least[:, place] = np.where(sizes[:, place] == sizes[:, place + 1], least[:, place + 1], least[:, place])
    result = np.empty_like(least)
    np.put_along_axis(result, order, least, axis=1)
    return result


@dataclass(frozen=True)
class Matching:
    """The collectives of a job, matched over its ranks.

    matched   one for each group of which at least two ranks were recorded
    unlike    number of collectives, in steps that all ranks of the group have, that some ranks lack or that differ
              between ranks in kind or bytes
    alone     number of collectives in groups with one recorded rank
    shifted   number of collectives in groups whose ranks number their steps differently
    """

    matched: list[MatchedGroup]
    unlike: int
    alone: int
    shifted: int = 0


def match(ranks: Sequence[Instances], steps: int, world_size: int | None = None) -> Matching:
    """Matches the collectives of the job's ranks in order, over this many steps. world_size: the job's number of ranks,
    None where not known."""
    members: dict[GroupKey, list[tuple[int, Int64]]] = defaultdict(list)
    for place, each in enumerate(ranks):
        exchanged = np.array([one.kind not in NOT_MATCHED for one in each.classes], bool)
        for group in distinct(each.group).tolist():
            rows = np.flatnonzero((each.group == group) & exchanged[each.of]) if len(exchanged) else np.empty(0, int)
            if len(rows):
                members[each.groups[group]].append((place, rows))
    matched, unlike, alone = [], 0, 0
    for group, rows_of_ranks in members.items():
        if len(rows_of_ranks) < 2 or _may_be_several(group, len(rows_of_ranks), world_size):
            alone += max(len(rows) for _, rows in rows_of_ranks)
            continue
        matched_group, unlike_here = _match_group(group, rows_of_ranks, ranks, steps)
        matched.append(matched_group)
        unlike += unlike_here
    return Matching(matched, unlike, alone)


def _may_be_several(group: GroupKey, recorded: int, world_size: int | None) -> bool:
    """Returns whether other groups, of other ranks, may have the same name: the group's ranks are not listed, and the
    job has more ranks than its size."""
    return not group.ranks and bool(group.size) and max(recorded, world_size or 0) > (group.size or 0)


def _match_group(
    group: GroupKey, members: list[tuple[int, Int64]], ranks: Sequence[Instances], steps: int
) -> tuple[MatchedGroup, int]:
    """Returns the matched collectives, and how many of the group's do not match."""
    rows_of = [(ranks[place], rows) for place, rows in members]
    together, unlike = _together(rows_of, steps)
    classes: dict[ExchangeClass, int] = {}
    numbers = np.stack([_numbered(instances, rows, classes) for instances, rows in together], axis=1)
    agree, size = _agreement(list(classes), numbers)

    def column(name: str) -> Int64:
        return np.stack([getattr(instances, name)[rows] for instances, rows in together], axis=1)[agree]

    return MatchedGroup(
        group=group,
        classes=list(classes),
        members=np.array([place for place, _ in members], np.int64),
        step=together[0][0].step[together[0][1]][agree].astype(np.int64),
        of=numbers[agree, 0],
        bytes=size[agree],
        start=column("start"),
        length=column("length"),
        exposed=column("exposed"),
        row=column("row"),
        by_number=_have_numbers(rows_of),
    ), unlike + int((~agree).sum())


def _together(rows_of: list[_Rows], steps: int) -> tuple[list[_Rows], int]:
    """Returns for each rank the rows to be matched, in the same order on all ranks, and how many rows of steps that all
    ranks recorded are left out."""
    step = np.concatenate([instances.step[rows] for instances, rows in rows_of])
    numbers = np.concatenate([instances.sequence[rows] for instances, rows in rows_of])
    sequence = numbers if _have_numbers(rows_of) else np.zeros(len(step), np.int64)
    rank = np.repeat(np.arange(len(rows_of)), [len(rows) for _, rows in rows_of])
    same = Groups.of(step, sequence)
    counts = np.bincount(same.place * len(rows_of) + rank, minlength=len(same) * len(rows_of)).reshape(-1, len(rows_of))
    equal = (counts.min(axis=1) == counts.max(axis=1)) & (sequence[same.first] >= 0)
    equal &= ~_out_of_order(rows_of, sequence, steps)[step[same.first]]
    recorded = (
        np.bincount(step * len(rows_of) + rank, minlength=steps * len(rows_of)).reshape(-1, len(rows_of)).min(axis=1)
        > 0
    )
    whole = recorded & (np.bincount(step[same.first], ~equal, minlength=steps) == 0)
    equal &= whole[step[same.first]] | (not whole.any())
    ordered = [_in_order(rows, same.place[rank == number], equal) for number, (_, rows) in enumerate(rows_of)]
    return (
        [(each, rows) for (each, _), rows in zip(rows_of, ordered, strict=True)],
        int(counts.max(axis=1)[recorded[step[same.first]] & ~equal].sum()),
    )


def _out_of_order(rows_of: list[_Rows], sequence: Int64, steps: int) -> Bool:
    """Returns for each step whether a number is repeated after others, and ranks do not all have the numbers in the
    same order. Numbers that are not repeated show what belongs together in any order, as on several streams. sequence:
    those of the ranks' rows one after another, in the order of steps and of start."""
    unordered = np.zeros(steps, bool)
    step_of = [instances.step[rows] for instances, rows in rows_of]
    own = np.split(sequence, np.cumsum([len(step) for step in step_of])[:-1])
    for step, numbers in zip(step_of, own, strict=True):
        again = (np.diff(numbers) < 0) & (np.diff(step) == 0)
        unordered[step[1:][again]] = True
    for each in np.flatnonzero(unordered).tolist():
        first, *others = [numbers[step == each] for step, numbers in zip(step_of, own, strict=True)]
        repeated = any(1 + np.count_nonzero(np.diff(numbers)) > len(distinct(numbers)) for numbers in (first, *others))
        unordered[each] = repeated and not all(np.array_equal(first, other) for other in others)
    return unordered


def bytes_of(classes: Sequence[ExchangeClass]) -> Int64:
    """Returns the bytes of each class, with -1 where they are not recorded."""
    return np.array([-1 if one.bytes is None else one.bytes for one in classes], np.int64)


def _have_numbers(rows_of: list[_Rows]) -> bool:
    return all((instances.sequence[rows] >= 0).any() for instances, rows in rows_of)


def _in_order(rows: Int64, place: Int64, equal: Bool) -> Int64:
    """Returns the rows of the places that all ranks have, ordered by place, and within one place in their own order."""
    return rows[np.argsort(place, kind="stable")][equal[np.sort(place)]]


def _numbered(each: Instances, rows: Int64, classes: dict[ExchangeClass, int]) -> Int64:
    """Returns the class of each row as a number that all ranks share. New classes are added."""
    bare = [msgspec.structs.replace(one, group=None) for one in each.classes]
    used = {number: classes.setdefault(bare[number], len(classes)) for number in distinct(each.of[rows]).tolist()}
    place = np.array([used.get(number, -1) for number in range(len(bare))], np.int64)
    return place[each.of[rows]]


def _agreement(classes: Sequence[ExchangeClass], numbers: Int64) -> tuple[Bool, Int64]:
    """Returns for each row whether all ranks have the same kind, and the same bytes if that kind requires it. The bytes
    of each rank are returned, too, with -1 where they are not recorded."""
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(one.kind for one in classes))}
    kind = np.array([kinds[one.kind] for one in classes], np.int64)[numbers]
    size = bytes_of(classes)[numbers]
    uneven = np.array([one.kind in UNEVEN for one in classes], bool)[numbers[:, 0]]
    one_kind = (kind == kind[:, :1]).all(axis=1)
    same_size = (size == size[:, :1]).all(axis=1)
    return one_kind & (same_size | uneven), size
