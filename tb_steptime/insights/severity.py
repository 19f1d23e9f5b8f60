"""How grave a card is, and where it stands among the others: one rule for all cards.

A card's severity is that of its gain now, as it shows it: the share of the step that the change saves at most. What it
gains later, once something else changed, does not count. Cards stand by severity, then by gain, the surer ones first.

gain             0       5 %       15 %              of the step
severity         | minor | warning | major
of few steps     | minor | warning | warning         a mean of one or two steps may mislead
under 50 us      | minor | minor   | minor           of few steps in all: any one call may take so much longer
of a guess       | minor | minor   | minor           it is not measured what causes the time

A card without a gain is minor, but for memory that grows in every step, which ends the job: a warning.

The verdict is measured, so a guess about what it does not name counts as one without a gain, about that much time.

verdict  The CPU sets the pace
cards    launch graphs 4.8 ms, find the late rank 7.5 ms (a guess)
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from functools import partial

import msgspec

from tb_steptime.insights.base import Confidence, Insight, Judgement, Severity
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.text import Phrase, count, ns, phrase

#: A card is a warning from 5 % of the step on. From 15 % on it decides the job's speed and is major.
WARNING_FRACTION, MAJOR_FRACTION = 0.05, 0.15

#: Minimum gain of a few steps together, ns: the scheduler delays a single call by some ten microseconds.
LEAST_OF_FEW_STEPS_NS = 50_000

#: Minimum share of the largest gain that counts as about as much.
ABOUT_AS_MUCH = 0.5

#: Severities, the highest first.
_ORDER = tuple(Severity)

#: What cards are about, by what limits the step: exchanges, or what their view shows. A verdict of several or unknown
#: limits leaves out nothing.
_ABOUT: dict[Bound, frozenset[str]] = {
    Bound.HOST: frozenset({"host"}),
    Bound.SYNC: frozenset({"host"}),
    Bound.CPU: frozenset({"host", "operators"}),
    Bound.INPUT: frozenset({"data_loading"}),
    Bound.COMMUNICATION: frozenset({"communication"}),
    Bound.GPU: frozenset({"gpu", "tensor_cores", "operators"}),
}


def severity(fraction: float, best: Confidence, confidence: Confidence, in_all_ns: int) -> Severity:
    """Returns the severity of a card that is worth this share of the step. best: its confidence in the best recording;
    confidence: in this one. in_all_ns: what it gains in all recorded steps.

    A guess of the cause is a hint, whatever it would gain. A cause that is measured, but in one or two steps, or in a
    trace that lacks launches, is no reason to drop everything else. A gain of a few microseconds in so few steps is
    noise.
    """
    due = severity_of_gain(fraction)
    if best is Confidence.LOW or (confidence is Confidence.LOW and in_all_ns < LEAST_OF_FEW_STEPS_NS):
        return Severity.MINOR
    return Severity.WARNING if due is Severity.MAJOR and confidence is Confidence.LOW else due


def severity_of_gain(fraction: float) -> Severity:
    if fraction < WARNING_FRACTION:
        return Severity.MINOR
    return Severity.MAJOR if fraction >= MAJOR_FRACTION else Severity.WARNING


def lowest(*severities: Severity) -> Severity:
    return max(severities, key=_ORDER.index)


def lowered(insight: Insight, why: Phrase) -> Insight:
    """Returns the card as a hint at most. why: what makes it unsure."""
    return insight if insight.severity is Severity.MINOR else as_guess(insight, why)


def as_guess(insight: Insight, why: Phrase) -> Insight:
    """Returns the card as a hint of low confidence. why: what makes it unsure."""
    return msgspec.structs.replace(insight, severity=Severity.MINOR, confidence=Confidence.LOW, why_confidence=why)


def without_twins(insights: Sequence[Insight]) -> list[Insight]:
    """Returns the cards without those whose advice another card gives, too, and gains more by: they have one title and
    one code, as two cards about copies of a tensor that should not be made on the CPU."""
    first: list[Insight] = []
    for each in sorted(insights, key=lambda insight: -insight.gain_ns):
        if not any((each.title, each.how) == (other.title, other.how) for other in first):
            first.append(each)
    return [each for each in insights if each in first]


def in_order(insights: Iterable[Insight], bound: Bound = Bound.UNKNOWN) -> list[Insight]:
    """Returns the cards by severity, then by gain; each says from which severity it was lowered. bound: what the
    verdict says that limits the step."""
    return sorted(map(_with_origin, insights), key=partial(_place, bound=bound))


def most_gain(insights: Sequence[Insight]) -> Insight | None:
    """Returns the card that gains most now, where that is the gain of a warning. Headlines speak of it, as the verdict
    before it is about the most time, too. Of cards that gain at least half as much it is the first one as cards stand,
    so that a guess does not lead where a surer card, or one about what the verdict names, gains about as much. None if
    an equally grave card without such a gain stands first: it makes the other gains unsure, or they are guesses about
    what the verdict does not name."""
    worth = [insight for insight in insights if insight.gain_fraction >= WARNING_FRACTION]
    if not worth or (insights[0] not in worth and insights[0].severity is worth[0].severity):
        return None
    most_ns = max(insight.gain_ns for insight in worth)
    return next(insight for insight in worth if insight.gain_ns >= ABOUT_AS_MUCH * most_ns)


def _with_origin(insight: Insight) -> Insight:
    due = severity_of_gain(insight.gain_fraction)
    is_lowered = _ORDER.index(insight.severity) > _ORDER.index(due)
    return msgspec.structs.replace(insight, lowered_from=due if is_lowered else None)


def _place(insight: Insight, bound: Bound) -> tuple[int, int, int, int, int, int]:
    """Returns the sort key of a card. Among equally grave cards the one with most gain stands first, surer ones before
    those of low confidence. What has no gain, but is about much of the step, stands before what hardly gains
    anything."""
    worth_ns = insight.gain_ns if insight.gain_fraction >= WARNING_FRACTION else 0
    sure_ns = worth_ns if insight.confidence is not Confidence.LOW else 0
    about_ns, later_ns = insight.about_ns, insight.later_ns or 0
    if worth_ns and insight.severity is Severity.MINOR and not _is_about(insight, bound):
        worth_ns, about_ns = 0, max(about_ns, worth_ns)
    return _ORDER.index(insight.severity), -sure_ns, -worth_ns, -about_ns, -insight.gain_ns, -later_ns


def _is_about(insight: Insight, bound: Bound) -> bool:
    subject = "communication" if insight.part == "communication" else insight.view
    return bound not in _ABOUT or subject in _ABOUT[bound]


def sum_of_gains(insights: Sequence[Insight], addable: Collection[str]) -> Phrase | None:
    """Says how many gains, from the first on, may be added, and to what; gains of 0 add nothing. addable: ids of those
    with disjoint gains."""
    first = list(itertools.takewhile(lambda insight: insight.id in addable and insight.gain_ns > 0, insights))
    if len(first) < 2:
        return None
    total = sum(insight.gain_ns for insight in first)
    return phrase("the first {number} gains add up to {total}", number=count(len(first)), total=ns(total))


def may_be_added(insights: Sequence[Insight], addable: Collection[str]) -> Phrase | None:
    """Says that all gains may be added, which suffices in a view with few cards; otherwise returns `sum_of_gains`."""
    worth = [insight.id for insight in insights if insight.gain_ns]
    if len(worth) > 1 and set(worth) <= set(addable):
        return phrase("gains can be added")
    return sum_of_gains(insights, addable)


def remark_of_view(insights: Sequence[Insight], judged: Judgement) -> Phrase | None:
    """insights: the cards of one view. If no view has any, the remark says so and names no other view."""
    return may_be_added(insights, judged.addable) if judged.insights else phrase("No recommendation for this span.")
