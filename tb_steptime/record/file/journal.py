"""Writes the rows of one process to its file. Never raises: the first error ends the recording, for good."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from collections.abc import Callable
from pathlib import Path

from tb_steptime.record.file import format as layout
from tb_steptime.record.file.clock import CLOCK_STEP_NS, TOLERANCE_NS, measure_ahead_ns, now_ns

#: A file system may be slow. After a write that took d, none is made for 200 d: at most 0.5 % of the time is spent so.
#: d is the shorter of the last two: a single one may have been interrupted by other processes.
REST = 200
#: So long at least rows wait: a write for each batch would cost too much. A killed process loses these rows.
MIN_REST_NS = 250_000_000
#: No more rows wait.
MAX_WAITING = 4096
#: Old rows are overwritten, and CLOCK rows with them. So the clock is written again after so many rows.
CLOCK_ROWS = 1024

#: Why a recording ends.
CUT = "the file system wrote only a part, is the disk full?"
GONE = "its files were deleted or moved"

_ROWS_IN_FILE = layout.FIRST_ROWS + layout.LATEST_ROWS

#: Kind, flags, batch, values (what `format.VALUES` names for the kind; monotonic times).
Waiting = tuple[int, int, int, tuple[int, ...]]


class Journal:
    """The file of one process. on_failure is called with the reason when it cannot be written; after that the journal
    does nothing. waiting: rows for the next write.

    A forked child inherits the object and its open file, and abandons them: its rows would pass for its parent's.
    """

    def __init__(self, path: Path, header: bytes, worker: int, on_failure: Callable[[str], None]) -> None:
        self.pass_number = 0
        self._worker = worker
        self._pid = os.getpid()
        self._on_failure = on_failure
        self._file: int | None = None
        self._sequence = 0
        self.waiting: list[Waiting] = []
        self._path = path
        self._next_write_ns = 0
        self._took_ns = 0
        self._ahead_ns = measure_ahead_ns()  # the wall clock, of the monotonic one
        self._next_clock = 0
        try:
            self._file = _open_file(path)
            self._rows_at, self._sequence = _continue(self._file, header)
        except (OSError, layout.FormatError) as error:
            self._end(error)
            return
        self._follow_clock(now_ns())
        _open.add(self)

    @property
    def alive(self) -> bool:
        return self._file is not None

    @property
    def rows(self) -> int:
        """Ever added to the file, those that wait included."""
        return self._sequence + len(self.waiting)

    def begin_pass(self, number: int) -> None:
        """Rows from now on are of this pass over the data."""
        if number != self.pass_number:
            self.flush()
            self.pass_number = number

    def add(self, at_ns: int, kind: int, flags: int, batch: int, values: tuple[int, ...]) -> None:
        """at_ns: now, by the monotonic clock."""
        if at_ns < self._next_write_ns and len(self.waiting) < MAX_WAITING:  # almost always
            self.waiting.append((kind, flags, batch, values))
            return
        if self._file is None:
            self.waiting.clear()
            return
        self._follow_clock(at_ns)
        self.waiting.append((kind, flags, batch, values))
        self._write_waiting(self._file)

    def flush(self) -> None:
        """Write what waits. The clock is sampled even if nothing does: it may have been set since the last write, and
        this may be the end of the recording."""
        if self._file is not None:
            self._follow_clock(now_ns())
            if self.waiting:
                self._write_waiting(self._file)

    def _follow_clock(self, at_ns: int) -> None:
        """Before each write. Rows that are waiting keep the clock of the last one."""
        ahead_ns = measure_ahead_ns()
        moved_ns = abs(ahead_ns - self._ahead_ns)
        if moved_ns >= TOLERANCE_NS or self._sequence >= self._next_clock:
            flags = layout.STEPPED if moved_ns >= CLOCK_STEP_NS else 0
            self.waiting.append((layout.CLOCK, flags, layout.NO_BATCH, (at_ns, ahead_ns)))
            self._ahead_ns = ahead_ns
            self._next_clock = self._sequence + CLOCK_ROWS

    def _write_waiting(self, file: int) -> None:
        before = now_ns()
        try:
            self._write(file)
        except OSError as error:
            self._end(error)
            return
        after = now_ns()
        self._next_write_ns = after + max(MIN_REST_NS, REST * min(after - before, self._took_ns))
        self._took_ns = after - before

    def check(self) -> None:
        """A deleted file can still be written, and its rows are lost: that ends the recording."""
        if self._file is None:
            return
        try:
            self._path.stat()
        except FileNotFoundError:
            self._end(OSError(GONE))
        except OSError:
            return  # it may still exist

    def close(self) -> None:
        """Write what waits, and nothing later."""
        self.flush()
        self.check()
        self.abandon()

    def abandon(self) -> None:
        """Write nothing more, not even what waits: in a forked child those are its parent's rows."""
        file, self._file = self._file, None
        self._next_write_ns = 0
        self.waiting.clear()
        if file is not None:
            with contextlib.suppress(OSError):  # some file systems report a failed write only here
                os.close(file)

    def _write(self, file: int) -> None:
        """Each row to its place: with one call, or two where the file starts over."""
        rows = layout.encode_rows(self.waiting, self._worker, self._sequence, self.pass_number, self._pid)
        self.waiting.clear()
        while rows:
            position = layout.place(self._sequence)
            part = rows[: (_ROWS_IN_FILE - position) * layout.ROW.size]
            _write_at(file, part, self._rows_at + position * layout.ROW.size)
            self._sequence += len(part) // layout.ROW.size
            rows = rows[len(part) :]

    def _end(self, error: Exception) -> None:
        self.abandon()
        self._on_failure(getattr(error, "strerror", None) or str(error))


#: To be written when the process ends.
_open: weakref.WeakSet[Journal] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for journal in list(_open):
        journal.close()


def _abandon_all() -> None:
    for journal in list(_open):
        journal.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)


def _continue(file: int, header: bytes) -> tuple[int, int]:
    """Where the rows of the file begin, and the number of its next row. A file without a complete header gets one: its
    process was killed right after creating it, or the disk was full."""
    size = os.fstat(file).st_size
    rows_at = layout.rows_begin(os.read(file, layout.PREFIX.size)) if size >= layout.PREFIX.size else len(header)
    if size < rows_at:
        _write_at(file, header, 0)
        return len(header), 0
    os.lseek(file, rows_at, os.SEEK_SET)
    return rows_at, layout.next_sequence(os.read(file, size - rows_at))


def _write_at(file: int, content: bytes, offset: int) -> None:
    os.lseek(file, offset, os.SEEK_SET)
    if os.write(file, content) != len(content):
        raise OSError(CUT)
