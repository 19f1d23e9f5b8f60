"""Recordings rewritten in ways that do not change the job, so that no conclusion may change either.

A variant lacks something that a profiler may leave out, spells it differently, or starts or stops at another time. Its
conclusions are the same or weaker: never another cause, and no card above minor that the recording does not have.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tb_steptime.trace.kineto.categories import LEFT_OUT, kind_of
from tb_steptime.trace.table import DEVICE_KINDS, Kind

#: Decoded JSON, with exact times.
Document = dict[str, Any]
_Event = dict[str, Any]

_DAY_US = 24 * 3600 * 1_000_000
_STEP = "ProfilerStep#"
_SHAPES = ("Input Dims", "Input dims", "Input type", "Input Strides", "Concrete Inputs")
_MEMORY = "[memory]"
_GENERATOR = 7


def variants(document: Document) -> Iterator[tuple[str, Document]]:
    """All variants that this recording can have, by name."""
    for name, rewritten in _VARIANTS.items():
        variant = rewritten(document)
        if variant is not None:
            yield name, variant


def _with(document: Document, events: Iterable[_Event]) -> Document | None:
    """The same recording with these events; None if they are the ones that it has already."""
    changed = list(events)
    return None if changed == document["traceEvents"] else document | {"traceEvents": changed}


def _kind(event: _Event) -> int:
    return kind_of(event.get("cat", ""), str(event.get("name", "")))


def _lasts(event: _Event) -> bool:
    return event.get("ph") == "X"


def _without(kind: Kind) -> Callable[[Document], Document | None]:
    return lambda document: _with(document, (e for e in document["traceEvents"] if not _lasts(e) or _kind(e) != kind))


def _is_step(event: _Event) -> bool:
    return str(event.get("name", "")).startswith(_STEP)


def _without_steps(document: Document) -> Document | None:
    return _with(document, (event for event in document["traceEvents"] if not _is_step(event)))


def _is_named_by_user(event: _Event) -> bool:
    return _kind(event) in (Kind.USER, Kind.GPU_USER) and not _is_step(event)


def _without_annotations(document: Document) -> Document | None:
    """The recording without ranges of the user or of PyTorch, and without modules."""
    return _with(
        document,
        (
            event
            for event in document["traceEvents"]
            if not _is_named_by_user(event) and not str(event.get("name", "")).startswith("nn.Module: ")
        ),
    )


def _without_shapes(document: Document) -> Document | None:
    return _with(document, map(_shapeless, document["traceEvents"]))


def _shapeless(event: _Event) -> _Event:
    arguments = event.get("args")
    if not isinstance(arguments, dict) or not any(key in arguments for key in _SHAPES):
        return event
    return event | {"args": {key: value for key, value in arguments.items() if key not in _SHAPES}}


def _without_flows(document: Document) -> Document | None:
    return _with(document, (event for event in document["traceEvents"] if event.get("ph") not in ("s", "t", "f")))


def _without_memory(document: Document) -> Document | None:
    return _with(document, (event for event in document["traceEvents"] if event.get("name") != _MEMORY))


def _without_devices(document: Document) -> Document | None:
    left = {key: value for key, value in document.items() if key != "deviceProperties"}
    return left if len(left) < len(document) else None


def _other_threads(document: Document) -> Document | None:
    """Host threads have other numbers, in another order."""
    return _with(document, map(_on_other_thread, document["traceEvents"]))


def _on_other_thread(event: _Event) -> _Event:
    thread = event.get("tid")
    is_of_host = _lasts(event) and _kind(event) not in (*DEVICE_KINDS, Kind.GPU_USER, Kind.SYNC, LEFT_OUT)
    return event | {"tid": 900_000 - thread % 800_000} if is_of_host and isinstance(thread, int) else event


def _a_day_later(document: Document) -> Document:
    events = [event | {"ts": event["ts"] + _DAY_US} if "ts" in event else event for event in document["traceEvents"]]
    return document | {"traceEvents": events}


def _shuffled(document: Document) -> Document:
    events = list(document["traceEvents"])
    random.Random(_GENERATOR).shuffle(events)
    return document | {"traceEvents": events}


def _with_idle_device(document: Document) -> Document | None:
    """A second GPU on which one byte was set, because a library created a context there."""
    first = next((event for event in document["traceEvents"] if _lasts(event) and _kind(event) == Kind.KERNEL), None)
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

    def _events(self, events: list[_Event]) -> Iterator[_Event]:
        calls = (event for event in events if _lasts(event) and _kind(event) in (Kind.RUNTIME, Kind.DRIVER))
        later = {_correlation(call) for call in calls if call["ts"] >= self.end} - {None, 0}
        for event in events:
            if "ts" not in event:
                yield event
            elif not _lasts(event):
                if self._has(event["ts"]):
                    yield event
            elif _kind(event) in (*DEVICE_KINDS, Kind.GPU_USER, Kind.SYNC):
                if self._is_recorded(event, later):
                    yield event
            elif self._has(event["ts"]):
                yield event | {"dur": min(event.get("dur", 0), self.end - event["ts"])}

    def _has(self, time: Decimal) -> bool:
        return self.start <= time < self.end

    def _is_recorded(self, event: _Event, later: set[Any]) -> bool:
        over = event["ts"] + event.get("dur", 0) > self.end
        return event["ts"] >= self.start and (self.is_whole or not over) and _correlation(event) not in later


def _correlation(event: _Event) -> Any:
    arguments = event.get("args")
    return arguments.get("correlation") if isinstance(arguments, dict) else None


def _marks(document: Document) -> list[tuple[Decimal, Decimal]]:
    """Start and end of each step's mark on the host, in order of time; none if a cut would leave too few of them."""
    found = [
        (event["ts"], event["ts"] + event["dur"])
        for event in document["traceEvents"]
        if _lasts(event) and _is_step(event) and _kind(event) == Kind.USER
    ]
    return sorted(found) if len(found) >= 3 else []


def _cut(span: Callable[[list[tuple[Decimal, Decimal]]], _Cut]) -> Callable[[Document], Document | None]:
    def rewritten(document: Document) -> Document | None:
        marks = _marks(document)
        return span(marks).of(document) if marks else None

    return rewritten


def _middle(mark: tuple[Decimal, Decimal]) -> Decimal:
    return (mark[0] + mark[1]) / 2


_VARIANTS: dict[str, Callable[[Document], Document | None]] = {
    "not packed": dict,
    "shuffled": _shuffled,
    "a day later": _a_day_later,
    "other threads": _other_threads,
    "no overhead": _without(Kind.OVERHEAD),
    "no flows": _without_flows,
    "no memory events": _without_memory,
    "no call stacks": _without(Kind.PYTHON),
    "no shapes": _without_shapes,
    "no device properties": _without_devices,
    "no annotations": _without_annotations,
    "no step marks": _without_steps,
    "an idle second GPU": _with_idle_device,
    "without the first step": _cut(lambda marks: _Cut(marks[1][0], marks[-1][1])),
    "without the last step": _cut(lambda marks: _Cut(marks[0][0], marks[-2][1])),
    "the middle step alone": _cut(lambda marks: _Cut(*marks[len(marks) // 2])),
    "begun within a step": _cut(lambda marks: _Cut(_middle(marks[0]), marks[-1][1])),
    "ended within a step": _cut(lambda marks: _Cut(marks[0][0], _middle(marks[-1]), is_whole=False)),
}
