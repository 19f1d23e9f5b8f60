"""Trace -> event file: every event on its line, and coarser levels of detail.

A track has as many lines as it needs so that events on one line never overlap.

event   aaaaaaaaaa
          bbbb  cccccc        line 0   aaaaaaaaaa dd
            e        dd       line 1     bbbb  cccccc
                              line 2       e

The text of a box is a short name if the trace's name is long.

    kernel, copy      as in every table                        gemm bf16 128x256
    Python frame      below its package or the working tree    timm/layers.py(3): forward
    anything else     as it is

The whole name stays beside it, for the event's details and for the search.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from tb_steptime.metrics.kernel_names.short_names import kernel_names, short_name
from tb_steptime.timeline.answers import Track
from tb_steptime.timeline.around import write_gaps
from tb_steptime.timeline.bars import Bars, merge
from tb_steptime.timeline.bins import write_busy, write_queue
from tb_steptime.timeline.event_file import Columns, EventFile, Head
from tb_steptime.timeline.flame import write_flames
from tb_steptime.timeline.memory import write_memory
from tb_steptime.timeline.ties import write_ties
from tb_steptime.timeline.tracks import Table, TrackEvents, event_colours, tracks_of
from tb_steptime.trace.frames import MODULE_FRAME, is_installed, is_source, short_frame
from tb_steptime.trace.intervals import BEFORE_ALL
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, UInt8, distinct_in

#: Levels of detail that are computed in advance, ns: powers of two, each a multiple of the one before. Below the first
#: one a screen shows few events anyway; above the last one few bars are left.
LEVELS = (1 << 12, 1 << 15, 1 << 18, 1 << 21, 1 << 24)

#: Number of events that are placed or written at once, so that no array is as long as a large trace.
_AT_ONCE = 1 << 17
#: Maximum number of lines. Deeper stacks are runaway recursion, and no screen is as high; deeper events are left out.
MAX_ROWS = 200
LEFT_OUT = 255


def write_events(trace: Trace, folder: Path) -> None:
    """Writes the event file of a trace into an empty folder."""
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
        """Writes the whole track. Returns the part that remains when its stack is folded, if that is smaller."""
        number, names_from = len(self.tracks), len(self.names) if track.own_names else 0
        self.track_thread.append(track.thread)
        self.names += track.own_names
        self._grow(track)
        rows = self._add_lines(number, track, names_from, self.place)
        self.tracks.append(Track(number, track.kind, track.group, track.label, rows, track.pinned, rows))
        return track.folded()

    def _fold(self, number: int, left: TrackEvents) -> None:
        """Writes the same track again, without the frames that are folded away."""
        rows = self._add_lines(number, left, 0, self.folded_place)
        self.tracks[number] = msgspec.structs.replace(self.tracks[number], rows=rows)

    def _add_lines(self, number: int, track: TrackEvents, names_from: int, place: Int32) -> int:
        """Writes the track's lines and returns their number. place: an array to be filled in with the place of each
        event."""
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
        """Makes room for the numbers of steps and phases, and extends the time span of all events."""
        table, rows = track.table, track.rows
        more = table.first + int(rows.max(initial=-1)) + 1 - len(self.place)
        if more > 0:
            self.place = np.append(self.place, np.full(more, -1, np.int32))
        if len(rows):
            low, high = int(table.start[rows[0]]), int((table.start[rows] + table.dur[rows]).max())
            self.span = (low, high) if self.span is None else (min(self.span[0], low), max(self.span[1], high))

    def _add_block(self, table: Table, rows: Int32, names_from: int, place: Int32) -> None:
        first, add = self.count[0], self.columns.add
        start = table.start[rows]
        length = table.dur[rows]
        colour = table.colour[rows]
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
    """Yields the blocks of a line's events, cut where a bin of the coarsest level begins, which no bar crosses."""
    first = 0
    while first < len(rows):
        end = min(first + _AT_ONCE, len(rows))
        next_bin = (int(start_ns[rows[end - 1]]) // LEVELS[-1] + 1) * LEVELS[-1]
        end = bisect.bisect_left(rows, next_bin, end, key=start_ns.__getitem__)
        yield rows[first:end]
        first = end


def stack_rows(start_ns: Int64, dur_ns: Int64, rows: Int32) -> UInt8:
    """Returns the first line on which there is room for each event, in order. Events that nest get their depth.

    rows: the rows of a track, sorted by (start, longer first), in larger columns. An event gets LEFT_OUT if there are
    too many lines.
    """
    line = np.full(len(rows), LEFT_OUT, np.uint8)
    rest = np.arange(len(rows), dtype=np.int32)
    for level in range(MAX_ROWS):
        if not len(rest):
            break
        fits = _fitting(start_ns, dur_ns, rows, rest)
        line[rest[fits]] = level
        rest = rest[~fits]
    return line


def _fitting(start_ns: Int64, dur_ns: Int64, rows: Int32, rest: Int32) -> Bool:
    """Returns which of the rest fit on one line: each that begins when the last fitting one has ended."""
    result, free_from = np.zeros(len(rest), bool), BEFORE_ALL
    for first in range(0, len(rest), _AT_ONCE):
        chunk = rows[rest[first : first + _AT_ONCE]]
        start = start_ns[chunk]
        skipped = int(np.searchsorted(start, free_from))
        if skipped < len(chunk):
            end = start[skipped:] + dur_ns[chunk[skipped:]]
            fits = _first_fit(start[skipped:], end)
            result[first + skipped : first + len(chunk)] = fits
            free_from = int(end[np.flatnonzero(fits)[-1]])
    return result


def _first_fit(start: Int64, end: Int64) -> Bool:
    fits: Bool = np.ones(len(start), bool)  # those that overlap nothing before them
    fits[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    first = np.flatnonzero(fits)
    cluster = np.cumsum(fits) - 1
    crossing = ~fits & (start >= end[first[cluster]])  # begins after the first of its cluster, which others outlast
    if crossing.any():
        crossed = np.zeros(len(first), bool)
        crossed[cluster[crossing]] = True
        in_crossed = np.flatnonzero(crossed[cluster])
        fits[in_crossed] = _followed(start[in_crossed], end[in_crossed])
    return fits


def _followed(start: Int64, end: Int64) -> Bool:
    """Returns the chain of events from the first one, each followed by the next that begins when it has ended.

    The distance doubles in each round, so that a hundred thousand events take seventeen rounds.
    """
    count = len(start)
    onward = np.append(np.maximum(np.searchsorted(start, end), np.arange(1, count + 1)), count)
    reached = np.zeros(count + 1, bool)
    reached[0] = True
    number = 0
    while number != (number := int(np.count_nonzero(reached))):
        reached[onward[reached]] = True
        onward = onward[onward]
    return reached[:-1]


_COPIES = (Kind.MEMCPY, Kind.MEMSET)


def write_shown_names(trace: Trace, columns: Columns, first_string: int) -> list[str]:
    """Writes, for each string of the trace, the number of the text shown in its place, -1 for the string itself.
    Returns the additional strings, of which the first one gets the number first_string."""
    shown = np.full(len(trace.strings), -1, np.int32)
    added: dict[str, int] = {}
    for number, name in _shown(trace).items():
        if name != trace.strings[number]:
            shown[number] = added.setdefault(name, first_string + len(added))
    columns.add("shown", shown)
    return list(added)


def _shown(trace: Trace) -> dict[int, str]:
    kernels, frames = kernel_names(trace), _names(trace, Kind.PYTHON)
    tree = working_tree(frames.values())
    return {
        **{number: kernels[name] for number, name in _names(trace, Kind.KERNEL).items()},
        **{number: short_name(name) for number, name in _names(trace, *_COPIES).items()},
        **{number: shown_frame(name, tree) for number, name in frames.items()},
    }


def _names(trace: Trace, *kinds: Kind) -> dict[int, str]:
    """Returns the names of all events of these kinds, by their numbers."""
    numbers = distinct_in(trace.events.name[trace.events.rows(*kinds)])
    return {number: trace.strings[number] for number in numbers.tolist()}


def working_tree(frames: Iterable[str]) -> str:
    """Returns the folder, ending in "/", that contains all files of the user that frames name by a whole path, or "" if
    there are none.

    >>> working_tree(["/home/me/job/train.py(54): step", "/home/me/job/data/sets.py(7): item", "json/decoder.py(3): f"])
    '/home/me/job/'
    """
    own = [frame for frame in frames if frame.startswith("/") and is_source(frame) and not is_installed(frame)]
    folder = os.path.commonpath([os.path.dirname(frame.partition("(")[0]) for frame in own]) if own else ""
    return f"{folder}/" if len(folder) > 1 else ""


def shown_frame(frame: str, tree: str) -> str:
    """Returns a frame's file below its package or the working tree. For the call of a module it is the module.

    >>> shown_frame("/home/me/job/data/sets.py(7): item", "/home/me/job/"), shown_frame("nn.Module: Linear_3", "")
    ('data/sets.py(7): item', 'Linear_3')
    """
    return short_frame(frame.removeprefix(MODULE_FRAME)).removeprefix(tree or " ")
