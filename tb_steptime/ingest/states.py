"""The states of a span on its way from a file to results, the progress of reading it, and what went wrong."""

from __future__ import annotations

import enum

import msgspec

from tb_steptime.errors import TraceError


class SpanState(enum.Enum):
    UNREAD = "unread"  # waiting in the queue
    READING = "reading"
    READY = "ready"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self in (SpanState.READY, SpanState.FAILED)


class Progress(msgspec.Struct, frozen=True):
    """Reading one file. Bytes are bytes on disk; seconds_left is None until it is known."""

    read_bytes: int
    total_bytes: int
    events: int
    bytes_per_second: float | None
    seconds_left: float | None


class Problem(msgspec.Struct, frozen=True):
    """An error to show to the user: the fact, the file (relative to the log directory), and what to do about it."""

    problem: str
    file: str
    hint: str

    @staticmethod
    def of(error: TraceError, file: object = None) -> Problem:
        """Returns the problem of a trace. file: the user's name for it, where that is not the path of the error."""
        return Problem(error.problem, error.path if file is None else str(file), error.hint)

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}. {self.hint}"
