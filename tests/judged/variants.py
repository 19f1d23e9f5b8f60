"""Recordings rewritten in ways that do not change the job, so that no conclusion may change either.

A variant lacks something that a profiler may leave out, spells it differently, or starts or stops at another time. Its
conclusions are the same or weaker: never another cause, and no card above minor that the recording does not have.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tb_steptime.trace.kineto.categories import LEFT_OUT
from tb_steptime.trace.table import Kind
from tests.judged.other_files import OTHER_FILES
from tests.judged.rewriting import (
    MEMORY,
    ON_DEVICE,
    SHAPES,
    Document,
    Event,
    Rewriting,
    arguments,
    is_of,
    is_step,
    kind,
    lasts,
    with_each,
    without,
    without_arguments,
)

_DAY_US = 24 * 3600 * 1_000_000
_GENERATOR = 7


def variants(document: Document) -> Iterator[tuple[str, Document]]:
    """All variants that this recording can have, by name."""
    for name, rewriting in {**_VARIANTS, **OTHER_FILES}.items():
        variant = rewriting(document)
        if variant is not None:
            yield name, variant


def _is_named_by_user(event: Event) -> bool:
    return kind(event) in (Kind.USER, Kind.GPU_USER) and not is_step(event)


def _is_annotation(event: Event) -> bool:
    """Whether it is a range of the user or of PyTorch, or a module."""
    return _is_named_by_user(event) or str(event.get("name", "")).startswith("nn.Module: ")


def _is_flow(event: Event) -> bool:
    return event.get("ph") in ("s", "t", "f")


def _is_of_memory(event: Event) -> bool:
    return event.get("name") == MEMORY


def _without_devices(document: Document) -> Document | None:
    left = {key: value for key, value in document.items() if key != "deviceProperties"}
    return left if len(left) < len(document) else None


def _on_other_thread(event: Event) -> Event:
    """Host threads have other numbers, in another order."""
    thread = event.get("tid")
    is_of_host = lasts(event) and kind(event) not in (*ON_DEVICE, LEFT_OUT)
    return event | {"tid": 900_000 - thread % 800_000} if is_of_host and isinstance(thread, int) else event


def _a_day_later(document: Document) -> Document:
    events = [event | {"ts": event["ts"] + _DAY_US} if "ts" in event else event for event in document["traceEvents"]]
    return document | {"traceEvents": events}


def _shuffled(document: Document) -> Document:
    events = list(document["traceEvents"])
    random.Random(_GENERATOR).shuffle(events)
    return document | {"traceEvents": events}


def _reversed(document: Document) -> Document:
    return document | {"traceEvents": document["traceEvents"][::-1]}


def _half_as_fast(document: Document) -> Document:
    """All times are twice as long, from the first event on."""
    events = document["traceEvents"]
    first = min((event["ts"] for event in events if lasts(event) and "ts" in event), default=Decimal(0))
    return document | {"traceEvents": [_twice_as_long(event, first) for event in events]}


def _twice_as_long(event: Event, first: Decimal) -> Event:
    if "ts" not in event:
        return event
    slower = event | {"ts": first + 2 * (event["ts"] - first)}
    return slower | {"dur": 2 * event["dur"]} if "dur" in event else slower


def _with_idle_device(document: Document) -> Document | None:
    """A second GPU on which one byte was set, because a library created a context there."""
    first = next((event for event in document["traceEvents"] if lasts(event) and kind(event) == Kind.KERNEL), None)
    device = first["args"].get("device") if first else None
    if first is None or not isinstance(device, int):
        return None
    other = {"device": device + 1, "stream": 7, "correlation": 0, "bytes": 1}
    event = {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": device + 1, "tid": 7}
    return document | {"traceEvents": [*document["traceEvents"], event | {"ts": first["ts"], "dur": 1, "args": other}]}


@dataclass(frozen=True)
class _Cut:
    """What a profiler writes if it starts and stops at these times, in the file's µs. is_whole: it waits for work
    launched in between."""

    start: Decimal
    end: Decimal
    is_whole: bool = True

    def of(self, document: Document) -> Document:
        return document | {"traceEvents": list(self._events(document["traceEvents"]))}

    def _events(self, events: list[Event]) -> Iterator[Event]:
        calls = (event for event in events if lasts(event) and kind(event) in (Kind.RUNTIME, Kind.DRIVER))
        later = {_correlation(call) for call in calls if call["ts"] >= self.end} - {None, 0}
        for event in events:
            if "ts" not in event:
                yield event
            elif not lasts(event):
                if self._has(event["ts"]):
                    yield event
            elif kind(event) in ON_DEVICE:
                if self._is_recorded(event, later):
                    yield event
            elif self._has(event["ts"]):
                yield event | {"dur": min(event.get("dur", 0), self.end - event["ts"])}

    def _has(self, time: Decimal) -> bool:
        return self.start <= time < self.end

    def _is_recorded(self, event: Event, later: set[Any]) -> bool:
        over = event["ts"] + event.get("dur", 0) > self.end
        return event["ts"] >= self.start and (self.is_whole or not over) and _correlation(event) not in later


def _correlation(event: Event) -> Any:
    return arguments(event).get("correlation")


def _marks(document: Document) -> list[tuple[Decimal, Decimal]]:
    """Start and end of each step's mark on the host, in order of time; none if a cut would leave too few of them."""
    found = [
        (event["ts"], event["ts"] + event["dur"])
        for event in document["traceEvents"]
        if lasts(event) and is_step(event) and kind(event) == Kind.USER
    ]
    return sorted(found) if len(found) >= 3 else []


def _cut(span: Callable[[list[tuple[Decimal, Decimal]]], _Cut]) -> Rewriting:
    def cut(document: Document) -> Document | None:
        marks = _marks(document)
        return span(marks).of(document) if marks else None

    return cut


def windows(document: Document, steps: int) -> Iterator[Document]:
    """What a profiler writes that records so many steps in a row, from each step on."""
    marks = _marks(document)
    for first in range(len(marks) - steps + 1):
        yield _Cut(marks[first][0], marks[first + steps - 1][1]).of(document)


def _middle(mark: tuple[Decimal, Decimal]) -> Decimal:
    return (mark[0] + mark[1]) / 2


_VARIANTS: dict[str, Rewriting] = {
    "not packed": dict,
    "shuffled": _shuffled,
    "reversed": _reversed,
    "a day later": _a_day_later,
    "half as fast": _half_as_fast,
    "other threads": with_each(_on_other_thread),
    "no overhead": without(is_of(Kind.OVERHEAD)),
    "no flows": without(_is_flow),
    "no memory events": without(_is_of_memory),
    "no call stacks": without(is_of(Kind.PYTHON)),
    "no shapes": without_arguments(*SHAPES),
    "no device properties": _without_devices,
    "no annotations": without(_is_annotation),
    "no step marks": without(is_step),
    "an idle second GPU": _with_idle_device,
    "without the first step": _cut(lambda marks: _Cut(marks[1][0], marks[-1][1])),
    "without the last step": _cut(lambda marks: _Cut(marks[0][0], marks[-2][1])),
    "the middle step alone": _cut(lambda marks: _Cut(*marks[len(marks) // 2])),
    "the first half": _cut(lambda marks: _Cut(marks[0][0], marks[(len(marks) - 1) // 2][1])),
    "the last half": _cut(lambda marks: _Cut(marks[len(marks) // 2][0], marks[-1][1])),
    "begun within a step": _cut(lambda marks: _Cut(_middle(marks[0]), marks[-1][1])),
    "ended within a step": _cut(lambda marks: _Cut(marks[0][0], _middle(marks[-1]), is_whole=False)),
}
