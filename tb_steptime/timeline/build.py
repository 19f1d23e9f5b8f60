"""Trace -> event file: every event on its line, and coarser levels of detail."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from tb_steptime.timeline.answers import Track
from tb_steptime.timeline.around import write_gaps
from tb_steptime.timeline.bars import Bars, merge
from tb_steptime.timeline.bins import write_busy, write_queue
from tb_steptime.timeline.event_file import Columns, EventFile, Head
from tb_steptime.timeline.flame import write_flames
from tb_steptime.timeline.memory import write_memory
from tb_steptime.timeline.rows import LEFT_OUT, MAX_ROWS, stack_rows, write_shown_names
from tb_steptime.timeline.ties import write_ties
from tb_steptime.timeline.tracks import Table, TrackEvents, event_colours, tracks_of
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int32, Int64

#: Levels of detail that are computed in advance, ns: powers of two, each a multiple of the one before. Below the first
#: one a screen shows few events anyway; above the last one few bars are left.
LEVELS = (1 << 12, 1 << 15, 1 << 18, 1 << 21, 1 << 24)

#: Number of events of a line that are written at once, so that no array is as long as a large trace.
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
        self.place, self.folded_place = (np.full(len(trace.events), -1, np.int32) for _ in range(2))
        self.span: tuple[int, int] | None = None

    def write(self) -> None:
        folded = [self._add(track) for track in tracks_of(self.trace, event_colours(self.trace))]
        all_lines = len(self.line_track)
        for number, left in enumerate(folded):
            if left:
                self._fold(number, left)
        write_queue(self.trace, self.columns)
        write_busy(self.trace, self.columns)
        write_gaps(self.trace, self.columns)
        self.names += write_ties(self.trace, self.columns, len(self.names))
        self.columns.add("place", self.place)
        self.columns.add("folded_place", self.folded_place)
        self.names += write_shown_names(self.trace, self.columns, len(self.names))
        self.names += write_memory(self.trace, self.columns, len(self.names))
        self.names += write_flames(self.trace, self.columns, len(self.names))
        self.columns.add_strings(self.names)
        for level, bounds in enumerate(self.bounds):
            self.columns.add(f"level{level}.bounds", np.array(bounds, np.int64))
        lines = self.tracks, self.track_thread, self.line_track, self.line_row, all_lines
        EventFile.write_head(
            self.columns.folder, Head(*lines, list(LEVELS), *(self.span or (0, 0)), self.columns.join())
        )

    def _add(self, track: TrackEvents) -> TrackEvents | None:
        """Write the whole track; return the part that is left when its stack is folded, if that is smaller."""
        number, names_from = len(self.tracks), len(self.names) if track.own_names else 0
        self.track_thread.append(track.thread)
        self.names += track.own_names
        self._grow(track)
        rows = self._add_lines(number, track, names_from, self.place)
        self.tracks.append(Track(number, track.kind, track.group, track.label, rows, track.pinned, rows))
        return track.folded()

    def _fold(self, number: int, left: TrackEvents) -> None:
        """Write the same track again, without the frames that are folded away."""
        rows = self._add_lines(number, left, 0, self.folded_place)
        self.tracks[number] = msgspec.structs.replace(self.tracks[number], rows=rows)

    def _add_lines(self, number: int, track: TrackEvents, names_from: int, place: Int32) -> int:
        """Write the track's lines and return their number. place: of each event, to be filled in."""
        line = stack_rows(track.table.start, track.table.dur, track.rows)
        count = np.bincount(line, minlength=LEFT_OUT + 1)[:MAX_ROWS]
        order = np.argsort(line, kind="stable").astype(np.int32)
        ends = np.cumsum(count)
        rows = max(1, int(np.count_nonzero(count)))
        for row in range(rows):
            self.line_track.append(number)
            self.line_row.append(row)
            on_line = track.rows[order[ends[row] - count[row] : ends[row]]]
            for block in _in_blocks(track.table.start, on_line):
                self._add_block(track.table, block, names_from, place)
            for level, bounds in enumerate(self.bounds):
                bounds.append(self.count[level])
        return rows

    def _grow(self, track: TrackEvents) -> None:
        """Make room for the numbers of steps and phases, and extend the time span of all events."""
        table, rows = track.table, track.rows
        more = table.first + int(rows.max(initial=-1)) + 1 - len(self.place)
        if more > 0:
            self.place = np.append(self.place, np.full(more, -1, np.int32))
        if len(rows):
            low, high = int(table.start[rows[0]]), int((table.start[rows] + table.dur[rows]).max())
            self.span = (low, high) if self.span is None else (min(self.span[0], low), max(self.span[1], high))

    def _add_block(self, table: Table, rows: Int32, names_from: int, place: Int32) -> None:
        first, add = self.count[0], self.columns.add
        start, length, colour = table.start[rows], table.dur[rows], table.colour[rows]
        place[table.first + rows] = np.arange(first, first + len(rows), dtype=np.int32)
        add("start", start)
        add("length", length)
        add("name", table.name[rows].astype(np.int32) + np.int32(names_from))
        add("colour", colour)
        add("kind", table.kind[rows])
        add("event", (rows + table.first).astype(np.int32))
        self.count[0] += len(rows)
        bars = Bars.from_events(len(self.line_track) - 1, start, length, colour, first)
        for level, detail in enumerate(LEVELS, start=1):
            bars = merge(bars, detail)
            self.columns.add_bars(level, bars)
            self.count[level] += len(bars)


def _in_blocks(start_ns: Int64, rows: Int32) -> Iterator[Int32]:
    """Blocks of a line's events, cut where a bin of the coarsest level begins, which no bar crosses."""
    first = 0
    while first < len(rows):
        end = min(first + _AT_ONCE, len(rows))
        next_bin = (int(start_ns[rows[end - 1]]) // LEVELS[-1] + 1) * LEVELS[-1]
        end = bisect.bisect_left(rows, next_bin, end, key=start_ns.__getitem__)
        yield rows[first:end]
        first = end
