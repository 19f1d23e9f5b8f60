"""Time as adjacent segments, each with a label: the label of an instant, and the segments of an interval.

label     2222 0 111111 2222
interval     [--------)          -> 2, 0, 1: three parts
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.trace.intervals import Intervals, partition
from tb_steptime.trace.table import Int32, Int64


class Cut(NamedTuple):
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
        """Label each instant of [low, high) with the number of the first layer that covers it; len(layers) if none
        does."""
        parts = partition(Intervals.of((low, high)), [layer.clip(low, high) for layer in layers])
        start = np.concatenate([part.start for part in parts])
        label = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        order = np.argsort(start, kind="stable")
        return Segments(start[order], label[order])

    @staticmethod
    def numbered(start: Int64, end: Int64) -> Segments:
        """Label each instant with the number of the window that contains it, -1 for none. Windows are sorted and
        disjoint."""
        edges = np.stack((start, end), axis=1).ravel()
        label = np.stack((np.arange(len(start)), np.full(len(start), -1)), axis=1).ravel()
        keep = np.append(edges[1:] > edges[:-1], True)  # nothing lies between windows that touch
        return Segments(edges[keep], label[keep].astype(np.int32))

    def cut(self, start: Int64, end: Int64) -> Cut:
        """Cut intervals where the label changes, keeping their order. Empty parts and everything before the first
        segment are left out."""
        first = np.searchsorted(self.start, start, side="right") - 1
        past = np.searchsorted(self.start, end, side="left")
        count = np.where(end > start, past - first, 0)
        source = np.repeat(np.arange(len(start)), count)
        place = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count) + first[source]
        source, place = source[place >= 0], place[place >= 0]
        ends = np.append(self.start[1:], np.iinfo(np.int64).max)
        return Cut(source, np.maximum(start.take(source), self.start.take(place)),
                   np.minimum(end.take(source), ends.take(place)), self.label.take(place))  # fmt: skip
