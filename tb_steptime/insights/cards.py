"""One card of what a rule says: its confidence, severity, title and shares follow from its gain, here for all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from tb_steptime.insights.base import Confidence, Evidence, EvidenceRow, Insight
from tb_steptime.insights.facts import FEW_STEPS, LITTLE, Facts, little_is_judged
from tb_steptime.insights.severity import severity
from tb_steptime.insights.wording.card_text import fitted, later_title
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.text import Phrase, count, phrase

if TYPE_CHECKING:
    from typing_extensions import Unpack

_COLOURS = {part.id: part.colour for part in PART_MEANINGS}


class Details(TypedDict, total=False):
    """Optional fields of a card, which `Insight` explains."""

    how: str | None
    steps: list[str]
    evidence: list[Evidence]
    row: EvidenceRow | None
    about_ns: int
    instead: Phrase | None
    less_work_ns: int


def card(
    facts: Facts,
    id: str,
    title: Phrase,
    why: Phrase,
    formula: Phrase,
    why_confidence: Phrase,
    best: Confidence = Confidence.MEDIUM,
    gain_ns: int = 0,
    *,
    now_ns: int | None = None,
    sure_ns: int | None = None,
    later: Phrase | None = None,
    here: tuple[Confidence, Phrase] | None = None,
    counted: bool = False,
    view: str = "host",
    part: str | None = "cpu_exec",
    colour: str | None = None,
    **details: Unpack[Details],
) -> Insight:
    """Returns the card.

    best: the confidence in a recording with enough steps. here: the confidence in this recording and the reason, where
    they differ from that. counted: a recording of few steps does not lower the confidence. gain_ns: the largest gain.
    now_ns: the part of it that is gained now, None for all of it. sure_ns: the gain that decides the severity, None for
    now_ns. later: the title of a card that gains nothing now, None for `later_title`. colour: None for the colour of
    the part. If there is no gain but `about_ns` is given, the card says that the gain is not computed, unless `instead`
    says something else.
    """
    if not gain_ns and "about_ns" in details:
        details.setdefault("instead", phrase("gain not computed"))
    level, why_level = (best, why_confidence) if counted else confidence(facts, *(here or (best, why_confidence)))
    now_ns = gain_ns if now_ns is None else now_ns
    deciding_ns = now_ns if sure_ns is None else sure_ns
    return Insight(
        id=id,
        severity=severity(facts.share(deciding_ns), best, level, deciding_ns * len(facts.judged_steps)),
        title=title if now_ns or not gain_ns else later or later_title(title),
        why=fitted(why),
        gain_ns=now_ns,
        gain_fraction=facts.share(now_ns),
        later_ns=None if now_ns == gain_ns else gain_ns,
        gain_formula=formula,
        confidence=level,
        why_confidence=why_level,
        view=view,
        part=part,
        colour=colour or _COLOURS[part or "cpu_exec"],
        **details,
    )


def confidence(facts: Facts, best: Confidence, why: Phrase) -> tuple[Confidence, Phrase]:
    """Returns `best` with its reason, or low where so little was recorded that the mean may be an accident. What is low
    in the best recording is so for its own reason, not for want of steps."""
    if best is Confidence.LOW:
        return best, why
    if little_is_judged(facts):
        return Confidence.LOW, LITTLE
    steps = len(facts.judged_steps)
    if steps < FEW_STEPS:
        subject = "Steps" if steps == len(facts.overview.steps) else "Whole steps"
        template = f"{subject} recorded: {{steps}}. A mean of so few may mislead."
        return Confidence.LOW, Phrase(template, {"steps": count(steps)})
    return best, why
