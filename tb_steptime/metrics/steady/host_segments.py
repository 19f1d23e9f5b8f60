"""The time of host threads as segments: each belongs to the innermost op, range or call that is open. `waits_ns` is the
part of it in which the thread waits, whose length something else determines.

thread    [ aten::linear                      ]
            [ aten::addmm            ]
                 [ launch ]
segment   l a    c        a           l            the time of a thread is the sum of its segments
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity, has_device_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.launches.queue import blocked_intervals
from tb_steptime.metrics.phases.threads import autograd_threads, backward_passes, training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named, shared
from tb_steptime.trace.nesting import nesting
from tb_steptime.trace.ops import BACKEND
from tb_steptime.trace.table import ALL_ROWS, CALL_KINDS, Bool, Columns, Int32, Int64, Kind, distinct_in, is_in

#: Types of the columns of `HostSegments`.
_TYPES = (np.int32, np.int64, np.int64, np.int32, np.int32, np.int32)
#: Kinds of host events with a name. Python frames are left out, because there are ten of them for each op.
_HOST_KINDS = (Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER)


class HostEvents(Columns, frozen=True, eq=False):
    """Events of host threads with a positive duration, by (thread, start).

    row      int32, row of the event table
    parent   int32, place here of the event that encloses it most closely on its thread; -1 for none
    depth    int32, number of events that enclose it
    """

    row: Int32
    parent: Int32
    depth: Int32


class HostSegments(Columns, frozen=True, eq=False):
    """Adjacent segments of each host thread, by (thread, start), from its first event to the end of its last one.

    thread            int32, row of `Trace.threads`
    start_ns, end_ns  int64; no segment is empty
    inside            int32, place in `HostEvents` of the innermost open event; -1 for none
    before, after     int32, place in `HostEvents` of the event directly inside it that ended or begins there; -1 if the
                      segment is the first or the last one of its event
    """

    thread: Int32
    start_ns: Int64
    end_ns: Int64
    inside: Int32
    before: Int32
    after: Int32


@shared
def host_events(trace: Trace) -> HostEvents:
    """Returns the events of all host threads."""
    rows = trace.events.rows(*_HOST_KINDS)
    rows = rows[trace.events.dur_ns[rows] > 0]
    thread = trace.events.thread[rows]
    row = [np.empty(0, np.int64)]
    enclosing = [np.empty(0, np.int32)]
    depth = [np.empty(0, np.int32)]
    first = 0
    for each in distinct_in(thread).tolist():
        thread_rows = rows[thread == each]
        nested = nesting(trace.events.start_ns[thread_rows], trace.events.ends(thread_rows))
        row.append(thread_rows)
        depth.append(nested.depth)
        enclosing.append(np.where(nested.parent >= 0, nested.parent + first, -1).astype(np.int32))
        first += len(thread_rows)
    return HostEvents(np.concatenate(row).astype(np.int32), np.concatenate(enclosing), np.concatenate(depth))


def host_places(trace: Trace, rows: Int32 | Int64) -> Int64:
    """Returns where these rows of the event table are in `host_events`; -1 for none, and for a row of -1."""
    host = host_events(trace)
    places = np.full(len(trace.events) + 1, -1, np.int32)  # the last entry is that of a row of -1
    places[host.row] = np.arange(len(host), dtype=np.int32)
    return places.take(rows).astype(np.int64)


def host_segments(trace: Trace) -> HostSegments:
    """Divides the time of each thread into segments."""
    host = host_events(trace)
    thread = trace.events.thread[host.row].astype(np.int32)
    start = trace.events.start_ns[host.row]
    if columns := one_pass("stretches", _TYPES, start, trace.events.ends(host.row), thread, host.parent, for_each=2):
        return HostSegments(*columns)
    edges = np.append(np.flatnonzero(np.diff(thread, prepend=-1)), len(thread))
    end = _ends_inside(trace, host)
    of_threads = (
        _segments_of(int(thread[first]), host, start, end, first, end_row)
        for first, end_row in pairwise(edges.tolist())
    )
    return HostSegments.empty().followed_by(*of_threads)


def _ends_inside(trace: Trace, host: HostEvents) -> Int64:
    """Returns the end of each event, limited to the end of its enclosing event."""
    end = trace.events.ends(host.row)
    for depth in range(1, int(host.depth.max(initial=0)) + 1):
        at_depth = np.flatnonzero(host.depth == depth)
        end[at_depth] = np.minimum(end[at_depth], end[host.parent[at_depth]])
    return end


def _segments_of(thread: int, host: HostEvents, start: Int64, end: Int64, first: int, end_row: int) -> HostSegments:
    """Returns the segments of the thread with events [first, end_row). At any instant inner events end first. After all
    ends, outer events begin first."""
    place = np.arange(first, end_row, dtype=np.int32)
    ends = place[::-1][np.argsort(end[first:end_row][::-1], kind="stable")]  # at equal ends inner ones first
    at = np.concatenate((end[ends], start[place]))
    order = np.argsort(at, kind="stable")
    event = np.concatenate((ends, place))[order]
    begins = np.repeat([False, True], len(place))[order]
    at = at[order]
    inside = np.where(begins, event, host.parent[event])[:-1]
    before = np.where(begins, -1, event)[:-1]
    after = np.where(begins, event, -1)[1:]
    not_empty = at[1:] > at[:-1]
    columns = (inside[not_empty], before[not_empty], after[not_empty])
    inside, before, after = (column.astype(np.int32) for column in columns)
    return HostSegments(
        np.full(len(inside), thread, np.int32), at[:-1][not_empty], at[1:][not_empty], inside, before, after
    )


#: Marks of backends whose exchanges run on the host, and ops that wait for exchanges.
_ON_HOST = expression(r"(?:gloo|mpi):")
_EXCHANGES = expression(rf"{BACKEND}:|_?c10d|record_param_comms")
#: Ops that read a value from the device. For a CPU tensor this takes less than a microsecond.
_READS = expression(r"aten::(_local_scalar_dense|item|nonzero)$")


def waits_ns(trace: Trace, host: HostEvents, segments: HostSegments) -> Int64:
    """Returns how long the thread waits in each segment, in ns: for the device, for room in the queue, for a batch, for
    other ranks, or for the thread of the autograd engine.

    A call with the name of a wait does nothing else. A call that frees memory waits while a device works, and otherwise
    sets something up. If the device is not recorded, ops that read from it may wait.
    """
    start, end, inside = segments.start_ns, segments.end_ns, segments.inside
    calls = blocking_calls(trace)
    waits = _is_inside(host, inside, is_in(host.row, calls.of(*WAITING)))
    frees = _is_inside(host, inside, is_in(host.row, calls.of(Blocks.ALLOCATOR)))
    if not has_device_activity(trace):
        waits |= _is_inside(host, inside, _named(trace, host, _READS))
    waiting: Int64 = np.where(waits, end - start, 0)

    def add(intervals: Intervals, may: Bool | slice = ALL_ROWS) -> None:
        rows = np.flatnonzero(may) if isinstance(may, np.ndarray) else may
        if len(intervals):
            waiting[rows] = np.maximum(waiting[rows], intervals.overlap_ns(start[rows], end[rows]))

    for device in devices_with_activity(trace):
        add(busy_intervals(trace, device), frees)
    if devices_with_activity(trace) and len(full := blocked_intervals(trace)):
        add(full, _is_inside(host, inside, is_in(trace.events.kind.take(host.row), CALL_KINDS)))
    add(loader_intervals(trace))
    exchanging = rows_named(trace, (Kind.CPU_OP, Kind.USER), _ON_HOST.match)
    if len(exchanging):
        on_host = Intervals.of_events(trace.events, exchanging)
        is_range = trace.events.kind.take(host.row) == Kind.USER
        may = (inside < 0) | _is_inside(host, inside, _named(trace, host, _EXCHANGES) | is_range)
        add(on_host, may)
    if autograd_threads(trace):
        add(backward_passes(trace), is_in(segments.thread, training_threads(trace)))
    return waiting


def _is_inside(host: HostEvents, inside: Int32, flags: Bool) -> Bool:
    return (inside >= 0) & flags.take(inside) if len(host) else np.zeros(len(inside), bool)


def _named(trace: Trace, host: HostEvents, names: re.Pattern[str]) -> Bool:
    return are_named(trace, host.row, names.match)
