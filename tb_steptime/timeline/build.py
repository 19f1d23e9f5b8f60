"""Trace -> event file: every event on its line, and coarser levels of detail."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tb_steptime.timeline.answers import Track
from tb_steptime.timeline.bars import Bars, merge
from tb_steptime.timeline.busy import write_busy
from tb_steptime.timeline.colours import event_colours
from tb_steptime.timeline.event_file import Columns, EventFile, Head
from tb_steptime.timeline.gaps import write_gaps
from tb_steptime.timeline.queue import write_queue
from tb_steptime.timeline.rows import LEFT_OUT, MAX_ROWS, stack_rows
from tb_steptime.timeline.ties import write_ties
from tb_steptime.timeline.tracks import Table, TrackEvents, tracks_of
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int32, Int64

#: Levels of detail that are computed in advance, ns: powers of two, each a multiple of the one before. Below the first
#: one a screen shows few events anyway; above the last one little is left.
LEVELS = (1 << 12, 1 << 15, 1 << 18, 1 << 21, 1 << 24)

#: Events of a line that are written at once, so that no array is as long as a large trace.
_AT_ONCE = 1 << 17


def write_events(trace: Trace, folder: Path) -> None:
    """Write the event file of a trace into an empty folder."""
    _Writing(trace, folder).write()


class _Writing:
    def __init__(self, trace: Trace, folder: Path) -> None:
        self.trace = trace
        self.columns = Columns(folder)
        self.tracks: list[Track] = []
        self.track_thread: list[int] = []
        self.line_track: list[int] = []
        self.line_row: list[int] = []
        self.bounds: list[list[int]] = [[0] for _ in (0, *LEVELS)]
        self.count = [0 for _ in (0, *LEVELS)]
        self.names = list(trace.strings.strings)
        self.place = np.full(len(trace.events), -1, np.int32)
        self.span: tuple[int, int] | None = None

    def write(self) -> None:
        for track in tracks_of(self.trace, event_colours(self.trace)):
            self._add(track)
        write_queue(self.trace, self.columns)
        write_busy(self.trace, self.columns)
        write_gaps(self.trace, self.columns)
        self.names += write_ties(self.trace, self.columns, len(self.names))
        self.columns.add("place", self.place)
        self.columns.add_strings(self.names)
        for level, bounds in enumerate(self.bounds):
            self.columns.add(f"level{level}.bounds", np.array(bounds, np.int64))
        lines = self.tracks, self.track_thread, self.line_track, self.line_row
        EventFile.write_head(
            self.columns.folder, Head(*lines, list(LEVELS), *(self.span or (0, 0)), self.columns.join())
        )

    def _add(self, track: TrackEvents) -> None:
        line = stack_rows(track.table.start, track.table.dur, track.rows)
        count = np.bincount(line, minlength=LEFT_OUT + 1)[:MAX_ROWS]
        rows = max(1, int(np.count_nonzero(count)))
        number = len(self.tracks)
        self.tracks.append(Track(number, track.kind, track.group, track.label, rows))
        self.track_thread.append(track.thread)
        names_from = len(self.names) if track.own_names else 0
        self.names += track.own_names
        self._grow(track)
        order = np.argsort(line, kind="stable").astype(np.int32)
        past = np.cumsum(count)
        for row in range(rows):
            self.line_track.append(number)
            self.line_row.append(row)
            self._add_line(track, track.rows[order[past[row] - count[row] : past[row]]], names_from)

    def _grow(self, track: TrackEvents) -> None:
        """Room for the numbers of steps and phases; and the time that all events span."""
        table, rows = track.table, track.rows
        more = table.first + int(rows.max(initial=-1)) + 1 - len(self.place)
        if more > 0:
            self.place = np.append(self.place, np.full(more, -1, np.int32))
        if len(rows):
            low, high = int(table.start[rows[0]]), int((table.start[rows] + table.dur[rows]).max())
            self.span = (low, high) if self.span is None else (min(self.span[0], low), max(self.span[1], high))

    def _add_line(self, track: TrackEvents, rows: Int32, names_from: int) -> None:
        for some in _in_blocks(track.table.start, rows):
            self._add_block(track.table, some, names_from)
        for level, bounds in enumerate(self.bounds):
            bounds.append(self.count[level])

    def _add_block(self, table: Table, rows: Int32, names_from: int) -> None:
        first, add = self.count[0], self.columns.add
        start, length, colour = table.start[rows], table.dur[rows], table.colour[rows]
        self.place[table.first + rows] = np.arange(first, first + len(rows), dtype=np.int32)
        add("start", start)
        add("length", length)
        add("name", table.name[rows].astype(np.int32) + np.int32(names_from))
        add("colour", colour)
        add("kind", table.kind[rows])
        add("event", (rows + table.first).astype(np.int32))
        self.count[0] += len(rows)
        bars = Bars.of(len(self.line_track) - 1, start, length, colour, first)
        for level, detail in enumerate(LEVELS, start=1):
            bars = merge(bars, detail)
            self.columns.add_bars(level, bars)
            self.count[level] += len(bars)


def _in_blocks(start_ns: Int64, rows: Int32) -> Iterator[Int32]:
    """Some events of a line at a time, cut where a bin of the coarsest level begins, which no bar crosses."""
    first = 0
    while first < len(rows):
        past = min(first + _AT_ONCE, len(rows))
        next_bin = (int(start_ns[rows[past - 1]]) // LEVELS[-1] + 1) * LEVELS[-1]
        past = bisect.bisect_left(rows, next_bin, past, key=start_ns.__getitem__)
        yield rows[first:past]
        first = past
