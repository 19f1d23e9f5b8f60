"""Clocks of host and device that disagree: work that begins before the call that launches it.

launch     [a]   [b]   [c]
device   aaa   bbb   ccc          all by 2 ms too early: shifted by the least that makes every launch come first
device   aa   bb  cc              and more so from launch to launch: the clocks drift, and the shift grows with time

Work without a launch call, or from before the recording, has nothing to be before. Where half of the work still begins
long after its launch then, by more than half of the recording, it is another mistake than that of a clock, and nothing
is moved: no conclusion rests on host and device together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tb_steptime.text import Finding, count, fraction, ns
from tb_steptime.trace.device_tables import DependencyTable
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import DEVICE_KINDS, EventTable, Int64, Kind, median

#: Both clocks are read in microseconds or better: one tick of each is no disagreement. None of 50 real traces has any.
TICK_NS = 2_000
#: Launches that have to say so: one may be joined with a call of the same number.
LEAST_LAUNCHES, LEAST_FRACTION = 2, 0.001
#: From the begin of a launch call to that of its work, at the least: 3 to 12 us in 43 real traces, of 2021 to 2026, and
#: 7 in the middle. Without it each wait for a launch would be too short by as much.
LAUNCH_NS = 7_000
#: Work that starts after a gap of this length on its device was waited for, so its launch tells how the clocks lie.
GAP_NS = 20_000
#: Ranges of time in which the shift is looked at separately, for a drift, and in how many of them it must show.
RANGES, LEAST_RANGES = 32, 4
#: Shifts that follow a drift leave less than this share of what the same shift for all leaves.
DRIFT_FRACTION = 0.25
#: Of the recording: between launch and work there is never that much for half of all launches.
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
    if number < min(max(LEAST_LAUNCHES, LEAST_FRACTION * len(early)), len(early)):
        return trace
    shift = _least_shift(trace, begins, early)
    by = shift.at(begins)
    values = {"count": count(number), "share": fraction(number / len(early)), "shift": ns(int(by.max()) + LAUNCH_NS)}
    left = median(by - early)
    if left > MOST_FRACTION * _length(trace):
        said = Finding("clocks_beyond_repair", "said", ("launches",), "none", number, number / len(early), values)
        return replace(trace, repaired=(*trace.repaired, said))
    id = "clocks_drift" if shift.slope else "clocks_shifted"
    found = Finding(id, "repaired", ("launches", "steps"), "medium", number, number / len(early), values)
    moved = with_device_later(trace, lambda instants: shift.at(instants) + LAUNCH_NS)
    return replace(moved, repaired=(*trace.repaired, found), memo={})


def _length(trace: Trace) -> int:
    """Of the device's part of the recording, or of the host's, whichever is longer."""
    events, rows = trace.events, trace.events.rows(*DEVICE_KINDS)
    on_device = int(events.ends(rows).max() - events.start_ns[rows].min())
    calls = events.rows(Kind.RUNTIME, Kind.DRIVER)
    return max(on_device, int(events.ends(calls).max() - events.start_ns[calls].min()))


class _Shift(NamedTuple):
    """ns by which work moves that begins at an instant: offset_ns, and slope more with each ns."""

    slope: float
    offset_ns: float

    def at(self, instants: Int64) -> Int64:
        shift: Int64 = np.maximum(np.rint(self.slope * instants + self.offset_ns), 0).astype(np.int64)
        return shift


def _least_shift(trace: Trace, begins: Int64, early: Int64) -> _Shift:
    """By when work begins how far it is early: the same for all, or a line along which that grows or shrinks. Each
    launch says only how far at least, since its work may have waited for other work as well."""
    same = _Shift(0.0, float(early.max()))
    waited = np.isin(begins, _after_gaps(trace))
    order = np.flatnonzero(waited)[np.argsort(begins[waited], kind="stable")]
    ranges = [some for some in np.array_split(order, RANGES) if len(some)]
    if len(ranges) < LEAST_RANGES:
        return same
    most = np.array([some[int(early[some].argmax())] for some in ranges])
    corners = _upper_hull(begins, early)
    lines = [_through(begins, early, *pair) for pair in pairwise(corners)]
    left = {line: median(line.at(begins[most]) - early[most]) for line in (same, *lines)}
    drift = min(left, key=lambda line: left[line])
    return drift if left[same] > GAP_NS and left[drift] < DRIFT_FRACTION * left[same] else same


def _through(at: Int64, by: Int64, left: int, right: int) -> _Shift:
    slope = float(by[right] - by[left]) / float(at[right] - at[left])
    return _Shift(slope, float(by[left]) - slope * float(at[left]))


def _after_gaps(trace: Trace) -> Int64:
    """When work begins before which its device does nothing for a while."""
    events, rows = trace.events, trace.events.rows(*DEVICE_KINDS)
    found = []
    for device in np.unique(events.device[rows]).tolist():
        mine = rows[events.device[rows] == device]
        start, reach = events.start_ns[mine], np.maximum.accumulate(events.ends(mine))
        found.append(start[1:][start[1:] - reach[:-1] >= GAP_NS])
    return np.concatenate(found)


def _upper_hull(at: Int64, by: Int64) -> list[int]:
    """Places of the corners of the least concave line above all points, from left to right."""
    corners: list[int] = []
    for place in np.lexsort((-by, at)).tolist():
        while len(corners) > 1 and _is_below(at, by, corners[-2], corners[-1], place):
            corners.pop()
        if not corners or at[place] > at[corners[-1]]:
            corners.append(place)
    return corners


def _is_below(at: Int64, by: Int64, left: int, middle: int, right: int) -> bool:
    """Whether the middle one lies on or below the line from the left to the right one."""
    rise, run = int(by[right]) - int(by[left]), int(at[right]) - int(at[left])
    return (int(by[middle]) - int(by[left])) * run <= rise * (int(at[middle]) - int(at[left]))


def with_device_later(trace: Trace, shift: Callable[[Int64], Int64]) -> Trace:
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
    tables: dict[str, Any] = {name: _placed(getattr(trace, name), place) for name in TABLES_OF_EVENTS}
    tables["dependencies"] = _placed_edges(trace.dependencies, place)
    return replace(trace, events=EventTable(**(columns | {"start_ns": start[order]})), **tables)


def _placed_edges(edges: DependencyTable, place: Int64) -> DependencyTable:
    before, after = (place[rows].astype(rows.dtype) for rows in (edges.before, edges.after))
    order = np.lexsort((before, after))
    return DependencyTable(before[order], after[order])


#: Tables with a row of the event table in each of their rows.
TABLES_OF_EVENTS = ("kernels", "sequences", "stacks", "hierarchies", "collectives", "graph_nodes", "annotations")


def _placed(table: Any, place: Int64) -> Any:
    """Its events under their new numbers, ascending."""
    event = place[table.event].astype(table.event.dtype)
    order = np.argsort(event, kind="stable")
    columns = {
        each.name: None if (values := getattr(table, each.name)) is None else values[order] for each in fields(table)
    }
    return replace(table, **(columns | {"event": event[order]}))
