"""The spread of a group over steps is the same as if the sum of each step were known."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.trace.groups import Groups


def test_the_deviation_is_that_of_the_sums_of_each_step():
    """Group 0 has rows in two of four steps, and group 1 in all: a step without rows has a sum of 0."""
    key, step = np.array([0, 1, 1, 0, 0, 1, 1]), np.array([7, 7, 8, 9, 9, 9, 11])
    values = np.array([4, 1, 2, 3, 5, 6, 3])
    found = Groups.of(key).deviation(values, step, 4)
    sums = [[4, 0, 8, 0], [1, 2, 6, 3]]
    assert found.tolist() == pytest.approx([np.std(each, ddof=1) for each in sums])


def test_one_step_has_no_deviation():
    assert np.isnan(Groups.of(np.array([0, 0])).deviation(np.array([4, 5]), np.array([0, 0]), 1)).all()
