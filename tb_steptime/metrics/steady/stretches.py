"""The time of host threads as stretches: each belongs to the innermost op, range or call that is open.

thread    [ aten::linear                      ]
            [ aten::addmm            ]
                 [ launch ]
stretch   l a    c        a           l            the time of a thread is the sum of its stretches
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import nesting
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in

#: Types of the columns of `Stretches`.
_TYPES = (np.int32, np.int64, np.int64, np.int32, np.int32, np.int32)
#: Kinds of host events with a name. Python frames are left out: there are ten of them for each op.
_HOST_KINDS = (Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER)


class HostEvents(msgspec.Struct, frozen=True, eq=False):
    """Events of host threads with a positive duration, by (thread, start).

    row      int32, row of the event table
    parent   int32, place here of the event that encloses it most closely on its thread; -1 for none
    depth    int32, how many enclose it
    """

    row: Int32
    parent: Int32
    depth: Int32

    def __len__(self) -> int:
        return len(self.row)


class Stretches(msgspec.Struct, frozen=True, eq=False):
    """Adjacent stretches of each host thread, by (thread, start), from its first event to the end of its last one.

    thread           int32, row of `Trace.threads`
    start_ns, end_ns int64; none is empty
    inside           int32, place in `HostEvents` of the innermost open event; -1 for none
    before, after    int32, place in `HostEvents` of the event directly inside it that ended or begins there; -1 where
                     the stretch is the first or the last one of its event
    """

    thread: Int32
    start_ns: Int64
    end_ns: Int64
    inside: Int32
    before: Int32
    after: Int32

    def __len__(self) -> int:
        return len(self.thread)

    def where(self, kept: Bool) -> Stretches:
        """Only the chosen rows, in their order."""
        if kept.all():
            return self
        rows = np.flatnonzero(kept)
        return Stretches(*(column.take(rows) for column in msgspec.structs.astuple(self)))


@shared
def host_events(trace: Trace) -> HostEvents:
    """Returns the events of all host threads."""
    rows = trace.events.rows(*_HOST_KINDS)
    rows = rows[trace.events.dur_ns[rows] > 0]
    thread = trace.events.thread[rows]
    row, enclosing, depth, first = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.int32)], 0
    for each in distinct_in(thread).tolist():
        mine = rows[thread == each]
        nested = nesting(trace.events.start_ns[mine], trace.events.ends(mine))
        row.append(mine)
        depth.append(nested.depth)
        enclosing.append(np.where(nested.parent >= 0, nested.parent + first, -1).astype(np.int32))
        first += len(mine)
    return HostEvents(np.concatenate(row).astype(np.int32), np.concatenate(enclosing), np.concatenate(depth))


def find_stretches(trace: Trace) -> Stretches:
    """Divide the time of each thread into stretches."""
    host = host_events(trace)
    thread, start = trace.events.thread[host.row].astype(np.int32), trace.events.start_ns[host.row]
    if found := one_pass("stretches", _TYPES, start, trace.events.ends(host.row), thread, host.parent, for_each=2):
        return Stretches(*found)
    edges = np.append(np.flatnonzero(np.diff(thread, prepend=-1)), len(thread))
    end = _ends_inside(trace, host)
    pieces = [_stretches_of(int(thread[first]), host, start, end, first, past) for first, past in _pairs(edges)]
    return Stretches(*(_joined(pieces, name, of) for name, of in zip(Stretches.__struct_fields__, _TYPES, strict=True)))


def _pairs(edges: Int64) -> list[tuple[int, int]]:
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _joined(pieces: list[Stretches], name: str, of: type) -> Any:
    return np.concatenate([np.empty(0, of), *(getattr(piece, name) for piece in pieces)])


def _ends_inside(trace: Trace, host: HostEvents) -> Int64:
    """Returns the end of each event, limited to the end of its enclosing event."""
    end = trace.events.ends(host.row)
    for depth in range(1, int(host.depth.max(initial=0)) + 1):
        here = np.flatnonzero(host.depth == depth)
        end[here] = np.minimum(end[here], end[host.parent[here]])
    return end


def _stretches_of(thread: int, host: HostEvents, start: Int64, end: Int64, first: int, past: int) -> Stretches:
    """Returns the stretches of the thread with events [first, past). At one instant inner events end first, and after
    all ends outer ones begin first."""
    place = np.arange(first, past, dtype=np.int32)
    ends = place[::-1][np.argsort(end[first:past][::-1], kind="stable")]  # at equal ends inner ones first
    at = np.concatenate((end[ends], start[place]))
    order = np.argsort(at, kind="stable")
    who, begins = np.concatenate((ends, place))[order], np.repeat([False, True], len(place))[order]
    at = at[order]
    inside = np.where(begins, who, host.parent[who])[:-1]
    before = np.where(begins, -1, who)[:-1]
    after = np.where(begins, who, -1)[1:]
    some = at[1:] > at[:-1]
    columns = (inside[some], before[some], after[some])
    inside, before, after = (column.astype(np.int32) for column in columns)
    return Stretches(np.full(len(inside), thread, np.int32), at[:-1][some], at[1:][some], inside, before, after)
