"""Events as bars. Bars that are too narrow to see are merged.

line        a b c   dddddddd ef      gg     detail |--|
bars        aaaaa   dddddddd ee      gg     a, b, c and e, f are merged; the longest of them gives the name

Bars are merged if both are narrower than the detail and begin in the same time bin of that length. After that,
neighbours of one colour are merged if the gap between them is shorter than the detail. So bars cover everything that
the events cover, and beyond that only gaps shorter than the detail.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from tb_steptime.trace.table import Bool, Int32, Int64, UInt8


@dataclass(frozen=True, eq=False)
class Bars:
    """Columns of equal length, sorted by line and start; bars of one line do not overlap.

    line      int32, number of the line, all tracks counted through
    end, start  int64
    longest   int64, length of the longest event in the bar: for a single event its own
    place     int32, that event's place in the event file
    count     int32, how many events
    """

    line: Int32
    start: Int64
    end: Int64
    longest: Int64
    place: Int32
    colour: UInt8
    count: Int32

    def __len__(self) -> int:
        return len(self.start)

    def first(self, most: int) -> Bars:
        return self if len(self) <= most else Bars(*(getattr(self, column.name)[:most] for column in fields(self)))

    @staticmethod
    def from_events(line: int, start: Int64, length: Int64, colour: UInt8, first_place: int) -> Bars:
        """Returns the bars of single events that are neighbours in the event file."""
        count = len(start)
        place = np.arange(first_place, first_place + count, dtype=np.int32)
        ones, of_line = np.ones(count, np.int32), np.full(count, line, np.int32)
        return Bars(of_line, start, start + length, length, place, colour, ones)

    @staticmethod
    def one_after_another(parts: list[Bars]) -> Bars:
        columns = ([getattr(part, column.name) for part in parts] for column in fields(Bars))
        return Bars(*(np.concatenate(column) for column in columns))

    @staticmethod
    def none() -> Bars:
        none = np.empty(0, np.int64)
        short = none.astype(np.int32)
        return Bars(short, none, none, none, short, none.astype(np.uint8), short)


def merge(bars: Bars, detail_ns: int) -> Bars:
    """Merges bars that are narrower than the detail and begin in the same bin. Merging to a detail and then to a
    multiple of it gives the same result as merging to the multiple at once."""
    narrow = bars.longest < detail_ns
    time_bin = bars.start // detail_ns
    return _joined(bars, narrow[1:] & narrow[:-1] & _same(bars.line) & _same(time_bin))


def join_alike(bars: Bars, detail_ns: int) -> Bars:
    """Merges narrow neighbours of one colour if the gap between them is shorter than the detail."""
    narrow = bars.longest < detail_ns
    near = bars.start[1:] - bars.end[:-1] < detail_ns
    return _joined(bars, narrow[1:] & narrow[:-1] & _same(bars.line) & _same(bars.colour) & near)


def _same(values: Int32 | Int64 | UInt8) -> Bool:
    return values[1:] == values[:-1]


def _joined(bars: Bars, with_previous: Bool) -> Bars:
    """Merges each bar with the following ones that are marked as joined with their predecessor."""
    if not with_previous.any():
        return bars
    first = np.flatnonzero(np.concatenate(([True], ~with_previous)))
    last = np.append(first[1:], len(bars)) - 1
    longest = np.maximum.reduceat(bars.longest, first)
    leader = _first_that_is(bars.longest, longest, first)
    count = np.add.reduceat(bars.count, first, dtype=np.int32)
    times = bars.start[first], bars.end[last], longest
    return Bars(bars.line[first], *times, bars.place[leader], bars.colour[leader], count)


def _first_that_is(values: Int64, value: Int64, first: Int64) -> Int64:
    """Returns in each group, whose first rows are given, the first row that has the wanted value."""
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(values))))
    candidates = np.flatnonzero(values == value[group])
    firsts = np.searchsorted(group[candidates], np.arange(len(first)))
    return candidates[firsts]
