"""Trace -> event file: every event on its line, and the coarser levels ready-made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tb_steptime.timeline.answers import Track
from tb_steptime.timeline.bars import Bars, merge
from tb_steptime.timeline.colours import event_colours
from tb_steptime.timeline.event_file import Columns, EventFile, Head
from tb_steptime.timeline.lanes import Lane, lanes
from tb_steptime.timeline.queue import write_queue
from tb_steptime.timeline.rows import LEFT_OUT, stack_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int32

#: Details that are made beforehand, ns: powers of two, each a multiple of the one before. Below the first one a screen
#: shows few events anyway; above the last one little is left.
LEVELS = (1 << 12, 1 << 15, 1 << 18, 1 << 21, 1 << 24)


def write_events(trace: Trace, folder: Path) -> None:
    """Write the event file of a trace into a folder that is there and empty."""
    _Writing(trace, folder).write()


class _Writing:
    def __init__(self, trace: Trace, folder: Path) -> None:
        self.trace = trace
        self.columns = Columns(folder)
        self.tracks: list[Track] = []
        self.line_track: list[int] = []
        self.line_row: list[int] = []
        self.bounds: list[list[int]] = [[0] for _ in (0, *LEVELS)]
        self.names = list(trace.strings.strings)
        self.place = np.full(len(trace.events), -1, np.int32)
        self.span = (0, 0)

    def write(self) -> None:
        for lane in lanes(self.trace, event_colours(self.trace)):
            self._add(lane)
        write_queue(self.trace, self.columns)
        self.columns.add("place", self.place)
        self.columns.add_strings(self.names)
        for level, bounds in enumerate(self.bounds):
            self.columns.add(f"level{level}.bounds", np.array(bounds, np.int64))
        head = Head(self.tracks, self.line_track, self.line_row, list(LEVELS), *self.span, self.columns.join())
        EventFile.write_head(self.columns.folder, head)

    def _add(self, lane: Lane) -> None:
        row = stack_rows(lane.start, lane.end)
        rows = int(row[row != LEFT_OUT].max(initial=0)) + 1
        number = len(self.tracks)
        self.tracks.append(Track(number, lane.kind, lane.group, lane.label, rows))
        own_names = len(self.names) if lane.own_names else 0
        self.names += lane.own_names
        self._grow(lane)
        order = np.argsort(row, kind="stable").astype(np.int32)
        for line, here in enumerate(_lines(order, np.bincount(row, minlength=rows)[:rows].tolist())):
            self.line_track.append(number)
            self.line_row.append(line)
            self._add_line(lane, here, own_names)

    def _grow(self, lane: Lane) -> None:
        """Room for the numbers of steps and phases; and the time that all events span."""
        more = int(lane.event.max(initial=0)) + 1 - len(self.place)
        if more > 0:
            self.place = np.append(self.place, np.full(more, -1, np.int32))
        if len(lane.start):
            low, high = int(lane.start[0]), int(lane.end.max())
            self.span = (min(self.span[0], low), max(self.span[1], high)) if len(self.tracks) > 1 else (low, high)

    def _add_line(self, lane: Lane, here: Int32, names_from: int) -> None:
        first = self.bounds[0][-1]
        start, length = lane.start[here], lane.end[here] - lane.start[here]
        self.place[lane.event[here]] = np.arange(first, first + len(here), dtype=np.int32)
        add = self.columns.add
        add("start", start)
        add("length", length)
        add("name", lane.name[here] + np.int32(names_from))
        add("colour", lane.colour[here])
        add("kind", lane.what[here])
        add("event", lane.event[here])
        self.bounds[0].append(first + len(here))
        bars = Bars.of(len(self.line_track) - 1, start, length, lane.colour[here], first)
        for level, detail in enumerate(LEVELS, start=1):
            bars = merge(bars, detail)
            self.columns.add_bars(level, bars)
            self.bounds[level].append(self.bounds[level][-1] + len(bars))


def _lines(order: Int32, counts: list[int]) -> Iterator[Int32]:
    """The events of each line: the order by line, cut."""
    first = 0
    for count in counts:
        yield order[first : first + count]
        first += count
