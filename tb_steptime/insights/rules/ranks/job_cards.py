"""Code that cards about a job share: the gain as a share of the step, and the confidence in measured figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.insights.base import Certainty, Confidence, Insight, low, medium
from tb_steptime.insights.cards import Words
from tb_steptime.insights.facts import WORTH_FRACTION
from tb_steptime.insights.severity import severity
from tb_steptime.insights.wording.card_text import fitted
from tb_steptime.insights.wording.ranks import step_ns
from tb_steptime.ranks.delays.late import FEW_STEPS
from tb_steptime.ranks.result import JobRanks
from tb_steptime.text import Phrase, as_phrase, phrase

if TYPE_CHECKING:
    from typing_extensions import Unpack


def job_card(
    job: JobRanks,
    gain_ns: int,
    formula: Phrase | str,
    certainty: Certainty,
    measured_steps: int | None = None,
    **words: Unpack[Words],
) -> Insight | None:
    """Returns the card, if its gain is worth one.

    gain_ns: at most this much of the job's step. measured_steps: number of steps behind the figures; None if it is the
    number of steps whose collectives are matched.
    """
    share, here = min(1.0, gain_ns / step_ns(job)), certainty
    if share < WORTH_FRACTION:
        return None
    steps = job.matched_steps if measured_steps is None else measured_steps
    if steps < FEW_STEPS:
        here = low("Few steps are matched over ranks: any of them may be an accident.")
    elif job.missing and certainty.level is Confidence.HIGH:
        here = medium("Measured on the ranks that were recorded; one of the others may be later.")
    words["why"] = fitted(words["why"])
    return Insight(
        severity=severity(share, certainty.level, here.level, gain_ns * steps),
        gain_ns=gain_ns,
        gain_fraction=share,
        gain_formula=as_phrase(formula),
        confidence=here.level,
        why_confidence=here.why,
        view="ranks",
        colour="comm",
        part="communication",
        **words,
    )


def uncomputed_job_card(formula: str, certainty: Certainty, **words: Unpack[Words]) -> Insight:
    """Returns a card whose gain is not computed. formula: why it is not."""
    words["instead"] = phrase("gain not computed")
    return Insight(
        gain_formula=phrase(formula),
        confidence=certainty.level,
        why_confidence=certainty.why,
        view="ranks",
        colour="comm",
        part="communication",
        **words,
    )
