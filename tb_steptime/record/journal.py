"""Writes the rows of one process to its file, and never disturbs who calls: the first error ends it, for good."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from pathlib import Path

from tb_steptime.record.clock import CLOCK_STEP_NS, Clock, now_ns
from tb_steptime.record.format import (
    CLOCK,
    FIRST_ROWS,
    LATEST_ROWS,
    MAX_HEADER_BYTES,
    NO_BATCH,
    ROW,
    STEPPED,
    FormatError,
    encode_row,
    last_sequence,
    place,
    rows_begin,
)

#: A file system may be slow. After a write that took d, none is made for 200 d: at most 0.5 % of the time is spent so.
REST = 200
#: More rows than these are not kept waiting.
MAX_WAITING_BYTES = 4096 * ROW.size
#: Old rows are overwritten, that which told their clock too. So it is told again from time to time.
CLOCK_ROWS = 1024

_ROWS_IN_FILE = FIRST_ROWS + LATEST_ROWS
_NUMBERS = 9


class Journal:
    """The file of one process. gave_up is told why when it cannot be written; from then on nothing happens here.

    A forked child inherits the object and its open file: rows that it adds are dropped, as they would look like those of
    its parent.
    """

    def __init__(self, path: Path, header: bytes, worker: int, gave_up: Callable[[str], None]) -> None:
        self.pass_number = 0
        self._worker = worker
        self._pid = os.getpid()
        self._gave_up = gave_up
        self._file: int | None = None
        self._waiting = bytearray()
        self._next_write_ns = 0
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
        return self._file is not None and os.getpid() == self._pid

    def add(self, kind: int, flags: int, batch: int, values: tuple[int, ...]) -> None:
        """values: all that `format.VALUES` names for the kind; monotonic times."""
        if self._file is None or os.getpid() != self._pid:
            return
        at_ns = now_ns()
        moved = self._clock.moved_ns(at_ns)
        if moved or self._sequence % CLOCK_ROWS == 0:
            self._add_clock(at_ns, moved)
        self._append(kind, flags, batch, values)
        if at_ns >= self._next_write_ns or len(self._waiting) >= MAX_WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._file is None or not self._waiting or os.getpid() != self._pid:
            return
        waiting, self._waiting = self._waiting, bytearray()
        before = now_ns()
        try:
            self._write(self._file, waiting)
        except OSError as error:
            self._end(error)
            return
        after = now_ns()
        self._next_write_ns = after + REST * (after - before)

    def close(self) -> None:
        """Write what waits, and nothing after that."""
        self.flush()
        if self._file is not None and os.getpid() == self._pid:
            os.close(self._file)
        self._file = None

    def _append(self, kind: int, flags: int, batch: int, values: tuple[int, ...]) -> None:
        padded = values if len(values) == _NUMBERS else values + (0,) * (_NUMBERS - len(values))
        row = encode_row(kind, flags, self._worker, self._sequence, self.pass_number, batch, self._pid, padded)
        self._waiting += row
        self._sequence += 1

    def _add_clock(self, at_ns: int, moved_ns: int) -> None:
        ahead = self._clock.ahead_ns
        stepped = STEPPED if abs(moved_ns) >= CLOCK_STEP_NS else 0
        self._append(CLOCK, stepped, NO_BATCH, (at_ns, ahead, ahead - moved_ns))

    def _write(self, file: int, waiting: bytearray) -> None:
        """Each row to its place: in one piece but where the file starts over."""
        rows = len(waiting) // ROW.size
        first = self._sequence - rows
        while waiting:
            position = place(first)
            room = (_ROWS_IN_FILE - position) * ROW.size
            piece = waiting[:room]
            if _write_at(file, piece, self._rows_at + position * ROW.size) != len(piece):
                raise OSError("the file system took only a part")
            first += len(piece) // ROW.size
            waiting = waiting[room:]

    def _end(self, error: Exception) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._waiting.clear()
        self._gave_up(getattr(error, "strerror", None) or str(error))


#: What the process still has to write when it ends.
_open: weakref.WeakSet[Journal] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    for journal in list(_open):
        journal.flush()


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)


def _continue(file: int, header: bytes) -> tuple[int, int]:
    """Where the rows of the file begin, and the number of its next row. An empty file is given its header.

    The file goes on behind the last row's place, also where only a part of that row was written.
    """
    size = os.fstat(file).st_size
    if size == 0:
        if _write_at(file, header, 0) != len(header):
            raise OSError("the file system took only a part")
        return len(header), 0
    rows_at = rows_begin(os.read(file, MAX_HEADER_BYTES))
    places = -(-max(0, size - rows_at) // ROW.size)
    if places < _ROWS_IN_FILE:
        return rows_at, places
    os.lseek(file, 0, os.SEEK_SET)
    return rows_at, last_sequence(os.read(file, size), rows_at) + 1


def _write_at(file: int, content: bytes | bytearray, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, content, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.write(file, content)
