"""What encloses what, at any depth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.metrics.operators.op_tree import levels_of
from tb_steptime.trace import nesting
from tb_steptime.trace.nesting import parents


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
    """Deeper than a 16-bit number counts."""
    chain = np.arange(-1, 39_999, dtype=np.int32)
    levels = levels_of(chain)
    assert len(levels) == 40_000
    assert np.concatenate(levels).tolist() == list(range(40_000))


def test_levels_of_a_tree() -> None:
    levels = levels_of(np.array([-1, 0, 1, 0, -1, 4], np.int32))
    assert [level.tolist() for level in levels] == [[0, 4], [1, 3, 5], [2]]
