"""The ops of a recording as a tree, and the op for which each of them counts.

thread     |------- aten::linear -------|        parent of addmm: linear
             |----- aten::addmm -----|
autograd     |-- AddmmBackward0 --|              ran: a tree of its own
               |- aten::mm -|                    made: parent and owner of both are the addmm above

If the only op inside an op has the same name, both are one call: an overload that calls another (aten::sum). The outer
one owns the inner one, as in torch's `key_averages()`. With `where="made"` the ops of the backward pass belong to the
op of the forward pass that created their node, as far as this is recorded.

Each op allocates memory itself: on the GPUs, or on the CPU if no GPU memory was recorded.

thread   |------- aten::linear -------|     4
           |-- aten::addmm --|              8
        +2   +8   -8           +4           2 outside ops: counts for the module around it, if there is one

Allocations count whether or not they are freed again.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import ops_at, rows_at, steps_at
from tb_steptime.metrics.memory.devices import CPU, memory_devices
from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import followed, parent_places
from tb_steptime.trace.ops import Rows, computed_again, forward_of
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: Work of the backward pass counts where it ran, or where it was created: for the op of the forward pass.
Where = Literal["ran", "made"]


class OpTree(msgspec.Struct, frozen=True, eq=False):
    """One entry per op, in time order. A place is that of an entry; a parent's comes before its children's.

    row      of the event table, ascending
    inside   which begin in the steps
    around   place of the op around it on its thread; -1 for none
    parent   the same, except for ops of the backward pass if they count as made: then the forward op
    owner    place of the op for which it counts, usually its own

    In 32 bits: a large trace has a million ops.
    """

    row: Int32
    inside: Bool
    around: Int32
    parent: Int32
    owner: Int32

    def __len__(self) -> int:
        return len(self.row)

    @property
    def is_call(self) -> Bool:
        """Which ops count as a call; the others belong to one."""
        own: Bool = self.owner == np.arange(len(self))
        return own

    def topmost(self, group: Int32) -> Bool:
        """Which ops have no op of their own group above them. Sums over these count an op once in each group around it,
        however deeply the group is nested in itself."""
        if in_c := one_pass("topmost", (bool,), self.parent, group.astype(np.int32, copy=False)):
            return in_c[0]
        found, above = np.ones(len(self), bool), self.parent.copy()
        active = np.flatnonzero(above >= 0)
        while len(active):
            found[active] = group[above[active]] != group[active]
            active = active[found[active]]
            above[active] = self.parent[above[active]]
            active = active[above[active] >= 0]
        return found


#: Depths below this fit int16, which is sorted in a fraction of the time.
_DEEP = 2**15


def op_tree(trace: Trace, where: Where) -> OpTree:
    """Builds the tree of all ops of the recording."""
    rows = trace.events.rows(Kind.CPU_OP).astype(np.int32)
    around = parent_places(trace, rows)
    place = np.arange(len(rows), dtype=np.int32)
    parent, owner = around, np.where(_is_overload(trace, rows, around), around, place)
    if where == "made":
        forward = forward_of(trace, rows)
        made = np.searchsorted(rows, forward).astype(np.int32)
        parent, owner = (np.where(forward >= 0, made, each) for each in (parent, owner))
        again = computed_again(trace, rows)  # recomputed inside a node, not created by it
        parent = np.where(again & ~np.append(again, False)[around], -1, parent).astype(np.int32)
    return OpTree(rows, in_steps(trace, rows), around, parent, followed(owner))


def in_steps(trace: Trace, rows: Rows) -> Bool:
    """Which host events begin in a step. The host's part of a step is its mark, because the device's part continues
    while the host is in the next one."""
    steps = find_steps(trace)
    start = trace.events.start_ns[rows]
    end = steps.host_end_ns + (steps.by == "recording")  # an event that begins where the recording ends is included
    place = steps.begun_on_host(start)
    result: Bool = (place >= 0) & (start < end[place])
    return result


def _is_overload(trace: Trace, rows: Int32, around: Int32) -> Bool:
    """Which ops have the same name as the op around them and are the only one directly inside it."""
    name = trace.events.name[rows]
    inside = around >= 0
    children = np.bincount(around[inside], minlength=len(rows))
    result: Bool = inside & (name[around] == name) & (children[around] == 1)
    return result


def levels_of(parent: Int32) -> tuple[Int32, ...]:
    """Places by depth: those whose parent is -1, their children, and so on."""
    depth = _depth(parent)
    deepest = int(depth.max(initial=0))
    order = np.argsort(depth.astype(np.int16) if deepest < _DEEP else depth, kind="stable").astype(np.int32)
    return tuple(np.split(order, np.cumsum(np.bincount(depth))[:-1]))


def _depth(parent: Int32) -> Int32:
    """How many ops are above each, doubling the distance in each round: a broken file may have ten thousand levels."""
    depth, above = (parent >= 0).astype(np.int32), parent.copy()
    active = np.flatnonzero(above >= 0)
    while len(active):
        over = above[active]
        depth[active], above[active] = depth[active] + depth[over], above[over]
        active = active[above[active] >= 0]
    return depth


class Allocated(msgspec.Struct, frozen=True, eq=False):
    """One entry per allocation, in time order.

    row    int32, of the memory table
    op     int32, row of the event table: the innermost op on the thread; -1 for none
    bytes  int64
    """

    row: Int32
    op: Int32
    bytes: Int64


@shared
def allocated(trace: Trace) -> Allocated:
    """The allocations; empty if memory was not recorded."""
    table = trace.memory
    on_gpus = any(place.type != CPU for place in memory_devices(trace))
    row = np.flatnonzero((table.bytes > 0) & ((table.device_type != CPU) == on_gpus))
    return Allocated(row.astype(np.int32), ops_at(trace, row).astype(np.int32), table.bytes[row])


def allocated_by_ops(trace: Trace, ops: Int32) -> Int64:
    """Bytes that each op of the trace allocates while no op inside it is open; ops: rows of the event table."""
    found = allocated(trace)
    inside = found.op >= 0
    return exact_sums(np.searchsorted(ops, found.op[inside]), found.bytes[inside], len(ops))


def allocated_in_steps(trace: Trace) -> int:
    """Bytes that ops of the steps allocate, plus those allocated outside ops while the host is in a step."""
    found = allocated(trace)
    by_ops = found.op >= 0
    of_steps = found.bytes[by_ops][in_steps(trace, found.op[by_ops])]
    return int(of_steps.sum() + found.bytes[_loose(trace, found)].sum())


def allocated_outside_ops(trace: Trace, around: Int64) -> tuple[Int64, Int64]:
    """Allocations in the steps outside of ops: for each the innermost of these rows of the event table that is open on
    the thread, -1 for none; and its bytes."""
    found = allocated(trace)
    loose = _loose(trace, found)
    return rows_at(trace, around, found.row[loose]), found.bytes[loose]


def _loose(trace: Trace, found: Allocated) -> Bool:
    """Which allocations are in the steps but outside ops."""
    loose = found.op < 0
    if find_steps(trace).by != "recording":
        loose &= steps_at(trace, trace.memory.ts[found.row]) >= 0
    return loose
