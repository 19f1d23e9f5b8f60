"""What a Python frame spends the larger part of a range in: of what it calls directly the one name with most time.

range           [                                        ]
frame      |----------- data.py(41): preprocess ------------------|
             |-normalize-|  |crop|  |---normalize---| |-- save --|
ns               nnnnnnnn            nnnnnnnnnnnnnnn                -> normalize: its two calls, cut to the range
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64, Kind

#: What a frame may call; its own marks and ranges of the user are no calls.
_CALLED = (Kind.PYTHON, Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)


class Busiest(NamedTuple):
    """ns: within the range, all of its calls together; never more than the frame's own time there."""

    name: str
    ns: int


def busiest_call(trace: Trace, frame: int, start: int, end: int) -> Busiest | None:
    """In this row of the event table, between these instants, ns; None where no one name takes the larger part."""
    events = trace.events
    start, end = max(start, int(events.start_ns[frame])), min(end, int(events.ends(np.array([frame]))[0]))
    rows = _called(trace, frame, end)
    within = np.minimum(events.ends(rows), end) - np.maximum(events.start_ns[rows], start)
    names, place = np.unique(events.name[rows[within > 0]], return_inverse=True)
    if not len(names):
        return None
    ns = np.zeros(len(names), np.int64)
    np.add.at(ns, place, within[within > 0])
    most = int(ns.argmax())
    return Busiest(short_frame(trace.strings[int(names[most])]), int(ns[most])) if 2 * ns[most] > end - start else None


def _called(trace: Trace, frame: int, end: int) -> Int64:
    """Rows of what the frame calls directly before an instant, in time order: they do not overlap."""
    events = trace.events
    rows = np.arange(frame + 1, int(np.searchsorted(events.start_ns, end)))
    inside = (events.thread[rows] == events.thread[frame]) & np.isin(events.kind[rows], _CALLED)
    rows = rows[inside & (events.ends(rows) <= events.start_ns[frame] + events.dur_ns[frame])]
    ends = np.maximum.accumulate(events.ends(rows))
    direct = np.ones(len(rows), bool)
    direct[1:] = events.start_ns[rows[1:]] >= ends[:-1]
    called: Int64 = rows[direct]
    return called
