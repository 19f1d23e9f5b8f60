"""Code that cards about a job share: the gain as a share of the step, and the confidence in measured figures."""

from __future__ import annotations

from typing import NamedTuple

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION
from tb_steptime.insights.severity import severity
from tb_steptime.insights.wording.card_text import fitted
from tb_steptime.insights.wording.ranks import step_ns
from tb_steptime.ranks.delays.steady import FEW_STEPS
from tb_steptime.ranks.result import JobRanks
from tb_steptime.text import Phrase, phrase

_FEW = phrase("Few steps are matched over ranks: any of them may be an accident.")
_MISSING = phrase("Measured on the ranks that were recorded; one of the others may be later.")


class JobCard(NamedTuple):
    """What differs between cards about a job. gain_ns: at most this much of the job's step. measured_steps: number of
    steps behind the figures; None if it is the number of steps whose collectives are matched."""

    id: str
    title: Phrase
    why: Phrase
    how: str | None
    gain_ns: int
    formula: Phrase
    why_confidence: Phrase
    best: Confidence = Confidence.HIGH
    steps: tuple[str, ...] = ()
    measured_steps: int | None = None


def job_card(job: JobRanks, card: JobCard) -> Insight | None:
    """Returns the insight, if its gain is worth a card."""
    share = min(1.0, card.gain_ns / step_ns(job))
    if share < WORTH_FRACTION:
        return None
    level, why = _confidence(job, card)
    return Insight(
        id=card.id,
        severity=severity(share, card.best, level),
        title=card.title,
        why=fitted(card.why),
        how=card.how,
        gain_ns=card.gain_ns,
        gain_fraction=share,
        later_ns=None,
        gain_formula=card.formula,
        confidence=level,
        why_confidence=why,
        view="ranks",
        colour="comm",
        part="communication",
        steps=list(card.steps),
    )


def _confidence(job: JobRanks, card: JobCard) -> tuple[Confidence, Phrase]:
    if (job.matched_steps if card.measured_steps is None else card.measured_steps) < FEW_STEPS:
        return Confidence.LOW, _FEW
    if job.missing and card.best is Confidence.HIGH:
        return Confidence.MEDIUM, _MISSING
    return card.best, card.why_confidence
