"""Starts a span on demand: a signal, or a change of a file, requests one from a running job."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any

_log = logging.getLogger("tb_steptime.record")

#: What triggers a span: a signal's number, or the path of a file.
What = int | str | os.PathLike[str]


class Trigger:
    """asked: a span is requested, and has not begun yet.

    The signal's previous handler is called as well, and is restored when the recorder ends. The file need not exist:
    `touch` requests a span.
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
        """Checks the file; called now and then."""
        if self._file is not None:
            changed_ns = self._changed_ns()
            self.asked = self.asked or changed_ns > self._seen_ns
            self._seen_ns = changed_ns

    def _received(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if callable(self._before):
            self._before(number, frame)

    def _changed_ns(self) -> int:
        """Returns the file's modification time; 0 where there is no such file."""
        try:
            return self._file.stat().st_mtime_ns if self._file is not None else 0
        except OSError:
            return 0
