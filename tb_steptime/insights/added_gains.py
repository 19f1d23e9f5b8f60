"""What the heading over some cards says about their gains: disjoint parts of one idle time may be added.

gains    |launch graphs 101.1|broadcast 39.4|buckets 14.5|      disjoint: "gains can be added"
                    |slow steps 20.0|                           of the same time: the first ones are, up to this one
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from tb_steptime.insights.base import Insight, Judgement
from tb_steptime.text import Phrase, count, ns, phrase


def sum_of_gains(insights: Sequence[Insight], addable: Collection[str]) -> Phrase | None:
    """Says how many gains, from the first on, may be added, and to what. addable: ids of those with disjoint gains."""
    first = list(itertools.takewhile(lambda insight: insight.id in addable, insights))
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
