"""Clocks of host and device that disagree: work that begins before the call that launches it.

launch     [a]   [b]   [c]
device   aaa   bbb   ccc          all by 2 ms too early: shifted by the least that makes every launch come first
device   aa   bb  cc              and more so from launch to launch: the clocks drift, and the shift grows with time

Work without a launch call, or from before the recording, has nothing to be before. A shift that is not steady, or that
is longer than half of the recording, mends nothing: then no conclusion rests on host and device together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.text import Finding, count, fraction, ns
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import DEVICE_KINDS, EventTable, Int64, Kind

#: Both clocks are read in microseconds or better: one tick of each is no disagreement.
TICK_NS = 2_000
#: Launches that have to say so: a few may be joined with a call of the same number.
LEAST_FRACTION = 0.01
#: Ranges of time in which the shift is looked at separately.
RANGES = 16
#: Shifts that differ by less than this share of the largest are one.
STEADY_FRACTION = 0.05
#: What is longer than this share of the recording is another mistake than that of a clock.
MOST_FRACTION = 0.5


def on_one_clock(trace: Trace) -> Trace:
    """The trace with the device's rows shifted so that every launch comes first; the same one where all do."""
    launches = find_launches(trace)
    linked = launches.call >= 0
    if not linked.any():
        return trace
    events = trace.events
    begins = events.start_ns[launches.activity[linked]]
    early = events.start_ns[launches.call[linked]] - begins
    number = int((early > TICK_NS).sum())
    if number <= LEAST_FRACTION * len(early):
        return trace
    shift = _shift(begins, early)
    moved = early - shift(begins)
    length = int(events.ends(np.arange(len(events))).max()) - int(events.start_ns[0])
    largest = int(early.max())
    beyond = bool((moved > TICK_NS).any()) or largest > MOST_FRACTION * length
    values = {"count": count(number), "share": fraction(number / len(early)), "shift": ns(largest)}
    if beyond:
        said = Finding("clocks_beyond_repair", "said", ("launches",), "none", number, number / len(early), values)
        return replace(trace, repaired=(*trace.repaired, said))
    id = "clocks_shifted" if _is_steady(shift(begins)) else "clocks_drift"
    found = Finding(id, "repaired", ("launches", "steps"), "medium", number, number / len(early), values)
    return replace(_moved(trace, shift), repaired=(*trace.repaired, found), memo={})


def _shift(begins: Int64, early: Int64) -> Callable[[Int64], Int64]:
    """By when work begins how far it has to move: the same for all, or between the earliest work of ranges of time."""
    order = np.argsort(begins, kind="stable")
    at, by = [], []
    for some in np.array_split(order, min(RANGES, len(order))):
        worst = some[int(early[some].argmax())]
        if early[worst] > 0:
            at.append(int(begins[worst]))
            by.append(int(early[worst]))
    if _is_steady(np.array(by)):
        return lambda instants: np.full(len(instants), max(by), np.int64)
    drift = _line(np.array(at, np.float64), np.array(by, np.float64))
    rest = int(np.ceil((early - drift(begins)).max()))
    if rest > STEADY_FRACTION * max(by):  # no line: the clock was set
        return lambda instants: np.rint(np.interp(instants, at, by)).astype(np.int64)
    return lambda instants: np.maximum(0, np.rint(drift(instants)).astype(np.int64) + max(0, rest))


def _line(at: npt.NDArray[np.float64], by: npt.NDArray[np.float64]) -> Callable[[Int64], npt.NDArray[np.float64]]:
    slope, offset = np.polyfit(at, by, 1)
    return lambda instants: slope * instants + offset


def _is_steady(shift: npt.NDArray[np.integer[Any]]) -> bool:
    return bool(shift.max() - shift.min() <= max(STEADY_FRACTION * shift.max(), 10 * TICK_NS))


def _moved(trace: Trace, shift: Callable[[Int64], Int64]) -> Trace:
    """The device's rows later, and all rows again in the order of time."""
    events = trace.events
    rows = events.rows(*DEVICE_KINDS, Kind.GPU_USER)
    start = events.start_ns.copy()
    start[rows] += shift(start[rows])
    order = np.lexsort((-events.dur_ns, start))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    columns: dict[str, Any] = {
        each.name: None if (values := getattr(events, each.name)) is None else values[order] for each in fields(events)
    }
    tables = {name: _placed(getattr(trace, name), place) for name in _OF_EVENTS}
    return replace(trace, events=EventTable(**(columns | {"start_ns": start[order]})), **tables)


#: Tables with rows of the event table.
_OF_EVENTS = ("kernels", "sequences", "stacks", "hierarchies", "collectives")


def _placed(table: Any, place: Int64) -> Any:
    """Its events under their new numbers, ascending."""
    event = place[table.event].astype(table.event.dtype)
    order = np.argsort(event, kind="stable")
    columns = {
        each.name: None if (values := getattr(table, each.name)) is None else values[order] for each in fields(table)
    }
    return replace(table, **(columns | {"event": event[order]}))
