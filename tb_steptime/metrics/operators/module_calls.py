"""Calls of modules, each with its self cost: without the modules inside it.

thread   |---------- BertLayer_0 ----------|
           |- Linear_0 -|   |- Linear_1 -|         self of BertLayer_0: what neither Linear covers
              |addmm|          |addmm|             python of Linear_0: what no op covers
device           kkkk             kkkk
autograd                                   |- AddmmBackward0 -|     backward of Linear_1, whose op made it

A call's module is identified by its path: the names from the outermost module to its own.

thread     |--- Net_0 -----------------|
             |- Block_0 -|- Block_1 -|         Net_0, Net_0/Block_0, Net_0/Block_1
autograd                                 |- Block_0 -|     again Net_0/Block_0: a checkpoint computes it once more

A call that nothing encloses belongs to the only path that ends in its name, if there is exactly one: names number the
instances.
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
from tb_steptime.metrics.operators.op_tree import OpTree, allocated_outside_ops, in_steps, op_tree
from tb_steptime.trace.frames import module_frames
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost, less_children, parent_places, roots
from tb_steptime.trace.ops import forward_of
from tb_steptime.trace.table import Bool, Int32, Int64, distinct_in, is_in, places_in

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


class ModulePaths(msgspec.Struct, frozen=True, eq=False):
    """One entry per path; a path comes after the one around it.

    of_call   for each call its path
    parent    the path around; -1 for none
    frame     row of the string table: the name of a call's frame
    """

    of_call: Int64
    parent: Int64
    frame: Int64

    def __len__(self) -> int:
        return len(self.parent)


def paths_of(calls: ModuleCalls, name: Int64) -> ModulePaths:
    """Finds the path of each call. name: the name of its frame, a row of the string table."""
    again, known = _again(calls, name), _PathNumbers(int(name.max(initial=0)) + 1)
    path = np.full(len(name), -1, np.int64)
    for tree in (~again, again):
        level, outer = tree & (calls.around < 0), np.full(len(name), -1, np.int64)
        path[level] = known.homes(name[level]) if tree is again else known.numbers(outer[level], name[level])
        while level.any():
            level = (calls.around >= 0) & level[calls.around]
            path[level] = known.numbers(path[calls.around[level]], name[level])
    pairs = np.array(list(known.number), np.int64).reshape(-1, 2)
    return ModulePaths(path, pairs[:, 0], pairs[:, 1])


def _again(calls: ModuleCalls, name: Int64) -> Bool:
    """Which calls are, or are inside, a call that nothing encloses although other calls of the same name are inside a
    module."""
    return is_in(name[roots(calls.around)], distinct_in(name[calls.around >= 0]))


class _PathNumbers:
    """Numbers of paths by the path around and the name, in order of first appearance."""

    def __init__(self, names: int) -> None:
        self._names = names
        self.number: dict[tuple[int, int], int] = {}

    def numbers(self, outer: Int64, name: Int64) -> Int64:
        keys, place = np.unique((outer + 1) * self._names + name, return_inverse=True)
        pairs = [(key // self._names - 1, key % self._names) for key in keys.tolist()]
        of_key = np.array([self.number.setdefault(pair, len(self.number)) for pair in pairs], np.int64)
        found: Int64 = of_key[place.reshape(-1)]
        return found

    def homes(self, name: Int64) -> Int64:
        """Returns paths for calls that nothing encloses: the only path that ends in the name, or else one of their
        own."""
        ending: dict[int, list[int]] = {}
        for (outer, last), number in self.number.items():
            ending.setdefault(last, []).extend([number] if outer >= 0 else [])
        homes = {each: ending[each][0] for each in distinct_in(name).tolist() if len(ending.get(each, [])) == 1}
        own = [homes.get(each, -1) for each in name.tolist()]
        path = np.array(own, np.int64)
        path[path < 0] = self.numbers(path[path < 0], name[path < 0])
        return path
