"""Files of one process that are written to a few times a second at most, so that writing costs next to nothing; and the
journal, the one of the rows about a loader. Writing never raises: the first error ends the recording, for good."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from tb_steptime.record.file import format as layout
from tb_steptime.record.file.clock import CLOCK_STEP_NS, TOLERANCE_NS, measure_ahead_ns, now_ns
from tb_steptime.record.file.header import PREFIX, FormatError

#: Factor of the pause after a write, since a file system may be slow. After a write that took d, none is made for 200
#: d, so writing takes at most 0.5 % of the time. d is the shorter of the last two: a single one may have been
#: interrupted by other processes.
REST = 200
#: Minimum time that rows wait: a write for each of them would cost too much. A killed process loses the waiting rows.
MIN_REST_NS = 250_000_000

#: Reasons why a recording ends.
CUT = "the file system wrote only a part, is the disk full?"
GONE = "its files were deleted or moved"

Row = TypeVar("Row")


class RationedFile(ABC, Generic[Row]):
    """on_failure is called with the reason when the file cannot be written; after that nothing is written. waiting:
    rows for the next write. next_write_ns: when that is due.

    rest_ns: minimum time that rows wait, MIN_REST_NS unless a subclass sets another.

    A forked child inherits the object and its open file, and abandons them: its rows would pass for its parent's.
    """

    rest_ns: int | None = None

    def __init__(self, path: Path, on_failure: Callable[[str], None]) -> None:
        self.waiting: list[Row] = []
        self.next_write_ns = 0
        self._path = path
        self._on_failure = on_failure
        self._took_ns = 0
        self._file: int | None = None
        try:
            self._file = _open_file(path)
            self._begin(self._file)
        except (OSError, FormatError) as error:
            self._end(error)
            return
        _open.add(self)

    @abstractmethod
    def _begin(self, file: int) -> None:
        """Called when the file was opened: writes a header, or continues the file. Raises OSError, FormatError."""

    @abstractmethod
    def _prepare(self, at_ns: int) -> None:
        """Called when a write is due: adds to `waiting` whatever has to be recorded before it. at_ns: now."""

    @abstractmethod
    def _write(self, file: int) -> None:
        """Write the waiting rows. Raises OSError."""

    @property
    def alive(self) -> bool:
        return self._file is not None

    def flush(self) -> None:
        """Write the waiting rows now."""
        if self._file is not None:
            self._prepare(now_ns())
            if self.waiting:
                self._write_waiting()

    def _write_waiting(self) -> None:
        if self._file is None:
            self.waiting.clear()
            return
        before = now_ns()
        try:
            self._write(self._file)
        except OSError as error:
            self._end(error)
            return
        after = now_ns()
        self.next_write_ns = after + max(self.rest_ns or MIN_REST_NS, REST * min(after - before, self._took_ns))
        self._took_ns = after - before

    def check(self) -> None:
        """End the recording if the file was deleted: it can still be written to, but its rows are lost."""
        if self._file is None:
            return
        try:
            self._path.stat()
        except FileNotFoundError:
            self._end(OSError(GONE))
        except OSError:
            return  # it may still exist

    def close(self) -> None:
        """Write the waiting rows, and nothing afterwards."""
        self.flush()
        self.check()
        self.abandon()

    def abandon(self) -> None:
        """Write nothing more, not even the waiting rows: in a forked child these are its parent's."""
        file, self._file = self._file, None
        self.next_write_ns = 0
        self.waiting.clear()
        if file is not None:
            with contextlib.suppress(OSError):  # some file systems report a failed write only here
                os.close(file)

    def _end(self, error: Exception) -> None:
        self.abandon()
        self._on_failure(getattr(error, "strerror", None) or str(error))


#: Files to be written when the process ends.
_open: weakref.WeakSet[RationedFile[Any]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for each in list(_open):
        each.close()


def _abandon_all() -> None:
    for each in list(_open):
        each.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)


def write_at(file: int, content: bytes, offset: int) -> None:
    """Writes content at an offset. Raises OSError."""
    os.lseek(file, offset, os.SEEK_SET)
    if os.write(file, content) != len(content):
        raise OSError(CUT)


#: Maximum number of rows that wait.
MAX_WAITING = 4096
#: Number of rows after which a CLOCK row is written again, since old rows are overwritten, and CLOCK rows with them.
CLOCK_ROWS = 1024

_ROWS_IN_FILE = layout.FIRST_ROWS + layout.LATEST_ROWS

#: A row that waits: kind, flags, batch, values (see `format.VALUES`; monotonic times).
Waiting = tuple[int, int, int, tuple[int, ...]]


class Journal(RationedFile[Waiting]):
    """The rows of one process about one loader."""

    def __init__(self, path: Path, header: bytes, worker: int, on_failure: Callable[[str], None]) -> None:
        self.pass_number = 0
        self._worker = worker
        self._pid = os.getpid()
        self._header = header
        self._sequence = 0
        self._ahead_ns = measure_ahead_ns()  # how far the wall clock is ahead of the monotonic one
        self._next_clock = 0
        super().__init__(path, on_failure)

    def _begin(self, file: int) -> None:
        self._rows_at, self._sequence = _continue(file, self._header)
        self._prepare(now_ns())

    @property
    def rows(self) -> int:
        """Number of rows ever added to the file, including those that wait."""
        return self._sequence + len(self.waiting)

    def begin_pass(self, number: int) -> None:
        """Begin a pass over the data, which rows belong to from now on."""
        if number != self.pass_number:
            self.flush()
            self.pass_number = number

    def add(self, at_ns: int, kind: int, flags: int, batch: int, values: tuple[int, ...]) -> None:
        """at_ns: now, by the monotonic clock."""
        if at_ns < self.next_write_ns and len(self.waiting) < MAX_WAITING:  # the usual case
            self.waiting.append((kind, flags, batch, values))
            return
        if self._file is None:
            self.waiting.clear()
            return
        self._prepare(at_ns)
        self.waiting.append((kind, flags, batch, values))
        self._write_waiting()

    def _prepare(self, at_ns: int) -> None:
        """Adds a CLOCK row, since the clock may have been set since the last write. Rows that wait keep the clock of
        the previous CLOCK row."""
        ahead_ns = measure_ahead_ns()
        moved_ns = abs(ahead_ns - self._ahead_ns)
        if moved_ns >= TOLERANCE_NS or self._sequence >= self._next_clock:
            flags = layout.STEPPED if moved_ns >= CLOCK_STEP_NS else 0
            self.waiting.append((layout.CLOCK, flags, layout.NO_BATCH, (at_ns, ahead_ns)))
            self._ahead_ns = ahead_ns
            self._next_clock = self._sequence + CLOCK_ROWS

    def _write(self, file: int) -> None:
        """Writes each row to its place: with one call, or two where the ring starts over."""
        rows = layout.encode_rows(self.waiting, self._worker, self._sequence, self.pass_number, self._pid)
        self.waiting.clear()
        while rows:
            position = layout.place(self._sequence)
            part = rows[: (_ROWS_IN_FILE - position) * layout.ROW.size]
            write_at(file, part, self._rows_at + position * layout.ROW.size)
            self._sequence += len(part) // layout.ROW.size
            rows = rows[len(part) :]


def _continue(file: int, header: bytes) -> tuple[int, int]:
    """Returns where the rows of the file begin, and the number of its next row. A file without a complete header gets
    one: its process was killed right after creating it, or the disk was full."""
    size = os.fstat(file).st_size
    rows_at = layout.LOADER.rows_begin(os.read(file, PREFIX.size)) if size >= PREFIX.size else len(header)
    if size < rows_at:
        write_at(file, header, 0)
        return len(header), 0
    os.lseek(file, rows_at, os.SEEK_SET)
    return rows_at, layout.next_sequence(os.read(file, size - rows_at))
