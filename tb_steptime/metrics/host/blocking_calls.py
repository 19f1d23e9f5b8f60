"""Blocking calls in groups. A copy and the synchronize after it under one op block the host once.

thread   |-- aten::item --|   |-- aten::unique ----------------|
           [copy][ sync  ]      [copy][sync] [launch] [copy][sync]
group      ggggggggggggggg      ggggggggggg           hhhhhhhhhhh     work that is launched between two calls parts them

Outside any op, only a synchronize directly after a copy forms a group with it. A copy that does not block is in a group
if the host waits for it at once. The profiler's own synchronize, after the last step, does not belong to the training.

Calls of two recordings are matched by their place of origin.
"""

from __future__ import annotations

import enum
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import directions
from tb_steptime.metrics.phases.assignment import site_of
from tb_steptime.metrics.phases.sites import SITES, PhaseId
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups, none_if_nan
from tb_steptime.trace.model import Trace, are_named, calls_that_launch, find_launches, rows_named, shared
from tb_steptime.trace.nesting import op_rows, outermost, parent_places
from tb_steptime.trace.ops import RUNTIME, SYNC_CALL, op_at
from tb_steptime.trace.quality.memory_calls import allocation_retries, waits_of_retries
from tb_steptime.trace.sources import Words, modules, sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Columns, Int32, Int64, Kind, UInt8, distinct_in, is_in, values_at

# Calls that block the host are recognised by their names, and copies that stage pageable memory by their memory.
#
# runtime   [cudaStreamSynchronize]  [cudaMemcpyAsync       ]  [cudaMalloc]
# device    kkkkkkkkkkkkkkkkkkkkkk     Memcpy HtoD (Pageable)                   sync, pageable copy, allocator

COPY_CALL = expression(
    rf"{RUNTIME}Memcpy(2D|3D|ToSymbol|FromSymbol)?$|(cu|hip)Memcpy(DtoH|HtoD|DtoD)(_v2)?$|hipMemcpyWithStream"
)
#: Copy calls with asynchronous names that still wait if the memory is pageable.
ASYNC_COPY_CALL = expression(rf"{RUNTIME}Memcpy(2D|3D)?Async")
PAGEABLE_COPY = expression(r"Pageable")
#: Copy calls of Intel's runtimes. Those that last until their copy is done have waited for it.
_INTEL_COPY_CALL = expression(r"(ur|pi)\w*(Memcpy|MemBuffer(Read|Write))")
#: Calls that allocate or free memory of the device or pinned memory of the host. Growing segments are mapped.
ALLOCATOR_CALL = expression(
    rf"{RUNTIME}(Ext)?(Malloc|Free|Host(Alloc|Malloc|Free|Register|Unregister))"
    r"|cuMem(Host)?(Alloc|Free|Create|Release|Map|Unmap|SetAccess|AddressReserve|AddressFree|HostRegister)"
    r"|hipMem(Create|Release|Map|Unmap|SetAccess|AddressReserve|AddressFree)"
)


class Blocks(enum.IntEnum):
    """How a call of the runtime or the driver blocks its thread."""

    NOT = 0
    SYNC = 1  # it waits for the device
    COPY = 2  # it copies and waits
    PAGEABLE_COPY = 3  # it stages pageable memory and waits, whatever its name says
    ALLOCATOR = 4  # it allocates or frees memory, which may wait for the device


#: Kinds that wait for the device. A host that never waited would not need these calls.
WAITING = (Blocks.SYNC, Blocks.COPY, Blocks.PAGEABLE_COPY)


class BlockingCalls(msgspec.Struct, frozen=True, eq=False):
    """The blocking calls, as rows of the event table, ascending, and the kind of each. A call inside another one, as
    the driver's inside the runtime's, is left out."""

    row: Int64
    kind: UInt8

    def of(self, *kinds: Blocks) -> Int64:
        """Returns the rows of the calls of these kinds."""
        return self.row[is_in(self.kind, kinds)]


@shared
def blocking_calls(trace: Trace) -> BlockingCalls:
    """Returns every call that blocks its thread, on any thread and at any time of the recording."""
    events = trace.events
    calls = events.rows(*CALL_KINDS)
    by_name = _blocks_by_name(trace, calls)
    named = calls[by_name[events.name[calls]] != Blocks.NOT]
    call = find_launches(trace).calls_of(rows_named(trace, (Kind.MEMCPY,), PAGEABLE_COPY.search))
    pageable, waited = distinct_in(call[call >= 0]), _waited_copies(trace)
    launches = blocking_launches(trace)
    rows = distinct_in(np.concatenate((named, pageable, waited, launches)))
    kind = by_name[events.name[rows]]
    kind[is_in(rows, launches)] = Blocks.SYNC
    kind[is_in(rows, waited)] = Blocks.COPY
    kind[is_in(rows, pageable)] = Blocks.PAGEABLE_COPY
    kind[is_in(rows, waits_of_retries(trace))] = Blocks.SYNC
    outer = parent_places(trace, rows) < 0
    return BlockingCalls(rows[outer], kind[outer])


def _blocks_by_name(trace: Trace, calls: Int64) -> UInt8:
    """Returns for each string of the table how a call of that name blocks its thread. Each name is tested once."""
    result = np.zeros(len(trace.strings), np.uint8)
    for name in distinct_in(trace.events.name[calls]).tolist():
        result[name] = _blocks(trace.strings[name])
    return result


def _blocks(name: str) -> Blocks:
    patterns = ((SYNC_CALL, Blocks.SYNC), (COPY_CALL, Blocks.COPY), (ALLOCATOR_CALL, Blocks.ALLOCATOR))
    return next((kind for pattern, kind in patterns if pattern.match(name)), Blocks.NOT)


def _waited_copies(trace: Trace) -> Int64:
    """Returns the copy calls of Intel's runtimes that end no earlier than their copies."""
    calls = rows_named(trace, CALL_KINDS, _INTEL_COPY_CALL.match)
    if not len(calls):
        return calls
    events, launches = trace.events, find_launches(trace)
    copied = launches.call >= 0
    call = launches.call[copied].astype(np.int64)
    ends = events.ends(launches.activity[copied])
    return distinct_in(call[is_in(call, calls) & (ends <= events.ends(call))])


#: A call that launches a kernel of at least this length returns before the kernel ends, unless it waits for that. The
#: launches of a process wait if at least this share of long ones do, and at least this many.
_LONGER_THAN_A_CALL_NS, _ALL_WAIT, _FEWEST_WAITS = 20_000, 0.95, 20


@shared
def blocking_launches(trace: Trace) -> Int64:
    """Returns the rows of the calls that launch one kernel and wait for its end; none if other launches return earlier.
    With CUDA_LAUNCH_BLOCKING=1 all of them wait.

    runtime   [cudaLaunchKernel]  [cudaLaunchKernel   ]
    device       kkkkkkkkkkkkk       kkkkkkkkkkkkkkkk
    """
    events, launches = trace.events, find_launches(trace)
    calls, first, number = np.unique(launches.call, return_index=True, return_counts=True)
    first = first[(calls >= 0) & (number == 1)]
    call, kernel = launches.call[first].astype(np.int64), launches.activity[first]
    of_kernel = events.kind[kernel] == Kind.KERNEL
    call, kernel = call[of_kernel], kernel[of_kernel]
    waits = (events.start_ns[kernel] > events.start_ns[call]) & (events.ends(call) > events.ends(kernel))
    long = events.dur_ns[kernel] >= _LONGER_THAN_A_CALL_NS
    if waits[long].sum() < max(_FEWEST_WAITS, _ALL_WAIT * long.sum()):
        return np.empty(0, np.int64)
    return np.sort(call[waits])


#: Maximum number of different calls of a group that are named.
_NAMED_CALLS = 3


#: The kinds of groups.
BlockingKind = Literal["sync", "pageable_copy", "copy", "allocator"]
KINDS: tuple[BlockingKind, ...] = get_args(BlockingKind)
_BY_WEIGHT = (
    (Blocks.ALLOCATOR, "allocator"),
    (Blocks.SYNC, "sync"),
    (Blocks.NOT, "copy"),
    (Blocks.COPY, "copy"),
    (Blocks.PAGEABLE_COPY, "pageable_copy"),
)


class BlockingGroups(Columns, frozen=True, eq=False):
    """The groups in the steps, sorted by start. Groups of different threads may overlap. Each column has one entry per
    group.

    start, end     from its first call's start to its last one's end
    call, op       rows of its first call, and of the innermost op around that; -1 for none
    blocked_ns     length of its calls
    kind           place in KINDS
    copy           row of `find_launches` of its last copy; -1 for none
    bytes          bytes that it copies; -1 if not recorded or nothing is copied
    names          (n, 3): names of its calls in order without repeats, rows of the string table; -1 for none
    """

    start: Int64
    end: Int64
    call: Int64
    op: Int64
    blocked_ns: Int64
    kind: UInt8
    copy: Int32
    bytes: Int64
    names: Int32

    def calls(self, trace: Trace, group: int) -> str:
        """Returns the names of a group's calls, such as "cudaMemcpyAsync + cudaStreamSynchronize"."""
        return " + ".join(trace.strings[name] for name in self.names[group].tolist() if name >= 0)


_NONE = np.zeros(0, np.int64)
_NO_GROUPS = BlockingGroups(
    _NONE, _NONE, _NONE, _NONE, _NONE, np.zeros(0, np.uint8), np.zeros(0, np.int32), _NONE,
    np.zeros((0, _NAMED_CALLS), np.int32),
)  # fmt: skip


@shared
def blocking_groups(trace: Trace) -> BlockingGroups:
    """Returns every group that begins within the marks of the steps."""
    if not len(blocking_calls(trace).row):
        return _NO_GROUPS
    calls = _calls_of_groups(trace)
    new = _opens(trace, calls)
    order = np.argsort(calls.row[new], kind="stable")  # the groups are sorted by thread until now; this is time order
    groups = _groups(trace, calls, np.flatnonzero(new), order)
    low, high = find_steps(trace).host_window
    inside = (groups.start >= low) & (groups.start < high)
    return groups.where(inside)


class _Calls(Columns, frozen=True, eq=False):
    """Calls that may be in a group: those that block, and asynchronous copies for which the host waits at once. They
    are sorted by thread, then by time. op: the innermost op around the call, -1 for none. launched: number of earlier
    launches of the thread."""

    row: Int64
    kind: UInt8
    thread: Int32
    op: Int64
    launched: Int64


def _calls_of_groups(trace: Trace) -> _Calls:
    blocking, events = blocking_calls(trace), trace.events
    copies = _host_copies(trace)
    copies = copies[is_in(copies, blocking.row, invert=True)]
    rows = np.concatenate((blocking.row, copies))
    kind = np.concatenate((blocking.kind, np.full(len(copies), Blocks.NOT, np.uint8)))
    order = np.lexsort((rows, events.thread[rows]))
    rows, kind = rows[order], kind[order]
    calls = _Calls(rows, kind, events.thread[rows], op_at(trace, rows), _launched_before(trace, rows))
    waited = np.append(~_opens(trace, calls)[1:] & (kind[1:] == Blocks.SYNC), False)
    keep = (kind != Blocks.NOT) | waited
    return calls.where(keep)


def _host_copies(trace: Trace) -> Int64:
    """Returns the asynchronous calls that copy between the host and a device."""
    events, launches = trace.events, find_launches(trace)
    rows = np.flatnonzero((events.kind[launches.activity] == Kind.MEMCPY) & (launches.call >= 0))
    call = launches.call[rows]
    between = are_named(trace, launches.activity[rows], lambda name: "DtoD" not in name and "PtoP" not in name)
    named = are_named(trace, call, ASYNC_COPY_CALL.match)
    return distinct_in(call[between & named]).astype(np.int64)


def _launched_before(trace: Trace, rows: Int64) -> Int64:
    """Returns how many launch calls of its thread begin before each call."""
    launching = calls_that_launch(trace)
    thread, before = trace.events.thread[launching], np.zeros(len(rows), np.int64)
    for number in distinct_in(trace.events.thread[rows]).tolist():
        on_thread = trace.events.thread[rows] == number
        before[on_thread] = np.searchsorted(launching[thread == number], rows[on_thread])
    return before


def _opens(trace: Trace, calls: _Calls) -> Bool:
    """Returns which calls begin a group. A call does not if it is under the same op as the call before it, or outside
    any op and the synchronize after a copy. Work that is launched between two calls separates them."""
    copies = is_in(calls.kind, (Blocks.NOT, Blocks.COPY, Blocks.PAGEABLE_COPY))
    new = np.ones(len(calls.row), bool)
    together = (calls.op[1:] >= 0) | (copies[:-1] & (calls.kind[1:] == Blocks.SYNC))
    together &= (calls.thread[1:] == calls.thread[:-1]) & (calls.op[1:] == calls.op[:-1])
    together &= calls.launched[1:] - calls.launched[:-1] <= copies[:-1]
    new[1:] = ~together
    return new


def _groups(trace: Trace, calls: _Calls, first: Int64, order: Int64) -> BlockingGroups:
    events = trace.events
    number = np.cumsum(np.bincount(first, minlength=len(calls.row)) > 0) - 1
    length = events.dur_ns[calls.row]
    copy, nbytes = _copied(trace, calls.row)
    known = np.where(np.maximum.reduceat(nbytes, first) >= 0, np.add.reduceat(np.maximum(nbytes, 0), first), -1)
    last = np.append(first[1:], len(calls.row))[: len(first)] - 1
    return BlockingGroups(
        start=events.start_ns[calls.row[first]][order],
        end=events.ends(calls.row[last])[order],
        call=calls.row[first][order],
        op=calls.op[first][order],
        blocked_ns=np.add.reduceat(length, first)[order],
        kind=_kinds(trace, calls, number, len(first))[order],
        copy=np.maximum.reduceat(copy, first)[order].astype(np.int32),
        bytes=known[order],
        names=_names(events.name[calls.row], first, number)[order],
    )


def _copied(trace: Trace, rows: Int64) -> tuple[Int64, Int64]:
    """Returns for each call the row of `find_launches` of its copy and the bytes of that copy; -1 for none."""
    launches, events = find_launches(trace), trace.events
    copies = np.flatnonzero(events.kind[launches.activity] == Kind.MEMCPY)
    by_call = copies[np.argsort(launches.call[copies], kind="stable")]
    place = np.searchsorted(launches.call[by_call], rows)
    is_linked = np.append(launches.call[by_call], -1)[place] == rows
    linked = np.where(is_linked, np.append(by_call, -1)[place], -1)
    if events.bytes is None:
        return linked, np.full(len(rows), -1, np.int64)
    activity = np.append(launches.activity, -1)[linked]  # append one entry, because there may be no activity at all
    return linked, np.where(linked >= 0, np.append(events.bytes, -1)[activity], -1)


def _kinds(trace: Trace, calls: _Calls, group: Int64, count: int) -> UInt8:
    """Returns the kind of each group, which is that of its most important call. An asynchronous copy for which the host
    waits counts as a copy. A wait of the allocator until it may free memory counts as the allocator's, because it would
    not wait if there were enough memory."""
    result = np.full(count, KINDS.index("allocator"), np.uint8)
    for blocks, name in _BY_WEIGHT:
        result[group[calls.kind == blocks]] = KINDS.index(name)
    result[group[is_in(calls.row, allocation_retries(trace).rows)]] = KINDS.index("allocator")
    return result


def _names(name: Int32, first: Int64, group: Int64) -> Int32:
    result = np.full((len(first), _NAMED_CALLS), -1, np.int32)
    changes = np.append(True, name[1:] != name[:-1])
    changes[first] = True
    rank = np.cumsum(changes)
    rank -= rank[first][group]
    shown = changes & (rank < _NAMED_CALLS)
    result[group[shown], rank[shown]] = name[shown]
    return result


#: Maximum number of places. Those with the most time are kept; the others take little.
PLACES = 200

_LINE = expression(r"\(\d+\)")


class BlockingPlace(msgspec.Struct, frozen=True):
    """The blocking calls of one place, as in `BlockingRow`; sums over the compared steps.

    total_ns       how long the calls block the host
    deviation_ns   standard deviation of this time per step; None if there is one step
    source         the source line without its number, which changes when a line is added above it
    """

    call: str
    kind: BlockingKind
    op: str | None
    outer_op: str | None
    phase: PhaseId
    direction: str | None
    module: str | None
    source: str | None
    count: int
    total_ns: int
    deviation_ns: float | None


def blocking_places(trace: Trace, step: Int64, steps: int) -> list[BlockingPlace]:
    """Returns the places of the `blocking_groups` in the compared steps, longest blocked first. step: the step of each
    group, -1 for none."""
    in_steps = np.flatnonzero(step >= 0)
    if not len(in_steps):
        return []
    around = _Surroundings(trace, in_steps)
    blocked = blocking_groups(trace).blocked_ns[in_steps]
    alike = Groups.of(*around.keys())
    figures = zip(alike.count().tolist(), alike.sum(blocked).tolist(),
                  alike.deviation(blocked, step[in_steps], steps).tolist(), strict=True)  # fmt: skip
    places = [around.place(row, count, ns, none_if_nan(spread))
             for row, (count, ns, spread) in zip(alike.first.tolist(), figures, strict=True)]  # fmt: skip
    return sorted(places, key=lambda place: (-place.total_ns, place.call, place.op or ""))[:PLACES]


class _Surroundings:
    """The places of some of `blocking_groups`."""

    def __init__(self, trace: Trace, chosen: Int64) -> None:
        groups = blocking_groups(trace)
        op, call = groups.op[chosen], groups.call[chosen]
        outer = outermost(trace, op_rows, op)
        self._trace, self._groups, self._kept = trace, groups, chosen
        self._op, self._outer = (values_at(trace.events.name, row) for row in (op, outer))
        self._site = site_of(trace, call)
        self._direction = directions(trace, groups.copy[chosen])
        self._module, self._source = modules(trace, call), _without_lines(sources(trace, call))

    def keys(self) -> list[Int64]:
        names = (self._direction, self._module, self._source)
        calls = (self._groups.kind[self._kept], *self._groups.names[self._kept].T)
        columns = (*calls, self._op, self._outer, self._site, *(name.number for name in names))
        return [np.asarray(column, np.int64) for column in columns]

    def place(self, row: int, count: int, total_ns: int, deviation_ns: float | None) -> BlockingPlace:
        return BlockingPlace(
            call=self._groups.calls(self._trace, int(self._kept[row])),
            kind=KINDS[int(self._groups.kind[self._kept[row]])],
            op=self._trace.strings.get(int(self._op[row])),
            outer_op=self._trace.strings.get(int(self._outer[row])),
            phase=SITES[int(self._site[row])].phase,
            direction=self._direction[row],
            module=self._module[row],
            source=self._source[row],
            count=count,
            total_ns=total_ns,
            deviation_ns=deviation_ns,
        )


def _without_lines(words: Words) -> Words:
    """Returns the words without line numbers: "train.py: step" for "train.py(54): step"."""
    texts = [_LINE.sub("", text) for text in words.texts]
    distinct = list(dict.fromkeys(texts))
    place = np.array([*(distinct.index(text) for text in texts), -1], np.int32)
    return Words(place[words.number], distinct)
