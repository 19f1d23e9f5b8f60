"""Lists of (start, end), sorted and disjoint: their intersection, their difference, their total length."""

from __future__ import annotations

from bisect import bisect_right

Pair = tuple[int, int]


def end_of(pair: Pair) -> int:
    return pair[1]


def both(pairs: list[Pair], others: list[Pair]) -> list[Pair]:
    """The intersection of two sorted lists of disjoint pairs."""
    shared = []
    first = bisect_right(others, pairs[0][0], key=end_of) if pairs else 0
    for start, end in pairs:
        while first < len(others) and others[first][1] <= start:
            first += 1
        place = first
        while place < len(others) and others[place][0] < end:
            shared.append((max(start, others[place][0]), min(end, others[place][1])))
            place += 1
    return [pair for pair in shared if pair[0] < pair[1]]


def without(pairs: list[Pair], cuts: list[Pair]) -> list[Pair]:
    left = []
    for start, end in pairs:
        for low, high in both([(start, end)], cuts):
            left.append((start, low))
            start = high
        left.append((start, end))
    return [pair for pair in left if pair[0] < pair[1]]


def union(pairs: list[Pair]) -> list[Pair]:
    """Any pairs, in order, with those that overlap or touch joined."""
    joined: list[Pair] = []
    for start, end in sorted(pairs):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def first_of(pairs: list[Pair], length: int) -> list[Pair]:
    """The pairs up to this total length."""
    kept = []
    for start, end in pairs:
        kept.append((start, min(end, start + length)))
        length -= kept[-1][1] - start
    return [pair for pair in kept if pair[0] < pair[1]]


def total(pairs: list[Pair]) -> int:
    return sum(end - start for start, end in pairs)
