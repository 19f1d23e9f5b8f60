"""Allocations with their frees, joined on the address.

address 64   +512 ......... -512   +256 ...            two allocations, the second one alive at the end
address 96   ...... -128                               memory from before the recording

Each is made and freed in the op, the phase and the step of that instant.

thread   |---- aten::linear ----|          outer op
           |-- aten::addmm --|             innermost op
                 +4096                     born in aten::addmm in aten::linear, forward, step 3

Memory is recorded by device: how much of it is allocated and reserved over time.

event      +4   +4   -4   +8   -8
allocated   4    8    4   12    4          as the allocator said it after each event
reserved   10   10   10   20   20          what the caching allocator holds of the device; the CPU has none

Tensors that a loader's worker hands over are in shared memory, which is mapped and not allocated. torch writes these
events among those of the CPU, with a total of 0 allocated bytes and their own size as reserved:

event      +4  map +9   +4  unmap -9   -8
said        4       0    8         0    0
allocated   4      13   17         8    0   what the allocator said last, and what is mapped

The bins of a curve have its exact minimum and maximum, at any zoom.

allocated   2 2 5 5 9 1 1 1
bins        |--a--|--b--|--c--|         a: 2-5, b: 1-9, c: 1-1; a bin begins with what is allocated before it

Each op allocates memory by itself and in the ops inside it.

thread   |------- aten::linear -------|     self 0, with children 12
           |-- aten::addmm --|              self 12
             +8   +4   -4                   allocates 12, grows memory by 8

Churn is memory that is allocated and freed again within one step.

step    |----------------|            aten::addmm: 2 allocations, 24 bytes a step
addmm     +8  -8   +16 -16
relu            +4 .............      stays longer: no churn
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.phases.assignment import site_at
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.text import Reason
from tb_steptime.trace.groups import Groups, exact_sums, numbered
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import Around, innermost_at, lane, op_rows, outermost
from tb_steptime.trace.ops import Rows, forward_of
from tb_steptime.trace.sources import modules, sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Columns, Int32, Int64, UInt8, distinct, distinct_in

NOT_RECORDED = Reason("memory_not_recorded")
NO_TOTALS = Reason("memory_without_totals")

#: The number that torch gives the CPU device type.
CPU = 0


class Place(NamedTuple):
    """A device with memory of its own: torch's number of its type, and its number among devices of that type, which is
    -1 for the CPU."""

    type: int
    device: int


class Curve(msgspec.Struct, frozen=True, eq=False):
    """The memory over the events of a device, in time order.

    row        int64, row of the memory table
    ts         int64, ns
    allocated  int64, bytes from each event on
    reserved   likewise; None for a device without a caching allocator
    whole      whether allocated includes all memory of the device; False if the file has no totals, so that it counts
               from the first event
    """

    row: Int64
    ts: Int64
    allocated: Int64
    reserved: Int64 | None
    whole: bool
    first_bytes: int = 0

    @property
    def before(self) -> int:
        """The bytes allocated before the first event; 0 if unknown."""
        return int(self.allocated[0] - self.first_bytes) if len(self.row) else 0

    def at(self, instants: Int64) -> Int64:
        """Returns the bytes allocated at each instant, including the events at that instant."""
        place = np.searchsorted(self.ts, instants, side="right") - 1
        return np.where(place >= 0, self.allocated[place], self.before)


def memory_devices(trace: Trace) -> tuple[Place, ...]:
    """Returns the GPUs by number, then the CPU; none if memory was not recorded."""
    table = trace.memory
    places = [
        Place(kind, device)
        for kind in distinct(table.device_type).tolist()
        for device in distinct(table.device[table.device_type == kind]).tolist()
    ]
    return tuple(sorted(places, key=lambda place: (place.type == CPU, place)))


def memory_name(trace: Trace, place: Place) -> str:
    """Returns the device's name, which is "CPU" or the name in the trace."""
    return "CPU" if place.type == CPU else trace.device_name(place.device)


@shared
def curve(trace: Trace, place: Place) -> Curve:
    """Returns the curve of one of `memory_devices`."""
    table = trace.memory
    row = np.flatnonzero((table.device_type == place.type) & (table.device == place.device))
    size = table.bytes[row]
    allocated = table.allocated[row]
    reserved = table.reserved[row]
    whole = bool((allocated >= 0).all())
    if whole and place.type == CPU:
        allocated = _with_mapped(size, allocated, table.addr[row])
    return Curve(
        row=row,
        ts=table.ts[row],
        allocated=allocated if whole else np.cumsum(size),
        reserved=reserved if place.type != CPU and bool((reserved > 0).any()) else None,
        whole=whole,
        first_bytes=int(size[0]) if len(size) else 0,
    )


def _with_mapped(size: Int64, recorded: Int64, addr: Int64) -> Int64:
    """Returns the recorded totals of the CPU's allocator, each with the shared memory that is mapped at that time. An
    allocation never leaves a total of 0, and a free only does if it frees everything. Memory that is unmapped at an
    address without an earlier map was there from the start."""
    last = np.maximum.accumulate(np.where(recorded > 0, np.arange(len(recorded)), -1))
    mapped = (recorded == 0) & ((size > 0) | (np.where(last >= 0, recorded[last], 0) + size != 0))
    own = np.flatnonzero(~mapped)
    if len(own) == len(recorded):
        return recorded
    first = size[mapped][np.unique(addr[mapped], return_index=True)[1]]
    shared_bytes: Int64 = np.cumsum(np.where(mapped, size, 0)) - int(first[first < 0].sum())
    place = np.cumsum(~mapped) - 1
    if not len(own):
        return shared_bytes
    totals: Int64 = np.where(place >= 0, recorded[own[place]], recorded[own[0]] - size[own[0]])
    return totals + shared_bytes


class MemoryBins(msgspec.Struct, frozen=True):
    """[start_ns, end_ns) in bins of equal length: bin i begins at start + i x length // bins. least, most: minimum and
    maximum allocated bytes. reserved_most: maximum reserved bytes; empty without a caching allocator."""

    start_ns: int
    end_ns: int
    least: list[int]
    most: list[int]
    reserved_most: list[int]


def memory_bins(memory: Curve, start_ns: int, end_ns: int, bins: int) -> MemoryBins:
    """Returns the bins of the window, at most this many, none shorter than a nanosecond."""
    edges = bin_edges(start_ns, end_ns, max(1, min(bins, end_ns - start_ns)))
    least, most = extremes(memory.ts, memory.allocated, memory.before, edges)
    if memory.reserved is None:
        return MemoryBins(start_ns, end_ns, least.tolist(), most.tolist(), [])
    _, reserved = extremes(memory.ts, memory.reserved, int(memory.reserved[0]), edges)
    return MemoryBins(start_ns, end_ns, least.tolist(), most.tolist(), reserved.tolist())


def bin_edges(start_ns: int, end_ns: int, bins: int) -> Int64:
    """Returns the edges of the bins, computed without products that would overflow for a window of years."""
    whole, rest = divmod(end_ns - start_ns, bins)
    number = np.arange(bins + 1, dtype=np.int64)
    return start_ns + number * whole + number * rest // bins


def extremes(ts: Int64, values: Int64, before: int, edges: Int64) -> tuple[Int64, Int64]:
    """Returns the least and the most of each bin. values[i] holds from ts[i] on, and `before` until the first of
    them."""
    all_of = np.append(before, values)
    first = np.searchsorted(ts, edges[:-1], side="right")  # an event on an edge belongs to the bin that begins there
    end = np.maximum(np.searchsorted(ts, edges[1:], side="left"), first) + 1
    pairs = np.stack((first, end), axis=1).ravel()
    padded = np.append(all_of, all_of[-1])
    return np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]


class Allocations(Columns, frozen=True, eq=False):
    """Allocations as rows of the memory table, ascending by birth.

    born   int32, row of the allocation
    died   int32, row of its free; -1 if it was not freed while recording. If the address was allocated again without a
           recorded free, the row of that allocation
    """

    born: Int32
    died: Int32


def are_on(trace: Trace, place: Place) -> Bool:
    """Returns which of the allocations are of this device's memory."""
    rows, table = allocations(trace).born, trace.memory
    return np.asarray((table.device_type[rows] == place.type) & (table.device[rows] == place.device), bool)


@shared
def allocations(trace: Trace) -> Allocations:
    """Returns every allocation whose address was recorded; none in a file of 2021."""
    table = trace.memory
    rows = np.flatnonzero((table.addr >= 0) & (table.bytes != 0))
    order = rows[np.lexsort((rows, table.addr[rows], table.device[rows], table.device_type[rows]))]
    keys = (table.addr[order], table.device[order], table.device_type[order])
    follows = np.append(np.logical_and.reduce([key[1:] == key[:-1] for key in keys]), False) if len(order) else order
    is_born = table.bytes[order] > 0
    after = np.append(order[1:], -1)
    died = np.where(follows.astype(bool), after, -1)[is_born]
    allocating = order[is_born]
    by_birth = np.argsort(allocating)
    return Allocations(allocating[by_birth].astype(np.int32), died[by_birth].astype(np.int32))


def sizes(trace: Trace) -> Int64:
    """Returns the bytes of each allocation."""
    return trace.memory.bytes[allocations(trace).born]


@shared
def ends_ns(trace: Trace) -> Int64:
    """Returns when each allocation is freed; NEVER for one that outlives the recording."""
    died = allocations(trace).died
    return np.where(died >= 0, trace.memory.ts[died], NEVER)


def alive(trace: Trace, row: int) -> Bool:
    """Returns which allocations are alive after this row of the memory table, on its device."""
    table, lives = trace.memory, allocations(trace)
    on_device = (table.device_type[lives.born] == table.device_type[row]) & (
        table.device[lives.born] == table.device[row]
    )
    return on_device & (lives.born <= row) & ((lives.died < 0) | (lives.died > row))


PHASE = {phase: place for place, phase in enumerate(PHASES)}


class HostPositions(msgspec.Struct, frozen=True, eq=False):
    """The host's position at some rows of the memory table.

    op, outer_op   rows of the event table: the innermost op on the thread, and the outermost around that; -1 for none
    phase          place in `PHASES`
    step           index of the step by the host's own mark; -1 outside of all
    """

    op: Int32
    outer_op: Int32
    phase: UInt8
    step: Int32


@shared
def births(trace: Trace) -> HostPositions:
    """Returns the host's positions when `allocations` are made."""
    return moments(trace, allocations(trace).born)


def moments(trace: Trace, rows: Int32 | Int64) -> HostPositions:
    """Returns the host's positions at these rows of the memory table."""
    op = ops_at(trace, rows)
    outer = outermost(trace, op_rows, op)
    table = trace.memory
    phase = SITE_PHASE[site_at(trace, table.thread[rows], table.ts[rows])]
    return HostPositions(op.astype(np.int32), outer.astype(np.int32), phase, steps_at(trace, table.ts[rows]))


def ops_at(trace: Trace, rows: Int32 | Int64) -> Int64:
    """Returns the innermost op that is open on the thread at each of these rows of the memory table; -1 for none."""
    return rows_at(trace, op_rows, rows)


def rows_at(trace: Trace, around: Around, rows: Int32 | Int64) -> Int64:
    """Returns the innermost of `around`, rows of the event table, that is open on the thread at each of these rows of
    the memory table; -1 for none."""
    return innermost_at(trace, around, trace.memory.thread.take(rows), trace.memory.ts.take(rows))


def steps_at(trace: Trace, instants: Int64) -> Int32:
    """Returns the place of the step that the host is in at each instant, -1 outside of all. Memory is allocated when
    the host requests it, not when the device runs."""
    return find_steps(trace).holding_on_host(instants).astype(np.int32)


class Makers(msgspec.Struct, frozen=True):
    """The module and the line that made each of some ops; None if there is none."""

    modules: list[str | None]
    lines: list[str | None]


def makers(trace: Trace, ops: Rows) -> Makers:
    """Returns the makers of these ops, rows of the event table, -1 for none. In the backward pass they are those of the
    forward op."""
    ops = ops.astype(np.int64)
    forward = np.where(ops >= 0, forward_of(trace, ops), -1)
    anchor = np.where(forward >= 0, forward, ops)
    found_modules, found_lines = modules(trace, anchor), sources(trace, anchor)
    places = range(len(ops))
    return Makers([found_modules[place] for place in places], [found_lines[place] for place in places])


#: Maximum number of ops in a table. Those that allocate most are kept.
MOST_OPS = 50


class OpBytes(msgspec.Struct, frozen=True, eq=False):
    """What ops allocate on a device. There is one entry for each op of the trace. A free while an op runs counts as a
    decrease.

    op             rows of the event table, ascending: all ops
    allocated      int64, bytes of the allocations while no op inside it was open, whether or not freed later
    count          int64, number of these allocations
    all_allocated, all_count   likewise, including the ops inside it
    all_increase   int64, allocated minus what was freed meanwhile, including the ops inside it
    """

    op: Int32
    allocated: Int64
    count: Int64
    all_allocated: Int64
    all_count: Int64
    all_increase: Int64


class OpMemory(msgspec.Struct, frozen=True):
    """The ops of one name: sums over the recording, bytes. all_increase_bytes: allocated minus freed while they ran. An
    op inside another of its name is not a call of its own, and counts once in the `all_*` columns, which include
    children."""

    op: str
    calls: int
    count: int
    allocated_bytes: int
    all_count: int
    all_allocated_bytes: int
    all_increase_bytes: int


def op_bytes(trace: Trace, place: Place) -> OpBytes:
    """Returns the memory of each op. An op inside another of the same name counts for both."""
    rows = curve(trace, place).row
    ops = op_rows(trace)
    op, size = ops_at(trace, rows), trace.memory.bytes[rows]
    values = (np.maximum(size, 0), (size > 0).astype(np.int64), size)
    inside = op >= 0
    own = np.searchsorted(ops, op[inside])
    selves = [exact_sums(own, value[inside], len(ops)) for value in values[:2]]
    return OpBytes(ops.astype(np.int32), *selves, *_with_children(trace, ops, rows, values))


class _During(msgspec.Struct, frozen=True, eq=False):
    """The allocator's events on a thread while each of its ops was open, which are rows[first:past].

    op            int32, places of the ops with any events, among all ops
    rows          int64, rows of the memory table, in time order
    first, past   int32, places in `rows`, for each op
    """

    op: Int32
    rows: Int64
    first: Int32
    past: Int32


@shared
def _during_ops(trace: Trace) -> tuple[_During, ...]:
    """Returns the events during ops for each thread, on all devices."""
    events, table, during = trace.events, trace.memory, list[_During]()
    on = events.thread.take(op_rows(trace))
    for thread in distinct_in(table.thread).tolist():
        rows = np.flatnonzero(table.thread == thread)
        thread_lane = lane(trace, op_rows, thread)
        first, end = (
            np.searchsorted(table.ts.take(rows), edge).astype(np.int32) for edge in (thread_lane.start, thread_lane.end)
        )
        not_empty = np.flatnonzero(first < end)
        op = np.flatnonzero(on == thread).astype(np.int32)
        during.append(_During(op.take(not_empty), rows, first.take(not_empty), end.take(not_empty)))
    return tuple(during)


def _with_children(trace: Trace, ops: Int64, rows: Int64, values: tuple[Int64, ...]) -> list[Int64]:
    """Returns for each op the sums of the values of the rows on its thread while it is open."""
    sums = [np.zeros(len(ops), np.int64) for _ in values]
    for total, value in zip(sums, values, strict=True):
        every = np.zeros(len(trace.memory), np.int64)
        every[rows] = value
        for during in _during_ops(trace):
            until = np.append(0, np.cumsum(every.take(during.rows)))
            total[during.op] = until.take(during.past) - until.take(during.first)
    return sums


def memory_by_op(trace: Trace, place: Place) -> list[OpMemory]:
    """Returns the memory by op name, for names that allocate or free anything; most bytes of their own first."""
    bytes_of_ops, names = op_bytes(trace, place), trace.events.name
    name = names.take(bytes_of_ops.op)
    number = len(trace.strings)
    outer = _outermost_of_name(trace)
    outer_name = name[outer]
    calls = np.bincount(outer_name, minlength=number)
    sums = [_by_name(name, column, number) for column in (bytes_of_ops.count, bytes_of_ops.allocated)]
    with_children = (bytes_of_ops.all_count, bytes_of_ops.all_allocated, bytes_of_ops.all_increase)
    sums += [_by_name(outer_name, column[outer], number) for column in with_children]
    not_zero = np.flatnonzero(np.logical_or.reduce([each != 0 for each in sums])).tolist()
    rows = [
        OpMemory(trace.strings[each], int(calls[each]), *(int(column[each]) for column in sums)) for each in not_zero
    ]
    return sorted(rows, key=lambda row: (-row.allocated_bytes, -row.all_allocated_bytes, row.op))


def _by_name(name: Int32, values: Int64, size: int) -> Int64:
    """Returns sums by name. Only ops that allocate anything are summed, because most do not."""
    not_zero = np.flatnonzero(values)
    return exact_sums(name.take(not_zero), values.take(not_zero), size)


@shared
def _outermost_of_name(trace: Trace) -> Bool:
    """Returns which ops are inside no other op of the same name."""
    events, ops = trace.events, op_rows(trace)
    key = numbered(events.thread.take(ops) * np.int64(len(trace.strings)) + events.name.take(ops))
    order = np.argsort(key.astype(np.uint16) if key.max(initial=0) < 1 << 16 else key, kind="stable")
    start = events.start_ns.take(ops[order])
    end = events.ends(ops[order])
    group = key.take(order)
    offset = group * (int(end.max(initial=0)) + 1)  # with this offset, groups do not overlap
    reach = np.maximum.accumulate(end + offset)
    outer = np.ones(len(ops), bool)
    outer[order[1:]] = reach[:-1] <= (start + offset)[1:]
    return outer


class ChurnRow(msgspec.Struct, frozen=True):
    """What an op allocates and frees within a step; means per step. op: None outside of ops. largest_bytes: size of the
    largest allocation."""

    op: str | None
    count: float
    bytes: float
    largest_bytes: int


def churn(trace: Trace, place: Place) -> list[ChurnRow]:
    """Returns the allocations that are made and freed in the same step, by op."""
    lives = allocations(trace)
    made_by = births(trace)
    table = trace.memory
    on_device = are_on(trace, place)
    freed_in = np.where(lives.died >= 0, steps_at(trace, ends_ns(trace)), -1)
    short_lived = np.flatnonzero(on_device & (made_by.step >= 0) & (freed_in == made_by.step))
    name = np.append(trace.events.name, -1)[made_by.op[short_lived]].astype(np.int64)
    groups, size = Groups.of(name), table.bytes[lives.born[short_lived]]
    _, most = groups.extremes(size)
    steps = len(find_steps(trace).steps)
    columns = zip(
        name[groups.first].tolist(), groups.count().tolist(), groups.sum(size).tolist(), most.tolist(), strict=True
    )
    rows = [ChurnRow(trace.strings.get(op), number / steps, total / steps, top) for op, number, total, top in columns]
    return sorted(rows, key=lambda row: -row.bytes)[:MOST_OPS]
