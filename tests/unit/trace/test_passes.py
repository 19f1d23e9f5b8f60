"""A pass in C gives results bit-identical to Python's; Python handles small input and whatever C declines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.operators import op_tree
from tb_steptime.metrics.steady import excess, host_segments, sites
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.trace import extension, groups, nesting
from tb_steptime.trace.extension import PURE, one_pass
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import EventTable, Kind
from tests.drawn.real_traces import on_real_traces, read_real
from tests.drawn.timeline import timeline

pytestmark = pytest.mark.skipif(
    extension.extension() is None, reason="the extension is not built: python setup.py build_ext --inplace"
)

Number = st.one_of(st.integers(-5, 30), st.integers(-(2**62), 2**62))
#: Events of host threads: kind, start, length, thread, and rows in the tables of names and of shapes.
_Event = tuple[Kind, int, int, int, int, int]
KINDS = st.sampled_from([Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER])
EVENTS = st.lists(
    st.tuples(KINDS, st.integers(0, 40), st.integers(0, 15), *(st.integers(low, 2) for low in (0, 0, -1))), max_size=40
)


@pytest.fixture(autouse=True, scope="module")
def _of_any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extension, "LEAST_ROWS", 0)
        yield


def both(measure: Callable[[], Any]) -> tuple[Any, Any]:
    """The result with C, and the result of Python alone."""
    in_c = measure()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PURE, "1")
        return in_c, measure()


def columns_of(table: msgspec.Struct) -> list[Any]:
    return list(msgspec.structs.astuple(table))


def assert_alike(found: Any, alone: Any) -> None:
    for one, other in zip(found, alone, strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@given(st.lists(st.tuples(Number, Number, Number), max_size=40))
def test_numbers_of_rows(rows: list[tuple[int, int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    assert_alike(*both(lambda: [sites.mixed(*columns), sites.mixed(columns[0])]))


@given(st.lists(Number, max_size=60))
def test_ranks_of_keys(keys: list[int]) -> None:
    assert_alike(*both(lambda: [groups._ranked(np.array(keys, np.int64))]))


def test_ranks_of_more_keys_than_there_was_room_for() -> None:
    keys = np.random.default_rng(1).integers(-(2**60), 2**60, 5_000).repeat(3)
    assert_alike(*both(lambda: [groups._ranked(keys)]))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=60))
def test_what_encloses_what(drawn: list[tuple[int, int]]) -> None:
    """This includes rows that overlap or are empty."""
    rows = sorted((start, -length) for start, length in drawn)
    start, length = np.array(rows, np.int64).reshape(-1, 2).T
    assert_alike(*both(lambda: columns_of(nesting.nesting(start, start + abs(length)))))


@given(st.lists(st.tuples(Number, Number), max_size=20), st.lists(st.tuples(Number, Number), max_size=40))
def test_overlaps_with_windows(drawn: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    start, end = np.array(drawn, np.int64).reshape(-1, 2).T // 4
    intervals = Intervals.union(start, end)
    low, high = np.array(windows, np.int64).reshape(-1, 2).T // 4
    assert_alike(*both(lambda: [intervals.overlap_ns(low, high)]))


@given(EVENTS)
def test_code_and_stretches_of_host_threads(events: list[_Event]) -> None:
    """C declines events that outlast their enclosing event; their time is still divided."""

    def measure() -> list[Any]:
        trace = _trace(events)
        segments = host_segments.host_segments(trace)
        return [
            *columns_of(host_segments.host_events(trace)),
            *columns_of(segments),
            *columns_of(sites.host_code(trace)),
            *(site_of(slice(None)) for site_of in sites.segment_sites(trace, segments).sites),
        ]

    assert_alike(*both(measure))


@given(EVENTS, st.sets(st.integers(0, 30)))
def test_the_sites_of_some_segments_are_those_that_all_have(events: list[_Event], some: set[int]) -> None:
    """Only the numbers of segments that are no whole event differ: each has a number of its own in either case."""
    trace = _trace(events)
    segments = host_segments.host_segments(trace)
    rows = np.array(sorted(row for row in some if row < len(segments)), np.int64)
    for site_of in sites.segment_sites(trace, segments).sites:
        every = groups.numbered(site_of(slice(None))[rows])
        assert groups.numbered(site_of(rows)).tolist() == every.tolist()


def test_segments_beside_events_that_do_not_exist_are_declined() -> None:
    last, none = np.array([1], np.int32), np.array([-1], np.int32)
    names = np.array([7, 8], np.int32)
    assert one_pass("around", (np.int64,), last, none, none, names, names) is not None
    for place in range(3):
        places = [none, none, none]
        places[place] = last + 1
        assert one_pass("around", (np.int64,), *places, names, names) is None


def test_rows_that_do_not_nest_are_declined() -> None:
    start, end, alone = np.array([0, 5, 12]), np.array([10, 15, 14]), np.zeros(3, np.int32)
    columns = start, end, alone, np.array([-1, 0, 0], np.int32)
    assert one_pass("stretches", host_segments._TYPES, *columns, for_each=2) is None
    shared = one_pass("stretches", host_segments._TYPES, start, end, alone, np.array([-1, 0, -1], np.int32), for_each=2)
    assert shared is not None
    assert [column.tolist() for column in shared[1:4]] == [[0, 5, 10, 12], [5, 10, 12, 14], [0, 1, -1, 2]]


@given(st.lists(st.tuples(st.integers(-3, 30), st.integers(0, 2), Number), max_size=40))
def test_groups_and_sums_in_a_tree(ops: list[tuple[int, int, int]]) -> None:
    """A parent below 0 is none; any other comes before its ops."""
    parent, group, value = np.array(ops, np.int64).reshape(-1, 3).T
    parent = np.maximum(np.minimum(parent, np.arange(len(ops)) - 1), -1).astype(np.int32)
    rows = np.arange(len(ops), dtype=np.int32)
    tree = op_tree.OpTree(rows, rows >= 0, parent, parent, rows)
    assert_alike(*both(lambda: [tree.topmost(group.astype(np.int16)), nesting.with_inner(value // 64, parent)]))


def test_parents_after_their_rows_are_declined() -> None:
    parent = np.array([1, -1], np.int32)
    assert one_pass("topmost", (bool,), parent, parent) is None
    assert one_pass("with_inner", (np.int64,), np.arange(2), parent) is None


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=40),
    st.integers(1, 200_000),
)
def test_calls_that_may_be_long(calls: list[tuple[int, int, int, bool]], tick: int) -> None:
    length, turn, site, fixed = np.array(calls, np.int64).reshape(-1, 4).T
    assert_alike(*both(lambda: [excess._may_be_long(length * tick, turn, site, fixed.astype(bool))]))


@on_real_traces
def test_the_excess_of_real_traces(name: str) -> None:
    assert_alike(*both(lambda: columns_of(find_excess(replace(read_real(name), memo={})))))


def test_columns_of_other_lengths_are_an_error() -> None:
    three, two = np.arange(3), np.arange(2)
    for name, columns in (("nest", (three, two)), ("mix", (three, two)), ("nest", (three,))):
        with pytest.raises(ValueError, match=r"columns of different lengths|another number of columns"):
            one_pass(name, (np.int32, np.int32), *columns)


def _trace(drawn: list[_Event]) -> Trace:
    trace = timeline("op | a.b.c | \nuser step 1 | ...d. | \nuser step 2 | ...e. |")
    events = sorted(drawn, key=lambda event: (event[1], -event[2]))
    columns = (np.array([event[place] for event in events], np.int64) for place in range(6))
    kind, start, dur, thread, name, shapes = columns
    none = np.full(len(events), -1, np.int32)
    narrow = (name.astype(np.int32), thread.astype(np.int16), none, none, none, none)
    table = EventTable(start, dur, kind.astype(np.uint8), *narrow, None, shapes.astype(np.int32))
    return replace(trace, events=table, memo={})
