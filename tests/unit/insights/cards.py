"""Cards for use in tests."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.run_advice import SpanAdvice
from tb_steptime.text import Phrase, count, phrase


def card(id_: str, gain_ns: int, title: Phrase) -> Insight:
    """A card whose gain is three tenths of a step."""
    nothing = Phrase("")
    return Insight(
        id=id_, severity=Severity.MAJOR, title=title, why=nothing, how=None, gain_ns=gain_ns, gain_fraction=0.3,
        later_ns=None, gain_formula=nothing, confidence=Confidence.HIGH, why_confidence=nothing, view="overview",
        colour="data",
    )  # fmt: skip


def workers_card(workers: int, gain_ns: int) -> SpanAdvice:
    return SpanAdvice(card("more_workers", gain_ns, phrase("Use {n} workers", n=count(workers))), workers)
