"""What a machine may lack, a browser or the time to measure carefully: such skips are counted in the closing lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

#: Why a browser test is skipped; in CI it fails instead.
NO_BROWSER = "no Chromium or Chrome on PATH and none named in CHROMIUM; install one (Debian: apt-get install chromium)"

#: The beginning of the reason of every such skip.
BUSY = "the machine was busy"


def skip_busy(why: str) -> NoReturn:
    pytest.skip(f"{BUSY}: {why}")


T = TypeVar("T")

#: A thread that sleeps for this long wakes later by at most this on average, where a machine has time to measure what
#: programs do that sleep for tenths of a second. At 2.2 ms a declared time of a pipeline was found to 1 %, and at 2.6
#: ms to 6 %.
SLEEP_SECONDS, LATE_SECONDS = 0.005, 0.0015
#: What in the recordings of the test that runs shows that the machine had no time.
_busy: list[str] = []


def in_peace(record: Callable[[Path], T], folder: Path) -> T:
    """Returns what is recorded into the folder. A thread that sleeps meanwhile tells whether the machine has time;
    where it has not, a test that fails is skipped instead."""
    with _Sleeper() as sleeper:
        recorded = record(folder)
    if sleeper.late_seconds > LATE_SECONDS:
        call_busy(f"a thread woke later than it asked for by {1000 * sleeper.late_seconds:.1f} ms")
    return recorded


def call_busy(why: str) -> None:
    """Says that the machine had no time in the test that runs: if it fails, it is skipped instead."""
    _busy.append(why)


@contextmanager
def skipped_if_busy() -> Iterator[None]:
    """Within it, a failure is a skip if the machine had no time while something was recorded."""
    _busy.clear()
    try:
        yield
    except AssertionError:
        if _busy:
            skip_busy(_busy[-1])
        raise


class _Sleeper:
    """late_seconds: by how much its thread woke later than it asked for, on average."""

    def __init__(self) -> None:
        self.late_seconds = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sleep)

    def _sleep(self) -> None:
        count, began = 0, time.monotonic()
        while not self._over.is_set():
            time.sleep(SLEEP_SECONDS)
            count += 1
        self.late_seconds = (time.monotonic() - began) / max(1, count) - SLEEP_SECONDS

    def __enter__(self) -> _Sleeper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
