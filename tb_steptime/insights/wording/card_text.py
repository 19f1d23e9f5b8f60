"""The text of a card fits two lines: where names out of the trace are too long for that, the longest lose their middle.

aten::_local_scalar_dense in training/loops/inner.py(1054): step leaves the GPU idle ...     longer than a card
aten::_local_scalar_dense in training/loops…er.py(1054): step leaves the GPU idle ...        fits
"""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.insights.base import FindingText, Insight, Severity
from tb_steptime.text import Phrase, Quantity, Unit, joined, phrase, shortened, text
from tb_steptime.text.printer import duration, plain, render

#: Number of characters in two lines of a card.
CARD_LENGTH = 160
#: Minimum length of a shortened name.
LEAST_NAME = 14

#: Usual maximum length of a number with its unit: "100.1 ms", "1.2 GB/s", "12 500".
_LENGTHS = {Unit.NS: 8, Unit.FRACTION: 5, Unit.COUNT: 6, Unit.NUMBER: 4, Unit.BYTES: 7, Unit.BYTES_PER_SECOND: 9}


def severity_word(severity: Severity) -> str:
    return severity.value.capitalize()


def why_lowered(insight: Insight) -> Phrase | None:
    """Says why the card's severity is lower than that of its gain; None where it is not."""
    if insight.lowered_from is None:
        return None
    due = text(severity_word(insight.lowered_from))
    return joined(phrase("Lowered from {due} because the confidence is low:", due=due), insight.why_confidence)


def card_head(insight: Insight) -> str:
    """Returns the head of a card as plain text: `Warning, confidence low, up to 12 ms a step`."""
    return f"{severity_word(insight.severity)}, confidence {insight.confidence.value}, {gain_words(insight)}"


def gain_words(insight: Insight) -> str:
    if insight.gain_ns:
        return f"up to {duration(insight.gain_ns)} a step"
    if insight.later_ns is not None:
        return f"then up to {duration(insight.later_ns)} a step"
    return "no gain now" if insight.instead is None else plain(insight.instead)


def lowered_words(insight: Insight) -> str:
    """Returns a sentence to put after the card's own, with a space before it; empty for a card that was not
    lowered."""
    why = why_lowered(insight)
    return f" {render(why)}" if why else ""


def as_one(line: FindingText) -> Phrase:
    """Returns a finding as one sentence with what was done about it; the finding itself is stressed."""
    label = Phrase(f"{line.label}:")
    if not line.cause.template:
        return joined(label, line.effect)
    cause = line.cause.template.replace("[", "").replace("]", "")
    return joined(label, Phrase(f"[{cause}]", line.cause.values), line.effect)


def listed(items: Sequence[str]) -> str:
    """
    >>> listed(["3"]), listed(["0", "2", "6"])
    ('3', '0, 2 and 6')
    """
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def numbers_of(ranks: Sequence[int]) -> str:
    return listed([str(rank) for rank in sorted(ranks)])


#: Beginning of the title of a card that gains nothing yet.
LATER = "After the first fix: "


def later_title(title: Phrase) -> Phrase:
    """Returns the title of a card while something else limits the step."""
    return Phrase(LATER + title.template[:1].lower() + title.template[1:], title.values)


def fitted(title: Phrase) -> Phrase:
    """Returns the sentence with its names as short as a card asks for."""
    values, over = dict(title.values), length(title) - CARD_LENGTH
    names = [key for key, value in values.items() if value.unit is Unit.TEXT and f"{{{key}}}" in title.template]
    for key in sorted(names, key=lambda key: -len(str(values[key].value))):
        name = str(values[key].value)
        most = max(LEAST_NAME, len(name) - max(0, over))
        over -= len(name) - len(shortened(name, most))
        values[key] = text(shortened(name, most))
    return Phrase(title.template, values)


def length(title: Phrase) -> int:
    """Returns the number of letters of the sentence as it is shown."""
    shown = {key: value for key, value in title.values.items() if f"{{{key}}}" in title.template}
    places = sum(len(key) + len("{}") for key in shown)
    return len(title.template) - places + sum(map(_letters, shown.values()))


def _letters(value: Quantity) -> int:
    if value.unit is Unit.CODE:
        return len(f"`{value.value}`")
    return len(str(value.value)) if value.unit is Unit.TEXT else _LENGTHS[value.unit]
