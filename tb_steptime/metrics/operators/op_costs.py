"""The self cost of each op: one number per op and cost, from which sums of any grouping are computed.

thread   |-- aten::linear --|           host: its length without those of the ops and runtime calls inside
           |-- aten::addmm --|
              [launch]                  runtime: its calls of the CUDA or HIP runtime
device    ....idle....kkkkkkkk          device: lengths of the kernels, copies and sets that it launched itself
                                        idle: how long the device had nothing to do until they began

A kernel belongs to the innermost op around its launch, so it counts once for that op, and once in the total of each op
around it. A kernel of a CUDA graph belongs to the op in its label, if it has one; the op that launched the graph
includes the kernel in its total.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.idle.sums import idle_of_activity
from tb_steptime.metrics.operators.op_tree import OpTree, allocated_by_ops, in_steps
from tb_steptime.metrics.tensor_cores.usage import BINS, device_has_tensor_cores, kernel_bins
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.nesting import innermost, less_children, op_rows, parent_places
from tb_steptime.trace.ops import activity_ops, kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Int32, Int64

#: Costs that are measured if anything ran on a device. idle: gaps before the op's launches, without the loader's waits;
#: kernel: the part of `device` that is kernels; tensor, unknown: the time of these on tensor cores, and the time for
#: which that is unknown.
DeviceCost = Literal["device", "launches", "idle", "kernel", "tensor", "unknown"]
DEVICE_COSTS: tuple[DeviceCost, ...] = get_args(DeviceCost)
#: allocated: bytes, where memory was recorded.
SometimesCost = Literal["allocated"] | DeviceCost
SOMETIMES: tuple[SometimesCost, ...] = ("allocated", *DEVICE_COSTS)
#: What the label of a graph kernel has to name for the kernel to count there.
Labelled = Literal["op", "module"]
#: host: in the op's own code; runtime: in its calls of the CUDA or HIP runtime.
Cost = Literal["host", "runtime"] | SometimesCost


def measured_costs(trace: Trace) -> tuple[Cost, ...]:
    on_host: tuple[Cost, ...] = ("host", "runtime", "allocated") if len(trace.memory) else ("host", "runtime")
    if not len(find_launches(trace).activity):
        return on_host
    if not any(device_has_tensor_cores(trace, device) for device in devices_with_activity(trace)):
        return (*on_host, "device", "launches", "idle")
    return (*on_host, *DEVICE_COSTS)


def own_costs(trace: Trace, tree: OpTree, cost: Cost, unless: Labelled = "op") -> Int64:
    """Self cost of each op: ns, for `launches` a count, for `allocated` bytes; 0 for ops outside the steps. The result
    does not depend on the tree's `where`. unless: graph kernels whose labels name an op, or a module, are left out."""
    if cost == "allocated":
        values = allocated_by_ops(trace, tree.row)
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
    """For each runtime call in an op, its row of the event table, the op's place, and the ns inside the op."""
    calls = trace.events.rows(*CALL_KINDS)
    calls = calls[parent_places(trace, calls) < 0]  # a driver call may lie inside a runtime call
    op = innermost(trace, tree.row.astype(np.int64), calls)
    calls, op = calls[op >= 0], op[op >= 0]
    inside_ns = np.minimum(trace.events.ends(calls), trace.events.ends(op)) - trace.events.start_ns[calls]
    return calls, np.searchsorted(tree.row, op), inside_ns


def graph_costs(trace: Trace, tree: OpTree, cost: Cost) -> Int64:
    """For each op the cost of the graphs that it launched itself, as far as labels assign their kernels to other ops; 0
    outside the steps, and for costs on the host."""
    if cost not in DEVICE_COSTS or kernel_labels(trace) is None:
        return np.zeros(len(tree), np.int64)
    place = labelled_work(trace).place
    values = _by_op(trace, tree, place[activity_ops(trace)[place] >= 0], cost)
    values[~tree.inside] = 0
    return values


def _by_op(trace: Trace, tree: OpTree, place: Int64, cost: Cost) -> Int64:
    """Sums of the cost by op. place: the activities that count, rows of `find_launches`."""
    return exact_sums(_op_places(trace)[place], of_activities(trace, cost)[place], len(tree))


@shared
def _op_places(trace: Trace) -> Int32:
    """For each row of `find_launches` the place of its op among the ops of a tree; any place where it has none."""
    return np.searchsorted(op_rows(trace), activity_ops(trace)).astype(np.int32)


def of_activities(trace: Trace, cost: Cost) -> Int64:
    """One value of a cost on the device for each row of `find_launches`."""
    activity = find_launches(trace).activity
    if cost == "launches":
        return np.ones(len(activity), np.int64)
    if cost == "device":
        return trace.events.dur_ns[activity]
    if cost == "idle":
        idle = [idle_of_activity(trace, device) for device in devices_by_activity(trace)]
        return np.sum(idle, axis=0) if idle else np.zeros(len(activity), np.int64)
    return _of_kernels(trace, cost)


def _of_kernels(trace: Trace, cost: Cost) -> Int64:
    event, activity = trace.kernels.event, find_launches(trace).activity
    bin = {"tensor": "tensor_core", "unknown": "unknown"}.get(cost)
    wanted = np.ones(len(event), bool) if bin is None else kernel_bins(trace) == BINS.index(bin)
    values = np.zeros(len(activity), np.int64)
    values[np.searchsorted(activity, event[wanted])] = trace.events.dur_ns[event[wanted]]
    return values


class LabelledWork(msgspec.Struct, frozen=True, eq=False):
    """Kernels of graphs, launched in the steps, whose labels name an op, or a module.

    place    row of `find_launches`;  kernel  row of the kernel table
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

    place  row of `find_launches`;  call  the launching one, -1 where it is not known
    """

    place: Int64
    call: Int64

    def costs(self, trace: Trace, cost: Cost) -> Int64:
        return of_activities(trace, cost)[self.place]


def outside_ops(trace: Trace, unless: Labelled = "op") -> OutsideOps:
    """The work outside ops. Work launched before the recording runs while the host is already in the first step, but
    the device is not: work without a launch belongs to the step that the device is in."""
    launches, steps = find_launches(trace), find_steps(trace)
    without_op = activity_ops(trace) < 0
    without_op[labelled_work(trace, unless).place] = False
    lost = np.flatnonzero(without_op)
    call, activity = launches.call[lost], launches.activity[lost]
    start = trace.events.start_ns[activity]
    on_device = steps.intervals.overlap_ns(start, start + 1) > 0
    inside = lost[np.where(call >= 0, in_steps(trace, np.where(call >= 0, call, activity)), on_device)]
    return OutsideOps(inside, launches.call[inside].astype(np.int64))
