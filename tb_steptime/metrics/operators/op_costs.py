"""What each op costs by itself: one number per op, which sums of any grouping are made of.

thread   |-- aten::linear --|           host: its length without those of the ops and runtime calls inside
           |-- aten::addmm --|
              [launch]                  runtime: its calls of the CUDA or HIP runtime
device    ....idle....kkkkkkkk          device: lengths of the kernels, copies and sets that it launched itself
                                        idle: how long the device had nothing to do until they began

A kernel belongs to the innermost op around its launch, so each is counted once, and with the ops around that op once in
each of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.idle.sums import idle_of_activity
from tb_steptime.metrics.operators.op_tree import OpTree
from tb_steptime.metrics.tensor_cores.usage import BINS, kernel_bins
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, less_children, parent_places
from tb_steptime.trace.ops import activity_ops
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: Costs that are measured where anything ran on a device. idle: by the gaps before what it launched, the loader's waits
#: left out; kernel: what of `device` are kernels, and of these the time on tensor cores, and that of which it is
#: unknown.
DeviceCost = Literal["device", "launches", "idle", "kernel", "tensor", "unknown"]
DEVICE_COSTS: tuple[DeviceCost, ...] = ("device", "launches", "idle", "kernel", "tensor", "unknown")

#: A span's steps, or all that was recorded.
Window = Literal["steps", "recording"]


def host_costs(trace: Trace, tree: OpTree) -> tuple[Int64, Int64]:
    """ns of each op on its thread without the ops directly inside it: in its own code, and in runtime calls."""
    own = less_children(trace.events.dur_ns[tree.row], tree.around)
    calls = trace.events.rows(Kind.RUNTIME, Kind.DRIVER)
    calls = calls[parent_places(trace, calls) < 0]  # a driver's call may lie in one of the runtime
    op = innermost(trace, tree.row, calls)
    calls, op = calls[op >= 0], op[op >= 0]
    inside_ns = np.minimum(trace.events.ends(calls), trace.events.ends(op)) - trace.events.start_ns[calls]
    runtime = exact_sums(np.searchsorted(tree.row, op), inside_ns, len(tree))
    return own - runtime, runtime


def device_costs(trace: Trace, tree: OpTree, cost: DeviceCost) -> Int64:
    """ns, of `launches` their number, of what each op launched itself."""
    op, values = activity_ops(trace), _of_activities(trace, cost)
    inside = op >= 0
    return exact_sums(np.searchsorted(tree.row, op[inside]), values[inside], len(tree))


def _of_activities(trace: Trace, cost: DeviceCost) -> Int64:
    """One value for each row of `find_launches`."""
    activity = find_launches(trace).activity
    if cost == "launches":
        return np.ones(len(activity), np.int64)
    if cost == "device":
        return trace.events.dur_ns[activity]
    if cost == "idle":
        idle = [idle_of_activity(trace, device) for device in devices_by_activity(trace)]
        return np.sum(idle, axis=0) if idle else np.zeros(len(activity), np.int64)
    return _of_kernels(trace, cost)


def _of_kernels(trace: Trace, cost: DeviceCost) -> Int64:
    event, activity = trace.kernels.event, find_launches(trace).activity
    bin = {"tensor": "tensor_core", "unknown": "unknown"}.get(cost)
    wanted = np.ones(len(event), bool) if bin is None else kernel_bins(trace) == BINS.index(bin)
    values = np.zeros(len(activity), np.int64)
    values[np.searchsorted(activity, event[wanted])] = trace.events.dur_ns[event[wanted]]
    return values


@dataclass(frozen=True, eq=False)
class OutsideOps:
    """What no recorded op launched, in a window. place: row of `find_launches`; call: the launching one, -1 where it is
    not known."""

    place: Int64
    call: Int64

    def costs(self, trace: Trace, cost: DeviceCost) -> Int64:
        return _of_activities(trace, cost)[self.place]


def outside_ops(trace: Trace, window: Window) -> OutsideOps:
    launches = find_launches(trace)
    lost = np.flatnonzero(activity_ops(trace) < 0)
    began = np.where(launches.call[lost] >= 0, launches.call[lost], launches.activity[lost])
    inside = lost[in_window(trace, began, window)]
    return OutsideOps(inside, launches.call[inside].astype(np.int64))


def in_window(trace: Trace, rows: Int64, window: Window) -> Bool:
    """Which of these events of the host begin in the window. The host's part of a step is its mark: the device's goes
    on while the host is in the next one."""
    steps = find_steps(trace)
    if window == "recording" or steps.by == "recording":
        return np.ones(len(rows), bool)
    begin = np.array([step.host_start_ns for step in steps.steps], np.int64)
    end = begin + np.array([step.host_ns for step in steps.steps], np.int64)
    start = trace.events.start_ns[rows]
    place = np.searchsorted(begin, start, side="right") - 1
    result: Bool = (place >= 0) & (start < end[place])
    return result


def window_ns(trace: Trace, window: Window) -> int:
    """Of the steps their lengths; of the recording from its first event to the end of its last."""
    steps, events = find_steps(trace), trace.events
    if window == "steps":
        return int((steps.end_ns - steps.start_ns).sum())
    return int(events.end_ns.max() - events.start_ns.min()) if len(events) else 0
