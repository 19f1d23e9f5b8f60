"""The memory of a process and of all that it started, pages that they share counted once, at its peak.

Linux reports for each process its proportional share of its pages (Pss); the sum is sampled some twenty times a second.
Shorter peaks are missed, so at least the peak of the first process alone is reported.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

_SECONDS_BETWEEN = 0.05


class MemoryTogether:
    """Samples a process from `with` to its end. peak_bytes: 0 where the system does not report it."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> MemoryTogether:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN):
            self.peak_bytes = max(self.peak_bytes, sum(map(_share_bytes, family(self._pid))))


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (task / "children").read_text().split())
    return [pid, *(each for child in children for each in family(child))]


def _share_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
