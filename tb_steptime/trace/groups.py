"""Groups of kernels with equal keys, and the sums, means and extremes of each group, computed on whole columns.

kernel   0 1 2 3 4        key      a b a a b
place    0 1 0 0 1        group 0: rows 0, 2, 3; group 1: rows 1, 4
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.table import Bool, Float64, Int32, Int64, UInt8

#: Keys whose range has more than this many numbers per key are cheaper to sort.
SCATTERED = 8


class Groups(msgspec.Struct, frozen=True, eq=False):
    """Rows in groups. place[i] is the group of row i; first[g] is the first row of group g."""

    place: Int64
    first: Int64

    @staticmethod
    def of(*keys: Int32 | Int64 | UInt8) -> Groups:
        """Groups the rows that agree in all keys. Groups are numbered in the order of their keys."""
        place, size = _from_zero(keys[0]) if len(keys) > 1 else (keys[0], 0)
        for key in keys[1:]:
            number, sizes = _from_zero(key)
            if size * sizes > SCATTERED * len(place):
                place, size = _from_zero(numbered(place))
                number, sizes = _from_zero(numbered(number))
            place *= sizes
            place += number
            size *= sizes
            del number  # of a million rows each column is 8 MB
        place = numbered(place)
        first = np.full(int(place.max(initial=-1)) + 1, -1, np.int64)
        first[place[::-1]] = np.arange(len(place))[::-1]  # the last write stays: the first row's
        return Groups(place, first)

    def __len__(self) -> int:
        return len(self.first)

    def count(self) -> Int64:
        """Returns the number of rows in each group."""
        return np.bincount(self.place, minlength=len(self)).astype(np.int64)

    def total(self, values: Float64) -> Float64:
        return np.bincount(self.place, values, minlength=len(self)).astype(np.float64)

    def sum(self, values: Int64) -> Int64:
        return exact_sums(self.place, values, len(self))

    def deviation(self, values: Int64, step: Int64, steps: int) -> Float64:
        """Returns the standard deviation, for each group, of its sums per step over `steps` steps. A group may have no
        row in some of them. The deviation is NaN if there is only one step. step: any number that is the same for all
        rows of a step."""
        if steps < 2:
            return np.full(len(self), np.nan)
        parts = Groups.of(self.place, step)
        group, sums = self.place[parts.first], parts.total(values.astype(np.float64))
        mean = self.total(values.astype(np.float64)) / steps
        unlike = np.bincount(group, (sums - mean[group]) ** 2, minlength=len(self))
        absent = steps - np.bincount(group, minlength=len(self))
        return np.sqrt((unlike + absent * mean**2) / (steps - 1))

    def extremes(self, low: Int64, high: Int64 | None = None) -> tuple[Int64, Int64]:
        """Returns the smallest `low` and the largest `high` in each group (high=None: the largest `low`)."""
        least, greatest = np.empty_like(self.first), np.empty_like(self.first)
        down, up = np.argsort(-low), np.argsort(low if high is None else high)
        least[self.place[down]] = low[down]  # the last write stays
        greatest[self.place[up]] = (low if high is None else high)[up]
        return least, greatest

    def leading(self, values: Int64, weight: Int64) -> tuple[list[int], list[int]]:
        """Returns for each group the value with the most total weight (of equals, the smallest), and the number of
        distinct values."""
        parts = Groups.of(self.place, values)
        group, value = self.place[parts.first], values[parts.first]
        order = np.lexsort((-value, parts.sum(weight), group))
        count = np.bincount(group, minlength=len(self))
        return value[order][np.cumsum(count) - 1].tolist(), count.tolist()


def none_if_nan(value: float) -> float | None:
    """Returns the value, or None for NaN."""
    return None if math.isnan(value) else value


def exact_sums(place: Int32 | Int64, values: Bool | Int64 | Float64, size: int) -> Int64:
    """Returns the sum of the values at each place. It is exact as long as sums stay below 2**53."""
    return np.rint(np.bincount(place, values, minlength=size)).astype(np.int64)


def among_largest(values: Int64, counted: Bool, most: int) -> Bool:
    """Returns which of the values that count are among the `most` largest of these. Of equal values the first count."""
    order, kept = np.argsort(-values, kind="stable"), np.zeros(len(values), bool)
    kept[order[counted[order]][:most]] = True
    return kept


def add_nearby(total: Int64, place: Int32 | Int64, values: Int64) -> None:
    """Adds each value to the total at its place. The places lie close together in a long total, as those of successive
    launches do, so that only sums between the first and the last of them are made."""
    if len(place):
        first = int(place.min())
        sums = exact_sums(place - first, values, int(place.max()) - first + 1)
        total[first : first + len(sums)] += sums


def _from_zero(keys: Int32 | Int64 | UInt8) -> tuple[Int64, int]:
    """Returns numbers from 0 on, in the order of the keys, the same for equal ones, and a bound of the numbers."""
    low, high = int(keys.min(initial=0)), int(keys.max(initial=0))
    if high - low > SCATTERED * len(keys):
        keys, low, high = _ranked(keys), 0, len(keys)
    return np.subtract(keys, low, dtype=np.int64), high - low + 1


def numbered(keys: Int32 | Int64 | UInt8) -> Int64:
    """Returns the rank of each key among the distinct keys. Keys that lie close together are ranked without sorting."""
    low, high = int(keys.min(initial=0)), int(keys.max(initial=0))
    if high - low > SCATTERED * len(keys) + 1:
        return _ranked(keys)
    is_there = np.zeros(high - low + 1, bool)
    place = np.subtract(keys, low, dtype=np.int64)  # differences of narrow keys may not fit their type
    is_there[place] = True
    ranks = np.cumsum(is_there, dtype=np.int32)  # the range of keys may be much larger than their number
    return np.subtract(ranks.take(place), 1, out=place)


def _ranked(keys: Int32 | Int64 | UInt8) -> Int64:
    """Returns the inverse of np.unique, without numpy's masked arrays. There are usually few distinct keys."""
    if computed := one_pass("number_keys", (np.int64, np.int64), keys.astype(np.int64, copy=False)):
        place, different = computed
        return _ranked_by_sorting(different[: int(place.max(initial=-1)) + 1]).take(place)
    return _ranked_by_sorting(keys)


def _ranked_by_sorting(keys: Int32 | Int64 | UInt8) -> Int64:
    order, rank = np.argsort(keys), np.empty(len(keys), np.int64)
    ordered = keys[order]
    rank[order] = np.cumsum(np.append(False, ordered[1:] != ordered[:-1]))
    return rank
