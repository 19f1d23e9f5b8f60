"""Calls that hold the launching thread up, in groups: a copy and the synchronize after it under one op are one.

thread   |-- aten::item --|                     one group: copy + synchronize
           [copy][ sync  ]    [launch]
device   kkkkkkkkkc                  kkkk
blocked    hhhhhhhhhhhhhh                       how long the host stands still
bubble             iiiiiiiiiiiiiiiiii           what it costs: the device idles from its drain (or the call's start)
                                                to the next activity that was launched after the call returned

The drain is the end of what was launched before the group began; the group's own copy is work and no part of a bubble,
the time in which it stages pageable memory is. A bubble is idle time of at most the calls' length: a host that had not
stopped would be ahead by no more, so a short call on an idle device costs next to nothing. Bubbles are disjoint: one
ends where the next group begins. Waits for the loader are no part of them, nor is time after the device's last
activity. The profiler's own synchronize, after the last step, is none of the training's calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.gaps import idle_outside_loader, launch_rows
from tb_steptime.metrics.host import ASYNC_COPY_CALL, Blocks, blocking_calls
from tb_steptime.metrics.phases import SITES, site_of
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.ops import forward_of, op_at, places, short_range
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, UInt8

#: So many different calls of a group are named.
_NAMED_CALLS = 3


class BlockingRow(msgspec.Struct, frozen=True):
    """Groups that are alike: same op, outermost op, site, call, user range, module and source line.

    op, outer_op: None for a call outside any recorded op. call: the group's calls as written, "cudaMemcpyAsync +
    cudaStreamSynchronize". kind: sync, pageable_copy, copy, allocator. phase, site as in SiteRow. source: "train.py(5):
    step", the innermost frame outside torch, None without stacks. forward_*: for work of the backward pass the op,
    module and line of the forward pass that made it, None elsewhere or where it cannot be told.
    count, blocked_ns, bubble_ns: per step, means over the steps; bubbles are disjoint. device: whose bubble it is.
    worst_*: the costliest one, from its start to the end of its bubble. bytes: copied per step, None where nothing is
    copied.
    """

    op: str | None
    outer_op: str | None
    phase: str
    site: str
    call: str
    kind: str
    user_range: str | None
    module: str | None
    source: str | None
    forward_op: str | None
    forward_module: str | None
    forward_source: str | None
    count: float
    blocked_ns: int
    bubble_ns: int
    bytes: int | None
    device: int
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups in the steps, sorted by start; several threads' may overlap. All columns have one entry for each group.

    start, end     from its first call's start to its last one's end
    call           row of its first call
    blocked_ns     length of its calls
    kind           place in KINDS
    copy           row of `find_launches` of its first copy; -1 for none
    bytes          copied by it; -1 where that is not said or nothing is
    names          (n, 3) rows of the string table: its calls' names in order, repeats left out; -1 for none
    """

    start: Int64
    end: Int64
    call: Int64
    blocked_ns: Int64
    kind: UInt8
    copy: Int32
    bytes: Int64
    names: Int32

    def __len__(self) -> int:
        return len(self.start)


class Bubbles(NamedTuple):
    """One for each group, disjoint: from start to end the device's idle time is charged to it, idle_ns in all."""

    start: Int64
    end: Int64
    idle_ns: Int64


KINDS = ("sync", "pageable_copy", "copy", "allocator")
_BY_WEIGHT = (
    (Blocks.ALLOCATOR, "allocator"),
    (Blocks.SYNC, "sync"),
    (Blocks.NOT, "copy"),
    (Blocks.COPY, "copy"),
    (Blocks.PAGEABLE_COPY, "pageable_copy"),
)


@per_trace
def blocking_groups(trace: Trace) -> Groups:
    """Every group that begins within the marks of the steps."""
    calls = _calls_of_groups(trace)
    new = _opens(trace, calls)
    order = np.argsort(calls.row[new], kind="stable")  # of threads one after the other, in time order
    groups = _groups(trace, calls, np.flatnonzero(new), order)
    steps = find_steps(trace).steps
    low, high = steps[0].host_start_ns, steps[-1].host_start_ns + steps[-1].host_ns
    inside = (groups.start >= low) & (groups.start < high)
    return Groups(*(getattr(groups, column)[inside] for column in Groups.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class _Calls:
    """Calls that may be in a group: those that block, and asynchronous copies that are waited for at once. Sorted by
    thread, then by time. op: the innermost one around the call, -1 for none; launched: launches of the thread before
    it."""

    row: Int64
    kind: UInt8
    thread: Int32
    op: Int64
    launched: Int64


def _calls_of_groups(trace: Trace) -> _Calls:
    blocking, events = blocking_calls(trace), trace.events
    copies = np.setdiff1d(_host_copies(trace), blocking.row)
    rows = np.concatenate((blocking.row, copies))
    kind = np.concatenate((blocking.kind, np.full(len(copies), Blocks.NOT, np.uint8)))
    order = np.lexsort((rows, events.thread[rows]))
    rows, kind = rows[order], kind[order]
    calls = _Calls(rows, kind, events.thread[rows], op_at(trace, rows), _launched_before(trace, rows))
    waited = np.append(~_opens(trace, calls)[1:] & (kind[1:] == Blocks.SYNC), False) if len(rows) else rows > 0
    keep = (kind != Blocks.NOT) | waited
    return _Calls(*(getattr(calls, column)[keep] for column in _Calls.__dataclass_fields__))


def _host_copies(trace: Trace) -> Int64:
    """Asynchronous calls that copy between the host and a device."""
    events, launches = trace.events, find_launches(trace)
    rows = np.flatnonzero((events.kind[launches.activity] == Kind.MEMCPY) & (launches.call >= 0))
    call, name = launches.call[rows], events.name[launches.activity[rows]]
    between = _of_names(trace, name, lambda text: "DtoD" not in text and "PtoP" not in text)
    named = _of_names(trace, events.name[call], lambda text: ASYNC_COPY_CALL.match(text) is not None)
    return np.unique(call[between & named]).astype(np.int64)


def _launched_before(trace: Trace, rows: Int64) -> Int64:
    """How many launch calls of its thread begin before each call."""
    call = find_launches(trace).call
    launching = np.unique(call[call >= 0])
    thread, before = trace.events.thread[launching], np.zeros(len(rows), np.int64)
    for number in np.unique(trace.events.thread[rows]).tolist():
        mine = trace.events.thread[rows] == number
        before[mine] = np.searchsorted(launching[thread == number], rows[mine])
    return before


def _opens(trace: Trace, calls: _Calls) -> Bool:
    """Which calls begin a group: not those under the same op as the one before, nor, outside of any, the synchronize
    after a copy. Work that is launched between two calls parts them."""
    copies = np.isin(calls.kind, (Blocks.NOT, Blocks.COPY, Blocks.PAGEABLE_COPY))
    new = np.ones(len(calls.row), bool)
    together = (calls.op[1:] >= 0) | (copies[:-1] & (calls.kind[1:] == Blocks.SYNC))
    together &= (calls.thread[1:] == calls.thread[:-1]) & (calls.op[1:] == calls.op[:-1])
    together &= calls.launched[1:] - calls.launched[:-1] <= copies[:-1]
    new[1:] = ~together
    return new


def _groups(trace: Trace, calls: _Calls, first: Int64, order: Int64) -> Groups:
    events, number = trace.events, np.cumsum(np.bincount(first, minlength=len(calls.row)) > 0) - 1
    length = events.dur_ns[calls.row]
    copy, nbytes = _copied(trace, calls.row)
    past = np.append(first[1:], len(calls.row))[: len(first)] - 1
    return Groups(
        start=events.start_ns[calls.row[first]][order],
        end=events.ends(calls.row[past])[order],
        call=calls.row[first][order],
        blocked_ns=_sums(length, first)[order],
        kind=_kinds(calls.kind, number, len(first))[order],
        copy=_maxima(copy, first)[order].astype(np.int32),
        bytes=np.where(_maxima(nbytes, first) >= 0, _sums(np.maximum(nbytes, 0), first), -1)[order],
        names=_names(events.name[calls.row], first, number)[order],
    )


def _sums(values: Int64, first: Int64) -> Int64:
    """Of each group; none is empty."""
    return np.add.reduceat(values, first) if len(first) else np.zeros(0, np.int64)


def _maxima(values: Int64, first: Int64) -> Int64:
    return np.maximum.reduceat(values, first) if len(first) else np.zeros(0, np.int64)


def _copied(trace: Trace, rows: Int64) -> tuple[Int64, Int64]:
    """Of each call the row of `find_launches` of its copy and that one's bytes; -1 for none."""
    launches, events = find_launches(trace), trace.events
    copies = np.flatnonzero(events.kind[launches.activity] == Kind.MEMCPY)
    by_call = copies[np.argsort(launches.call[copies], kind="stable")]
    place = np.searchsorted(launches.call[by_call], rows)
    found = np.append(by_call, -1)[place]
    found = np.where((found >= 0) & (launches.call[found] == rows), found, -1)
    if events.bytes is None:
        return found, np.full(len(rows), -1, np.int64)
    return found, np.where(found >= 0, events.bytes[launches.activity[found]], -1)


def _kinds(kind: UInt8, group: Int64, count: int) -> UInt8:
    """A group has the kind of its weightiest call; an asynchronous copy that is waited for is a copy."""
    result = np.full(count, KINDS.index("allocator"), np.uint8)
    for blocks, name in _BY_WEIGHT:
        result[group[kind == blocks]] = KINDS.index(name)
    return result


def _names(name: Int32, first: Int64, group: Int64) -> Int32:
    result = np.full((len(first), _NAMED_CALLS), -1, np.int32)
    changes = np.append(True, name[1:] != name[:-1])[: len(name)]
    changes[first] = True
    rank = np.cumsum(changes)
    rank -= rank[first][group]
    shown = changes & (rank < _NAMED_CALLS)
    result[group[shown], rank[shown]] = name[shown]
    return result


def bubbles(trace: Trace, device: int) -> Bubbles:
    """Of each of `blocking_groups`; of many it is empty."""
    groups, idle = blocking_groups(trace), idle_outside_loader(trace, device)
    start, end = _stalls(trace, device, groups)
    lasts = _when_covered(idle, idle.covered_before(start) + groups.blocked_ns)
    end = np.maximum(np.minimum(end, lasts), start)
    return Bubbles(start, end, idle.overlap_ns(start, end))


def _stalls(trace: Trace, device: int, groups: Groups) -> tuple[Int64, Int64]:
    """From the drain, or the group's start, to the next activity launched after it, or the start of the next group."""
    events, launches = trace.events, find_launches(trace)
    rows = launch_rows(trace, device)
    rows = rows[launches.call[rows] >= 0]
    if not len(rows) or not len(groups):
        return groups.start, groups.start
    rows = rows[np.argsort(events.start_ns[launches.call[rows]], kind="stable")]
    begun, activity = events.start_ns[launches.call[rows]], launches.activity[rows]
    reach = np.maximum.accumulate(events.ends(activity))
    coming = np.minimum.accumulate(events.start_ns[activity][::-1])[::-1]
    drained = np.append(np.iinfo(np.int64).min, reach)[np.searchsorted(begun, groups.start)]
    follows = np.append(coming, reach[-1])[np.searchsorted(begun, groups.end)]
    start = np.maximum(groups.start, drained)
    cut = np.append(groups.start[1:], np.iinfo(np.int64).max)
    return start, np.maximum(np.minimum(follows, cut), start)


def _when_covered(intervals: Intervals, amounts: Int64) -> Int64:
    """When the intervals have covered each amount of time, from the first one on; int64 max: never."""
    covered = np.cumsum(intervals.end - intervals.start)
    place = np.searchsorted(covered, amounts)
    known = place < len(covered)
    when = np.full(len(amounts), np.iinfo(np.int64).max)
    when[known] = intervals.end[place[known]] - (covered[place[known]] - amounts[known])
    return when


def step_at(trace: Trace, instants: Int64) -> Int64:
    """Place of the step in whose mark each instant is; of one between two marks the one before."""
    starts = np.array([step.host_start_ns for step in find_steps(trace).steps], np.int64)
    return np.maximum(np.searchsorted(starts, instants, side="right") - 1, 0)


def blocking_rows(trace: Trace, device: int) -> list[BlockingRow]:
    """Groups that are alike in one row, most bubble first, then longest blocked."""
    groups, bubble = blocking_groups(trace), bubbles(trace, device)
    if not len(groups):
        return []
    standing = _standing(trace, groups)
    _, place = np.unique(standing.keys(groups), axis=0, return_inverse=True)
    place = place.reshape(-1)
    columns = (np.ones(len(groups), np.int64), groups.blocked_ns, bubble.idle_ns, np.maximum(groups.bytes, 0))
    totals = np.stack([_by_place(place, values) for values in columns], axis=1)
    worst = np.lexsort((groups.start, -groups.blocked_ns, -bubble.idle_ns))
    worst = worst[np.unique(place[worst], return_index=True)[1]]
    order = np.lexsort((groups.start[worst], -totals[:, 1], -totals[:, 2]))
    ends = np.maximum(groups.end, np.where(bubble.idle_ns > 0, bubble.end, 0))
    return [_row(trace, standing, int(worst[i]), totals[i].tolist(), int(ends[worst[i]]), device) for i in order]


def _by_place(place: Int64, values: Int64) -> Int64:
    total = np.zeros(int(place.max()) + 1, np.int64)
    np.add.at(total, place, values)
    return total


class _Standing(NamedTuple):
    """Where groups stand. The first four: rows of the string table, -1 for none."""

    op: Int64
    outer_op: Int64
    user_range: Int64
    forward_op: Int64
    site: UInt8
    module: Words
    source: Words
    forward_module: Words
    forward_source: Words

    def keys(self, groups: Groups) -> Int64:
        """(groups, columns): alike rows stand alike and make the same calls."""
        words = (self.module, self.source, self.forward_module, self.forward_source)
        columns = (*self[:5], groups.kind, *groups.names.T, *(each.number for each in words))
        return np.stack([np.asarray(column, np.int64) for column in columns], axis=1)


def _standing(trace: Trace, groups: Groups) -> _Standing:
    found = places(trace, groups.call)
    forward = forward_of(trace, groups.call).astype(np.int64)
    rows = (found.op, found.outer_op, found.user_range, forward)
    names = [np.where(each >= 0, trace.events.name[each], -1).astype(np.int64) for each in rows]
    words = tuple(of(trace, each) for each in (groups.call, forward) for of in (modules, sources))
    op, outer_op, user_range, forward_op = names
    return _Standing(op, outer_op, user_range, forward_op, site_of(trace, groups.call), *words)


def _row(
    trace: Trace, standing: _Standing, worst: int, totals: Sequence[int], worst_end_ns: int, device: int
) -> BlockingRow:
    groups, site, steps = blocking_groups(trace), SITES[int(standing.site[worst])], find_steps(trace).steps
    op, outer_op, user_range, forward_op = (_text(trace, int(names[worst])) for names in standing[:4])
    count, blocked, bubble, nbytes = totals
    start = int(groups.start[worst])
    return BlockingRow(
        op, outer_op, site.phase, site.id,
        " + ".join(trace.strings[name] for name in groups.names[worst].tolist() if name >= 0),
        KINDS[int(groups.kind[worst])], short_range(user_range) if user_range else None,
        standing.module[worst], standing.source[worst],
        forward_op, standing.forward_module[worst], standing.forward_source[worst],
        count / len(steps), _mean(blocked, len(steps)), _mean(bubble, len(steps)),
        _mean(nbytes, len(steps)) if nbytes else None, device,
        steps[int(step_at(trace, groups.start[worst : worst + 1])[0])].name, start, worst_end_ns,
    )  # fmt: skip


def _text(trace: Trace, name: int) -> str | None:
    return trace.strings[name] if name >= 0 else None


def _mean(total: int, count: int) -> int:
    """In whole ns; halves go up."""
    return (2 * total + count) // (2 * count)


def _of_names(trace: Trace, names: Int32, wanted: Callable[[str], bool]) -> Bool:
    """Is each name wanted? Each distinct one is asked once."""
    chosen = [name for name in np.unique(names).tolist() if wanted(trace.strings[name])]
    found: Bool = np.isin(names, chosen)
    return found
