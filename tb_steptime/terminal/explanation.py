"""A card as a short derivation: what was measured, how the gain follows from it, and the events that it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import msgspec

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.questions import CardMeaning, card_meaning
from tb_steptime.insights.rules import RULES
from tb_steptime.insights.wording.card_text import severity_word, why_lowered
from tb_steptime.text import shortened
from tb_steptime.text.printer import GAP, duration, percent, plain, printable
from tb_steptime.timeline.evidence import EvidenceEvent, evidence_events
from tb_steptime.trace.model import Trace

_WIDTH, _INDENT = 100, 17
#: Maximum length of an event's name and of its track's name.
_NAME, _TRACK = 44, 20


class EvidenceRange(msgspec.Struct, frozen=True):
    """A time range that shows it. start_ns and end_ns are relative to the span's origin, as in the Timeline."""

    step: str
    start_ns: int
    end_ns: int
    events: list[EvidenceEvent]


class Explanation(msgspec.Struct, frozen=True):
    """One card of one trace. card: what it rests on in any trace; evidence: the longest range first, empty where the
    card sums over the whole span, whose view has the table."""

    trace: str
    id: str
    title: str
    why: str
    how: str | None
    gain_ns: int
    gain_fraction: float
    gain_formula: str
    confidence: Confidence
    why_confidence: str
    view: str
    card: CardMeaning
    evidence: list[EvidenceRange]
    severity: Severity
    later_ns: int | None
    lowered_from: Severity | None
    why_lowered: str | None


class Explanations(msgspec.Struct, frozen=True):
    """What `tb-steptime explain --format json` prints."""

    cards: list[Explanation]


def explain_card(path: str, insight: Insight, trace: Trace, device: int | None) -> Explanation:
    """device: the device that the span's figures describe; None without any."""
    why = why_lowered(insight)
    return Explanation(
        trace=path,
        id=insight.id,
        title=plain(insight.title),
        why=plain(insight.why),
        how=insight.how,
        gain_ns=insight.gain_ns,
        gain_fraction=insight.gain_fraction,
        gain_formula=plain(insight.gain_formula),
        confidence=insight.confidence,
        why_confidence=plain(insight.why_confidence),
        view=insight.view,
        card=next(card_meaning(rule) for rule in RULES if rule.__name__ == insight.id),
        evidence=[
            EvidenceRange(
                each.step, each.start_ns, each.end_ns, evidence_events(trace, device, each.start_ns, each.end_ns)
            )
            for each in insight.evidence
        ],
        severity=insight.severity,
        later_ns=insight.later_ns,
        lowered_from=insight.lowered_from,
        why_lowered=plain(why) if why else None,
    )


def explanation_text(found: Explanation) -> str:
    """Returns the text for a terminal, without a trailing newline."""
    lines = [
        f"{found.title}  [{found.id}]",
        "",
        *_said("Evidence", found.why),
        *_said("Gain", f"{_gain(found)}. {found.gain_formula}"),
        *_said("Severity", f"{severity_word(found.severity)}. {found.why_lowered or ''}".rstrip()),
        *_said("Confidence", f"{found.confidence.value}. {found.why_confidence}"),
        *_said("Fires when", found.card.fires.removeprefix("Fires when ")),
        *(
            line
            for question, answer in found.card.answers.items()
            if question != "Gain"
            for line in _said(question, answer)
        ),
        *(f"{'How' if not number else '':<{_INDENT}}{line}" for number, line in enumerate(_how(found))),
        "",
    ]
    ranges = [line for each in found.evidence for line in _range(each)]
    return "\n".join([*lines, *(ranges or [f"The events are spread over the whole span: see the {found.view} view."])])


def _gain(found: Explanation) -> str:
    now = f"up to {duration(found.gain_ns)} a step ({percent(found.gain_fraction)})" if found.gain_ns else "none now"
    return now if found.later_ns is None else f"{now}, up to {duration(found.later_ns)} a step later"


def _how(found: Explanation) -> list[str]:
    return (found.how or "").splitlines()


def _said(label: str, text: str) -> Iterator[str]:
    """Yields lines with a label, and a wrapped text to the right of it."""
    wrapped = textwrap.wrap(text.replace(GAP, " "), _WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False)
    yield from (f"{label if not number else '':<{_INDENT}}{line}" for number, line in enumerate(wrapped))


def _range(found: EvidenceRange) -> Iterator[str]:
    """Yields a line for the range, and one for each of its events, with its length, name and track. The length of an
    event inside the range is the time that it covers there."""
    at = f"{found.start_ns / 1e6:.3f} to {found.end_ns / 1e6:.3f} ms"
    yield f"Step {printable(found.step)}, {at}: {_length(found.end_ns - found.start_ns)}"
    for event in found.events:
        length = _length(event.covers_ns if event.place == "in" else event.duration_ns)
        name = shortened(printable(event.name), _NAME)
        track = shortened(printable(event.track), _TRACK)
        yield f"  {event.place:<6}{event.start_ns / 1e6:>12.3f} ms {length:>9}  {name:<{_NAME}}  {track}"


def _length(ns: int) -> str:
    return duration(ns).replace(GAP, " ")
