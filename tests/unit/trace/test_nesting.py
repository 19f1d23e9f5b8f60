"""Which events enclose which, at any depth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_steptime.metrics.operators.op_tree import levels_of
from tb_steptime.trace import nesting, table
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, op_rows, outermost, parents
from tb_steptime.trace.table import EventTable, Kind
from tests.drawn.timeline import timeline


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60))
def test_rows_of_many_levels_have_the_same_parents(drawn: list[tuple[int, int]]) -> None:
    rows = sorted((start, -length) for start, length in drawn)
    start = np.array([start for start, _ in rows], np.int64)
    end = start + np.array([-length for _, length in rows], np.int64)
    few = parents(start, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_MANY_LEVELS", -1)
        assert parents(start, end).tolist() == few.tolist()


def test_levels_of_a_chain_are_its_places() -> None:
    """The chain is deeper than a 16-bit number can count."""
    chain = np.arange(-1, 39_999, dtype=np.int32)
    levels = levels_of(chain)
    assert len(levels) == 40_000
    assert np.concatenate(levels).tolist() == list(range(40_000))


def test_levels_of_a_tree() -> None:
    levels = levels_of(np.array([-1, 0, 1, 0, -1, 4], np.int32))
    assert [level.tolist() for level in levels] == [[0, 4], [1, 3, 5], [2]]


_DRAWN = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 2), st.booleans()), max_size=50)


@given(_DRAWN, st.integers(1, 20))
def test_rows_by_name_and_by_number_are_looked_up_alike(drawn: list[tuple[int, int, int, bool]], few: int) -> None:
    """The ops among some events, once given by the function that finds them, whose result is kept, and once as rows."""
    trace = _with_events(sorted(drawn, key=lambda event: (event[0], -event[1])))
    inside = np.append(np.arange(0, len(drawn), few), -1)
    ops = op_rows(trace)
    assert innermost(trace, op_rows, inside).tolist() == innermost(trace, ops, inside).tolist()
    assert outermost(trace, op_rows, ops).tolist() == outermost(trace, ops, ops).tolist()


@given(_DRAWN, st.sampled_from([1, 2, 16]))
def test_what_a_table_keeps_is_what_it_finds_anew(drawn: list[tuple[int, int, int, bool]], part: int) -> None:
    kept, anew = (_with_events(sorted(drawn)).events for _ in range(2))
    rows = np.arange(len(drawn))[::2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "KEPT_ROWS", 0)
        patch.setattr(table, "_KEPT_PART", part)
        found = [anew.rows(Kind.CPU_OP), anew.rows(Kind.USER, Kind.CPU_OP), anew.rows(Kind.SYNC), anew.ends(rows)]
    again = [kept.rows(Kind.CPU_OP), kept.rows(Kind.USER, Kind.CPU_OP), kept.rows(Kind.SYNC), kept.ends(rows)]
    assert [each.tolist() for each in again] == [each.tolist() for each in found]


def _with_events(drawn: list[tuple[int, int, int, bool]]) -> Trace:
    """A trace with the start, length, thread, and kind (op or range) of each event."""
    trace = timeline("step | 0 |")
    start, dur, thread, is_op = (np.array([event[column] for event in drawn], np.int64) for column in range(4))
    kind = np.where(is_op, Kind.CPU_OP, Kind.USER).astype(np.uint8)
    same = np.zeros(len(drawn), np.int32)
    return replace(trace, events=EventTable(start, dur, kind, same, thread, same, same, same, same, None), memo={})
