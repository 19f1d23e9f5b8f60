"""Which event encloses which, for events of one thread that nest as calls do.

row   0 aaaaaaaaaaaa        depth 0            parent -1
row   1   bbbbb             depth 1            parent  0
row   2    cc               depth 2            parent  1
row   3         dd          depth 1            parent  0

A `Lane` is the events of one kind on one thread, such as its ops: measurements look up again and again which is open.

rows      3  aaaaaaaaaaaa        start, end   of each
          4    bbbbb             parents      -1, 0, 1, 0: places among these rows
          7      cc
          9           dd
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import numpy as np

from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import Int32, Int64, Kind, distinct_in, values_at


class Nesting(msgspec.Struct, frozen=True, eq=False):
    """For each row, depth is the number of rows that enclose it, and parent is the innermost of these, -1 for none."""

    depth: Int32
    parent: Int32


def parents(start_ns: Int64, end_ns: Int64) -> Int32:
    """Returns for each row the innermost one around it, -1 for none. Rows are sorted by (start, longer first)."""
    return nesting(start_ns, end_ns).parent


def nesting(start_ns: Int64, end_ns: Int64) -> Nesting:
    """Returns how rows nest that are sorted by (start, longer first)."""
    if computed := one_pass("nest", (np.int32, np.int32), start_ns, end_ns):
        return Nesting(*computed)
    depth = _depth(start_ns, end_ns)
    parent = np.full(len(depth), -1, np.int32)
    deepest = int(depth.max(initial=0))
    levels: Iterator[Int64] = (np.flatnonzero(depth == level) for level in range(deepest + 1))
    if deepest > _MANY_LEVELS:
        levels = iter(np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1]))
    above = next(levels)
    for level in levels:
        parent[level] = above[np.searchsorted(above, level) - 1]
        above = level
    return Nesting(depth, parent)


#: Maximum number of passes over all rows. With more levels, sorting takes less time, and more memory. Python stops at
#: 1000 calls.
_MANY_LEVELS = 500


def self_time_ns(start_ns: Int64, end_ns: Int64) -> Int64:
    """Returns each event's length minus the lengths of the events directly inside it; the sum is the time that any of
    them covers."""
    parent = parents(start_ns, end_ns)
    return less_children(end_ns - start_ns, parent)


def less_children(length: Int64, parent: Int32 | Int64) -> Int64:
    """Returns each row's length minus the lengths of its children."""
    inside = parent >= 0
    children = np.bincount(parent[inside], weights=length[inside], minlength=len(length))
    return length - np.rint(children).astype(np.int64)


def with_inner(values: Int64, parent: Int32 | Int64) -> Int64:
    """Returns each entry's value with those of all entries below it. Parents come before their children; -1 is none.

    >>> with_inner(np.array([1, 2, 4]), np.array([-1, 0, 1])).tolist()
    [7, 6, 4]
    """
    if in_c := one_pass("with_inner", (np.int64,), values, parent.astype(np.int32, copy=False)):
        return in_c[0]
    total, above = values.tolist(), parent.tolist()
    for place in range(len(total) - 1, -1, -1):
        if above[place] >= 0:
            total[above[place]] += total[place]
    return np.array(total, np.int64)


def depth_first(parent: Int64, order: Int64) -> list[int]:
    """Returns the entries in `order`, each before those below it and siblings as `order` has them. Entries whose parent
    is not in `order` are left out.

    >>> depth_first(np.array([-1, 0, -1, 0]), np.array([2, 3, 0, 1]))
    [2, 0, 3, 1]
    """
    inside: dict[int, list[int]] = {}
    for place in order.tolist():
        inside.setdefault(int(parent[place]), []).append(place)
    visited, waiting = list[int](), inside.get(-1, [])[::-1]
    while waiting:
        visited.append(waiting.pop())
        waiting += inside.get(visited[-1], [])[::-1]
    return visited


def self_times(trace: Trace, rows: Int64, left_out: Intervals | None = None) -> Int64:
    """Returns the self time of each of these rows of the event table: its length minus those of the rows directly
    inside it on its thread. left_out: when no time counts."""
    on, own = trace.events.thread[rows], np.empty(len(rows), np.int64)
    for thread in distinct_in(on).tolist():
        on_thread = np.flatnonzero(on == thread)
        start = trace.events.start_ns[rows[on_thread]]
        end = trace.events.ends(rows[on_thread])
        length = end - start if left_out is None else end - start - left_out.overlap_ns(start, end)
        own[on_thread] = less_children(length, parents(start, end))
    return own


def parent_places(trace: Trace, rows: Int32 | Int64) -> Int32:
    """Returns for each of these rows of the event table, ascending, the place among them of its innermost enclosing row
    on its thread, or -1 for none."""
    on, place = trace.events.thread[rows], np.full(len(rows), -1, np.int32)
    for thread in distinct_in(on).tolist():
        on_thread = np.flatnonzero(on == thread).astype(np.int32)
        start = trace.events.start_ns[rows[on_thread]]
        end = trace.events.ends(rows[on_thread])
        trace.let_go()
        parent = parents(start, end)
        place[on_thread] = np.where(parent >= 0, on_thread[parent], -1)
    return place


#: Number of rows whose depths are found at a time, to limit the memory for places, which numpy returns in 64 bits.
_AT_ONCE = 2**20


def _depth(start_ns: Int64, end_ns: Int64) -> Int32:
    """Returns how many rows are open when a row starts. An empty row is open for rows that start with it."""
    ends = _sorted_ends(start_ns, end_ns)
    depth = np.arange(len(start_ns), dtype=np.int32)
    for first in range(0, len(depth), _AT_ONCE):
        chunk = slice(first, first + _AT_ONCE)
        depth[chunk] -= np.searchsorted(ends, start_ns[chunk], side="right")
    return depth


def _sorted_ends(start_ns: Int64, end_ns: Int64) -> Int64:
    ends = start_ns + 1
    np.maximum(end_ns, ends, out=ends)
    ends.sort(kind="stable")  # nearly sorted already, and this sort profits from that
    return ends


#: A function that returns rows of the event table, ascending, and always the same ones for a given trace.
RowsOf = Callable[[Trace], Int64]


class Lane(msgspec.Struct, frozen=True, eq=False):
    """The events of a lane. rows: int32, rows of the event table, ascending; start, end: int64, of each row, in ns."""

    rows: Int32
    start: Int64
    end: Int64


def op_rows(trace: Trace) -> Int64:
    return trace.events.rows(Kind.CPU_OP)


@shared
def lane(trace: Trace, rows_of: RowsOf, thread: int) -> Lane:
    rows = rows_of(trace)
    return lane_of(trace, rows[trace.events.thread.take(rows) == thread])


def lane_of(trace: Trace, rows: Int64) -> Lane:
    """Returns the lane of these rows, which must be of one thread and ascending."""
    return Lane(rows.astype(np.int32), trace.events.start_ns.take(rows), trace.events.ends(rows))


#: Rows of the event table, ascending; or a function that returns them, if several measurements need them: then the rows
#: of each thread and their nesting are computed once per trace.
Around = Int64 | RowsOf


def innermost(trace: Trace, around: Around, inside: Int64) -> Int64:
    """Returns for each row of `inside` the innermost row of `around` open on its thread when it starts, or -1 for none.

    All are rows of the event table; -1 in `inside` stays -1.
    """
    result = np.full(len(inside), -1, np.int64)
    (has_row,) = (inside >= 0).nonzero()
    rows = inside[has_row]
    result[has_row] = innermost_at(trace, around, trace.events.thread.take(rows), trace.events.start_ns.take(rows))
    return result


def innermost_at(trace: Trace, around: Around, thread: Int32, instants: Int64) -> Int64:
    """Returns for each instant on a thread the innermost row of `around` that is open there then, or -1 for none."""
    result = np.full(len(instants), -1, np.int64)
    rows = np.empty(0, np.int64) if callable(around) else around
    on = trace.events.thread.take(rows)
    for number in distinct_in(thread).tolist():
        (on_thread,) = (thread == number).nonzero()
        if callable(around):
            thread_lane = lane(trace, around, number)
            place = _last_begun(thread_lane.start, instants[on_thread])
            _climb(place, thread_lane.end, instants[on_thread], partial(_lane_parents, trace, around, number))
        else:
            thread_lane = lane_of(trace, rows[on == number])
            trace.let_go()
            place = open_at(thread_lane.start, thread_lane.end, instants[on_thread])
        (inside,) = (place >= 0).nonzero()
        result[on_thread[inside]] = thread_lane.rows.take(place[inside])
    return result


@shared
def _lane_parents(trace: Trace, rows_of: RowsOf, thread: int) -> Int32:
    thread_lane = lane(trace, rows_of, thread)
    return parents(thread_lane.start, thread_lane.end)


#: Instants count as few if there are at least this many intervals per instant.
_FEW = 8


def open_at(start: Int64, end: Int64, instants: Int64) -> Int64:
    """Returns the innermost of some intervals, by (start, longer first), that is open at each instant, or -1 for
    none."""
    if len(instants) * _FEW > len(start):
        return _open_at(start, end, instants)
    near = _near(start, end, instants)
    place = _open_at(start[near], end[near], instants)
    return values_at(near, place)


def _open_at(start: Int64, end: Int64, instants: Int64) -> Int64:
    place = _last_begun(start, instants)
    _climb(place, end, instants, lambda: parents(start, end))
    return place


def _last_begun(start: Int64, instants: Int64) -> Int64:
    """Returns the place of the last interval begun at each instant, the innermost of those that begin then, or -1 if
    none has begun."""
    return np.searchsorted(start, instants, side="right") - 1


def _climb(place: Int64, end: Int64, instants: Int64, parent_of: Callable[[], Int32]) -> None:
    """Moves each place, in place, up to the innermost enclosing interval that is still open at its instant."""
    if not len(end):
        return
    over = np.flatnonzero((place >= 0) & (end[place] <= instants))
    parent = parent_of() if len(over) else place
    while len(over):
        place[over] = parent[place[over]]
        over = over[place[over] >= 0]
        over = over[end[place[over]] <= instants[over]]


def _near(start: Int64, end: Int64, instants: Int64) -> Int64:
    """Returns the rows of the intervals that are open at some instant. Only few of a million frames enclose the few
    calls, and computing the nesting of all would be costly."""
    instants = np.sort(instants)
    return np.flatnonzero(np.searchsorted(instants, start) < np.searchsorted(instants, end))


def top_level(trace: Trace, rows: Int64) -> Int64:
    """Returns those of these ascending event rows that begin within no other of them on any thread."""
    if not len(rows):
        return rows
    ends = np.maximum.accumulate(trace.events.ends(rows))
    return rows[~np.append(False, trace.events.start_ns[rows[1:]] < ends[:-1])]


def outermost(trace: Trace, around: Around, rows: Int64) -> Int64:
    """Returns for each of `rows`, which are among `around`, the outermost row of `around` that encloses it."""
    events = trace.events
    result = np.full(len(rows), -1, np.int64)
    has_row = np.flatnonzero(rows >= 0)
    at = events.thread.take(rows[has_row])
    every = np.empty(0, np.int64) if callable(around) else around
    on = events.thread.take(every)
    for thread in distinct_in(at).tolist():
        on_thread = has_row[at == thread]
        if callable(around):
            thread_lane = lane(trace, around, thread)
            parent = _lane_parents(trace, around, thread)
            result[on_thread] = thread_lane.rows.take(
                _top(parent, np.searchsorted(thread_lane.rows, rows[on_thread].astype(np.int32)))
            )
            continue
        candidates = every[on == thread]
        if len(on_thread) * _FEW <= len(candidates):
            nearby = candidates[
                _near(events.start_ns[candidates], events.ends(candidates), events.start_ns[rows[on_thread]])
            ]
            candidates = distinct_in(np.concatenate((nearby, rows[on_thread])))  # an empty one is never open
        root = roots(parents(events.start_ns[candidates], events.ends(candidates)))
        result[on_thread] = candidates[root[np.searchsorted(candidates, rows[on_thread])]]
    return result


def _top(parent: Int32, place: Int64) -> Int64:
    """Moves each place, in place, up to the topmost one that its parents lead to, and returns the places."""
    inside = np.flatnonzero(parent[place] >= 0)
    while len(inside):
        place[inside] = parent[place[inside]]
        inside = inside[parent[place[inside]] >= 0]
    return place


def roots(parent: Int32) -> Int32:
    """Returns for each entry the place of the outermost one above it, or its own."""
    return followed(np.where(parent < 0, np.arange(len(parent), dtype=np.int32), parent))


def followed(owner: Int32) -> Int32:
    """Returns for each entry the last place that its owners lead to, doubling the distance in each round. An entry that
    has no other owner is its own."""
    while not np.array_equal(further := owner[owner], owner):
        owner = further
    return owner
