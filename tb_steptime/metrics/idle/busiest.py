"""What a Python frame spends most of a range in: the busiest of its calls by name, then the busiest call inside that,
and so on.

range           [                                        ]
frame      |----------- data.py(41): preprocess ------------------|
             |--_one--|  |crop|  |-----_one-----|    |-- save --|
              |-norm-|               |-norm-|
ns               nnnnn                nnnnnn                        -> norm: its two calls, cut to the range
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.trace.frames import is_source, short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.table import Int64, Kind, is_in

#: Kinds of calls that a frame may make; its own marks and ranges of the user are not calls.
_CALLED = (Kind.PYTHON, Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)


class Busiest(NamedTuple):
    """The calls of one name in which most of a frame's time within a range is spent. ns: their time within the range
    together; never more than the frame's own."""

    name: str
    ns: int


def busiest_of(trace: Trace, frames: Int64, start: int, end: int) -> Busiest | None:
    """Returns the busiest call in successive frames of one thread (rows of the event table) together, between two
    instants, in ns; None if no single name takes most of the time. Each call on the way takes most of the one around
    it; the innermost one that a user knows is returned."""
    found, rows = None, frames
    whole_ns = int(_within(trace, rows, start, end).sum())
    calls = _calls(trace, frames, end)
    while len(inner := _busiest(trace, _called(trace, calls, rows), start, end)):
        ns, name = int(_within(trace, inner, start, end).sum()), trace.name_of(inner[0])
        if 2 * ns <= whole_ns or (found is not None and not is_source(name)):
            break
        found, rows, whole_ns = Busiest(short_frame(name), ns), inner, ns
    return found


def _within(trace: Trace, rows: Int64, start: int, end: int) -> Int64:
    """Returns how long each row lasts between the two instants; 0 or less if it is outside."""
    within: Int64 = np.minimum(trace.events.ends(rows), end) - np.maximum(trace.events.start_ns[rows], start)
    return within


def _busiest(trace: Trace, rows: Int64, start: int, end: int) -> Int64:
    rows = rows[_within(trace, rows, start, end) > 0]
    names, place = np.unique(trace.events.name[rows], return_inverse=True)
    if not len(names):
        return rows
    busiest: Int64 = rows[place == np.bincount(place, _within(trace, rows, start, end)).argmax()]
    return busiest


def _calls(trace: Trace, frames: Int64, end: int) -> Int64:
    """Returns the rows of all calls on the frames' thread from the first frame to an instant, in time order."""
    events, first = trace.events, int(frames[0]) + 1
    some = slice(first, int(np.searchsorted(events.start_ns, end)))
    calls: Int64 = np.flatnonzero((events.thread[some] == events.thread[first - 1]) & is_in(events.kind[some], _CALLED))
    calls += first
    return calls


def _called(trace: Trace, calls: Int64, frames: Int64) -> Int64:
    """Returns the calls that these frames, successive ones of one thread, make directly, in time order."""
    events = trace.events
    rows = calls[np.searchsorted(calls, frames[0], side="right") :]
    around = frames[np.searchsorted(frames, rows) - 1]
    return top_level(trace, rows[(events.ends(rows) <= events.ends(around)) & ~is_in(rows, frames)])
