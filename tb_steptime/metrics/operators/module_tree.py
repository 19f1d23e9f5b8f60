"""Modules as a tree: costs with and without the modules inside, with repeated layers listed individually or folded.

one by one                      folded
BertModel_0                     BertModel
  BertLayer_0   1.8 ms            12 x BertLayer   1.8 ms each, the slowest 2.3 ms
    Linear_0                        36 x Linear
  BertLayer_1   2.3 ms
  ...
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.operators.modules import ModuleCalls, ModulePaths, Modules
from tb_steptime.trace.frames import module_class, module_name
from tb_steptime.trace.groups import among_largest, exact_sums
from tb_steptime.trace.nesting import depth_first, with_inner
from tb_steptime.trace.table import Int64

#: Maximum number of rows of the tree. Those with the most time are kept, and the cost of other modules counts for the
#: modules around them.
MODULE_ROWS = 600


class ModuleRow(msgspec.Struct, frozen=True):
    """A module within the modules around it; sums over the steps, ns.

    name                       name of the module, or of its class if layers are folded
    parent                     row of the module around it, which comes before; -1 for none
    instances                  number of modules of this class here if layers are folded; otherwise 1
    occurrences                number of calls
    host_self_ns               host time without the modules inside it
    python_ns                  the part of host_self_ns that is in no op
    device_*, launches         time and number of what it launches in the forward pass; None if nothing ran on a device
    idle_ns                    how long devices had nothing to do until that began; None as for ops
    backward_*                 costs of the nodes of the backward pass that its ops made, with the modules inside
    kernel_ns                  the part of device_total_ns in kernels, which are on tensor cores for at least tensor_ns,
                               and for at most unknown_ns more
    allocated_bytes            bytes of its allocations in the forward pass, freed or not; None if memory was not
                               recorded
    allocated_self_bytes       the same, without the modules inside
    backward_allocated_bytes   the same, in the backward pass as backward_*
    slowest_ns                 if layers are folded, the mean of a call of the slowest instance: forward on the device,
                               or else on the host
    """

    name: str = ""
    parent: int = -1
    instances: int = 1
    occurrences: int = 0
    host_total_ns: int = 0
    host_self_ns: int = 0
    python_ns: int = 0
    backward_host_ns: int = 0
    device_total_ns: int | None = None
    device_self_ns: int | None = None
    backward_device_ns: int | None = None
    launches: int | None = None
    idle_ns: int | None = None
    kernel_ns: int | None = None
    tensor_ns: int | None = None
    unknown_ns: int | None = None
    slowest_ns: int = 0
    allocated_bytes: int | None = None
    allocated_self_bytes: int | None = None
    backward_allocated_bytes: int | None = None


def module_rows(modules: Modules, folded: bool) -> tuple[list[ModuleRow], int]:
    """Returns the rows depth first, in the order of their first calls, and the number of modules that are left out."""
    calls, single, names = modules.calls, modules.paths, modules.names
    paths, at = _folded(names, single) if folded else (single, np.arange(len(single)))
    each, sums = _Sums(calls, single, single.of_call), _Sums(calls, paths, at[single.of_call])
    instances = np.bincount(at[each.occurrences > 0], minlength=len(paths))
    slowest_ns = _largest(at, each.each_ns(), len(paths))
    counted = (sums.occurrences > 0) | (sums.backward_ns() > 0)
    order = depth_first(paths.parent, np.flatnonzero(among_largest(sums.total_ns(), counted, MODULE_ROWS)))
    place = {path: row for row, path in enumerate(order)}
    named = module_class if folded else module_name
    rows = [
        msgspec.structs.replace(
            sums.row(path),
            name=named(names[int(paths.frame[path])]),
            parent=place.get(int(paths.parent[path]), -1),
            instances=int(instances[path]),
            slowest_ns=int(slowest_ns[path]),
        )
        for path in order
    ]
    return rows, int(counted.sum()) - len(rows)


def depths_of(rows: Sequence[ModuleRow]) -> list[int]:
    """Returns the number of modules around each row. rows: as returned by `module_rows`."""
    return [len(path) - 1 for path in paths_of_rows(rows)]


def paths_of_rows(rows: Sequence[ModuleRow]) -> list[list[str]]:
    """Returns for each row the names of the modules around it, outermost first, and its own."""
    paths: list[list[str]] = []
    for row in rows:
        paths.append([*(paths[row.parent] if row.parent >= 0 else []), row.name])
    return paths


def each_ns(row: ModuleRow) -> int | None:
    """Returns the mean time of a forward call, on the device, or on the host if the row launches nothing; None if no
    call is recorded."""
    return (row.device_total_ns or row.host_total_ns) // row.occurrences if row.occurrences else None


def _folded(names: Sequence[str], single: ModulePaths) -> tuple[ModulePaths, Int64]:
    """Returns the paths of classes, and for each path of instances that of its classes."""
    kinds, numbers = dict[str, int](), dict[tuple[int, int], int]()
    at, frame = list[int](), list[int]()
    for parent, name in zip(single.parent.tolist(), single.frame.tolist(), strict=True):
        kind = kinds.setdefault(module_class(names[name]), len(kinds))
        at.append(numbers.setdefault((at[parent] if parent >= 0 else -1, kind), len(numbers)))
        if at[-1] == len(frame):
            frame.append(name)
    parent_of = np.array([outer for outer, _ in numbers], np.int64)
    places = np.array(at, np.int64)
    return ModulePaths(places[single.of_call], parent_of, np.array(frame, np.int64)), places


class _Sums:
    """The costs of each path's calls, by themselves and including everything inside."""

    def __init__(self, calls: ModuleCalls, paths: ModulePaths, at: Int64) -> None:
        size = len(paths)
        self.occurrences = exact_sums(at, calls.counts.astype(np.int64), size)
        self.own = {cost: None if ns is None else exact_sums(at, ns, size) for cost, ns in calls.own.items()}
        self.total = {cost: None if ns is None else with_inner(ns, paths.parent) for cost, ns in self.own.items()}

    def total_ns(self) -> Int64:
        """Returns the measure of a module's size: its time on the device, or on the host if nothing ran on a device."""
        device, backward, host = (self.total[cost] for cost in ("device", "backward_device", "host"))
        assert host is not None
        return host if device is None or backward is None else device + backward

    def backward_ns(self) -> Int64:
        """Returns the time of the backward pass alone, on the device. Graphs run it for modules whose calls are not
        recorded."""
        backward = self.total["backward_device"]
        return np.zeros_like(self.occurrences) if backward is None else backward

    def each_ns(self) -> Int64:
        """Returns the mean time of a forward call, on the device, or on the host if the module launches nothing."""
        device, host = self.total["device"], self.total["host"]
        assert host is not None
        ns = host if device is None else np.where(device > 0, device, host)
        return ns // np.maximum(self.occurrences, 1)

    def row(self, path: int) -> ModuleRow:
        def at(column: Int64 | None) -> int | None:
            return None if column is None else int(column[path])

        return ModuleRow(
            occurrences=int(self.occurrences[path]),
            host_total_ns=at(self.total["host"]) or 0,
            host_self_ns=at(self.own["host"]) or 0,
            python_ns=at(self.own["python"]) or 0,
            backward_host_ns=at(self.total["backward_host"]) or 0,
            device_total_ns=at(self.total["device"]),
            device_self_ns=at(self.own["device"]),
            backward_device_ns=at(self.total["backward_device"]),
            launches=at(self.total["launches"]),
            idle_ns=at(self.total["idle"]),
            kernel_ns=at(self.total["kernel"]),
            tensor_ns=at(self.total["tensor"]),
            unknown_ns=at(self.total["unknown"]),
            allocated_bytes=at(self.total["allocated"]),
            allocated_self_bytes=at(self.own["allocated"]),
            backward_allocated_bytes=at(self.total["backward_allocated"]),
        )


def _largest(at: Int64, values: Int64, size: int) -> Int64:
    largest = np.zeros(size, np.int64)
    np.maximum.at(largest, at, values)
    return largest
