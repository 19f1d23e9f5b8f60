"""What the package says of a simulated training, beside the truth about it. The only module here that uses the package.

A gain is "up to": what a card promises is no less than what the training would win without the cause.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tb_steptime.analyses.host import HostResult
from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace
from tests.drawn.cards import analysed
from tests.truth.simulate.causes import Span, Training
from tests.truth.simulate.chrome import write_plain
from tests.truth.simulate.demo import simulate
from tests.truth.simulate.mixtures import Cause, cost_ns, mixtures, training_with


@dataclass(frozen=True)
class Judged:
    """A training with one span: its truth, and what is found in the file."""

    training: Training
    truth: dict[str, Any]
    trace: Trace
    host: HostResult
    judgement: Judgement

    def gain_ns(self, id: str) -> int | None:
        """The gain that a card promises; None where there is no such card."""
        return next((insight.gain_ns for insight in self.judgement.insights if insight.id == id), None)

    def truth_of(self, op: str) -> dict[str, Any]:
        (row,) = (row for row in self.truth["blocking_calls"] if row["op"] == op)
        return row


@cache
def judged(causes: tuple[Cause, ...]) -> Judged:
    return judged_training(training_with(causes))


def judged_training(training: Training) -> Judged:
    """Simulates and judges the trace as read from its file."""
    (span,) = simulate(training)
    trace = as_read(training, span)
    results = analysed(trace)
    return Judged(training, span.truth, trace, results["host"], judge(results))


def as_read(training: Training, span: Span) -> Trace:
    """The trace in the span's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.pt.trace.json"
        write_plain(path, training, span)
        return read_trace(path)


def table() -> Iterator[str]:
    """For each mixture: the verdict, and for each of its causes the idle time of its calls, the card's gain, the true
    cost.
    """
    yield f"{'causes':28} {'verdict':10} {'cause':14} {'bubble':>9} {'found':>9} {'gain':>9} {'cost':>9}   us a step"
    for causes in mixtures():
        found = judged(causes)
        for cause in causes:
            columns = (
                *_bubbles(found, cause),
                found.gain_ns(cause.insight),
                cost_ns(causes, cause, found.host.judged_steps),
            )
            numbers = " ".join(f"{'-' if ns is None else round(ns / 1000):>9}" for ns in columns)
            yield f"{found.training.name:28} {found.host.bound.value:10} {cause.name:14} {numbers}"


def _bubbles(found: Judged, cause: Cause) -> tuple[int | None, int | None]:
    if cause.op is None:
        return None, None
    rows = [row.bubble_ns for row in found.host.blocking if row.op == cause.op]
    return found.truth_of(cause.op)["bubble_ns"] // len(found.truth["steps"]), sum(rows)
