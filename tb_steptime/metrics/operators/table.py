"""The table of ops: calls, and time on the host and on the device, of the ops that agree in a key.

Self is an op without the ops inside it, total is with them. On the host self is without calls of the CUDA or HIP
runtime too, as in the PyTorch Profiler tab and in torch's `key_averages()`; these have a column of their own. Self and
runtime times of all rows sum to the time in which threads run ops. Device times of all rows, and of what no op
launched, sum to all work on devices. Totals do not sum, as an op counts in each op around it. Within one row an op
counts once, also where an op of the row is inside another.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.operators.keys import By, Keys
from tb_steptime.metrics.operators.op_costs import (
    DEVICE_COSTS,
    DeviceCost,
    Window,
    device_costs,
    host_costs,
    in_window,
)
from tb_steptime.metrics.operators.op_tree import OpTree
from tb_steptime.metrics.tensor_cores.usage import device_has_tensor_cores
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


class OperatorRow(msgspec.Struct, frozen=True):
    """Ops of one name that agree in the key; sums over the window, ns.

    key                  shapes, call stack, module, line or phase, whatever ops are grouped by; None by name, and
                         where it is not recorded
    runtime_ns           of the host's time, that in runtime calls of the ops themselves; host_total_ns is with it
    calls                of the ops themselves; where work counts as made, no call of the backward pass is among them
    device_*, launches   of kernels, copies and sets; None where nothing ran on a device
    idle_ns              how long devices had nothing to do until what the op, or an op inside it, launched began; None
                         where nothing ran on a device, and over a recording whose steps are known, as idle time is
                         measured within the steps
    kernel_ns            what of device_total_ns are kernels; on tensor cores at least tensor_ns, and at most unknown_ns
                         more; None where no device has tensor cores
    """

    name: str
    key: str | None
    calls: int
    host_total_ns: int
    host_self_ns: int
    runtime_ns: int
    device_total_ns: int | None = None
    device_self_ns: int | None = None
    launches: int | None = None
    idle_ns: int | None = None
    kernel_ns: int | None = None
    tensor_ns: int | None = None
    unknown_ns: int | None = None


@dataclass(frozen=True, eq=False)
class OpCosts:
    """What each op of a tree costs by itself in a window: 0 outside it; None: not measurable."""

    tree: OpTree
    calls: Int64
    host: Int64
    runtime: Int64
    device: dict[DeviceCost, Int64 | None]


def op_costs(trace: Trace, tree: OpTree, window: Window) -> OpCosts:
    """Of all ops, for any grouping."""
    inside = in_window(trace, tree.row, window).astype(np.int64)
    measured = _measured(trace, window)
    device = {cost: device_costs(trace, tree, cost) * inside if cost in measured else None for cost in DEVICE_COSTS}
    host, runtime = host_costs(trace, tree)
    return OpCosts(tree, tree.is_call * inside, host * inside, runtime * inside, device)


def _measured(trace: Trace, window: Window) -> set[DeviceCost]:
    if not len(find_launches(trace).activity):
        return set()
    measured: set[DeviceCost] = {"device", "launches"}
    if window == "steps" or find_steps(trace).by == "recording":
        measured.add("idle")
    if any(device_has_tensor_cores(trace, device) for device in devices_with_activity(trace)):
        measured |= {"kernel", "tensor", "unknown"}
    return measured


def operator_rows(trace: Trace, costs: OpCosts, by: By) -> list[OperatorRow]:
    """All rows with anything in the window: most time of their own on the device first, then on the host."""
    keys = Keys(trace, costs.tree, by)
    columns = _columns(costs, keys.groups.place, len(keys.groups))
    rows = [
        OperatorRow(keys.name(group), keys.second(group), *values)
        for group, values in enumerate(zip(*columns, strict=True))
        if any(values)
    ]
    return sorted(rows, key=lambda row: (-(row.device_self_ns or 0), -row.host_self_ns, row.name, row.key or ""))


def _columns(costs: OpCosts, group: Int64, size: int) -> list[list[int] | list[None]]:
    """In the order of OperatorRow, from its calls on."""
    tree, top = costs.tree, np.flatnonzero(costs.tree.topmost(group))

    def own(values: Int64 | None) -> list[int] | list[None]:
        return [None] * size if values is None else exact_sums(group, values, size).tolist()

    def total(values: Int64 | None) -> list[int] | list[None]:
        if values is None:
            return [None] * size
        return exact_sums(group[top], tree.with_inside(values)[top], size).tolist()  # type: ignore[no-any-return]

    device = costs.device
    host = [own(costs.calls), total(costs.host + costs.runtime), own(costs.host), own(costs.runtime)]
    return [*host, total(device["device"]), own(device["device"]), *(total(device[id]) for id in DEVICE_COSTS[1:])]
