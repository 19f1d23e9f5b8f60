"""Calls of modules, each with what it costs by itself: without the modules inside it.

thread   |---------- BertLayer_0 ----------|
           |- Linear_0 -|   |- Linear_1 -|         self of BertLayer_0: what neither Linear covers
              |addmm|          |addmm|             python of Linear_0: what no op covers
device           kkkk             kkkk
autograd                                   |- AddmmBackward0 -|     backward of Linear_1, whose op made it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_steptime.metrics.operators.op_costs import DEVICE_COSTS, DeviceCost, Window, in_window, outside_ops
from tb_steptime.metrics.operators.op_tree import op_tree
from tb_steptime.metrics.operators.table import OpCosts, op_costs
from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, less_children, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Bool, Int64

#: ns, of `launches` their number. host: of the call; python: what of it is in no op; backward_*: of the nodes that its
#: ops made; the others as for ops, of the forward pass.
ModuleCost = Literal["host", "python", "backward_host", "backward_device"] | DeviceCost


@dataclass(frozen=True, eq=False)
class ModuleCalls:
    """One entry per call, in time order.

    row      of the event table, ascending
    around   place of the call around it on its thread; -1 for none
    counts   which calls begin in the window
    own      what each costs by itself, 0 outside the window; None: not measurable
    """

    row: Int64
    around: Int64
    counts: Bool
    own: dict[ModuleCost, Int64 | None]


def module_calls(trace: Trace, window: Window) -> ModuleCalls:
    """Of all modules whose calls were recorded; without any, empty."""
    rows = module_frames(trace)
    around, inside = parent_places(trace, rows), in_window(trace, rows, window)
    host = less_children(trace.events.dur_ns[rows], around) * inside
    costs, outside = op_costs(trace, op_tree(trace, "ran"), window), outside_ops(trace, window)
    module, made = _modules_of_ops(trace, costs, rows)
    own: dict[ModuleCost, Int64 | None] = {"host": host}
    own["python"] = host - _sum(module, costs.host + costs.runtime, len(rows))
    own["backward_host"] = _sum(made, costs.host + costs.runtime, len(rows))
    own["backward_device"] = None if (device := costs.device["device"]) is None else _sum(made, device, len(rows))
    loose = _places(rows, innermost(trace, rows, outside.call))
    for cost in DEVICE_COSTS:
        values = costs.device[cost]
        if values is not None:
            values = _sum(module, values, len(rows)) + _sum(loose, outside.costs(trace, cost), len(rows))
        own[cost] = values
    return ModuleCalls(rows, around, inside, own)


def _modules_of_ops(trace: Trace, costs: OpCosts, rows: Int64) -> tuple[Int64, Int64]:
    """For each op the place of the call of a module around it, and of that around the op which made it; -1 for none."""
    ops, forward = costs.tree.row, forward_of(trace, costs.tree.row)
    module, made = (_places(rows, innermost(trace, rows, each)) for each in (ops, forward.astype(np.int64)))
    return module, np.where(module >= 0, -1, made)  # what a checkpoint computes again is a call of its own


def _sum(place: Int64, values: Int64, size: int) -> Int64:
    known = place >= 0
    return exact_sums(place[known], values[known], size)


def _places(rows: Int64, found: Int64) -> Int64:
    """Where in the ascending rows each found one is; -1 for none."""
    return np.where(found >= 0, np.searchsorted(rows, found), -1)
