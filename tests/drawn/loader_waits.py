"""Steps that wait for batches: drawn, or simulated with the truth about the loader."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tests.drawn.timeline import timeline
from tests.truth.simulate.causes import Loader, Span, Training
from tests.truth.simulate.chrome import write_plain
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.mixtures import PLAIN

MS = 1_000_000


def steps_that_wait(waits: Sequence[int], work: int | Sequence[int] = 4, loader: str = "loader", **more: Any) -> Trace:
    """One step for each wait, in us, and the work after it, which may be longer in some."""
    rows = {"step": "", loader: "", "op": ""}
    for number, wait in enumerate(waits):
        then = work if isinstance(work, int) else work[number]
        rows["step"] += "ab"[number % 2] * (wait + then)
        rows[loader] += "l" * wait + "." * then
        rows["op"] += "." * wait + "o" * then
    return timeline("\n".join(f"{label} | {cells} |" for label, cells in rows.items()), **more)


FEED = "python3.11/multiprocessing/queues.py(250): _feed"


BATCH_NS = 36 * MS


def training_with(workers: int, jitter: float) -> Training:
    return replace(PLAIN, loader=Loader(BATCH_NS, workers, jitter=jitter), active=30, spans=1, in_full=False)


@cache
def span_of(workers: int, jitter: float) -> Span:
    (span,) = simulate(training_with(workers, jitter))
    return span


@cache
def simulated(workers: int, jitter: float) -> tuple[dict[str, Any], Trace]:
    """The truth, and the trace as read from its file."""
    span = span_of(workers, jitter)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.pt.trace.json"
        write_plain(path, training_with(workers, jitter), span)
        return span.truth, read_trace(path)
