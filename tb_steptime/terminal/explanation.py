"""A card as a short derivation: what was measured, how the gain follows from it, and the events that it rests on.

The events of a time range are the device's work before and after it, and the host's activity in it.

host      --[aten::copy_     [cudaMemcpyAsync]]----[launch]        in it, by how much of it they cover
device    kkkkk|<-- range -->|kkkk
          before             after
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.insights.base import Confidence, Insight, Severity
from tb_steptime.insights.questions import CardMeaning, card_meaning
from tb_steptime.insights.rules import RULES
from tb_steptime.insights.wording.card_text import severity_word
from tb_steptime.tables.base import report_of
from tb_steptime.tables.cards import plain_why_lowered
from tb_steptime.text import shortened
from tb_steptime.text.printer import GAP, duration, percent, plain, printable
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.table import DEVICE_KINDS, Int64, Kind

_HOST_KINDS = (Kind.CPU_OP, Kind.USER, Kind.PYTHON, Kind.RUNTIME, Kind.DRIVER)
#: Numbers of host events that are listed for a range: the innermost around it, and those in it that cover most of it.
AROUND, WITHIN = 3, 5


_Place = Literal["before", "in", "after"]


class EvidenceEvent(msgspec.Struct, frozen=True):
    """An event of a range.

    place       before the range, in it or after it
    track       the event's stream or thread
    start_ns    relative to the span's origin
    covers_ns   how much of the range the event covers
    """

    place: _Place
    name: str
    track: str
    start_ns: int
    duration_ns: int
    covers_ns: int


def evidence_events(trace: Trace, device: int | None, start_ns: int, end_ns: int) -> list[EvidenceEvent]:
    """Returns the device's last activity before the range, the host's events in it in time order, and the device's
    first activity after it. device: None for the host only."""
    activity = _device_rows(trace, device)
    ended = activity[trace.events.ends(activity) <= start_ns]
    before = ended[np.argsort(trace.events.ends(ended), kind="stable")][-1:]
    after = activity[trace.events.start_ns[activity] >= end_ns][:1]
    inside = _host_rows(trace, _launching_thread(trace, after), start_ns, end_ns)
    rows_by_place: list[tuple[_Place, Int64]] = [("before", before), ("in", inside), ("after", after)]
    return [_event(trace, row, place, start_ns, end_ns) for place, rows in rows_by_place for row in rows.tolist()]


def _device_rows(trace: Trace, device: int | None) -> Int64:
    """Returns the device's activities in time order."""
    rows = trace.events.rows(*DEVICE_KINDS)
    return rows[trace.events.device[rows] == device] if device is not None else rows[:0]


def _launching_thread(trace: Trace, activity: Int64) -> int | None:
    """Returns the thread of the call that launched an activity; None where the trace has no call."""
    launches = find_launches(trace)
    call = launches.call[np.isin(launches.activity, activity)]
    return int(trace.events.thread[call[0]]) if len(call) and call[0] >= 0 else None


def _host_rows(trace: Trace, thread: int | None, start_ns: int, end_ns: int) -> Int64:
    """Events of the thread, or of all threads if it is unknown, in time order."""
    events, rows = trace.events, trace.events.rows(*_HOST_KINDS)
    thread_rows = rows if thread is None else rows[events.thread[rows] == thread]
    covers = np.minimum(events.ends(thread_rows), end_ns) - np.maximum(events.start_ns[thread_rows], start_ns)
    whole = thread_rows[covers == end_ns - start_ns]
    part = (covers > 0) & (covers < end_ns - start_ns)
    innermost = whole[np.argsort(events.dur_ns[whole], kind="stable")[:AROUND]]
    longest = thread_rows[part][np.argsort(-covers[part], kind="stable")[:WITHIN]]
    return np.sort(np.concatenate((innermost, longest)))


def stream_of(trace: Trace, row: int) -> str:
    """Returns the device and the stream of an activity, as a user reads them."""
    return f"{trace.job.accelerator} {int(trace.events.device[row])}, stream {int(trace.events.stream[row])}"


def _event(trace: Trace, row: int, place: _Place, start_ns: int, end_ns: int) -> EvidenceEvent:
    events = trace.events
    start, end = int(events.start_ns[row]), int(events.start_ns[row] + events.dur_ns[row])
    on_device = int(events.kind[row]) in DEVICE_KINDS
    thread = f"thread {trace.threads[int(events.thread[row])].tid}"
    return EvidenceEvent(
        place=place,
        name=trace.name_of(row),
        track=stream_of(trace, row) if on_device else thread,
        start_ns=start,
        duration_ns=end - start,
        covers_ns=max(0, min(end, end_ns) - max(start, start_ns)),
    )


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


class SpanCards(msgspec.Struct, frozen=True):
    """The cards of one recording. heading: its run, worker and number."""

    heading: str
    cards: list[Explanation]


def explain_card(path: str, insight: Insight, trace: Trace, device: int | None) -> Explanation:
    """device: the device that the span's figures describe; None without any."""
    return report_of(
        Explanation,
        insight,
        trace=path,
        title=plain(insight.title),
        why=plain(insight.why),
        gain_formula=plain(insight.gain_formula),
        why_confidence=plain(insight.why_confidence),
        card=next(card_meaning(rule) for rule in RULES if rule.__name__ == insight.id),
        evidence=[
            report_of(EvidenceRange, each, events=evidence_events(trace, device, each.start_ns, each.end_ns))
            for each in insight.evidence
        ],
        why_lowered=plain_why_lowered(insight),
    )


def span_cards_text(span: SpanCards) -> str:
    """Returns the text for a terminal, without a trailing newline. Cards of several recordings are told apart by the
    heading of each recording."""
    cards = [explanation_text(card) for card in span.cards] or ["There are no cards for this recording."]
    return f"{span.heading}\n\n" + "\n\n\n".join(cards)


def explanation_text(explanation: Explanation) -> str:
    """Returns the text for a terminal, without a trailing newline."""
    how = (explanation.how or "").splitlines()
    return "\n".join([
        f"{explanation.title}  [{explanation.id}]",
        "",
        *_labelled("Evidence", explanation.why),
        *_labelled("Gain", f"{_gain(explanation)}. {explanation.gain_formula}"),
        *_labelled("Severity", f"{severity_word(explanation.severity)}. {explanation.why_lowered or ''}".rstrip()),
        *_labelled("Confidence", f"{explanation.confidence.value}. {explanation.why_confidence}"),
        *_labelled("Fires when", explanation.card.fires.removeprefix("Fires when ")),
        *(line for each in explanation.card.answers.items() if each[0] != "Gain" for line in _labelled(*each)),
        *(f"{'' if number else 'How':<{_INDENT}}{line}" for number, line in enumerate(how)),
        "",
        *(
            [line for each in explanation.evidence for line in _range(each)]
            or [f"The events are spread over the whole span: see the {explanation.view} view."]
        ),
    ])  # fmt: skip


def _gain(explanation: Explanation) -> str:
    now = (
        f"up to {duration(explanation.gain_ns)} a step ({percent(explanation.gain_fraction)})"
        if explanation.gain_ns
        else "none now"
    )
    return now if explanation.later_ns is None else f"{now}, then up to {duration(explanation.later_ns)} a step"


def _labelled(label: str, text: str) -> Iterator[str]:
    """Yields lines with a label, and a wrapped text to the right of it."""
    wrapped = textwrap.wrap(text.replace(GAP, " "), _WIDTH - _INDENT, break_long_words=False, break_on_hyphens=False)
    yield from (f"{label if not number else '':<{_INDENT}}{line}" for number, line in enumerate(wrapped))


def _range(evidence: EvidenceRange) -> Iterator[str]:
    """Yields a line for the range, and one for each of its events, with its length, name and track. The length of an
    event inside the range is the time that it covers there."""
    interval = f"{evidence.start_ns / 1e6:.3f} to {evidence.end_ns / 1e6:.3f} ms"
    length = duration(evidence.end_ns - evidence.start_ns).replace(GAP, " ")
    yield f"Step {printable(evidence.step)}, {interval}: {length}"
    for event in evidence.events:
        length = duration(event.covers_ns if event.place == "in" else event.duration_ns).replace(GAP, " ")
        name = shortened(printable(event.name), _NAME)
        track = shortened(printable(event.track), _TRACK)
        yield f"  {event.place:<6}{event.start_ns / 1e6:>12.3f} ms {length:>9}  {name:<{_NAME}}  {track}"
