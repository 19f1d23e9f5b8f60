"""What is said of the first card of a run: that card, and how far its spans agree."""

from __future__ import annotations

from tb_steptime.insights.base import Confidence
from tb_steptime.insights.run_advice import RunAdvice
from tb_steptime.insights.wording.card_text import gain_words, severity_word
from tb_steptime.text import Phrase, Quantity, count, ns
from tb_steptime.text.printer import percent, render

#: Gains of spans count as equal if they differ by less than this factor.
_SAME_GAIN = 1.1


def first_card_words(advice: RunAdvice) -> str:
    """`Major: Use 2 workers, up to 20 ms a step (38 %) (2 spans: 2 to 3 workers)`."""
    card, how_far, card_text = advice.card, agreement(advice), "no card"
    if card:
        share = f" ({percent(card.gain_fraction)})" if card.gain_ns else ""
        unsure = ", confidence low" if card.confidence is Confidence.LOW else ""
        card_text = f"{severity_word(card.severity)}: {render(card.title)}, {gain_words(card)}{share}{unsure}"
    return f"{card_text} ({render(how_far)})" if how_far else card_text


def agreement(advice: RunAdvice) -> Phrase | None:
    """Says how many spans have that card, and from what to what their numbers go; None where they say the same."""
    values: dict[str, Quantity] = {"spans": count(advice.spans)}
    ranges = []
    if advice.workers and advice.workers[0] < advice.workers[1]:
        ranges.append("{fewest} to {most} workers")
        values |= {"fewest": count(advice.workers[0]), "most": count(advice.workers[1])}
    least_ns, most_ns = advice.gain_ns
    if most_ns > _SAME_GAIN * least_ns:
        ranges.append("up to {least_gain} in one and {most_gain} in another")
        values |= {"least_gain": ns(least_ns), "most_gain": ns(most_ns)}
    if advice.saying == advice.spans:
        spans_of = "{spans} spans"
    else:
        spans_of = "{saying} of {spans} spans"
        values |= {"saying": count(advice.saying)}
    if not ranges and advice.saying == advice.spans:
        return None
    return Phrase(": ".join([spans_of, ", ".join(ranges)] if ranges else [spans_of]), values)
