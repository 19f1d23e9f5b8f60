"""Facts that cost next to nothing: how long batches were waited for, garbage was collected, and the process's size."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.steps import UNKNOWN

#: By thread: how long it has waited for batches of recorded loaders since the process began. A thread that asked for
#: none is not here.
waited_ns: defaultdict[int, int] = defaultdict(int)

_SIZE_FILE = "/proc/self/statm"


class Collections:
    """Time in Python's garbage collection. total_ns: since it was started, in any thread."""

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
    """UNKNOWN where the system does not say."""
    try:
        with open(_SIZE_FILE, "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return UNKNOWN
