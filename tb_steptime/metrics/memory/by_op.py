"""What each op allocates, by itself and in the ops inside it.

thread   |------- aten::linear -------|     self 0, with children 12
           |-- aten::addmm --|              self 12
             +8   +4   -4                   allocates 12, grows memory by 8

Churn is memory that is allocated and freed again within one step.

step    |----------------|            aten::addmm: 2 allocations, 24 bytes a step
addmm     +8  -8   +16 -16
relu            +4 .............      stays longer: no churn
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, are_on, births, ends_ns, ops_at, steps_at
from tb_steptime.metrics.memory.curves import Place, curve
from tb_steptime.trace.groups import Groups, exact_sums, numbered
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import lane, op_rows
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, distinct_in

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
