"""What the terminal writes at the head of a card: how grave it is, how sure, and what it gains."""

from __future__ import annotations

from tb_steptime.insights.base import Insight
from tb_steptime.insights.wording.card_text import severity_word, why_lowered
from tb_steptime.text.printer import duration, plain, render


def card_head(insight: Insight) -> str:
    """`Warning, confidence low, up to 12 ms a step`."""
    return f"{severity_word(insight.severity)}, confidence {insight.confidence.value}, {gain_words(insight)}"


def gain_words(insight: Insight) -> str:
    """What it gains now, or later, or in place of time."""
    if insight.gain_ns:
        return f"up to {duration(insight.gain_ns)} a step"
    if insight.later_ns is not None:
        return f"up to {duration(insight.later_ns)} a step later"
    return "no gain now" if insight.instead is None else plain(insight.instead)


def lowered_words(insight: Insight) -> str:
    """A sentence to put after the card's own, with a space before it; nothing of a card that was not lowered."""
    why = why_lowered(insight)
    return f" {render(why)}" if why else ""
