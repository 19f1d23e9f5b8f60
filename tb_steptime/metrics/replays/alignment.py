"""Aligns two sequences of kernels: which kernel of a replay does the work of which kernel of an eager step.

    eager    embed  gemm  add  gelu  gemm  add  norm
    replay   embed  gemm  add_gelu   gemm  add  copy  norm
    match    same   same  fused      same  same  -    same

Kernels keep their order, so an alignment is a path through a grid of eager kernels by kernels of the replay. Small
grids are solved exactly (Needleman and Wunsch 1970). Large ones are first cut at runs of kernels that occur equally
often in both sequences, the longest runs first.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec
import numpy as np

from tb_steptime.trace.table import Columns, Int64, UInt8

#: A grid up to this size is solved exactly, in about 20 ms and 4 MB. Most steps have fewer than 2,000 kernels.
_MOST_CELLS = 4_000_000
#: Lengths of the runs at which larger grids are cut.
_RUN_LENGTHS = (32, 16, 8, 4, 2, 1)
#: Maximum number of repeated alignments, for streams that run concurrently. More streams than this order their kernels
#: so similarly that further rounds find nothing.
_MOST_ROUNDS = 8


class Match(IntEnum):
    """How surely a kernel of the replay stands for one of the eager step."""

    NONE = 0
    PLACE = 1  # another kernel, between neighbours that match
    KIND = 2  # another kernel that does the same kind of work
    NAME = 3  # the same kernel, launched in another shape
    SAME = 4  # the same kernel in the same shape


#: Gain of a pair of kernels in an alignment, by their match. A pair of different kernels adds so little that it never
#: replaces a pair of similar ones, but it adds more than two gaps, which add nothing.
_GAINS = np.array([0, 1, 8, 14, 16], np.int32)


class Sequence(Columns, frozen=True, eq=False):
    """Kernels in the order in which they run, with one entry for each. The numbers `name`, `shape` and `kind` mean the
    same in both sequences. Kernels of equal shape have equal names, too."""

    name: Int64
    shape: Int64
    kind: Int64

    def part(self, start: int, end: int) -> Sequence:
        return Sequence(self.name[start:end], self.shape[start:end], self.kind[start:end])

    def rows(self, rows: Int64) -> Sequence:
        return Sequence(self.name[rows], self.shape[rows], self.kind[rows])


class Alignment(msgspec.Struct, frozen=True, eq=False):
    """The pairs of an alignment, with one entry for each kernel of the replay.

    eager  place of its kernel in the eager sequence, -1 for none
    match  a `Match`, which says how well the two agree
    """

    eager: Int64
    match: UInt8


def align(eager: Sequence, replay: Sequence) -> Alignment:
    """Aligns two sequences. The time grows with the product of the lengths up to a few million, then about linearly.

    Streams run concurrently, so their kernels interleave differently in each recording. Kernels that an alignment
    leaves unmatched on both sides are therefore aligned again, as long as that finds more equal kernels. Kernels that
    are still unmatched between two pairs share the eager kernels that remain there.
    """
    pairing = _in_one_order(eager, replay)
    sure = _matches(eager, replay, pairing) >= Match.KIND
    pairing = np.where(sure, pairing, -1)
    for _ in range(_MOST_ROUNDS):
        ours = np.setdiff1d(np.arange(len(eager)), pairing)
        theirs = np.flatnonzero(pairing < 0)
        more = _in_one_order(eager.rows(ours), replay.rows(theirs))
        same = _matches(eager.rows(ours), replay.rows(theirs), more) >= Match.NAME
        if not same.any():
            break
        pairing[theirs[same]] = ours[more[same]]
    pairing = _shared_out(pairing, len(eager))
    return Alignment(pairing, _matches(eager, replay, pairing))


def _in_one_order(eager: Sequence, replay: Sequence) -> Int64:
    """Returns for each kernel of the replay its eager kernel or -1. Both sides of the pairs increase together."""
    pairing = np.full(len(replay), -1, np.int64)
    pending = [(0, len(eager), 0, len(replay), 0)]
    while pending:
        first, last, start, end, level = pending.pop()
        first, last, start, end = _without_equal_ends(eager, replay, pairing, (first, last, start, end))
        if first == last or start == end:
            continue
        if (last - first) * (end - start) <= _MOST_CELLS:
            pairs = _solved(eager.part(first, last), replay.part(start, end))
            pairing[start + pairs[1]] = first + pairs[0]
        elif level < len(_RUN_LENGTHS):
            pending += _cut(eager, replay, pairing, (first, last, start, end), level)
    return pairing


def _shared_out(pairing: Int64, eager_count: int) -> Int64:
    """Assigns each kernel without an eager one the eager kernel at its place between the surrounding pairs.

    eager    a  b c d e  f         b..e and X, Y lie between the same pairs, so X stands for c and Y for e:
    replay   a   X   Y   f         each of them does the work of about two kernels
    """
    pairing, is_used = pairing.copy(), np.isin(np.arange(eager_count), pairing)
    rising = np.maximum.accumulate(pairing)  # a pair of another stream may lie further back
    alone = np.flatnonzero(pairing < 0)
    below = rising[alone]
    above = np.minimum.accumulate(np.where(pairing < 0, eager_count, pairing)[::-1])[::-1][alone]
    for low, high in {(int(low), int(high)) for low, high in zip(below, above, strict=True) if low < high}:
        ours = np.flatnonzero((below == low) & (above == high))
        free = low + 1 + np.flatnonzero(~is_used[low + 1 : high])
        if len(free):
            place = (np.arange(len(ours)) + 0.5) * len(free) / len(ours)
            pairing[alone[ours]] = free[place.astype(np.int64)]
    return pairing


def _without_equal_ends(
    eager: Sequence, replay: Sequence, pairing: Int64, grid: tuple[int, int, int, int]
) -> tuple[int, int, int, int]:
    """Pairs equal kernels at both ends of a grid, and returns what is left of it."""
    first, last, start, end = grid
    most = min(last - first, end - start)
    unequal = eager.shape[first : first + most] != replay.shape[start : start + most]
    equal = int(unequal.argmax()) if unequal.any() else most
    pairing[start : start + equal] = np.arange(first, first + equal)
    first = first + equal
    start = start + equal
    most = most - equal
    unequal = eager.shape[last - most : last][::-1] != replay.shape[end - most : end][::-1]
    equal = int(unequal.argmax()) if unequal.any() else most
    pairing[end - equal : end] = np.arange(last - equal, last)
    return first, last - equal, start, end - equal


def _solved(eager: Sequence, replay: Sequence) -> tuple[Int64, Int64]:
    """Returns the pairs of the alignment with the largest gain, computed by dynamic programming, one row of the grid at
    a time.

    In a row of best gains the values never decrease from left to right, because a gap costs nothing. The best gain of a
    cell is therefore the running maximum of its value from the row above: straight down, or diagonally with the gain of
    its pair.
    """
    rows, columns = len(eager), len(replay)
    best = np.zeros(columns + 1, np.int32)
    paired = np.zeros((rows, columns), np.bool_)
    down = np.zeros((rows, columns), np.bool_)
    for row in range(rows):
        gain = _GAINS[_likeness(eager.name[row], eager.shape[row], eager.kind[row], replay)]
        diagonal = best[:-1] + gain
        reached = np.maximum.accumulate(np.maximum(best[1:], diagonal))
        down[row] = reached == best[1:]
        paired[row] = reached == diagonal
        best = np.concatenate([best[:1], reached])
    pairs = []
    row, column = rows - 1, columns - 1
    while row >= 0 and column >= 0:
        if paired[row, column]:
            pairs.append((row, column))
            row, column = row - 1, column - 1
        elif down[row, column]:
            row -= 1
        else:
            column -= 1
    solution = np.array(pairs[::-1], np.int64).reshape(-1, 2)
    return solution[:, 0], solution[:, 1]


def _likeness(name: int | Int64, shape: int | Int64, kind: int | Int64, others: Sequence) -> UInt8:
    """Returns the `Match` of one kernel with each of the others, or of each kernel with its own other. It is at least
    PLACE."""
    like = np.where(others.kind == kind, Match.KIND, Match.PLACE)
    like = np.where(others.name == name, Match.NAME, like)
    return np.where(others.shape == shape, Match.SAME, like).astype(np.uint8)


def _cut(
    eager: Sequence, replay: Sequence, pairing: Int64, grid: tuple[int, int, int, int], level: int
) -> list[tuple[int, int, int, int, int]]:
    """Pairs runs of equal kernels that occur equally often in both sequences, and returns the grids between them."""
    first, last, start, end = grid
    length = _RUN_LENGTHS[level]
    ours, theirs = _runs(eager.shape[first:last], replay.shape[start:end], length)
    pairs = _in_order(*_equally_often(ours, theirs))
    if not len(pairs):
        return [(*grid, level + 1)]
    within = np.arange(length)
    rows, columns = (np.unique((pairs[:, side, None] + within).ravel(), return_index=True) for side in (0, 1))
    # Overlapping runs on one diagonal give the same pairs; a pair is kept if its run is the first on both sides.
    in_both = np.intersect1d(rows[1], columns[1])
    row, column = ((pairs[:, side, None] + within).ravel()[in_both] for side in (0, 1))
    pairing[start + column] = first + row
    edges_row = np.concatenate([[-1], row, [last - first]])
    edges_column = np.concatenate([[-1], column, [end - start]])
    gaps = np.flatnonzero((np.diff(edges_row) > 1) & (np.diff(edges_column) > 1))
    return [
        (
            first + int(edges_row[gap]) + 1,
            first + int(edges_row[gap + 1]),
            start + int(edges_column[gap]) + 1,
            start + int(edges_column[gap + 1]),
            level + 1,
        )
        for gap in gaps.tolist()
    ]


def _runs(eager: Int64, replay: Int64, length: int) -> tuple[Int64, Int64]:
    """Returns a number for each run of `length` kernels. Equal runs of both sequences have the same number."""
    numbers = [eager, replay]
    width = 1
    while width < length:
        paired = [np.stack([each[:-width], each[width:]], axis=1) if len(each) > width else np.zeros((0, 2), np.int64)
                  for each in numbers]  # fmt: skip
        _, inverse = np.unique(np.concatenate(paired), axis=0, return_inverse=True)
        inverse = inverse.reshape(-1).astype(np.int64)
        numbers = [inverse[: len(paired[0])], inverse[len(paired[0]) :]]
        width *= 2
    return numbers[0], numbers[1]


def _equally_often(eager: Int64, replay: Int64) -> tuple[Int64, Int64]:
    """Returns the places of runs that occur equally often in both sequences, so that the first is paired with the
    first, the second with the second."""
    most = int(max(eager.max(initial=-1), replay.max(initial=-1))) + 1
    counts = [np.bincount(each, minlength=most) for each in (eager, replay)]
    equal = (counts[0] == counts[1]) & (counts[0] > 0)
    places = []
    for each in (eager, replay):
        rows = np.flatnonzero(equal[each])
        places.append(rows[np.argsort(each[rows], kind="stable")])
    return places[0], places[1]


def _in_order(rows: Int64, columns: Int64) -> Int64:
    """Returns the longest subset of pairs in which rows and columns both increase: (n, 2)."""
    order = np.argsort(rows)
    rows, columns = rows[order], columns[order]
    ends: list[int] = []  # columns at which rising parts of each length end
    last: list[int] = []
    before = np.full(len(rows), -1, np.int64)
    for place, column in enumerate(columns.tolist()):
        length = int(np.searchsorted(ends, column)) if ends and column <= ends[-1] else len(ends)
        ends[length : length + 1] = [column]
        last[length : length + 1] = [place]
        before[place] = last[length - 1] if length else -1
    path: list[int] = []
    place = last[-1] if last else -1
    while place >= 0:
        path.append(place)
        place = int(before[place])
    return np.stack([rows[path[::-1]], columns[path[::-1]]], axis=1) if path else np.zeros((0, 2), np.int64)


def _matches(eager: Sequence, replay: Sequence, pairing: Int64) -> UInt8:
    match = np.zeros(len(replay), np.uint8)
    paired = np.flatnonzero(pairing >= 0)
    other = eager.rows(pairing[paired])
    match[paired] = _likeness(other.name, other.shape, other.kind, replay.rows(paired))
    return match
