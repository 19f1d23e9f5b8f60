"""How far the reading of traces is, for a person who waits at a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tb_steptime.terminal.printer import GAP, counted, nbytes

if TYPE_CHECKING:
    from tb_steptime.trace.reading import ReadProgress

_BAR_CELLS = 24
_SECONDS_BETWEEN_DRAWINGS = 0.05


class StatusLine:
    """A line on stderr that is drawn over and goes away in the end; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self.began = time.monotonic()
        self.drawn = 0.0

    def is_due(self) -> bool:
        """Whether it is shown and was not drawn just now."""
        return self.shown and time.monotonic() - self.drawn >= _SECONDS_BETWEEN_DRAWINGS

    def draw(self, text: str) -> None:
        self.drawn = time.monotonic()
        print("\r" + text + "\033[K", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self.shown and self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class ProgressBar(StatusLine):
    """Of one file."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, progress: ReadProgress) -> None:
        if self.is_due():
            share = min(1.0, progress.read_bytes / max(1, progress.total_bytes))
            read = f"{nbytes(progress.read_bytes)} of {nbytes(progress.total_bytes)}"
            left = time_left(time.monotonic() - self.began, share)
            self.draw(f"{self.prefix}{bar(share)} {read}, {counted(progress.events, 'event')}{left}")


class SpansBar(StatusLine):
    """Of several spans, one after another."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def __enter__(self) -> SpansBar:
        return self

    def show(self, done: int, of: int) -> None:
        if self.is_due():
            self.draw(f"{bar(done / of)} {self.prefix}{done} of {counted(of, 'span')}")


def bar(share: float) -> str:
    return ("█" * round(share * _BAR_CELLS)).ljust(_BAR_CELLS, "░")


def time_left(seconds: float, share: float) -> str:
    """`, 12 s left` after so many seconds for this share of the work; nothing in the first second."""
    if share <= 0 or seconds <= 1:
        return ""
    left = seconds * (1 - share) / share
    return f", {round(left)}{GAP}s left" if left < 100 else f", {round(left / 60)}{GAP}min left"
