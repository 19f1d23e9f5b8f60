"""Writes the rows of one process to its file. Never raises: the first error ends the recording, for good."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tb_steptime.record.file import format as layout
from tb_steptime.record.file.clock import CLOCK_STEP_NS, TOLERANCE_NS, measure_ahead_ns, now_ns
from tb_steptime.record.file.header import PREFIX
from tb_steptime.record.file.rationed import RationedFile, write_at

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
