"""Traces of torch.profiler, written while the training goes on: torch writes the text, a thread compresses it.

    training   |-- steps --|-- text --|-- steps ---------------------
    thread                            |-- compresses --| run/host_4711.1700000000.pt.trace.json.gz

torch's own handler compresses while the training waits, line by line and at the highest level: that takes several times
as long as the text. The text itself cannot be written in a thread, because torch holds Python's lock meanwhile.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

#: What is said where a trace cannot be written. The values: directory, error.
NOT_WRITTEN = "No trace was written to %s: %s. Training continues."
#: Level at which the text compresses four times as fast as at the highest one, to 7 % more bytes.
_LEVEL = 6
_CHUNK = 1 << 20

_log = logging.getLogger("tb_steptime.record")


class TraceWriter:
    """Writes `<host>_<pid>.<time>.pt.trace.json.gz`, as torch's `tensorboard_trace_handler` names it. A file appears
    under this name when it is complete."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._threads: list[threading.Thread] = []

    def write(self, profiler: Any) -> None:
        """Writes the recording of a torch.profiler.profile. Raises OSError, and RuntimeError, which torch raises."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{socket.gethostname()}_{os.getpid()}.{time.time_ns()}.pt.trace.json.gz"
        number, text = tempfile.mkstemp(".json")
        os.close(number)
        try:
            profiler.export_chrome_trace(text)
        except BaseException:
            os.unlink(text)
            raise
        # not a daemon: Python waits for it, should the training end without `finish`
        thread = threading.Thread(target=self._compress, args=(text, path), name="tb_steptime compress")
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end
            self._compress(text, path)
        else:
            self._threads.append(thread)

    def finish(self) -> None:
        """Waits until all files are complete."""
        while self._threads:
            self._threads[-1].join()
            self._threads.pop()

    def _compress(self, text: str, path: Path) -> None:
        unfinished = path.with_name(path.name + ".tmp")
        try:
            with open(text, "rb") as source, gzip.open(unfinished, "wb", _LEVEL) as target:
                shutil.copyfileobj(source, target, _CHUNK)
            os.replace(unfinished, path)
        except OSError as error:
            _log.warning(NOT_WRITTEN, self._directory, error)
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
        finally:
            os.unlink(text)
