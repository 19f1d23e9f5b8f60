"""Tables in columns: their rows chosen, sorted and joined."""

import numpy as np

from tb_steptime.trace.table import Columns, Float64, Int32, Int64


class Drawn(Columns, frozen=True, eq=False):
    at: Int64
    name: Int32 | Int64
    value: Float64


TABLE = Drawn(np.array([30, 10, 20]), np.array([3, 1, 2], np.int32), np.array([0.3, 0.1, 0.2]))


def rows(table: Drawn) -> list[tuple[int, int, float]]:
    return list(zip(*(column.tolist() for column in table.columns), strict=True))


def test_an_empty_table_has_the_types_of_its_columns():
    empty = Drawn.empty()
    assert (len(empty), [column.dtype for column in empty.columns]) == (0, [np.int64, np.int32, np.float64])


def test_rows_are_chosen_by_a_mask_by_numbers_and_by_a_range():
    first_and_last = [(30, 3, 0.3), (20, 2, 0.2)]
    assert rows(TABLE.where(np.array([True, False, True]))) == first_and_last
    assert rows(TABLE.where(np.array([0, 2]))) == first_and_last
    assert rows(TABLE.where(slice(1))) == first_and_last[:1]


def test_a_mask_that_chooses_all_and_a_range_copy_nothing():
    assert TABLE.where(np.ones(3, bool)) is TABLE
    assert np.shares_memory(TABLE.where(slice(2)).at, TABLE.at)


def test_rows_are_sorted_and_joined():
    assert rows(TABLE.by("at")) == [(10, 1, 0.1), (20, 2, 0.2), (30, 3, 0.3)]
    assert rows(Drawn.empty().followed_by(TABLE.where(slice(1)), TABLE.where(slice(1, 2)))) == rows(TABLE)[:2]
