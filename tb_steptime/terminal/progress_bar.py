"""How far the reading of a trace is, for a person who waits at a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tb_steptime.terminal.printer import counted, duration, nbytes

if TYPE_CHECKING:
    from tb_steptime.trace.kineto import ReadProgress

_BAR_CELLS = 24
_SECONDS_BETWEEN_DRAWINGS = 0.05


class ProgressBar:
    """A line on stderr that is drawn over and goes away in the end; nothing where stderr is no terminal."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.shown = sys.stderr.isatty()
        self.began = time.monotonic()
        self.drawn = 0.0

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, progress: ReadProgress) -> None:
        now = time.monotonic()
        if not self.shown or now - self.drawn < _SECONDS_BETWEEN_DRAWINGS:
            return
        self.drawn = now
        print("\r" + self._line(progress, now - self.began) + "\033[K", end="", file=sys.stderr, flush=True)

    def _line(self, progress: ReadProgress, seconds: float) -> str:
        share = min(1.0, progress.read_bytes / max(1, progress.total_bytes))
        bar = ("█" * round(share * _BAR_CELLS)).ljust(_BAR_CELLS, "░")
        read = f"{nbytes(progress.read_bytes)} of {nbytes(progress.total_bytes)}"
        left = f", {duration(1e9 * seconds * (1 - share) / share)} left" if share > 0 and seconds > 1 else ""
        return f"{self.prefix}{bar} {read}, {counted(progress.events, 'event')}{left}"

    def __exit__(self, *_: object) -> None:
        if self.shown and self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
