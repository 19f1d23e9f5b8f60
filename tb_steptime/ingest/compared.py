"""Measured spans -> one side of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.compare.sides import ComparedSpan, ExpectedGain, Side
from tb_steptime.errors import TraceError
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.insights import judge


def compared_side(name: str, spans: Sequence[MeasuredSpan]) -> Side:
    """Spans of one run and worker, in time order, at least one. Raises TraceError for a summary of a release that did
    not compare, and what reading results raises."""
    return Side(name, tuple(map(_compared, spans)))


def _compared(span: MeasuredSpan) -> ComparedSpan:
    if not span.result("compare", CompareResult).steps:
        problem = "An earlier release wrote this summary file, with nothing to compare in it"
        raise TraceError(problem, span.facts.file, "Put the trace next to it: it is measured again.")
    cards = judge(span.results).insights
    return ComparedSpan(
        results=span.results,
        device_names=tuple(span.facts.device_names),
        world_size=span.facts.world_size,
        simulated=span.facts.simulated is not None,
        expected=tuple(ExpectedGain(card.id, card.gain_ns, card.part) for card in cards if card.gain_ns > 0),
    )
