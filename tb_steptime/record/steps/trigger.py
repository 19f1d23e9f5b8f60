"""On demand: a signal, or a change of a file, asks a running job for a span."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any

_log = logging.getLogger("tb_steptime.record")

#: A signal's number, or the path of a file.
What = int | str | os.PathLike[str]


class Trigger:
    """asked: a span is asked for, and not begun yet.

    A signal's own handler is called as well, and is back when the recorder ends. A file need not exist: `touch` asks.
    """

    def __init__(self, what: What | None) -> None:
        self.asked = False
        self._signal = what if isinstance(what, int) else None
        self._file = None if what is None or isinstance(what, int) else Path(what).absolute()
        self._seen_ns = self._changed_ns()
        self._before: Any = None

    def start(self) -> None:
        if self._signal is None:
            return
        try:
            self._before = signal.signal(self._signal, self._received)
        except (ValueError, OSError) as error:  # not the main thread; SIGKILL
            _log.warning("Signal %d starts no span: %s. Training continues.", self._signal, error)
            self._signal = None

    def stop(self) -> None:
        if self._signal is not None and signal.getsignal(self._signal) == self._received:
            signal.signal(self._signal, self._before)
        self._signal = None

    def look(self) -> None:
        """At the file, now and then."""
        if self._file is not None:
            changed_ns = self._changed_ns()
            self.asked = self.asked or changed_ns > self._seen_ns
            self._seen_ns = changed_ns

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if callable(self._before):
            self._before(number, frame)

    def _changed_ns(self) -> int:
        """0 where there is no such file."""
        try:
            return self._file.stat().st_mtime_ns if self._file is not None else 0
        except OSError:
            return 0
