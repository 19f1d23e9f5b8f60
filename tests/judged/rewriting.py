"""Decoded traces, and what all rewriting of them needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tb_steptime.trace.kineto.categories import kind_of
from tb_steptime.trace.table import DEVICE_KINDS, Kind

#: Decoded JSON, with exact times.
Document = dict[str, Any]
Event = dict[str, Any]
#: A rewritten recording; None where the recording has nothing to rewrite.
Rewriting = Callable[[Document], Document | None]

#: What a profiler records on a device's tracks.
ON_DEVICE = (*DEVICE_KINDS, Kind.GPU_USER, Kind.SYNC)
STEP, MEMORY = "ProfilerStep#", "[memory]"
SHAPES = ("Input Dims", "Input dims", "Input type", "Input Strides", "Concrete Inputs")


def rewritten(document: Document, events: Iterable[Event]) -> Document | None:
    """The same recording with these events; None if they are the ones that it has already."""
    changed = list(events)
    return None if changed == document["traceEvents"] else document | {"traceEvents": changed}


def with_each(change: Callable[[Event], Event]) -> Rewriting:
    return lambda document: rewritten(document, map(change, document["traceEvents"]))


def without(is_missing: Callable[[Event], bool]) -> Rewriting:
    return lambda document: rewritten(document, (each for each in document["traceEvents"] if not is_missing(each)))


def without_arguments(*names: str) -> Rewriting:
    def less(event: Event) -> Event:
        found = arguments(event)
        left = {key: value for key, value in found.items() if key not in names}
        return event | {"args": left} if len(left) < len(found) else event

    return with_each(less)


def is_of(*kinds: Kind) -> Callable[[Event], bool]:
    return lambda event: lasts(event) and kind(event) in kinds


def kind(event: Event) -> int:
    return kind_of(event.get("cat", ""), str(event.get("name", "")))


def lasts(event: Event) -> bool:
    return event.get("ph") == "X"


def is_step(event: Event) -> bool:
    return str(event.get("name", "")).startswith(STEP)


def arguments(event: Event) -> dict[str, Any]:
    """Those of an event; empty where it has none."""
    found = event.get("args")
    return found if isinstance(found, dict) else {}
