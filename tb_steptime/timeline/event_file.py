"""The event file: a span's events as columns on disk, so that any window of them is read without the trace.

    check               a checksum of the other two, so that only what was written is shown
    head.json           tracks, lines, levels; where each column is
    columns
      start, ...        one entry an event, sorted by (line, start)
      level1.start ...  the same bars at a coarser level of detail; then level2, ...
      strings.text      all names, one after another; strings.end: where each ends

The columns are mapped into memory, never read whole. The event files of a process are in one folder with limited size;
the least recently used one is removed first.

They are larger than summaries and quickly rebuilt, so they do not outlive the process: a mapped file no longer needs a
name, and its disk space is free when the process ends for any reason. (Windows keeps the name until the process closes
it.)
"""

from __future__ import annotations

import binascii
import bisect
import functools
import itertools
import logging
import shutil
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.files.decoders import decoder
from tb_steptime.files.temporary import OwnFolder
from tb_steptime.text.frames import code_line
from tb_steptime.timeline.answers import Track
from tb_steptime.timeline.bars import Bars
from tb_steptime.trace.intervals import BEFORE_ALL
from tb_steptime.trace.table import Int32, Int64, UInt8

_HEAD, _COLUMNS, _CHECK = "head.json", "columns", "check"
_ALIGNED_BYTES = 8
_BLOCK_BYTES = 1 << 20
_BARS = ("start", "end", "longest", "place", "colour", "count")


class Column(msgspec.Struct, frozen=True):
    """Position of a column in the file: its type in numpy's notation, first byte and number of entries."""

    type: str
    offset: int
    count: int


class Head(msgspec.Struct, frozen=True):
    """The head of an event file.

    tracks                  in their order
    track_thread            a number that tracks of one host thread share; -1 for tracks of no thread
    line_track, line_row    track of each line, and its row there
    all_lines               number of lines that show every event once; after them come the lines of tracks whose stacks
                            are folded
    levels                  lengths of details in ns, from fine to coarse
    first_ns, last_ns       time span of the events
    """

    tracks: list[Track]
    track_thread: list[int]
    line_track: list[int]
    line_row: list[int]
    all_lines: int
    levels: list[int]
    first_ns: int
    last_ns: int
    columns: dict[str, Column]


class Columns:
    """Writes columns block by block, each into a file of its own, and finally joins them in one file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.types: dict[str, np.dtype[Any]] = {}

    def add(self, name: str, values: npt.NDArray[Any]) -> None:
        """Appends values to a column."""
        assert self.types.setdefault(name, values.dtype) == values.dtype, name
        with open(self.folder / name, "ab") as file:
            np.ascontiguousarray(values).tofile(file)

    def add_bars(self, level: int, bars: Bars) -> None:
        for column in _BARS:
            self.add(f"level{level}.{column}", getattr(bars, column))

    def add_strings(self, strings: list[str]) -> None:
        encoded = [string.encode("utf-8", "replace") for string in strings]
        self.add("strings.text", np.frombuffer(b"".join(encoded), np.uint8))
        self.add("strings.end", np.cumsum([len(each) for each in encoded], dtype=np.int64))

    def join(self) -> dict[str, Column]:
        """Joins the files and returns the position of each column."""
        columns: dict[str, Column] = {}
        with open(self.folder / _COLUMNS, "wb") as joined:
            for name, dtype in self.types.items():
                offset = joined.seek(-(-joined.tell() // _ALIGNED_BYTES) * _ALIGNED_BYTES)
                with open(self.folder / name, "rb") as own:
                    shutil.copyfileobj(own, joined)
                (self.folder / name).unlink()
                columns[name] = Column(dtype.str, offset, (joined.tell() - offset) // dtype.itemsize)
        return columns


def _check_of(folder: Path) -> str:
    """Returns the checksum of head and columns, read in blocks, since pages of a mapped file would count as memory of
    the process."""
    check = 0
    for name in (_HEAD, _COLUMNS):
        with open(folder / name, "rb", buffering=0) as file:
            while block := file.read(_BLOCK_BYTES):
                check = binascii.crc32(block, check)
    return f"{check:08x}"


@dataclass(eq=False)
class EventFile:
    """An open event file: it can be read until it is dropped, whatever happens to its folder."""

    head: Head
    mapped: npt.NDArray[np.uint8]
    _columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)

    @staticmethod
    def open(folder: Path) -> EventFile:
        """Opens an event file. Raises OSError or ValueError if it differs from what was written, as after a disk
        fault."""
        if (folder / _CHECK).read_bytes() != _check_of(folder).encode():
            raise ValueError("they are not as they were written")
        head = decoder(Head).decode((folder / _HEAD).read_bytes())
        return EventFile(head, np.memmap(folder / _COLUMNS, np.uint8, "r"))

    @staticmethod
    def write_head(folder: Path, head: Head) -> None:
        """Writes the head, as the last step: the columns are joined already."""
        (folder / _HEAD).write_bytes(msgspec.json.encode(head))
        (folder / _CHECK).write_text(_check_of(folder), "ascii")

    def column(self, name: str) -> npt.NDArray[Any]:
        """Returns a column as it was written. Columns are cached, as one answer uses the same ones ten thousand times
        for names of boxes."""
        column = self._columns.get(name)
        if column is None:
            lies = self.head.columns[name]
            column = self._columns[name] = np.ndarray(lies.count, lies.type, self.mapped.data, lies.offset)
        return column

    def int64(self, name: str) -> Int64:
        """Returns a column of whole numbers of 64 bits."""
        return self.column(name)

    def bytes(self) -> int:
        return self.mapped.nbytes

    @property
    def start(self) -> Int64:
        return self.column("start")

    @property
    def length(self) -> Int64:
        return self.column("length")

    @property
    def name(self) -> Int32:
        return self.column("name")

    @property
    def colour(self) -> UInt8:
        return self.column("colour")

    @property
    def event(self) -> Int32:
        """The number of the event at each place."""
        return self.column("event")

    @property
    def place(self) -> Int32:
        """The place of the event with each number, -1 for one that is not shown."""
        return self.column("place")

    @property
    def event_count(self) -> int:
        """The number of all events: places from here on are those of folded stacks."""
        return int(self.column("level0.bounds")[self.head.all_lines])

    def string(self, number: int) -> str:
        ends = self.column("strings.end")
        first = int(ends[number - 1]) if number else 0
        return bytes(self.column("strings.text")[first : int(ends[number])]).decode("utf-8")

    @functools.cached_property
    def lower_strings(self) -> list[str]:
        """The strings in lower case, for searching; those of lines of code also as the tab shows them."""
        text = bytes(self.column("strings.text"))
        ends = self.column("strings.end").tolist()
        strings = [text[first:end].decode("utf-8") for first, end in itertools.pairwise([0, *ends])]
        return [f"{each}\n{code_line(each)}".lower() if ".py(" in each else each.lower() for each in strings]

    def shown_name(self, number: int) -> str:
        """Returns the text shown on a box with this name."""
        shown = self.column("shown")
        return self.string(int(shown[number]) if number < len(shown) and shown[number] >= 0 else number)

    def has(self, name: str) -> bool:
        return name in self.head.columns

    def lines(self, track: int) -> range:
        """Returns the lines of a track, from the outermost to the innermost."""
        first = bisect.bisect_left(self.head.line_track, track, hi=self.head.all_lines)
        return range(first, first + self.head.tracks[track].all_rows)

    def folded_lines(self, track: int) -> range:
        """Returns the lines of a track whose stack is folded. They are the same ones if there is nothing to fold."""
        lines, each = self.head.line_track, self.head.tracks[track]
        first = bisect.bisect_left(lines, track, lo=self.head.all_lines)
        return range(first, first + each.rows) if track in lines[first : first + 1] else self.lines(track)

    def row_of(self, place: int, *, folded: bool) -> int:
        """Returns the row of an event, given its place among all, or -1 if it is folded away."""
        line = self.line_of(place)
        lines = self.folded_lines(self.head.line_track[line])
        if folded and lines.start >= self.head.all_lines:
            place = int(self.column("folded_place")[self.event[place]])
            return self.head.line_row[self.line_of(place)] if place >= 0 else -1
        return self.head.line_row[line]

    def line_of(self, place: int) -> int:
        return int(np.searchsorted(self.column("level0.bounds"), place, side="right")) - 1

    def within(self, line: int, first_ns: int, last_ns: int) -> range:
        """Returns the places of the events of a line that begin in [first_ns, last_ns)."""
        low, high = self.column("level0.bounds")[line : line + 2].tolist()
        first, end = np.searchsorted(self.start[low:high], (first_ns, last_ns)).tolist()
        return range(low + first, low + end)

    def open_at(self, line: int, instant_ns: int) -> int | None:
        """Returns the place of the event on a line that is open at an instant."""
        before = self.within(line, BEFORE_ALL, instant_ns + 1)
        last = before.stop - 1
        return last if before and self.end_of(last) > instant_ns else None

    def end_of(self, place: int) -> int:
        return int(self.start[place]) + int(self.length[place])

    def bars(self, level: int, line: int, first_ns: int, last_ns: int) -> Bars:
        """Returns the bars of a line that overlap [first_ns, last_ns), at a level of detail. Level 0 has single
        events."""
        bounds = self.column(f"level{level}.bounds")
        low, high = int(bounds[line]), int(bounds[line + 1])
        start = self.column("start" if level == 0 else f"level{level}.start")[low:high]
        first, end = int(np.searchsorted(start, first_ns)), int(np.searchsorted(start, last_ns))
        if first and self._end(level, low + first - 1) > first_ns:
            first -= 1  # the one that is already open when the window begins
        if level == 0:
            chosen = slice(low + first, low + end)
            return Bars.from_events(line, self.start[chosen], self.length[chosen], self.colour[chosen], low + first)
        columns = [self.column(f"level{level}.{name}")[low + first : low + end] for name in _BARS]
        return Bars(np.full(end - first, line, np.int32), *columns)

    def _end(self, level: int, place: int) -> int:
        if level == 0:
            return self.end_of(place)
        return int(self.column(f"level{level}.end")[place])


logger = logging.getLogger(__name__)

#: Enough for a few of the largest recordings, or hundreds of usual ones.
MAX_BYTES = 2_000_000_000
#: Maximum number of files, as each one is kept open.
MAX_FILES = 32


@dataclass(eq=False)
class EventFiles:
    """Event files by key, one for each state of a trace. All methods are thread-safe."""

    max_bytes: int = MAX_BYTES
    folder: OwnFolder | None = None
    files: OrderedDict[str, EventFile] = field(default_factory=OrderedDict)
    sizes: dict[str, int] = field(default_factory=dict)
    unwritten: dict[Path, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: str) -> EventFile | None:
        """Returns the event file, or None if it was not built, or was removed to make room."""
        with self.lock:
            if key in self.files:
                self.files.move_to_end(key)
            return self.files.get(key)

    def new_folder(self, key: str) -> Path:
        """Returns an empty folder to write this event file into. Raises OSError."""
        with self.lock:
            if self.folder is None:
                self.folder = OwnFolder("events")
            folder = Path(tempfile.mkdtemp(dir=self.folder.path))
            self.unwritten[folder] = key
            return folder

    def give_up(self, folder: Path) -> None:
        """Removes a folder into which nothing usable will be written."""
        self.unwritten.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)

    def add(self, folder: Path) -> bool:
        """Registers a new folder, and returns whether it contains a complete event file. Others are removed if it needs
        their space."""
        try:
            opened = EventFile.open(folder)
            size = opened.bytes()
        except (OSError, ValueError) as error:
            logger.warning("tb_steptime could not open the events that it wrote: %s", error)
            self.give_up(folder)
            return False
        with self.lock:
            key = self.unwritten.pop(folder)
            self._forget(key)
            self.files[key], self.sizes[key] = opened, size
            shutil.rmtree(folder, ignore_errors=True)
            while len(self.files) > 1 and (sum(self.sizes.values()) > self.max_bytes or len(self.files) > MAX_FILES):
                self._forget(next(iter(self.files)))
        return True

    def close(self) -> None:
        """Drops all event files. Mapped files stay readable for requests in progress."""
        with self.lock:
            self.files.clear()
            self.sizes.clear()
            if self.folder:
                self.folder.remove()
                self.folder = None

    def _forget(self, key: str) -> None:
        self.files.pop(key, None)
        self.sizes.pop(key, None)
