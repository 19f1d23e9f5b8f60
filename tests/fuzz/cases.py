"""A case's number -> its file -> what came of it."""

from __future__ import annotations

import random
import tempfile
import time
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
        began = time.thread_time()
        cause = finding(path)
        slow = time.thread_time() - began > MOST_SECONDS
        return cause or (f"it takes more than {MOST_SECONDS:.0f} s" if slow else None)


def _seed(draw: random.Random) -> Seed:
    return draw.choice(seeds(draw.choice(paths())))
