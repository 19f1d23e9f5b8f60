"""What the Trace Event Format requires of each event, as Perfetto and chrome://tracing read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]

#: The required fields by phase.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "X": ("name", "ts", "dur", "pid", "tid"),
    "B": ("name", "ts", "pid", "tid"),
    "E": ("ts", "pid", "tid"),
    "i": ("name", "ts"),
    "s": ("name", "cat", "id", "ts", "pid", "tid"),
    "t": ("name", "cat", "id", "ts", "pid", "tid"),
    "f": ("name", "cat", "id", "ts", "pid", "tid"),
    "M": ("name", "pid", "args"),
    "C": ("name", "ts", "pid", "args"),
}
_NUMBERS = ("ts", "dur")


def faults(events: Sequence[Event]) -> list[str]:
    """The faults of the events, one line each; none where a viewer shows all events."""
    return [*(fault for event in events for fault in _faults_of(event)), *_halves(events), *_loose_ends(events)]


def _faults_of(event: Event) -> Iterator[str]:
    phase = event.get("ph")
    if phase not in FIELDS:
        yield f"no phase that a viewer knows: {event}"
        return
    yield from (f"no {field}: {event}" for field in FIELDS[phase] if field not in event)
    wrong = [key for key in _NUMBERS if key in event and not isinstance(event[key], int | float)]
    yield from (f"{key} is no number: {event}" for key in wrong)
    if phase == "X" and not wrong and event.get("dur", 0) < 0:
        yield f"it ends before it begins: {event}"
    if not isinstance(event.get("args", {}), dict):
        yield f"args is no object: {event}"


def _halves(events: Sequence[Event]) -> Iterator[str]:
    """There are as many ends as begins on each thread."""
    open_halves = Counter[tuple[Any, Any]]()
    for event in events:
        if event.get("ph") in ("B", "E"):
            open_halves[event.get("pid"), event.get("tid")] += 1 if event["ph"] == "B" else -1
    yield from (f"begins and ends of {track} do not pair" for track, count in open_halves.items() if count)


def _loose_ends(events: Sequence[Event]) -> Iterator[str]:
    """A flow has a start and a finish."""
    ends: dict[tuple[Any, Any], set[Any]] = {}
    for event in events:
        if event.get("ph") in ("s", "f"):
            ends.setdefault((event.get("cat"), event.get("id")), set()).add(event["ph"])
    yield from (f"flow {key} has only {found}" for key, found in ends.items() if len(found) < 2)
