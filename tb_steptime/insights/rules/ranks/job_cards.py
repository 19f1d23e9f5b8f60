"""Code that cards about a job share: the gain as a share of the step, and the confidence in measured figures."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence, Insight
from tb_steptime.insights.facts import WORTH_FRACTION
from tb_steptime.insights.severity import severity
from tb_steptime.insights.wording.card_text import fitted
from tb_steptime.insights.wording.ranks import step_ns
from tb_steptime.ranks.delays.late import FEW_STEPS
from tb_steptime.ranks.result import JobRanks
from tb_steptime.text import Phrase, phrase

_FEW = phrase("Few steps are matched over ranks: any of them may be an accident.")
_MISSING = phrase("Measured on the ranks that were recorded; one of the others may be later.")


def job_card(
    job: JobRanks,
    id: str,
    title: Phrase,
    why: Phrase,
    how: str | None,
    gain_ns: int,
    formula: Phrase,
    why_confidence: Phrase,
    best: Confidence = Confidence.HIGH,
    measured_steps: int | None = None,
) -> Insight | None:
    """Returns the card, if its gain is worth one.

    gain_ns: at most this much of the job's step. measured_steps: number of steps behind the figures; None if it is the
    number of steps whose collectives are matched.
    """
    share = min(1.0, gain_ns / step_ns(job))
    if share < WORTH_FRACTION:
        return None
    level, why_level = best, why_confidence
    steps = job.matched_steps if measured_steps is None else measured_steps
    if steps < FEW_STEPS:
        level, why_level = Confidence.LOW, _FEW
    elif job.missing and best is Confidence.HIGH:
        level, why_level = Confidence.MEDIUM, _MISSING
    return Insight(
        id=id,
        severity=severity(share, best, level, gain_ns * steps),
        title=title,
        why=fitted(why),
        how=how,
        gain_ns=gain_ns,
        gain_fraction=share,
        gain_formula=formula,
        confidence=level,
        why_confidence=why_level,
        view="ranks",
        colour="comm",
        part="communication",
    )
