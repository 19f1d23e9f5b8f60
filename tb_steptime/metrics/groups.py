"""Kernels that agree in some keys as a group, with the sums, means and extremes of each group. Vectorised.

kernel   0 1 2 3 4        key      a b a a b
place    0 1 0 0 1        group 0: kernels 0, 2, 3; group 1: kernels 1, 4
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.trace.table import Bool, Float64, Int64

#: Keys that leave this many numbers free for each that is used are cheaper to sort.
SCATTERED = 64


@dataclass(frozen=True, eq=False)
class Groups:
    """place[i] is the group of kernel i; first[g] a kernel of group g; dur_ns the lengths of the kernels."""

    place: Int64
    first: Int64
    dur_ns: Int64

    @staticmethod
    def of(dur_ns: Int64, *keys: Int64) -> Groups:
        """Kernels that agree in all keys are a group."""
        place = np.zeros(len(dur_ns), np.int64)
        for key in keys:
            number = numbered(key)
            place = numbered(place * (int(number.max(initial=0)) + 1) + number)
        first = np.full(int(place.max(initial=-1)) + 1, -1, np.int64)
        first[place[::-1]] = np.arange(len(place))[::-1]  # the last write stays: that of the first kernel
        return Groups(place, first, dur_ns)

    def sum(self, values: Int64 | Bool) -> Int64:
        """Per group; exact, for integers below 2**53."""
        return np.rint(np.bincount(self.place, values, minlength=len(self.first))).astype(np.int64)

    def mean(self, values: Float64) -> list[float | None]:
        """Per group, weighted by length; NaN is left out, and None where nothing else is."""
        known = np.isfinite(values)
        weight = np.where(known, np.maximum(self.dur_ns, 1), 0)  # clocks of microseconds write lengths of 0
        whole = np.bincount(self.place, weight, minlength=len(self.first))
        part = np.bincount(self.place, weight * np.where(known, values, 0.0), minlength=len(self.first))
        return [p / w if w else None for p, w in zip(part.tolist(), whole.tolist(), strict=True)]

    def extremes(self) -> tuple[list[int], list[int]]:
        """The shortest and the longest length per group."""
        order = np.lexsort((self.dur_ns, self.place))
        count = np.bincount(self.place, minlength=len(self.first))
        last = np.cumsum(count) - 1
        lengths = self.dur_ns[order]
        return lengths[last - count + 1].tolist(), lengths[last].tolist()

    def leading(self, values: Int64) -> tuple[list[int], list[int]]:
        """Per group the value with most time, and how many there are."""
        parts = Groups.of(self.dur_ns, self.place, values)
        group, value = self.place[parts.first], values[parts.first]
        order = np.lexsort((-value, parts.sum(self.dur_ns), group))
        count = np.bincount(group, minlength=len(self.first))
        return value[order][np.cumsum(count) - 1].tolist(), count.tolist()


def numbered(keys: Int64) -> Int64:
    """The rank of each key among the distinct ones. Keys that are close together are ranked without being sorted."""
    low, high = int(keys.min(initial=0)), int(keys.max(initial=0))
    if high - low > SCATTERED * len(keys) + 1:
        return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
    is_there = np.zeros(high - low + 1, bool)
    is_there[keys - low] = True
    ranks: Int64 = np.cumsum(is_there) - 1
    return ranks[keys - low]
