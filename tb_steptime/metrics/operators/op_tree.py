"""The ops of a recording as a tree, and the op for which each of them counts.

thread     |------- aten::linear -------|        parent of addmm: linear
             |----- aten::addmm -----|
autograd     |-- AddmmBackward0 --|              ran: a tree of its own
               |- aten::mm -|                    made: parent and owner of both are the addmm above

If the only op inside an op has the same name, both are one call, which is an overload that calls another (aten::sum).
The outer one owns the inner one, as in torch's `key_averages()`. With `where="made"` the ops of the backward pass
belong to the op of the forward pass that created their node, as far as this is recorded.

Each op allocates memory itself: on the GPUs, or on the CPU if no GPU memory was recorded.

thread   |------- aten::linear -------|     4
           |-- aten::addmm --|              8
        +2   +8   -8           +4           2 outside ops: counts for the module around it, if there is one

Allocations count whether or not they are freed again.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.idle.sums import idle_of_activity
from tb_steptime.metrics.memory.allocations import ops_at, rows_at, steps_at
from tb_steptime.metrics.memory.curves import CPU, memory_devices
from tb_steptime.metrics.tensor_cores.usage import BINS, device_has_tensor_cores, kernel_bins
from tb_steptime.trace.extension import one_pass
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.nesting import followed, innermost, less_children, op_rows, parent_places
from tb_steptime.trace.ops import Rows, activity_ops, computed_again, forward_of, kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Columns, Int32, Int64, Kind

#: Work of the backward pass counts where it ran, or where it was made, which is the op of the forward pass.
Where = Literal["ran", "made"]


class OpTree(Columns, frozen=True, eq=False):
    """The ops, one entry each, in time order. A place is that of an entry. A parent comes before its children.

    row      row of the event table, ascending
    inside   whether it begins in the steps
    around   place of the op around it on its thread; -1 for none
    parent   the same, but the forward op for ops of the backward pass that count where they were made
    owner    place of the op for which it counts, usually its own

    Columns have 32 bits, because a large trace has a million ops.
    """

    row: Int32
    inside: Bool
    around: Int32
    parent: Int32
    owner: Int32

    @property
    def is_call(self) -> Bool:
        """Which ops count as a call; the others belong to one."""
        return self.owner == np.arange(len(self))

    def topmost(self, group: Int32) -> Bool:
        """Returns which ops have no op of their own group above them. Sums over these count an op once in each group
        around it, however deeply the group is nested in itself."""
        if in_c := one_pass("topmost", (bool,), self.parent, group.astype(np.int32, copy=False)):
            return in_c[0]
        is_topmost, above = np.ones(len(self), bool), self.parent.copy()
        active = np.flatnonzero(above >= 0)
        while len(active):
            is_topmost[active] = group[above[active]] != group[active]
            active = active[is_topmost[active]]
            above[active] = self.parent[above[active]]
            active = active[above[active] >= 0]
        return is_topmost


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
        creator = np.searchsorted(rows, forward).astype(np.int32)
        parent, owner = (np.where(forward >= 0, creator, each) for each in (parent, owner))
        recomputed = computed_again(trace, rows)  # these are recomputed inside a node, and not created by it
        parent = np.where(recomputed & ~np.append(recomputed, False)[around], -1, parent).astype(np.int32)
    return OpTree(rows, in_steps(trace, rows), around, parent, followed(owner))


def in_steps(trace: Trace, rows: Rows) -> Bool:
    """Returns which host events begin in a step. The host's part of a step is its mark, because the device's part
    continues while the host is in the next one."""
    steps = find_steps(trace)
    start = trace.events.start_ns[rows]
    end = steps.host_end_ns + (steps.by == "recording")  # an event that begins where the recording ends is included
    place = steps.begun_on_host(start)
    return (place >= 0) & (start < end[place])


def _is_overload(trace: Trace, rows: Int32, around: Int32) -> Bool:
    """Returns which ops have the same name as the op around them and are the only one directly inside it."""
    name = trace.events.name[rows]
    inside = around >= 0
    children = np.bincount(around[inside], minlength=len(rows))
    return inside & (name[around] == name) & (children[around] == 1)


def levels_of(parent: Int32) -> tuple[Int32, ...]:
    """Returns the places by depth: those whose parent is -1, their children, and so on."""
    depth = _depth(parent)
    deepest = int(depth.max(initial=0))
    order = np.argsort(depth.astype(np.int16) if deepest < _DEEP else depth, kind="stable").astype(np.int32)
    return tuple(np.split(order, np.cumsum(np.bincount(depth))[:-1]))


def _depth(parent: Int32) -> Int32:
    """Returns how many ops are above each. Each round doubles the distance, because a broken file may have ten thousand
    levels."""
    depth, above = (parent >= 0).astype(np.int32), parent.copy()
    active = np.flatnonzero(above >= 0)
    while len(active):
        over = above[active]
        depth[active], above[active] = depth[active] + depth[over], above[over]
        active = active[above[active] >= 0]
    return depth


class Allocated(msgspec.Struct, frozen=True, eq=False):
    """Allocations, one entry each, in time order.

    row    int32, row of the memory table
    op     int32, row of the event table: the innermost op on the thread; -1 for none
    bytes  int64
    """

    row: Int32
    op: Int32
    bytes: Int64


@shared
def allocated(trace: Trace) -> Allocated:
    """Returns the allocations; none if memory was not recorded."""
    table = trace.memory
    on_gpus = any(place.type != CPU for place in memory_devices(trace))
    row = np.flatnonzero((table.bytes > 0) & ((table.device_type != CPU) == on_gpus))
    return Allocated(row.astype(np.int32), ops_at(trace, row).astype(np.int32), table.bytes[row])


def allocated_in_steps(trace: Trace) -> int:
    """Returns the bytes that ops of the steps allocate, plus those allocated outside ops while the host is in a
    step."""
    allocations = allocated(trace)
    by_ops = allocations.op >= 0
    of_steps = allocations.bytes[by_ops][in_steps(trace, allocations.op[by_ops])]
    return int(of_steps.sum() + allocations.bytes[_outside_ops_in_steps(trace, allocations)].sum())


def allocated_outside_ops(trace: Trace, around: Int64) -> tuple[Int64, Int64]:
    """Returns two columns for the allocations in the steps outside of ops: the innermost of these rows of the event
    table that is open on the thread, -1 for none; and the bytes."""
    allocations = allocated(trace)
    is_outside = _outside_ops_in_steps(trace, allocations)
    return rows_at(trace, around, allocations.row[is_outside]), allocations.bytes[is_outside]


def _outside_ops_in_steps(trace: Trace, allocations: Allocated) -> Bool:
    """Returns which allocations are in the steps but outside ops."""
    is_outside = allocations.op < 0
    if find_steps(trace).by != "recording":
        is_outside &= steps_at(trace, trace.memory.ts[allocations.row]) >= 0
    return is_outside


# The self cost of each op is one number per op and cost, from which sums of any grouping are computed.
#
# thread   |-- aten::linear --|           host: its length without those of the ops and runtime calls inside
#            |-- aten::addmm --|
#               [launch]                  runtime: its calls of the CUDA or HIP runtime
# device    ....idle....kkkkkkkk          device: lengths of the kernels, copies and memsets that it launched itself
#                                         idle: how long the device had nothing to do until they began
#
# A kernel belongs to the innermost op around its launch, so it counts once for that op, and once in the total of each
# op around it. A kernel of a CUDA graph belongs to the op in its label, if it has one; the op that launched the graph
# includes the kernel in its total.

#: Costs that are measured if anything ran on a device. "idle" is gaps before the op's launches, without the loader's
#: waits. "kernel" is the part of "device" in kernels. "tensor" and "unknown" are the time of these on tensor cores, and
#: the time for which that is unknown.
DeviceCost = Literal["device", "launches", "idle", "kernel", "tensor", "unknown"]
DEVICE_COSTS: tuple[DeviceCost, ...] = get_args(DeviceCost)
#: Costs that some traces have. "allocated" is bytes, if memory was recorded.
SometimesCost = Literal["allocated"] | DeviceCost
SOMETIMES: tuple[SometimesCost, ...] = ("allocated", *DEVICE_COSTS)
#: What the label of a graph kernel must name for the kernel to count there.
Labelled = Literal["op", "module"]
#: "host" is time in the op's own code, "runtime" in its calls of the CUDA or HIP runtime.
Cost = Literal["host", "runtime"] | SometimesCost


def measured_costs(trace: Trace) -> tuple[Cost, ...]:
    on_host: tuple[Cost, ...] = ("host", "runtime", "allocated") if len(trace.memory) else ("host", "runtime")
    if not len(find_launches(trace).activity):
        return on_host
    if not any(device_has_tensor_cores(trace, device) for device in devices_with_activity(trace)):
        return (*on_host, "device", "launches", "idle")
    return (*on_host, *DEVICE_COSTS)


def own_costs(trace: Trace, tree: OpTree, cost: Cost, unless: Labelled = "op") -> Int64:
    """Returns the self cost of each op: ns, for `launches` a count, for `allocated` bytes; 0 for ops outside the steps.
    The result does not depend on the tree's `where`. unless: graph kernels whose labels name an op, or a module, are
    left out."""
    if cost == "allocated":
        allocations = allocated(trace)
        inside = allocations.op >= 0
        values = exact_sums(np.searchsorted(tree.row, allocations.op[inside]), allocations.bytes[inside], len(tree.row))
    elif cost in ("host", "runtime"):
        _, op, ns = runtime_in_ops(trace, tree)
        values = exact_sums(op, ns, len(tree))
        if cost == "host":
            values = less_children(trace.events.dur_ns[tree.row], tree.around) - values
    else:
        own = activity_ops(trace) >= 0
        own[labelled_work(trace, unless).place] = False
        values = _by_op(trace, tree, np.flatnonzero(own), cost)
    values[~tree.inside] = 0
    return values


def runtime_in_ops(trace: Trace, tree: OpTree) -> tuple[Int64, Int64, Int64]:
    """Returns for each runtime call in an op its row of the event table, the op's place, and the ns inside the op."""
    calls = trace.events.rows(*CALL_KINDS)
    calls = calls[parent_places(trace, calls) < 0]  # a driver call may lie inside a runtime call
    op = innermost(trace, tree.row.astype(np.int64), calls)
    calls, op = calls[op >= 0], op[op >= 0]
    inside_ns = np.minimum(trace.events.ends(calls), trace.events.ends(op)) - trace.events.start_ns[calls]
    return calls, np.searchsorted(tree.row, op), inside_ns


def graph_costs(trace: Trace, tree: OpTree, cost: Cost) -> Int64:
    """Returns for each op the cost of the graphs that it launched itself, as far as labels assign their kernels to
    other ops; 0 outside the steps, and for costs on the host."""
    if cost not in DEVICE_COSTS or kernel_labels(trace) is None:
        return np.zeros(len(tree), np.int64)
    place = labelled_work(trace).place
    values = _by_op(trace, tree, place[activity_ops(trace)[place] >= 0], cost)
    values[~tree.inside] = 0
    return values


def _by_op(trace: Trace, tree: OpTree, place: Int64, cost: Cost) -> Int64:
    """Returns the sums of the cost by op. place: the activities that count, rows of `find_launches`."""
    return exact_sums(_op_places(trace)[place], of_activities(trace, cost)[place], len(tree))


@shared
def _op_places(trace: Trace) -> Int32:
    """Returns for each row of `find_launches` the place of its op among the ops of a tree; any place if it has none."""
    return np.searchsorted(op_rows(trace), activity_ops(trace)).astype(np.int32)


def of_activities(trace: Trace, cost: Cost) -> Int64:
    """Returns one value of a cost on the device for each row of `find_launches`."""
    activity = find_launches(trace).activity
    if cost == "launches":
        return np.ones(len(activity), np.int64)
    if cost == "device":
        return trace.events.dur_ns[activity]
    if cost == "idle":
        idle = [idle_of_activity(trace, device) for device in devices_by_activity(trace)]
        return np.sum(idle, axis=0) if idle else np.zeros(len(activity), np.int64)
    return _kernel_costs(trace, cost)


def _kernel_costs(trace: Trace, cost: Cost) -> Int64:
    event, activity = trace.kernels.event, find_launches(trace).activity
    bin = {"tensor": "tensor_core", "unknown": "unknown"}.get(cost)
    in_bin = np.ones(len(event), bool) if bin is None else kernel_bins(trace) == BINS.index(bin)
    values = np.zeros(len(activity), np.int64)
    values[np.searchsorted(activity, event[in_bin])] = trace.events.dur_ns[event[in_bin]]
    return values


class LabelledWork(msgspec.Struct, frozen=True, eq=False):
    """Kernels of graphs, launched in the steps, whose labels name an op, or a module.

    place    row of `find_launches`
    kernel   row of the kernel table
    """

    place: Int64
    kernel: Int64

    def costs(self, trace: Trace, cost: Cost) -> Int64:
        return of_activities(trace, cost)[self.place]


def labelled_work(trace: Trace, by: Labelled = "op") -> LabelledWork:
    labels = kernel_labels(trace)
    if labels is None:
        return LabelledWork(np.empty(0, np.int64), np.empty(0, np.int64))
    kernel = np.flatnonzero((labels.op if by == "op" else labels.modules) >= 0)
    kernel = kernel[in_steps(trace, kernel_origins(trace).call[kernel])]
    return LabelledWork(np.searchsorted(find_launches(trace).activity, trace.kernels.event[kernel]), kernel)


class OutsideOps(msgspec.Struct, frozen=True, eq=False):
    """Work in the steps that no recorded op launched, and whose label names no op.

    place   row of `find_launches`
    call    the launching call; -1 if it is not known
    """

    place: Int64
    call: Int64

    def costs(self, trace: Trace, cost: Cost) -> Int64:
        return of_activities(trace, cost)[self.place]


def outside_ops(trace: Trace, unless: Labelled = "op") -> OutsideOps:
    """Returns the work outside ops. Work launched before the recording runs while the host is already in the first
    step, but the device is not. So work without a launch belongs to the step that the device is in."""
    launches, steps = find_launches(trace), find_steps(trace)
    without_op = activity_ops(trace) < 0
    without_op[labelled_work(trace, unless).place] = False
    lost = np.flatnonzero(without_op)
    call, activity = launches.call[lost], launches.activity[lost]
    start = trace.events.start_ns[activity]
    on_device = steps.intervals.overlap_ns(start, start + 1) > 0
    inside = lost[np.where(call >= 0, in_steps(trace, np.where(call >= 0, call, activity)), on_device)]
    return OutsideOps(inside, launches.call[inside].astype(np.int64))
