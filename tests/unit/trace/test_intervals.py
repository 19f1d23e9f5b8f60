"""The interval algebra against a model that cannot be wrong: sets of the whole instants that are covered."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.trace.intervals import Intervals, partition, weighted_overlap

LOW, HIGH = -12, 40

instants = st.integers(LOW, HIGH)
pairs = st.lists(st.tuples(instants, instants), max_size=12)  # in any order, empty and reversed ones among them
intervals = pairs.map(lambda some: Intervals.of(*some))
windows = st.tuples(instants, instants)


def covered(some: list[tuple[int, int]] | Intervals) -> set[int]:
    """The instants t whose [t, t + 1) is covered."""
    return {instant for start, end in some for instant in range(start, end)}


def canonical(some: Intervals) -> bool:
    """Sorted, non-empty, and apart from each other: touching intervals would be one."""
    inner = np.column_stack((some.start, some.end)).ravel()
    return some.start.dtype == some.end.dtype == np.int64 and bool((np.diff(inner) > 0).all())


@given(pairs)
def test_union_covers_what_its_pairs_cover(some):
    union = Intervals.of(*some)
    assert covered(union) == covered(some)
    assert canonical(union)
    assert union.total_ns == len(covered(some))


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(some, random):
    shuffled = random.sample(some, len(some))
    assert Intervals.of(*some) == Intervals.of(*shuffled)


@given(intervals, intervals)
def test_or_and_minus(a, b):
    assert covered(a | b) == covered(a) | covered(b)
    assert covered(a & b) == covered(a) & covered(b)
    assert covered(a - b) == covered(a) - covered(b)
    assert canonical(a | b)
    assert canonical(a & b)
    assert canonical(a - b)


@given(st.lists(intervals, max_size=4))
def test_joined_covers_what_any_covers(several):
    joined = Intervals.joined(several)
    assert covered(joined) == set().union(*map(covered, several))
    assert canonical(joined)


@given(intervals, intervals)
def test_equality_is_equality_of_what_is_covered(a, b):
    assert (a == b) == (covered(a) == covered(b))
    assert a != covered(a)


@given(intervals, windows)
def test_clip_and_gaps_share_the_window_out(some, window):
    inside = set(range(*window))
    assert covered(some.clip(*window)) == covered(some) & inside
    assert covered(some.gaps(*window)) == inside - covered(some)
    assert canonical(some.clip(*window))
    assert canonical(some.gaps(*window))


@given(intervals, st.lists(instants, max_size=8))
def test_covered_before(some, points):
    expected = [sum(1 for instant in covered(some) if instant < point) for point in points]
    assert some.covered_before(np.array(points, np.int64)).tolist() == expected


@given(intervals, st.lists(st.tuples(instants, instants).map(sorted), max_size=8))
def test_overlap_with_each_window(some, several):
    start, end = np.array(several, np.int64).reshape(-1, 2).T
    expected = [len(covered(some) & set(range(low, high))) for low, high in several]
    assert some.overlap_ns(start, end).tolist() == expected


@given(intervals, st.lists(intervals, max_size=4))
def test_partition_gives_each_instant_to_the_first_layer_that_covers_it(window, layers):
    *parts, rest = partition(window, layers)
    left = covered(window)
    for part, layer in zip(parts, layers, strict=True):
        assert covered(part) == left & covered(layer)
        left -= covered(layer)
    assert covered(rest) == left
    assert sum(part.total_ns for part in [*parts, rest]) == window.total_ns


@given(
    st.lists(st.tuples(instants, st.integers(0, 20), st.integers(0, 8)), max_size=10),
    st.lists(instants, min_size=2, max_size=8).map(sorted),
)
def test_weighted_overlap_sums_weight_times_overlap(some, edges):
    start = np.array([one[0] for one in some], np.int64)
    end = start + np.array([one[1] for one in some], np.int64)
    weight = np.array([one[2] / 4 for one in some])
    expected = [
        sum(len(set(range(s, e)) & set(range(low, high))) * w for s, e, w in zip(start, end, weight, strict=True))
        for low, high in itertools.pairwise(edges)
    ]
    assert weighted_overlap(start, end, weight, np.array(edges, np.int64)).tolist() == expected


@given(pairs, st.integers(0, 2**62))
def test_times_far_from_zero_are_as_exact(some, offset):
    near = Intervals.of(*some)
    far = Intervals.of(*((start + offset, end + offset) for start, end in some))
    assert [(start - offset, end - offset) for start, end in far] == list(near)


def test_of_what_does_not_overlap_no_rounding_is_left():
    start, end = np.array([4220, 4324, 60386]), np.array([4735, 5206, 61218])
    assert weighted_overlap(start, end, np.array([0.7, 0.2, 0.9]), np.array([150_000, 151_000])).tolist() == [0.0]


def test_touching_intervals_are_one():
    assert list(Intervals.of((0, 5), (5, 8), (9, 9), (12, 10))) == [(0, 8)]


def test_nothing_is_nothing():
    nothing = Intervals.empty()
    some = Intervals.of((2, 4))
    assert (nothing | some, nothing & some, nothing - some, some - nothing) == (some, nothing, nothing, some)
    assert nothing.covered_before(np.array([3])).tolist() == [0]
    assert weighted_overlap(nothing.start, nothing.end, np.array([]), np.array([0, 5])).tolist() == [0.0]
