"""When the host runs an op or a named range; step marks and the loader's are not work of their own."""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_names
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import step_marks
from tb_steptime.trace.table import Bool, Int64, Kind


def host_ranges(trace: Trace) -> Intervals:
    """When the host runs an op or a named range."""
    return union_where(trace, is_host_range(trace))


def is_host_range(trace: Trace) -> Bool:
    """Which events are the host's ops and named ranges; step marks and the loader's are not work of their own."""
    events = trace.events
    marks = loader_names(trace).copy()
    marks[events.name[step_marks(trace)]] = True
    mask: Bool = ((events.kind == Kind.CPU_OP) | (events.kind == Kind.USER)) & ~marks[events.name]
    return mask


#: Events joined at once: most of a trace is host ops, and their rows, starts and ends would be 60 MB of a large one.
JOINED_AT_ONCE = 1 << 18


def union_where(trace: Trace, mask: Bool) -> Intervals:
    pieces = [Intervals.empty()]
    for first in range(0, len(mask), JOINED_AT_ONCE):
        pieces.append(union_of(trace, first + np.flatnonzero(mask[first : first + JOINED_AT_ONCE])))
    return Intervals.union(
        np.concatenate([piece.start for piece in pieces]), np.concatenate([piece.end for piece in pieces])
    )


def union_of(trace: Trace, rows: Int64) -> Intervals:
    return Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))
