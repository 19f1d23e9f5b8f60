"""Shows the progress of reading traces in a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from tb_steptime.text.printer import GAP, counted, nbytes

if TYPE_CHECKING:
    from tb_steptime.trace.reading import ReadProgress

#: Maximum and minimum length of the bar. It is shortened to leave room for the words beside it.
_BAR_CELLS, _LEAST_CELLS = 24, 6
#: Width that is assumed where the terminal does not report one.
_USUAL_COLUMNS = 80
_SECONDS_BETWEEN_DRAWINGS = 0.05

S = TypeVar("S", bound="StatusLine")


class StatusLine:
    """A line on stderr that is redrawn, and is erased at the end. Nothing is drawn where stderr is no terminal. prefix:
    words at its beginning."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.shown = sys.stderr.isatty()
        self.began = time.monotonic()
        self.drawn = 0.0

    def is_due(self) -> bool:
        """Returns whether the line is shown, and was last drawn long enough ago."""
        return self.shown and time.monotonic() - self.drawn >= _SECONDS_BETWEEN_DRAWINGS

    def draw(self, share: float, status: str, details: Sequence[str]) -> None:
        """Draws a bar and the words beside it in one line of the terminal; see `status_line`."""
        self.drawn = time.monotonic()
        text = status_line(share, status, details, columns_of_stderr() - 1)  # in the last column a terminal may wrap
        print("\r" + text + "\033[K", end="", file=sys.stderr, flush=True)

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown and self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class ProgressBar(StatusLine):
    """The progress of one file."""

    def show(self, progress: ReadProgress) -> None:
        if self.is_due():
            share = min(1.0, progress.read_bytes / max(1, progress.total_bytes))
            read = f"{nbytes(progress.read_bytes)} of {nbytes(progress.total_bytes)}"
            left = time_left(time.monotonic() - self.began, share)
            self.draw(share, self.prefix, [read, *left, counted(progress.events, "event")])


class SpansBar(StatusLine):
    """The progress of several spans, one after another."""

    def show(self, done: int, total: int) -> None:
        if self.is_due():
            self.draw(done / total, "", [f"{self.prefix}{done} of {counted(total, 'span')}"])


def columns_of_stderr() -> int:
    """Returns the current width of the terminal."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
    except (OSError, ValueError):  # stderr is no terminal, or its width is unknown
        return _USUAL_COLUMNS


def status_line(share: float, status: str, details: Sequence[str], width: int) -> str:
    """Returns `status`, the bar and as many details, the first ones first, as fit into a line. The bar becomes shorter
    before a detail is left out.

    >>> status_line(0.5, "1 of 2  ", ["2 of 4 MB", "12 s left"], 40)
    '1 of 2  ██████░░░░░ 2 of 4 MB, 12 s left'
    >>> status_line(0.5, "1 of 2  ", ["2 of 4 MB", "12 s left"], 30)
    '1 of 2  ██████░░░░░░ 2 of 4 MB'
    """
    for number in range(len(details), -1, -1):
        detail_text = ", ".join(details[:number])
        cells = width - len(status) - len(detail_text) - bool(detail_text)
        if cells >= _LEAST_CELLS:
            cells = min(cells, _BAR_CELLS)
            return f"{status}{('█' * round(share * cells)).ljust(cells, '░')} {detail_text}".rstrip()
    return status[:width]


def time_left(seconds: float, share: float) -> list[str]:
    """Returns the remaining time, such as `12 s left`. seconds: the time that this share of the work took. Returns
    nothing in the first second."""
    if share <= 0 or seconds <= 1:
        return []
    left = seconds * (1 - share) / share
    return [f"{round(left)}{GAP}s left" if left < 100 else f"{round(left / 60)}{GAP}min left"]
