"""Replacements for numpy functions give the same results as numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_steptime.trace.table import StringTable, distinct, is_in, median, values_at

TYPES = (np.uint8, np.int16, np.int32, np.int64)


def columns(most: int = 40) -> st.SearchStrategy[np.ndarray]:
    """Values close to each other, or as far apart as their type allows."""

    def of(kind: type[np.integer]) -> st.SearchStrategy[np.ndarray]:
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        near, far = st.integers(max(low, -20), 100), st.integers(low, high)
        return st.lists(st.one_of(near, far), max_size=most).map(lambda values: np.array(values, kind))

    return st.sampled_from(TYPES).flatmap(of)


@given(columns(), columns(), st.booleans())
def test_is_in_is_that_of_numpy(values: np.ndarray, among: np.ndarray, invert: bool) -> None:
    assert is_in(values, among, invert=invert).tolist() == np.isin(values, among, invert=invert).tolist()


def test_is_in_takes_few_and_none() -> None:
    values = np.array([3, 5, 7], np.uint8)
    assert is_in(values, (3, 7)).tolist() == [True, False, True]
    assert is_in(values, []).tolist() == [False] * 3
    assert is_in(values, [], invert=True).tolist() == [True] * 3


@given(columns())
def test_distinct_is_that_of_numpy(values: np.ndarray) -> None:
    found = distinct(values)
    assert (found.tolist(), found.dtype) == (np.unique(values).tolist(), values.dtype)


@given(st.lists(st.one_of(st.integers(-(2**40), 2**40), st.floats(-1e12, 1e12)), min_size=1))
def test_median_is_that_of_numpy(values: list[float]) -> None:
    assert median(values) == np.median(values)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [np.nan]])
def test_median_of_what_has_none(values: list[float]) -> None:
    assert np.isnan(median(values))


def test_a_string_that_is_not_there_is_none():
    table = StringTable(["a", "b"])
    assert [table.get(number) for number in (-1, 0, 1)] == [None, "a", "b"]


@pytest.mark.parametrize(("column", "places"), [([], [0]), ([], [-1, 3]), ([7, 8], [2])])
def test_a_place_beyond_the_column_is_an_error(column: list[int], places: list[int]):
    with pytest.raises(IndexError):
        values_at(np.array(column, np.int32), np.array(places, np.int32))


@pytest.mark.parametrize(("column", "values"), [([], [-1, -1]), ([7, 8], [-1, -1])])
def test_every_negative_place_stands_for_none(column: list[int], values: list[int]):
    found = values_at(np.array(column, np.int32), np.array([-1, -5], np.int32))
    assert (found.tolist(), found.dtype) == (values, np.int64)
