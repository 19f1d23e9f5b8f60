"""What each op allocates: itself, and with the ops inside it.

thread   |------- aten::linear -------|     self 0, with children 12
           |-- aten::addmm --|              self 12
             +8   +4   -4                   allocates 12, grows memory by 8
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.births import ops_at
from tb_steptime.metrics.memory.devices import Place, curve
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in

#: Ops in a table; those that allocate most.
MOST_OPS = 50


class OpBytes(msgspec.Struct, frozen=True, eq=False):
    """What ops allocate on a device, one entry for each op of the trace; a free while it runs counts as a decrease.

    op             rows of the event table, ascending: all ops
    allocated      int64, bytes of the allocations while no op inside it was open; freed ones count as much
    count          int64, how many these are
    increase       int64, allocated less what was freed meanwhile
    all_allocated, all_count, all_increase   likewise, those of the ops inside it too
    """

    op: Int32
    allocated: Int64
    count: Int64
    increase: Int64
    all_allocated: Int64
    all_count: Int64
    all_increase: Int64


class OpMemory(msgspec.Struct, frozen=True):
    """Ops of one name: sums over the recording, bytes. increase_bytes: allocated less freed while they ran. An op
    inside another of its name is no call of its own, and counts once in what is allocated with children."""

    op: str
    calls: int
    count: int
    allocated_bytes: int
    increase_bytes: int
    all_count: int
    all_allocated_bytes: int
    all_increase_bytes: int


def op_bytes(trace: Trace, place: Place) -> OpBytes:
    """Of each op; one inside another of the same name counts for both."""
    rows = curve(trace, place).row
    ops = trace.events.rows(Kind.CPU_OP)
    found, size = ops_at(trace, rows), trace.memory.bytes[rows]
    values = (np.maximum(size, 0), (size > 0).astype(np.int64), size)
    inside = found >= 0
    own = np.searchsorted(ops, found[inside])
    selves = [exact_sums(own, each[inside], len(ops)) for each in values]
    return OpBytes(ops.astype(np.int32), *selves, *_with_children(trace, ops, rows, values))


def _with_children(trace: Trace, ops: Int64, rows: Int64, values: tuple[Int64, ...]) -> list[Int64]:
    """Of each op the sums of the values of the rows on its thread while it is open."""
    events, table = trace.events, trace.memory
    sums = [np.zeros(len(ops), np.int64) for _ in values]
    on, start, end = events.thread[ops], events.start_ns[ops], events.ends(ops)
    for thread in distinct_in(table.thread[rows]).tolist():
        mine, here = np.flatnonzero(on == thread), table.thread[rows] == thread
        first, past = (np.searchsorted(table.ts[rows[here]], edge[mine]) for edge in (start, end))
        for total, value in zip(sums, values, strict=True):
            until = np.append(0, np.cumsum(value[here]))
            total[mine] = until[past] - until[first]
    return sums


def memory_by_op(trace: Trace, place: Place) -> list[OpMemory]:
    """By name, of those that allocate or free anything; most bytes of their own first."""
    of, names = op_bytes(trace, place), trace.events.name
    name, number, outer = names[of.op], len(trace.strings), _outermost_of_name(trace, of.op)
    calls = np.bincount(name[outer], minlength=number)
    sums = [exact_sums(name, column, number) for column in (of.count, of.allocated, of.increase)]
    with_children = (of.all_count, of.all_allocated, of.all_increase)
    sums += [exact_sums(name[outer], column[outer], number) for column in with_children]
    some = np.flatnonzero(np.logical_or.reduce([each != 0 for each in sums])).tolist()
    rows = [OpMemory(trace.strings[each], int(calls[each]), *(int(column[each]) for column in sums)) for each in some]
    return sorted(rows, key=lambda row: (-row.allocated_bytes, -row.all_allocated_bytes, row.op))


def _outermost_of_name(trace: Trace, ops: Int32) -> Bool:
    """Which ops are inside no other op of the same name."""
    events = trace.events
    name, on = events.name[ops].astype(np.int64), events.thread[ops].astype(np.int64)
    order = np.lexsort((ops, name, on))
    start, end = events.start_ns[ops[order]], events.ends(ops[order])
    group = np.cumsum(np.append(0, (np.diff(name[order]) != 0) | (np.diff(on[order]) != 0))) if len(ops) else on
    apart = group * (int(end.max(initial=0)) + 1)  # so that no group reaches into the next
    reach = np.maximum.accumulate(end + apart)
    outer = np.ones(len(ops), bool)
    outer[order[1:]] = reach[:-1] <= (start + apart)[1:]
    return outer
