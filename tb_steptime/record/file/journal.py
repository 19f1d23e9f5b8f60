"""Writes the rows of one process to its file, and never disturbs who calls: the first error ends it, for good."""

from __future__ import annotations

import atexit
import contextlib
import os
import weakref
from collections.abc import Callable
from pathlib import Path

from tb_steptime.record.file.clock import CLOCK_STEP_NS, Clock, now_ns
from tb_steptime.record.file.format import (
    CLOCK,
    FIRST_ROWS,
    LATEST_ROWS,
    NO_BATCH,
    PREFIX,
    ROW,
    STEPPED,
    FormatError,
    encode_rows,
    place,
    rows_begin,
)
from tb_steptime.record.file.resuming import next_sequence

#: A file system may be slow. After a write that took d, none is made for 200 d: at most 0.5 % of the time is spent so.
#: d is the shorter of the last two: one alone may have been interrupted by other processes.
REST = 200
#: A killed process loses the rows of this last while; a file system as fast as a local one is spared a call a batch.
LEAST_REST_NS = 250_000_000
#: More rows than these are not kept waiting.
MAX_WAITING = 4096
#: Old rows are overwritten, that which told their clock too. So it is told again from time to time.
CLOCK_ROWS = 1024

_ROWS_IN_FILE = FIRST_ROWS + LATEST_ROWS

#: Kind, flags, batch, values (what `format.VALUES` names for the kind; monotonic times).
Waiting = tuple[int, int, int, tuple[int, ...]]


class Journal:
    """The file of one process. gave_up is told why when it cannot be written; from then on nothing happens here.

    waiting: rows for the next write. Who adds to it without `add` calls that soon after: until then it only grows.

    A forked child inherits the object and its open file, and abandons them: its rows would pass for its parent's.
    """

    def __init__(self, path: Path, header: bytes, worker: int, gave_up: Callable[[str], None]) -> None:
        self.pass_number = 0
        self._worker = worker
        self._pid = os.getpid()
        self._gave_up = gave_up
        self._file: int | None = None
        self._sequence = 0
        self.waiting: list[Waiting] = []
        self._path = path
        self._next_write_ns = 0
        self._took_ns = 0
        self._clock = Clock()
        try:
            self._file = _open_file(path)
            self._rows_at, self._sequence = _continue(self._file, header)
        except (OSError, FormatError) as error:
            self._end(error)
            return
        self._add_clock(now_ns(), 0)
        _open.add(self)

    @property
    def alive(self) -> bool:
        return self._file is not None

    @property
    def rows(self) -> int:
        """Ever added to the file, those that wait with them."""
        return self._sequence + len(self.waiting)

    def begin_pass(self, number: int) -> None:
        """Rows from now on are of this pass over the data."""
        if number != self.pass_number:
            self.flush()
            self.pass_number = number

    def add(self, at_ns: int, kind: int, flags: int, batch: int, values: tuple[int, ...]) -> None:
        """at_ns: now, by the monotonic clock."""
        if at_ns < self._next_write_ns and len(self.waiting) < MAX_WAITING:  # almost always: this is all it costs
            self.waiting.append((kind, flags, batch, values))
            return
        if self._file is None:
            self.waiting.clear()
            return
        self._follow_clock(at_ns)
        self.waiting.append((kind, flags, batch, values))
        self._write_waiting()

    def flush(self) -> None:
        """Write what waits. Before that the clock is sampled, also where nothing waits: it may have been set since the
        last write, and nothing after the end of a recording would say so."""
        if self._file is None:
            return
        self._follow_clock(now_ns())
        if self.waiting:
            self._write_waiting()

    def _follow_clock(self, at_ns: int) -> None:
        """Before each write. Rows that waited until then keep the clock of the last one."""
        moved = self._clock.moved_ns(at_ns)
        if moved or self._sequence >= self._next_clock:
            self._add_clock(at_ns, moved)

    def _write_waiting(self) -> None:
        if self._file is None:
            return
        before = now_ns()
        try:
            self._write(self._file)
        except OSError as error:
            self._end(error)
            return
        after = now_ns()
        self._next_write_ns = after + max(LEAST_REST_NS, REST * min(after - before, self._took_ns))
        self._took_ns = after - before

    def check(self) -> None:
        """A file can be written that was deleted meanwhile, and is lost with all rows: that ends it."""
        if self._file is None:
            return
        try:
            self._path.stat()
        except FileNotFoundError:
            self._end(OSError("files of the recording were deleted or moved"))
        except OSError:
            return  # it may be there all the same

    def close(self) -> None:
        """Write what waits, and nothing after that."""
        self.flush()
        self.abandon()

    def abandon(self) -> None:
        """Write nothing any more, not even what waits: in a forked child it is its parent's."""
        file, self._file = self._file, None
        self._next_write_ns = 0
        self.waiting.clear()
        if file is not None:
            with contextlib.suppress(OSError):  # some file systems tell only here that a write failed
                os.close(file)

    def _add_clock(self, at_ns: int, moved_ns: int) -> None:
        ahead = self._clock.ahead_ns
        stepped = STEPPED if abs(moved_ns) >= CLOCK_STEP_NS else 0
        self.waiting.append((CLOCK, stepped, NO_BATCH, (at_ns, ahead, ahead - moved_ns)))
        self._next_clock = self._sequence + CLOCK_ROWS

    def _encoded(self) -> bytes:
        content = encode_rows(self.waiting, self._worker, self._sequence, self.pass_number, self._pid)
        self._sequence += len(self.waiting)
        self.waiting.clear()
        return content

    def _write(self, file: int) -> None:
        """Each row to its place: in one piece but where the file starts over."""
        first = self._sequence
        waiting = self._encoded()
        while waiting:
            position = place(first)
            room = (_ROWS_IN_FILE - position) * ROW.size
            piece = waiting[:room]
            if _write_at(file, piece, self._rows_at + position * ROW.size) != len(piece):
                raise OSError("the file system took only a part")
            first += len(piece) // ROW.size
            waiting = waiting[room:]

    def _end(self, error: Exception) -> None:
        self.abandon()
        self._gave_up(getattr(error, "strerror", None) or str(error))


#: What the process still has to write when it ends.
_open: weakref.WeakSet[Journal] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    for journal in list(_open):
        journal.flush()
        journal.check()


def _abandon_all() -> None:
    for journal in list(_open):
        journal.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)


def _continue(file: int, header: bytes) -> tuple[int, int]:
    """Where the rows of the file begin, and the number of its next row. A file without a whole header is given one: a
    process may be killed, or the disk be full, when it has just begun."""
    size = os.fstat(file).st_size
    rows_at = rows_begin(_read_at(file, PREFIX.size, 0)) if size >= PREFIX.size else len(header)
    if size < rows_at:
        if _write_at(file, header, 0) != len(header):
            raise OSError("the file system took only a part")
        return len(header), 0

    def read(position: int) -> bytes:
        return _read_at(file, ROW.size, rows_at + position * ROW.size)

    return rows_at, next_sequence(read, size - rows_at)


def _read_at(file: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, size, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)


def _write_at(file: int, content: bytes | bytearray, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, content, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.write(file, content)
