"""Whether the cards of one span agree with each other in severity, order and gain."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tb_steptime.insights.base import Confidence, Insight, Severity

#: The least share of the step, as the documentation states it.
LEAST = {Severity.MAJOR: 0.15, Severity.WARNING: 0.05, Severity.MINOR: 0.0}
GRAVEST_FIRST = list(LEAST)
#: Cards about something that is not time of the step.
WITHOUT_GAIN = ("memory_grows", "spilled")


def contradictions(insights: Sequence[Insight]) -> list[str]:
    """The contradictions of each card with itself, and with the next one."""
    pairs = itertools.pairwise(insights)
    return [
        *(contradiction for each in insights for contradiction in _of_one(each)),
        *(contradiction for pair in pairs for contradiction in _of_two(*pair)),
    ]


def _of_one(card: Insight) -> Iterator[str]:
    due = next(each for each in GRAVEST_FIRST if card.gain_fraction >= LEAST[each])
    if card.id in WITHOUT_GAIN and card.severity is Severity.WARNING:
        return
    if card.lowered_from is None and card.severity is not due:
        yield f"{card.id} is {card.severity.value} at {card.gain_fraction:.1%}"
    if card.lowered_from is None:
        return
    if card.lowered_from is not due or GRAVEST_FIRST.index(card.severity) <= GRAVEST_FIRST.index(due):
        levels = f"from {card.lowered_from.value} to {card.severity.value}"
        yield f"{card.id} is lowered {levels} at {card.gain_fraction:.1%}"
    if card.confidence is not Confidence.LOW:
        yield f"{card.id} is lowered, and its confidence is {card.confidence.value}"


def _of_two(first: Insight, second: Insight) -> Iterator[str]:
    grave, less = (GRAVEST_FIRST.index(each.severity) for each in (first, second))
    if grave > less:
        yield f"{second.id} is {second.severity.value} and stands below {first.id}, {first.severity.value}"
    surer = first.confidence is not Confidence.LOW and second.confidence is Confidence.LOW
    aside = second.severity is Severity.MINOR and (second.view, second.part) != (first.view, first.part)
    if grave == less and second.gain_fraction >= 0.05 and second.gain_ns > first.gain_ns and not surer | aside:
        yield f"{second.id} gains more than {first.id} above it"
