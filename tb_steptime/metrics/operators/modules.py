"""The modules of a recording, with the calls of each. They come from Python frames or Lightning's marks, or else from
the modules that ops of TorchScript name.

op          aten::sub   "TOP(C)::forward.A0(A)::forward."      path TOP, A0
op          aten::add   "TOP(C)::forward."                     path TOP
occurrences             one of TOP and one of A0: consecutive ops of a thread in a module are of one call

Launches and allocations of the steps may be outside any module, in the forward and the backward pass.

thread     |- Net_0 -|  |- loss -|             loss: outside
autograd                           |- Addmm- -|   of Net_0, whose op made it
                                    |- Accumulate -|   outside: no op of the forward pass made it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.operators.op_tree import (
    DEVICE_COSTS,
    SOMETIMES,
    DeviceCost,
    OpTree,
    allocated_in_steps,
    allocated_outside_ops,
    in_steps,
    labelled_work,
    measured_costs,
    of_activities,
    op_tree,
    outside_ops,
    own_costs,
)
from tb_steptime.trace.frames import module_frames, module_name, nested_modules
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.nesting import innermost, less_children, parent_places, roots
from tb_steptime.trace.ops import forward_of, kernel_origins
from tb_steptime.trace.sources import hierarchies
from tb_steptime.trace.table import (
    MODULE_SEPARATOR,
    Bool,
    Int32,
    Int64,
    KernelLabels,
    distinct_in,
    is_in,
    places_in,
    values_at,
)

# Each call of a module has a self cost, which is without the modules inside it.
#
# thread   |---------- BertLayer_0 ----------|
#            |- Linear_0 -|   |- Linear_1 -|         self of BertLayer_0: what neither Linear covers
#               |addmm|          |addmm|             python of Linear_0: what no op covers
# device           kkkk             kkkk
# autograd                                   |- AddmmBackward0 -|     backward of Linear_1, whose op made it
#
# A call's module is identified by its path, which is the names from the outermost module to its own.
#
# thread     |--- Net_0 -----------------|
#              |- Block_0 -|- Block_1 -|         Net_0, Net_0/Block_0, Net_0/Block_1
# autograd                                 |- Block_0 -|     again Net_0/Block_0: a checkpoint computes it once more
#
# A call that nothing encloses belongs to the only path that ends in its name, if there is exactly one. Names number the
# instances of modules.

#: Costs in ns, except `launches` (a count) and `*allocated` (bytes). "host" is the call's time, and "python" the part
#: of it in no op. "backward_*" are costs of the nodes that its ops created. The others are as for ops, in the forward
#: pass.
ModuleCost = (
    Literal["host", "python", "allocated", "backward_host", "backward_device", "backward_allocated"] | DeviceCost
)


class ModuleCalls(msgspec.Struct, frozen=True, eq=False):
    """Calls of modules, one entry each, in time order.

    row      row of the event table, ascending
    around   place of the call around it on its thread; -1 for none
    counts   whether the call begins in the steps
    own      self cost of each call, 0 outside the steps; None if it is not measurable
    """

    row: Int64
    around: Int32
    counts: Bool
    own: dict[ModuleCost, Int64 | None]


def module_calls(trace: Trace) -> ModuleCalls:
    """Returns all recorded calls of modules; none without any."""
    rows = module_frames(trace)
    around, inside = parent_places(trace, rows), in_steps(trace, rows)
    host = less_children(trace.events.dur_ns[rows], around) * inside
    costs: dict[ModuleCost, Int64 | None] = {
        "host": host,
        "python": host,
        "backward_host": np.zeros(len(rows), np.int64),
    }
    costs |= dict.fromkeys((*SOMETIMES, "backward_device", "backward_allocated"))
    if len(rows):
        _add_ops(trace, rows, costs)
    return ModuleCalls(rows, around, inside, costs)


def _add_ops(trace: Trace, rows: Int64, costs: dict[ModuleCost, Int64 | None]) -> None:
    """Adds the costs of ops inside the modules, and of work that no op launched."""
    tree, outside = op_tree(trace, "ran"), outside_ops(trace, "module")
    module, backward = _modules_of_ops(trace, tree, rows)
    of_outside = places_in(rows, innermost(trace, rows, outside.call))
    host = own_costs(trace, tree, "host") + own_costs(trace, tree, "runtime")
    assert costs["python"] is not None
    costs["python"] = costs["python"] - _sum(module, host, len(rows))
    costs["backward_host"] = _sum(backward, host, len(rows))
    if "allocated" in measured_costs(trace):
        values, (around, size) = own_costs(trace, tree, "allocated"), allocated_outside_ops(trace, rows)
        costs["allocated"] = _sum(module, values, len(rows)) + _sum(places_in(rows, around), size, len(rows))
        costs["backward_allocated"] = _sum(backward, values, len(rows))
    for cost in DEVICE_COSTS:
        if cost not in measured_costs(trace):
            continue
        values = own_costs(trace, tree, cost, "module")
        costs[cost] = _sum(module, values, len(rows)) + _sum(of_outside, outside.costs(trace, cost), len(rows))
        if cost == "device":
            costs["backward_device"] = _sum(backward, values, len(rows))


def _modules_of_ops(trace: Trace, tree: OpTree, rows: Int64) -> tuple[Int64, Int64]:
    """Returns for each op the place of the module call around it, and of the one around the op that created it; -1 for
    none."""
    forward = forward_of(trace, tree.row)
    module, backward = (places_in(rows, innermost(trace, rows, each.astype(np.int64))) for each in (tree.row, forward))
    return module, np.where(module >= 0, -1, backward)  # recomputed work of a checkpoint has a module call of its own


def _sum(place: Int64, values: Int64, size: int) -> Int64:
    is_placed = place >= 0
    return exact_sums(place[is_placed], values[is_placed], size)


class ModulePaths(msgspec.Struct, frozen=True, eq=False):
    """Paths of modules, one entry each. A path comes after the one around it.

    of_call   the path of each call
    parent    the path around; -1 for none
    frame     name of a call's frame, a row of the string table
    """

    of_call: Int64
    parent: Int64
    frame: Int64

    def __len__(self) -> int:
        return len(self.parent)


def paths_of(calls: ModuleCalls, name: Int64) -> ModulePaths:
    """Finds the path of each call. name: the name of its frame, a row of the string table."""
    # These are calls that nothing encloses, and what is inside, although other calls of the same name are inside a
    # module.
    is_again = is_in(name[roots(calls.around)], distinct_in(name[calls.around >= 0]))
    numbers = _PathNumbers(int(name.max(initial=0)) + 1)
    path = np.full(len(name), -1, np.int64)
    for tree in (~is_again, is_again):
        level, outer = tree & (calls.around < 0), np.full(len(name), -1, np.int64)
        path[level] = numbers.homes(name[level]) if tree is is_again else numbers.numbers(outer[level], name[level])
        while level.any():
            level = (calls.around >= 0) & level[calls.around]
            path[level] = numbers.numbers(path[calls.around[level]], name[level])
    pairs = np.array(list(numbers.number), np.int64).reshape(-1, 2)
    return ModulePaths(path, pairs[:, 0], pairs[:, 1])


class _PathNumbers:
    """Numbers paths by the path around and the name, in order of first appearance."""

    def __init__(self, names: int) -> None:
        self._names = names
        self.number: dict[tuple[int, int], int] = {}

    def numbers(self, outer: Int64, name: Int64) -> Int64:
        keys, place = np.unique((outer + 1) * self._names + name, return_inverse=True)
        pairs = [(key // self._names - 1, key % self._names) for key in keys.tolist()]
        of_key = np.array([self.number.setdefault(pair, len(self.number)) for pair in pairs], np.int64)
        return of_key[place.reshape(-1)]

    def homes(self, name: Int64) -> Int64:
        """Returns paths for calls that nothing encloses. Each is the only path that ends in the name, or else a path of
        its own."""
        ending: dict[int, list[int]] = {}
        for (outer, last), number in self.number.items():
            ending.setdefault(last, []).extend([number] if outer >= 0 else [])
        homes = {each: ending[each][0] for each in distinct_in(name).tolist() if len(ending.get(each, [])) == 1}
        path_of_call = [homes.get(each, -1) for each in name.tolist()]
        path = np.array(path_of_call, np.int64)
        path[path < 0] = self.numbers(path[path < 0], name[path < 0])
        return path


class Modules(msgspec.Struct, frozen=True, eq=False):
    """The calls of modules and the path of each. names: the texts to whose rows `paths.frame` refers."""

    calls: ModuleCalls
    paths: ModulePaths
    names: Sequence[str]


def find_modules(trace: Trace) -> Modules:
    """Returns the modules; none if none were recorded."""
    if len(trace.hierarchies) and not len(module_frames(trace)):
        return _scripted(trace)
    calls = module_calls(trace)
    modules = Modules(calls, paths_of(calls, trace.events.name[calls.row].astype(np.int64)), trace.strings.strings)
    labels = kernel_labels(trace)
    return modules if labels is None else _with_labelled(trace, modules, labels)


def _with_labelled(trace: Trace, modules: Modules, labels: KernelLabels) -> Modules:
    """Adds the modules in labels of graph kernels: an entry for each kernel with its cost, and one for each module that
    a graph launch runs forward, which counts as a call without cost."""
    work = labelled_work(trace, "module")
    kernel, place = work.kernel, work.place
    paths = _Paths(modules)
    texts = labels.texts.strings
    path = _labelled_paths(paths, labels.modules[kernel], texts)
    backward = labels.phase[kernel] == (texts.index("backward") if "backward" in texts else -2)  # -2 matches nothing
    launch = kernel_origins(trace).call[kernel].astype(np.int64)
    pairs = dict.fromkeys(zip(path[~backward].tolist(), launch[~backward].tolist(), strict=True))
    distinct_entries = dict.fromkeys(
        (each, row) for number, row in pairs for each in _with_around(number, paths.around)
    )
    entered = np.array(list(distinct_entries), np.int64).reshape(-1, 2)
    entered = entered[~np.isin(entered[:, 0], modules.paths.of_call)]  # a recorded module call counts only once
    calls, count = modules.calls, len(kernel) + len(entered)
    costs = {cost: None if ns is None else _lengthened(ns, count) for cost, ns in calls.own.items()}
    for cost in DEVICE_COSTS:
        if cost in measured_costs(trace):
            cost_of_kernel = of_activities(trace, cost)[place]
            _add(costs, cost, np.where(backward, 0, cost_of_kernel), len(calls.row), count)
            if cost == "device":
                _add(costs, "backward_device", np.where(backward, cost_of_kernel, 0), len(calls.row), count)
    rows = np.concatenate((calls.row, launch, entered[:, 1]))
    counts = np.concatenate((calls.counts, np.zeros(len(kernel), bool), np.ones(len(entered), bool)))
    nowhere = np.full(count, -1, calls.around.dtype)
    of_call = np.concatenate((modules.paths.of_call, path, entered[:, 0]))
    return Modules(
        ModuleCalls(rows, np.concatenate((calls.around, nowhere)), counts, costs),
        ModulePaths(of_call, paths.around, paths.frame),
        paths.names,
    )


def _add(costs: dict[ModuleCost, Int64 | None], cost: ModuleCost, values: Int64, first: int, count: int) -> None:
    """Adds values for the `count` entries from `first` on."""
    column = costs[cost]
    result = np.zeros(first + count, np.int64) if column is None else column
    result[first : first + len(values)] = values
    costs[cost] = result


def _labelled_paths(paths: _Paths, rows: Int32, texts: Sequence[str]) -> Int64:
    """Returns the number of the path that each of these rows of the labels' texts names."""
    number = np.full(len(texts), -1, np.int64)
    for each in distinct_in(rows).tolist():
        number[each] = paths.numbers(texts[each].split(MODULE_SEPARATOR))[-1]
    return number[rows]


class _Paths:
    """Numbers paths of modules by their names, after those of the recorded modules. A path comes after the one around
    it."""

    def __init__(self, modules: Modules | None = None) -> None:
        self._around: list[int] = modules.paths.parent.tolist() if modules else []
        self._frame: list[int] = modules.paths.frame.tolist() if modules else []
        self.names = list(modules.names) if modules else []
        self._number = {
            (around, module_name(self.names[frame])): number
            for number, (around, frame) in enumerate(zip(self._around, self._frame, strict=True))
        }

    def numbers(self, names: Sequence[str]) -> list[int]:
        """Returns the numbers of these nested modules' paths, outermost first."""
        numbers: list[int] = []
        for name in names:
            key = numbers[-1] if numbers else -1, name
            if key not in self._number:
                self._number[key] = len(self._around)
                self._around.append(key[0])
                self._frame.append(len(self.names))
                self.names.append(name)
            numbers.append(self._number[key])
        return numbers

    @property
    def around(self) -> Int64:
        return np.array(self._around, np.int64)

    @property
    def frame(self) -> Int64:
        return np.array(self._frame, np.int64)


def _scripted(trace: Trace) -> Modules:
    """Returns an entry with costs for each op in a module, and one without costs for each call that begins."""
    tree, paths = op_tree(trace, "ran"), _Paths()
    words = hierarchies(trace, tree.row)
    of_text = [paths.numbers(nested_modules(text)) for text in words.texts]
    innermost = np.array([path[-1] if path else -1 for path in of_text] + [-1], np.int64)
    path = innermost[words.number]
    inside = np.flatnonzero(path >= 0)
    entered = _entered(trace, tree, path, paths.around)
    entries = np.concatenate((inside, entered[:, 0]))
    counts = np.concatenate((np.zeros(len(inside), bool), tree.inside[entered[:, 0]]))
    costs = {
        cost: None if ns is None else _lengthened(ns[inside], len(entered)) for cost, ns in _own(trace, tree).items()
    }
    calls = ModuleCalls(tree.row[entries].astype(np.int64), np.full(len(entries), -1, np.int64), counts, costs)
    of_call = np.concatenate((path[inside], entered[:, 1]))
    return Modules(calls, ModulePaths(of_call, paths.around, paths.frame), paths.names)


def _entered(trace: Trace, tree: OpTree, path: Int64, around: Int64) -> Int64:
    """Returns the op and the path of each call that begins, shape (calls, 2). These are the modules of an op that
    contain neither the op around it nor the op before it there. An op that is itself a method (its name has no
    namespace) always begins a call."""
    order = np.lexsort((np.arange(len(tree)), trace.events.thread[tree.row], tree.around))
    same = np.diff(tree.around[order], prepend=-2) == 0
    same &= np.diff(trace.events.thread[tree.row[order]], prepend=-1) == 0
    before = np.where(same, path[np.roll(order, 1)], -1)
    outside = values_at(path, tree.around)[order]
    before[are_named(trace, tree.row[order], lambda name: "::" not in name)] = -1
    entered: list[tuple[int, int]] = []
    for place in np.flatnonzero((path[order] >= 0) & (path[order] != before) & (path[order] != outside)).tolist():
        enclosing = {*_with_around(int(before[place]), around), *_with_around(int(outside[place]), around)}
        entered += [
            (int(order[place]), each) for each in _with_around(int(path[order[place]]), around) if each not in enclosing
        ]
    return np.array(entered, np.int64).reshape(-1, 2)


def _with_around(path: int, around: Int64) -> list[int]:
    outward: list[int] = []
    while path >= 0:
        outward.append(path)
        path = int(around[path])
    return outward[::-1]


def _own(trace: Trace, tree: OpTree) -> dict[ModuleCost, Int64 | None]:
    """Returns the self costs of each op. Work of the backward pass counts for the op that created it. No Python is
    recorded."""
    forward = forward_of(trace, tree.row)
    backward = np.flatnonzero(forward >= 0)
    place = np.searchsorted(tree.row, forward[backward])
    host = own_costs(trace, tree, "host") + own_costs(trace, tree, "runtime")
    costs: dict[ModuleCost, Int64 | None] = {"host": host, "python": np.zeros_like(host)}
    costs["backward_host"] = exact_sums(place, host[backward], len(tree))
    for cost in SOMETIMES:
        costs[cost] = own_costs(trace, tree, cost) if cost in measured_costs(trace) else None
    costs["backward_device"], costs["backward_allocated"] = (
        None if values is None else exact_sums(place, values[backward], len(tree))
        for values in (costs["device"], costs["allocated"])
    )
    return costs


def _lengthened(ns: Int64, count: int) -> Int64:
    """Returns the costs, with `count` more entries that cost nothing."""
    return np.concatenate((ns, np.zeros(count, np.int64)))


class OutsideModules(msgspec.Struct, frozen=True):
    """What is launched and allocated outside of all modules. Together with what the modules launch and allocate,
    forward and backward, this is the total of the steps.

    device_ns         time on the device; None if nothing ran there
    allocated_bytes   None if memory was not recorded
    """

    device_ns: int | None = None
    allocated_bytes: int | None = None


def outside_modules(trace: Trace, calls: ModuleCalls) -> OutsideModules:
    """Returns the totals of the steps without those of the modules. calls: those of all modules."""
    measured = measured_costs(trace)
    device_ns = allocated = None
    if "device" in measured:
        of_ops = own_costs(trace, op_tree(trace, "ran"), "device", "module")
        outside, labelled = (each(trace, "module").costs(trace, "device") for each in (outside_ops, labelled_work))
        device_ns = int(of_ops.sum() + outside.sum() + labelled.sum()) - _sum_of_modules(
            calls, "device", "backward_device"
        )
    if "allocated" in measured:
        allocated = allocated_in_steps(trace) - _sum_of_modules(calls, "allocated", "backward_allocated")
    return OutsideModules(device_ns, allocated)


def _sum_of_modules(calls: ModuleCalls, *costs: ModuleCost) -> int:
    columns = [calls.own[cost] for cost in costs]
    return sum(int(column.sum()) for column in columns if column is not None)
