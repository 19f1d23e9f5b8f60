"""Columns of integers are packed into few bytes, and unpacking gives the same columns."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tb_steptime.ingest.private_paths import passed_on
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
    assert packed(np.zeros(100, np.int64)) == PackedColumn(100, 0, b"\0")


def test_no_column_is_taken_for_a_path():
    """A summary has the bytes as text, in which paths are replaced; these alone would read "/ab/cQ=="."""
    text = msgspec.json.encode(packed(np.cumsum([-127, 83, -128, -57])))
    assert (b"/ab/cQ==" in text, passed_on([text])) == (False, {})


def test_damaged_bytes_are_no_column():
    with pytest.raises(ValueError, match="reshape"):
        unpacked(PackedColumn(3, 2, b"12345"))


@pytest.mark.parametrize("column", [PackedColumn(2**40, 0, b"\0"), PackedColumn(-1, 0, b""), PackedColumn(0, 9, b"\0")])
def test_a_column_of_more_than_any_recording_has_is_refused(column):
    """Zeros take no bytes, so a summary of a few bytes could otherwise fill the memory."""
    with pytest.raises(ValueError, match="no column has"):
        unpacked(column)
