"""Calls of modules, each with its self cost: without the modules inside it.

thread   |---------- BertLayer_0 ----------|
           |- Linear_0 -|   |- Linear_1 -|         self of BertLayer_0: what neither Linear covers
              |addmm|          |addmm|             python of Linear_0: what no op covers
device           kkkk             kkkk
autograd                                   |- AddmmBackward0 -|     backward of Linear_1, whose op made it
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.operators.op_costs import (
    DEVICE_COSTS,
    SOMETIMES,
    DeviceCost,
    measured_costs,
    outside_ops,
    own_costs,
)
from tb_steptime.metrics.operators.op_memory import allocated_outside_ops
from tb_steptime.metrics.operators.op_tree import OpTree, in_steps, op_tree
from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, less_children, parent_places
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Bool, Int32, Int64, places_in

#: Costs in ns, except `launches` (a count) and `*allocated` (bytes). host: of the call; python: the part of it that is
#: in no op; backward_*: of the nodes that its ops created; the others as for ops, in the forward pass.
ModuleCost = (
    Literal["host", "python", "allocated", "backward_host", "backward_device", "backward_allocated"] | DeviceCost
)


class ModuleCalls(msgspec.Struct, frozen=True, eq=False):
    """One entry per call, in time order.

    row      of the event table, ascending
    around   place of the call around it on its thread; -1 for none
    counts   which calls begin in the steps
    own      self cost of each call, 0 outside the steps; None: not measurable
    """

    row: Int64
    around: Int32
    counts: Bool
    own: dict[ModuleCost, Int64 | None]


def module_calls(trace: Trace) -> ModuleCalls:
    """Returns all recorded calls of modules; empty without any."""
    rows = module_frames(trace)
    around, inside = parent_places(trace, rows), in_steps(trace, rows)
    host = less_children(trace.events.dur_ns[rows], around) * inside
    own: dict[ModuleCost, Int64 | None] = {"host": host, "python": host, "backward_host": np.zeros(len(rows), np.int64)}
    own |= dict.fromkeys((*SOMETIMES, "backward_device", "backward_allocated"))
    if len(rows):
        _add_ops(trace, rows, own)
    return ModuleCalls(rows, around, inside, own)


def _add_ops(trace: Trace, rows: Int64, own: dict[ModuleCost, Int64 | None]) -> None:
    """Add the costs of ops inside the modules, and of work that no op launched."""
    tree, outside = op_tree(trace, "ran"), outside_ops(trace, "module")
    module, made = _modules_of_ops(trace, tree, rows)
    loose = places_in(rows, innermost(trace, rows, outside.call))
    host = own_costs(trace, tree, "host") + own_costs(trace, tree, "runtime")
    assert own["python"] is not None
    own["python"] = own["python"] - _sum(module, host, len(rows))
    own["backward_host"] = _sum(made, host, len(rows))
    if "allocated" in measured_costs(trace):
        values, (around, size) = own_costs(trace, tree, "allocated"), allocated_outside_ops(trace, rows)
        own["allocated"] = _sum(module, values, len(rows)) + _sum(places_in(rows, around), size, len(rows))
        own["backward_allocated"] = _sum(made, values, len(rows))
    for cost in DEVICE_COSTS:
        if cost not in measured_costs(trace):
            continue
        values = own_costs(trace, tree, cost, "module")
        own[cost] = _sum(module, values, len(rows)) + _sum(loose, outside.costs(trace, cost), len(rows))
        if cost == "device":
            own["backward_device"] = _sum(made, values, len(rows))


def _modules_of_ops(trace: Trace, tree: OpTree, rows: Int64) -> tuple[Int64, Int64]:
    """For each op the place of the module call around it, and of the one around the op that created it; -1 for none."""
    forward = forward_of(trace, tree.row)
    module, made = (places_in(rows, innermost(trace, rows, each.astype(np.int64))) for each in (tree.row, forward))
    return module, np.where(module >= 0, -1, made)  # work that a checkpoint recomputes has a module call of its own


def _sum(place: Int64, values: Int64, size: int) -> Int64:
    known = place >= 0
    return exact_sums(place[known], values[known], size)
