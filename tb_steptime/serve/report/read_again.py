"""The single events and flame graphs of a report. No summary holds them, so each trace is read again, once for both."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tb_steptime.ingest.states import Problem
from tb_steptime.serve.refusals import SpanFailed
from tb_steptime.serve.report.events import IncludedEvents, Wanted, events_of, steps_of
from tb_steptime.serve.report.flames import IncludedFlames, fitting, held_flames
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.store import Store
from tb_steptime.serve.wire import Waiting
from tb_steptime.timeline.event_file import EventFile

#: How many traces are read at the same time: the one that is needed next, and those after it.
_AHEAD = 4
_SECONDS_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True)
class Besides:
    """What a report is to hold besides the views. timeline: single events of `steps`; flame: flame graphs of all
    spans."""

    timeline: bool = False
    steps: Wanted = None
    flame: bool = False


@dataclass(frozen=True)
class Included:
    """What a report holds besides its answers, by span id."""

    events: dict[str, IncludedEvents] = field(default_factory=dict)
    flames: dict[str, IncludedFlames] = field(default_factory=dict)


def held_besides(store: Store, asked: Besides, problems: list[Problem], show: Callable[[int, int], None]) -> Included:
    """Reads what was asked for. Traces that cannot be read are added to problems. show is called with the number of
    spans that are done and the number of all."""
    held = Included()
    chosen = [span for span in store.directory.spans()[1] if span.measured and (asked.flame or _steps(span, asked))]
    for at, span in enumerate(chosen):
        show(at, len(chosen))
        try:
            events = _event_file(store, span, chosen[at + 1 : at + _AHEAD])
        except SpanFailed as failed:
            problems.append(failed.problem)
            continue
        _hold(held, span, events, asked)
    return Included(held.events, fitting(held.flames))


def _steps(span: ServedSpan, asked: Besides) -> bool:
    return asked.timeline and steps_of(span, asked.steps) is not None


def _hold(held: Included, span: ServedSpan, events: EventFile, asked: Besides) -> None:
    if _steps(span, asked):
        held.events[span.found.id] = events_of(span, events, asked.steps)
    if asked.flame:
        held.flames[span.found.id] = held_flames(events)


def _event_file(store: Store, span: ServedSpan, following: Sequence[ServedSpan]) -> EventFile:
    """Waits for the event file of a span, and has those of the following spans made meanwhile. Raises SpanFailed."""
    while isinstance(events := store.reader.event_file(span, work=True), Waiting):
        for each in following:
            if each.found.trace is not None and each.events_problem is None:
                store.reader.event_file(each, work=True)
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    return events
