"""Columns of integers in few bytes are the same columns when they are unpacked."""

from __future__ import annotations

import numpy as np
import pytest

from tb_steptime.metrics.communication.packed import PackedColumn, packed, unpacked


@pytest.mark.parametrize(
    "values",
    [[], [0], [-1], [5, 5, 5], [0, 2**40, -1, 2**61, -(2**61)], list(range(1000, 0, -7))],
    ids=["none", "zero", "negative", "alike", "large", "descending"],
)
def test_nothing_is_lost(values: list[int]):
    assert unpacked(packed(np.array(values, np.int64))).tolist() == values


def test_a_byte_for_each_small_difference():
    assert packed(np.arange(1_000, 6_000, 50)).width == 2
    assert packed(np.zeros(100, np.int64)) == PackedColumn(100, 0, b"")


def test_damaged_bytes_are_no_column():
    with pytest.raises(ValueError, match="reshape"):
        unpacked(PackedColumn(3, 2, b"12345"))
