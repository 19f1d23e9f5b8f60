"""One card of what a rule says: its confidence, severity, title and shares follow from its gain, here for all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from tb_steptime.insights.base import Certainty, Confidence, Evidence, EvidenceRow, Insight, low
from tb_steptime.insights.facts import LITTLE, Facts, little_is_judged
from tb_steptime.insights.severity import severity
from tb_steptime.insights.wording.card_text import fitted, later_title
from tb_steptime.metrics.excluded_time.ranges import FEW_STEPS
from tb_steptime.metrics.steps.parts import PART_MEANINGS
from tb_steptime.text import Phrase, as_phrase, count, phrase

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
    asks_ranks: bool


class Words(Details):
    """What a rule says in a card, whatever its gain is."""

    id: str
    title: Phrase
    why: Phrase


class Reasoned(Words):
    """The same with the formula of its gain, and how certain it is. A formula without numbers may be its text."""

    formula: Phrase | str
    certainty: Certainty


def card(
    facts: Facts,
    *,
    formula: Phrase | str,
    certainty: Certainty,
    gain_ns: int = 0,
    now_ns: int | None = None,
    sure_ns: int | None = None,
    later: Phrase | None = None,
    here: Certainty | None = None,
    counted: bool = False,
    view: str = "host",
    part: str | None = "cpu_exec",
    colour: str | None = None,
    **words: Unpack[Words],
) -> Insight:
    """Returns the card.

    certainty: that in a recording with enough steps. here: that in this recording, where it is another. counted: a
    recording of few steps does not lower it. gain_ns: the largest gain. now_ns: the part of it that is gained now, None
    for all of it. sure_ns: the gain that decides the severity, None for now_ns. later: the title of a card that gains
    nothing now, None for `later_title`. colour: None for the colour of the part. If there is no gain but `about_ns` is
    given, the card says that the gain is not computed, unless `instead` says something else.
    """
    if not gain_ns and "about_ns" in words:
        words.setdefault("instead", phrase("gain not computed"))
    level, why_level = certainty if counted else in_this_recording(facts, here or certainty)
    now_ns = gain_ns if now_ns is None else now_ns
    if gain_ns and not now_ns:
        words["title"] = later or later_title(words["title"])
    words["why"] = fitted(words["why"])
    deciding_ns = now_ns if sure_ns is None else sure_ns
    return Insight(
        severity=severity(facts.share(deciding_ns), certainty.level, level, deciding_ns * len(facts.judged_steps)),
        gain_ns=now_ns,
        gain_fraction=facts.share(now_ns),
        later_ns=None if now_ns == gain_ns else gain_ns,
        gain_formula=as_phrase(formula),
        confidence=level,
        why_confidence=why_level,
        view=view,
        part=part,
        colour=colour or _COLOURS[part or "cpu_exec"],
        **words,
    )


def in_this_recording(facts: Facts, best: Certainty) -> Certainty:
    """Returns `best`, or low where so little was recorded that the mean may be an accident. What is low in the best
    recording is so for its own reason, not for want of steps."""
    if best.level is Confidence.LOW:
        return best
    if little_is_judged(facts):
        return low(LITTLE)
    steps = len(facts.judged_steps)
    if steps < FEW_STEPS:
        subject = "Steps" if steps == len(facts.overview.steps) else "Whole steps"
        template = f"{subject} recorded: {{steps}}. A mean of so few may mislead."
        return low(Phrase(template, {"steps": count(steps)}))
    return best
