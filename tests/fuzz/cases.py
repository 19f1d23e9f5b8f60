"""A case's number -> its file -> what came of it."""

from __future__ import annotations

import contextlib
import random
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.checks import finding
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import Seed, paths, seeds

#: No file of a few hundred kilobytes takes so long, however busy the machine is.
MOST_SECONDS = 20.0


def write_case(case: int, path: Path) -> None:
    draw = random.Random(f"seed of {case}")
    path.write_bytes(mutated(case, _seed(draw), _seed(draw)))


def outcome(case: int) -> str | None:
    """What is wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.1.pt.trace.json"
        write_case(case, path)
        with _ended_after(MOST_SECONDS):
            return finding(path)


@contextlib.contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """An error wherever the process is after so many seconds of its time: what has no end is a finding, with its
    place."""

    def end(_number: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _seed(draw: random.Random) -> Seed:
    return draw.choice(seeds(draw.choice(paths())))
