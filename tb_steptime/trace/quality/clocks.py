"""Finds and corrects clocks of host and device that disagree: work that begins before the call that launches it, or
that ends after the call that waits for it.

launch     [a]   [b]   [c]
device   aaa   bbb   ccc          all by 2 ms too early: shifted by the least that makes every launch come first
device   aa   bb  cc              and more so from launch to launch: the clocks drift, and the shift grows with time

A launch gives the least distance by which work has to move. A call that waits for work gives the greatest, since it
returns after that work:

call       [launch]     [synchronize         ]
device        |<- least ->kkkkkkkkkkk<- most ->|

The least is close to the truth if a launch reaches an idle device. If none does, because all work waits behind other
work, the greatest is, if a call really waited. If neither holds, the finding says that the shift is only a bound.

Work that is too late shows itself only by such calls, which then return before it ends. It is moved earlier if all
launches leave room for that:

call       [launch]     [synchronize     ]
device         |<- room ->kkkkkkkkkkkkkkkkkkkk|     30 us too late

Work without a launch call, or from before the recording, has no launch to follow. If even work that starts on an idle
device then begins long after its launch, by more than half of the recording, the fault is not one of clocks and nothing
is moved: no conclusion may combine host and device.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.text import Finding, Trust, count, fraction, ns
from tb_steptime.trace.model import DependencyTable, Trace, find_launches, rows_named
from tb_steptime.trace.ops import SYNC_CALL, SYNC_DEVICE_CALL
from tb_steptime.trace.table import (
    CALL_KINDS,
    DEVICE_KINDS,
    Bool,
    EventTable,
    Int64,
    Kind,
    distinct,
    distinct_in,
    is_in,
    median,
    values_at,
)

#: Tolerance: both clocks are read in microseconds or better, so one tick of each is no disagreement. None of 50 real
#: traces has any disagreement.
TICK_NS = 2_000
#: Minimum number and share of launches that show it: a single one may be joined with an unrelated call of the same
#: number.
LEAST_LAUNCHES, LEAST_FRACTION = 2, 0.001
#: Least time from the start of a launch call to that of its work: 3 to 12 us in 43 real traces of 2021 to 2026, 7 in
#: the median. Without it each wait for a launch would be too short by this much.
LAUNCH_NS = 7_000
#: Time from the end of work to the return of a call that waits for it: 3 to 9 us in the 27 real traces in which a call
#: waits for the last work, 7 in the median.
RETURN_NS = 7_000
#: A call of at least this length really waited. One that returns at once does not show when the work ended.
WAIT_NS = 20_000
#: Work that starts after a gap of this length on its device did not wait for other work, so its launch shows the offset
#: of the clocks.
GAP_NS = 20_000
#: Number of time ranges in which the shift is examined separately to find a drift, and in how many of them it must
#: show.
RANGES, LEAST_RANGES = 32, 4
#: Maximum drift: no clock gains or loses so much, and a steeper line would only connect waits of different lengths.
MOST_DRIFT = 0.2
#: A drift is accepted if shifts along it leave less than this share of the error that one shift for all leaves.
DRIFT_FRACTION = 0.25
#: Median error that one shift for all leaves without any drift, since launches take a few us more or less.
DRIFT_NS = 5_000
#: Share of the recording's length: the delay between launch and work is never as long for half of all launches.
MOST_FRACTION = 0.5


def on_one_clock(trace: Trace) -> Trace:
    """Returns the trace with the device's rows shifted so that every launch comes before its work, and every call that
    waits for work returns after it; it is unchanged if all do already."""
    launches = find_launches(trace)
    linked = launches.call >= 0
    if not linked.any():
        return trace
    events = trace.events
    begins = events.start_ns[launches.activity[linked]]
    early = events.start_ns[launches.call[linked]] - begins
    number = int((early > TICK_NS).sum())
    if number < min(max(LEAST_LAUNCHES, LEAST_FRACTION * len(early)), len(early)):
        return _sooner(trace, int(-early.max()))
    waited = is_in(begins, _after_gaps(trace))
    waits = _calls_that_wait(trace)
    shift = _least_shift(begins, early, waited, waits)
    shift_ns = shift.at(begins)
    values = {
        "count": count(number),
        "share": fraction(number / len(early)),
        "shift": ns(int(shift_ns.max()) + LAUNCH_NS),
    }
    left = median((shift_ns - early)[waited]) if waited.any() else 0.0
    if left > MOST_FRACTION * _length(trace):
        finding = Finding("clocks_beyond_repair", "said", ("launches",), "none", number, number / len(early), values)
        return replace(trace, repaired=(*trace.repaired, finding))
    add_ns, is_bound = _beyond_least(waits, shift, waited & (shift_ns - early <= GAP_NS))
    values["shift"] = ns(int(shift_ns.max()) + add_ns)
    id = "clocks_drift" if shift.slope else "clocks_bounded" if is_bound else "clocks_shifted"
    trust: Trust = "low" if is_bound else "medium"
    repair = Finding(id, "repaired", ("launches", "steps"), trust, number, number / len(early), values)
    moved = with_device_later(trace, lambda instants: shift.at(instants) + add_ns)
    return replace(moved, repaired=(*trace.repaired, repair), memo={})


def _sooner(trace: Trace, launch_ns: int) -> Trace:
    """Returns the trace with the device's rows moved earlier so that calls return after the work for which they wait;
    it is unchanged if all do already, or if work would then begin before its launch. launch_ns: the least time between
    the two."""
    room_ns = launch_ns - LAUNCH_NS
    if room_ns <= 0:
        return trace
    waits = _calls_that_wait(trace)
    late_ns = waits.work_ends - waits.returns
    number = int((late_ns > TICK_NS).sum())
    if not number or room_ns < int(late_ns.max()) - TICK_NS:
        return trace
    shift_ns = min(int(late_ns.max()) + RETURN_NS, room_ns)
    share = number / len(late_ns)
    values = {"count": count(number), "share": fraction(share), "shift": ns(shift_ns)}
    finding = Finding("clocks_late", "repaired", ("launches", "steps"), "medium", number, share, values)
    moved = with_device_later(trace, lambda instants: np.full(len(instants), -shift_ns, np.int64))
    return replace(moved, repaired=(*trace.repaired, finding), memo={})


def _beyond_least(waits: _Waits, shift: _Shift, tight: Bool) -> tuple[int, bool]:
    """Returns how much later work is than with the least shift, in ns, and whether that is only a bound. tight: for
    each launch, whether its work began at once on an idle device."""
    if tight.any():
        return LAUNCH_NS, False
    slack = waits.slack(shift)
    slack = slack[slack >= 0]
    return (max(LAUNCH_NS, int(slack.min()) - RETURN_NS), False) if len(slack) else (LAUNCH_NS, True)


class _Waits(msgspec.Struct, frozen=True, eq=False):
    """One row per call that waited for work. returns: when it returned; work_begins, work_ends: the times, by the
    device's clock, of the last work to end among that for which it waited; ns."""

    returns: Int64
    work_begins: Int64
    work_ends: Int64

    def slack(self, shift: _Shift) -> Int64:
        """Returns how long after its work each call returned. It is negative if that is impossible with this shift."""
        return self.returns - self.work_ends - shift.at(self.work_begins)


def _calls_that_wait(trace: Trace) -> _Waits:
    """Returns the calls that wait. A call for the device waits for everything that any thread launched before it. A
    call for a stream or an event is taken to wait for the last launch of its thread; that may be on another stream, so
    a few of these return before it."""
    events, launches = trace.events, find_launches(trace)
    linked = launches.call >= 0
    call = launches.call[linked].astype(np.int64)
    work = launches.activity[linked].astype(np.int64)
    order = np.lexsort((events.ends(work), call))
    call, work = call[order], work[order]
    last = _last_to_end(events.ends(work))
    waits = rows_named(trace, CALL_KINDS, SYNC_CALL.match)
    waits = waits[events.dur_ns[waits] >= WAIT_NS]
    whole = is_in(waits, rows_named(trace, CALL_KINDS, SYNC_DEVICE_CALL.match))
    own, launched = [waits[whole]], [_before(call, work[last], waits[whole])]
    for thread in distinct_in(events.thread[waits[~whole]]).tolist():
        on_thread = events.thread[call] == thread
        own.append(waits[~whole & (events.thread[waits] == thread)])
        launched.append(_before(call[on_thread], work[on_thread], own[-1]))
    calls, works = np.concatenate(own), np.concatenate(launched)
    calls, works = calls[works >= 0], works[works >= 0]
    return _Waits(events.ends(calls), events.start_ns[works], events.ends(works))


def _last_to_end(ends: Int64) -> Int64:
    """Returns for each row the place of the row that ends last among it and those before it."""
    is_last = ends >= np.maximum.accumulate(ends)
    return np.maximum.accumulate(np.where(is_last, np.arange(len(ends)), 0))


def _before(call: Int64, work: Int64, waits: Int64) -> Int64:
    """Returns the work of the last of the calls before each of these rows, or -1 where there is none."""
    place = np.searchsorted(call, waits) - 1
    return values_at(work, place)


def _length(trace: Trace) -> int:
    """Returns the length of the device's part of the recording or of the host's, whichever is longer."""
    events, rows = trace.events, trace.events.rows(*DEVICE_KINDS)
    on_device = int(events.ends(rows).max() - events.start_ns[rows].min())
    calls = events.rows(*CALL_KINDS)
    return max(on_device, int(events.ends(calls).max() - events.start_ns[calls].min()))


class _Shift(msgspec.Struct, frozen=True):
    """The shift in ns for work that begins at an instant: offset_ns, plus slope for each ns of time, and never less
    than 0."""

    slope: float
    offset_ns: float

    def at(self, instants: Int64) -> Int64:
        return np.maximum(np.rint(self.slope * instants + self.offset_ns), 0).astype(np.int64)


def _least_shift(begins: Int64, early: Int64, waited: Bool, waits: _Waits) -> _Shift:
    """Returns the shift as a function of the time at which work begins: the same for all, or a line. Each launch gives
    only a lower bound, since its work may have waited for other work as well. A line is chosen only if it leaves less
    of such waiting, or fewer calls that return before the work for which they wait."""
    same = _Shift(0.0, float(early.max()))
    order = np.flatnonzero(waited)[np.argsort(begins[waited], kind="stable")]
    ranges = [part for part in np.array_split(order, RANGES) if len(part)]
    if len(ranges) < LEAST_RANGES:
        return same
    most = np.array([part[int(early[part].argmax())] for part in ranges])
    corners = _upper_hull(begins, early)
    lines = [_through(begins, early, *pair) for pair in pairwise(corners)]
    lines = [line for line in lines if abs(line.slope) <= MOST_DRIFT]
    left = {line: median(line.at(begins[most]) - early[most]) for line in (same, *lines)}
    wrong = {line: int((waits.slack(line) < -TICK_NS).sum()) for line in left}
    drift = min(left, key=lambda line: (wrong[line], left[line]))
    is_less = left[same] > DRIFT_NS and left[drift] < DRIFT_FRACTION * left[same]
    return drift if is_less or wrong[drift] < wrong[same] else same


def _through(at: Int64, by: Int64, left: int, right: int) -> _Shift:
    slope = float(by[right] - by[left]) / float(at[right] - at[left])
    return _Shift(slope, float(by[left]) - slope * float(at[left]))


def _after_gaps(trace: Trace) -> Int64:
    """Returns the start times of work before which its device was idle for a while."""
    events, rows = trace.events, trace.events.rows(*DEVICE_KINDS)
    starts = []
    for device in distinct(events.device[rows]).tolist():
        on_device = rows[events.device[rows] == device]
        start = events.start_ns[on_device]
        reach = np.maximum.accumulate(events.ends(on_device))
        starts.append(start[1:][start[1:] - reach[:-1] >= GAP_NS])
    return np.concatenate(starts)


def _upper_hull(at: Int64, by: Int64) -> list[int]:
    """Returns the corners of the upper convex hull of the points, from left to right."""
    corners: list[int] = []
    for place in np.lexsort((-by, at)).tolist():
        while len(corners) > 1 and _is_below(at, by, corners[-2], corners[-1], place):
            corners.pop()
        if not corners or at[place] > at[corners[-1]]:
            corners.append(place)
    return corners


def _is_below(at: Int64, by: Int64, left: int, middle: int, right: int) -> bool:
    """Returns whether the middle one lies on or below the line from the left to the right one."""
    rise, run = int(by[right]) - int(by[left]), int(at[right]) - int(at[left])
    return (int(by[middle]) - int(by[left])) * run <= rise * (int(at[middle]) - int(at[left]))


def with_device_later(trace: Trace, shift: Callable[[Int64], Int64]) -> Trace:
    """Returns the trace with the device's rows later by a shift, a function of times of its clock, or earlier by a
    negative one. All rows are sorted again."""
    events = trace.events
    rows = events.rows(*DEVICE_KINDS, Kind.GPU_USER)
    start, end = events.start_ns.copy(), events.end_ns
    start[rows] += shift(start[rows])
    end[rows] += shift(end[rows])
    dur = np.maximum(end - start, 0)
    order = np.lexsort((-dur, start))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    columns: dict[str, Any] = {
        name: None if values is None else values[order] for name, values in msgspec.structs.asdict(events).items()
    }
    tables: dict[str, Any] = {name: _placed(getattr(trace, name), place) for name in TABLES_OF_EVENTS}
    tables["dependencies"] = _placed_edges(trace.dependencies, place)
    moved = {"start_ns": start[order], "dur_ns": dur[order].astype(events.dur_ns.dtype)}
    return replace(trace, events=EventTable(**(columns | moved)), **tables)


def _placed_edges(edges: DependencyTable, place: Int64) -> DependencyTable:
    before, after = (place[rows].astype(rows.dtype) for rows in (edges.before, edges.after))
    order = np.lexsort((before, after))
    return DependencyTable(before[order], after[order])


#: Tables with a row of the event table in each of their rows.
TABLES_OF_EVENTS = ("kernels", "sequences", "stacks", "hierarchies", "collectives", "graph_nodes", "annotations")


def _placed(table: Any, place: Int64) -> Any:
    """Returns the table with its events renumbered, ascending."""
    event = place[table.event].astype(table.event.dtype)
    order = np.argsort(event, kind="stable")
    columns = {
        name: None if values is None else values[order] for name, values in msgspec.structs.asdict(table).items()
    }
    return replace(table, **(columns | {"event": event[order]}))
