"""Interval algebra on int64 arrays. All time spans are represented as `Intervals`.

a        aaaa  aaaa
b          bbbbbb
a | b    ----------
a & b      --  --
a - b    --      --

`Segments` are adjacent, each with a label: they give the label of an instant, and the parts of an interval.

label     2222 0 111111 2222
interval     [--------)          -> 2, 0, 1: three parts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from tb_steptime.text.notes import MOST_RANGES
from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.table import EventTable, Float64, Int32, Int64, ranges_from

#: The instant of an event that does not happen any more, and an instant before all others.
NEVER, BEFORE_ALL = np.iinfo(np.int64).max, np.iinfo(np.int64).min


class Intervals(msgspec.Struct, frozen=True, eq=False):
    """Sorted, disjoint, non-empty, half-open intervals [start, end), in ns. Make them with `union` or `of`."""

    start: Int64
    end: Int64

    @staticmethod
    def empty() -> Intervals:
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))

    @staticmethod
    def of(*pairs: tuple[int, int]) -> Intervals:
        """Returns the union of a few (start, end) pairs. Windows and tests use it."""
        array = np.array(pairs, np.int64).reshape(-1, 2)
        return Intervals.union(array[:, 0], array[:, 1])

    @staticmethod
    def union(start: Int64, end: Int64) -> Intervals:
        """Returns the union of any intervals, in any order. Empty and reversed ones are ignored; touching ones are
        merged."""
        keep = end > start
        if not keep.all():
            start, end = start[keep], end[keep]
        if not len(start):
            return Intervals.empty()
        if (start[1:] < start[:-1]).any():  # event table rows are sorted already, and a test is cheaper than a sort
            order = np.argsort(start, kind="stable")
            start, end = start[order], end[order]
        reach = np.maximum.accumulate(end)
        opens = (start[1:] > reach[:-1]).nonzero()[0] + 1
        return Intervals(start[np.append(0, opens)], reach[np.append(opens - 1, len(reach) - 1)])

    @staticmethod
    def of_events(events: EventTable, rows: Int32 | Int64) -> Intervals:
        """Returns when any event of these rows runs."""
        return Intervals.union(events.start_ns.take(rows), events.ends(rows))

    @staticmethod
    def joined(several: Iterable[Intervals]) -> Intervals:
        """Returns the union of any number of intervals, which may overlap. It is empty without any."""
        parts = [each for each in several if len(each)]
        if len(parts) <= 1:
            return parts[0] if parts else Intervals.empty()
        return Intervals.union(
            np.concatenate([each.start for each in parts]), np.concatenate([each.end for each in parts])
        )

    @property
    def total_ns(self) -> int:
        return int((self.end - self.start).sum())

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.start.tolist(), self.end.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals):
            return NotImplemented
        return np.array_equal(self.start, other.start) and np.array_equal(self.end, other.end)

    def __or__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return self if len(self) else other
        return Intervals.union(np.concatenate((self.start, other.start)), np.concatenate((self.end, other.end)))

    def __and__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return Intervals.empty()
        if len(self) > len(other):  # looking up few among many is faster than many among few
            return other & self
        first = np.searchsorted(other.end, self.start, side="right")
        last = np.searchsorted(other.start, self.end, side="left")
        count = np.maximum(last - first, 0)
        own = np.repeat(np.arange(len(self)), count)
        others = ranges_from(first, count)
        start = np.maximum(self.start.take(own), other.start.take(others))
        end = np.minimum(self.end.take(own), other.end.take(others))
        return Intervals(start, end)

    def __sub__(self, other: Intervals) -> Intervals:
        if not len(self) or not len(other):
            return self
        low, high = int(self.start[0]), int(self.end[-1])
        return self & other.gaps(low, high)

    def gaps(self, low: int, high: int) -> Intervals:
        """Returns the parts of [low, high) that these intervals do not cover."""
        inside = self.clip(low, high)
        start = np.concatenate((np.array([low], np.int64), inside.end))
        end = np.concatenate((inside.start, np.array([high], np.int64)))
        keep = end > start
        return Intervals(start[keep], end[keep])

    def clip(self, low: int, high: int) -> Intervals:
        """Returns the parts of these intervals within [low, high)."""
        start, end = np.maximum(self.start, low), np.minimum(self.end, high)
        keep = end > start
        return Intervals(start[keep], end[keep])

    def covered_before(self, instants: Int64) -> Int64:
        """Returns the covered time before each instant, in ns. Differences of these are exact overlaps with any
        windows."""
        return self._before(instants, np.cumsum(self.end - self.start))

    def overlap_ns(self, start: Int64, end: Int64) -> Int64:
        """Returns the covered time within each window [start[i], end[i]); windows may overlap."""
        if not len(self):
            return np.zeros(len(start), np.int64)
        if computed := one_pass("overlaps", (np.int64,), start, end, self.start, self.end):
            return computed[0]
        covered = np.cumsum(self.end - self.start)
        return self._before(end, covered) - self._before(start, covered)

    def _before(self, instants: Int64, covered: Int64) -> Int64:
        """Returns the covered time before each instant. covered: the cumulative one at the end of each interval."""
        if not len(self):
            return np.zeros(len(instants), np.int64)
        row = np.searchsorted(self.start, instants, side="right") - 1
        return np.where(row < 0, 0, covered[row] - np.maximum(self.end[row] - instants, 0))


def equal_bins(low: int, high: int, most: int) -> tuple[int, Int64]:
    """Returns the length and the edges of at most `most` equal bins of whole ns. The last bin ends at `high` and may be
    shorter.

    >>> equal_bins(0, 10, 4)[1].tolist()
    [0, 3, 6, 9, 10]
    """
    bin_ns = max(1, -(-(high - low) // most))
    return bin_ns, np.minimum(low + bin_ns * np.arange(-(-(high - low) // bin_ns) + 1, dtype=np.int64), high)


def longest_ranges(start: Int64, end: Int64) -> tuple[tuple[int, int], ...]:
    """Returns the longest of these time ranges, up to MOST_RANGES, the longest first."""
    order = np.argsort(start - end, kind="stable")[:MOST_RANGES]
    return tuple(zip(start[order].tolist(), end[order].tolist(), strict=True))


def partition(window: Intervals, layers: Iterable[Intervals]) -> list[Intervals]:
    """Divides a window among layers: an instant goes to the first layer that covers it. The last element is what no
    layer covers.

    The parts are disjoint and their totals sum to the window's.

        layer 0   aaaaaa
        layer 1      bbbbbb       ->   0: 6   1: 3   rest: 1   of a window of 10
    """
    parts, rest = [], window
    for layer in layers:
        parts.append(rest & layer)
        rest = rest - layer
    return [*parts, rest]


def weighted_overlap(start: Int64, end: Int64, weight: Float64, edges: Int64) -> Float64:
    """Returns the sum over the intervals of weight x overlap with each bin [edges[i], edges[i+1]), in ns; exact, not
    sampled. Weights must not be negative."""
    rounded = np.diff(_ramp(start, weight, edges) - _ramp(end, weight, edges))
    return np.asarray(np.maximum(rounded, 0), np.float64)  # rounding may leave -1e-11 in place of 0


def _ramp(knots: Int64, weight: Float64, instants: Int64) -> Float64:
    """Returns the sum over the knots before an instant of weight x (instant - knot)."""
    order = np.argsort(knots, kind="stable")
    knots, weight = knots.take(order), weight.take(order)
    del order  # each column is 8 MB for a million kernels
    origin = int(knots[0]) if len(knots) else 0  # small numbers keep the products exact
    count = np.searchsorted(knots, instants, side="left")
    slope = sums_before(weight)[count]
    knots -= origin
    moment = sums_before(weight * knots)[count]
    return np.asarray(slope * (instants - origin) - moment, np.float64)


def sums_before(values: Float64) -> Float64:
    """Returns the sum of the values before each value, and finally the sum of all: one entry more than there are
    values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


class Cut(msgspec.Struct, frozen=True, eq=False):
    """Parts of intervals. source: the interval to which a part belongs; label: that of its segment."""

    source: Int64
    start: Int64
    end: Int64
    label: Int32


class Segments(msgspec.Struct, frozen=True, eq=False):
    """Segment i covers [start[i], start[i + 1]); the last one has no end."""

    start: Int64
    label: Int32

    @staticmethod
    def first_of(layers: Sequence[Intervals], low: int, high: int) -> Segments:
        """Labels each instant of [low, high) with the number of the first layer that covers it; len(layers) if none
        does."""
        parts = partition(Intervals.of((low, high)), [layer.clip(low, high) for layer in layers])
        start = np.concatenate([part.start for part in parts])
        label = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        order = np.argsort(start, kind="stable")
        return Segments(start[order], label[order])

    @staticmethod
    def numbered(start: Int64, end: Int64) -> Segments:
        """Labels each instant with the number of the window that contains it, -1 for none. Windows are sorted and
        disjoint."""
        edges = np.stack((start, end), axis=1).ravel()
        label = np.stack((np.arange(len(start)), np.full(len(start), -1)), axis=1).ravel()
        keep = np.append(edges[1:] > edges[:-1], True)  # nothing lies between windows that touch
        return Segments(edges[keep], label[keep].astype(np.int32))

    def cut(self, start: Int64, end: Int64) -> Cut:
        """Cuts intervals where the label changes, keeping their order. Empty parts and everything before the first
        segment are left out."""
        first = np.searchsorted(self.start, start, side="right") - 1
        last = np.searchsorted(self.start, end, side="left")
        count = np.where(end > start, last - first, 0)
        source = np.repeat(np.arange(len(start)), count)
        place = ranges_from(first, count)
        source, place = source[place >= 0], place[place >= 0]
        ends = np.append(self.start[1:], NEVER)
        return Cut(source, np.maximum(start.take(source), self.start.take(place)),
                   np.minimum(end.take(source), ends.take(place)), self.label.take(place))  # fmt: skip
