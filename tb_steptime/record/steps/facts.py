"""Figures that cost next to nothing to measure: the time of waiting for batches and of garbage collection, and the size
of the process."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.steps import UNKNOWN

#: How long each thread has waited for batches of recorded loaders since the process began. A thread that asked for none
#: has no entry.
waited_ns: defaultdict[int, int] = defaultdict(int)

_SIZE_FILE = "/proc/self/statm"


class Collections:
    """Time in Python's garbage collection. total_ns: in all threads, since this was started."""

    def __init__(self) -> None:
        self.total_ns = 0
        self._began_ns = 0

    def start(self) -> None:
        gc.callbacks.append(self._called)

    def stop(self) -> None:
        if self._called in gc.callbacks:
            gc.callbacks.remove(self._called)

    def _called(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._began_ns = now_ns()
        elif self._began_ns:
            self.total_ns += now_ns() - self._began_ns


def rss_bytes() -> int:
    """Returns the size of the process; UNKNOWN where the system does not report it."""
    try:
        with open(_SIZE_FILE, "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return UNKNOWN
