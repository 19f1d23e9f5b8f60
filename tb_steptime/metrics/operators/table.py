"""The table of ops: calls, and time on the host and on the device, of ops with equal keys.

Self is an op without the ops inside it, total is with them. On the host, self also excludes calls of the CUDA or HIP
runtime, as in the PyTorch Profiler tab and in torch's `key_averages()`. These have a column of their own. Self and
runtime times of all rows sum to the time in which threads run ops. Device times of all rows, and of work that no op
launched, sum to all work on devices. Totals do not sum to anything, because an op counts in each op around it. Within
one row an op counts once, even if an op of the row is inside another.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.gpu.activities import run_of
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernels.details import LaunchLengths, LaunchTimes, launch_times, lengths
from tb_steptime.metrics.operators.keys import By, Keys, label_keys
from tb_steptime.metrics.operators.op_tree import (
    DEVICE_COSTS,
    Cost,
    OpTree,
    Where,
    graph_costs,
    labelled_work,
    measured_costs,
    op_tree,
    own_costs,
)
from tb_steptime.trace.groups import Groups, exact_sums
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import with_inner
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int32, Int64, distinct_in


class OperatorRow(msgspec.Struct, frozen=True):
    """Ops of one name that agree in the key; sums over the steps, ns.

    key                  the shapes, call stack, module, line or phase by which ops are grouped; None if ops are grouped
                         by name, or if it is not recorded
    calls                number of the ops themselves, without those of the backward pass if these are counted with the
                         ops that created it
    host_total_ns, host_self_ns   time on the host with and without the ops inside; the latter without runtime calls
    runtime_ns           time in runtime calls of the ops themselves
    device_*, launches   time and number of kernels, copies and memsets; None if nothing ran on a device
    idle_ns              how long devices had nothing to do until the work that the op, or an op inside it, launched
                         began; waits for batches are left out
    kernel_ns            the part of device_total_ns in kernels; None if no device has tensor cores
    tensor_ns, unknown_ns   the parts of kernel_ns that certainly and possibly run on tensor cores
    allocated_bytes      bytes allocated while the op runs, freed or not: on the GPUs, or on the CPU if no GPU's were
                         recorded; None if none were recorded
    allocated_self_bytes   likewise, without the ops inside it
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
    allocated_bytes: int | None = None
    allocated_self_bytes: int | None = None


class OpGrouping(msgspec.Struct, frozen=True):
    """The options of a table of ops: the grouping key, and where work of the backward pass counts."""

    by: By = "name"
    where: Where = "ran"


class _Amounts(msgspec.Struct, frozen=True, eq=False):
    """The ops that have any of a cost, because few of them launch anything.

    op      place in the tree
    value   float64, in which sums are computed
    """

    op: Int64
    value: Float64


def _amounts(values: Bool | Int64) -> _Amounts:
    op = np.flatnonzero(values)
    return _Amounts(op, values[op].astype(np.float64))


class _Table:
    """A table while its sums are computed."""

    def __init__(self, trace: Trace, tree: OpTree, by: By) -> None:
        self.keys = Keys(trace, tree, by)
        self._topmost = tree.topmost(self.keys.place)
        self.calls = self._sums(_amounts(tree.is_call & tree.inside))
        self.own: dict[Cost, list[int]] = {}
        self.total: dict[Cost, list[int]] = {}

    def add(self, cost: Cost, own: _Amounts, total: _Amounts) -> None:
        """Adds the sums of a cost. The op's own cost counts in its group, the total in each group around it, once per
        group."""
        self.own[cost] = self._sums(own)
        self.total[cost] = self._sums(_Amounts(total.op, total.value * self._topmost[total.op]))

    def _sums(self, amounts: _Amounts) -> list[int]:
        return exact_sums(self.keys.place[amounts.op], amounts.value, self.keys.size).tolist()

    def row(self, group: int) -> OperatorRow:
        own = {cost: values[group] for cost, values in self.own.items()}
        total = {cost: values[group] for cost, values in self.total.items()}
        return OperatorRow(
            name=self.keys.name(group),
            key=self.keys.second(group),
            calls=self.calls[group],
            host_total_ns=total["host"] + total["runtime"],
            host_self_ns=own["host"],
            runtime_ns=own["runtime"],
            device_total_ns=total.get("device"),
            device_self_ns=own.get("device"),
            launches=total.get("launches"),
            idle_ns=total.get("idle"),
            kernel_ns=total.get("kernel"),
            tensor_ns=total.get("tensor"),
            unknown_ns=total.get("unknown"),
            allocated_bytes=total.get("allocated"),
            allocated_self_bytes=own.get("allocated"),
        )


def operator_tables(trace: Trace, groupings: Sequence[OpGrouping]) -> list[list[OperatorRow]]:
    """Returns the tables of the ops that begin in the steps, most self time on the device first, then on the host.
    Several tables are made at once, because each cost is computed once for all of them and dropped as soon as it is
    used."""
    rows: dict[OpGrouping, list[OperatorRow]] = {}
    for where in dict.fromkeys(grouping.where for grouping in groupings):
        tree = op_tree(trace, where)
        tables = {grouping: _Table(trace, tree, grouping.by) for grouping in groupings if grouping.where == where}
        for cost in measured_costs(trace):
            own = own_costs(trace, tree, cost)
            inside = with_inner(own + graph_costs(trace, tree, cost), tree.parent)
            parts = _amounts(own), _amounts(inside)
            del own, inside
            for table in tables.values():
                table.add(cost, *parts)
        rows |= {grouping: _rows(table, _labelled_rows(trace, grouping.by)) for grouping, table in tables.items()}
    return [rows[grouping] for grouping in groupings]


def _labelled_rows(trace: Trace, by: By) -> list[OperatorRow]:
    """Returns the costs of graph kernels by the ops in their labels. Such an op ran when the graph was captured, so it
    has no calls and no time on the host."""
    work, labels = labelled_work(trace), kernel_labels(trace)
    if labels is None:
        return []
    words, name = label_keys(trace, labels, by), labels.op[work.kernel]
    groups = Groups.of(name, words.number[work.kernel])
    sums = {
        cost: groups.sum(work.costs(trace, cost)).tolist() for cost in DEVICE_COSTS if cost in measured_costs(trace)
    }
    return [
        OperatorRow(
            name=trace.strings[int(name[first])],
            key=words[int(work.kernel[first])],
            calls=0,
            host_total_ns=0,
            host_self_ns=0,
            runtime_ns=0,
            device_total_ns=sums["device"][group],
            device_self_ns=sums["device"][group],
            launches=sums["launches"][group],
            idle_ns=sums["idle"][group],
            **{f"{cost}_ns": sums[cost][group] for cost in ("kernel", "tensor", "unknown") if cost in sums},
        )
        for group, first in enumerate(groups.first.tolist())
    ]


def _added(one: OperatorRow, other: OperatorRow) -> OperatorRow:
    """Returns the sum of two rows of one op: its own launches, and its kernels in graphs."""
    sums = {
        field: (getattr(one, field) or 0) + (getattr(other, field) or 0)
        for field in one.__struct_fields__[2:]
        if getattr(one, field) is not None or getattr(other, field) is not None
    }
    return msgspec.structs.replace(one, **sums)


def _rows(table: _Table, labelled: Sequence[OperatorRow]) -> list[OperatorRow]:
    """Returns all rows with anything in the steps. labelled: costs of ops that ran in graphs."""
    rows = [table.row(group) for group in range(table.keys.size)]
    by_key = {(row.name, row.key): row for row in rows if row.calls or row.host_total_ns or row.device_total_ns}
    for row in labelled:
        same_key = by_key.get((row.name, row.key))
        by_key[row.name, row.key] = _added(same_key, row) if same_key else row
    return sorted(
        by_key.values(), key=lambda row: (-(row.device_self_ns or 0), -row.host_self_ns, row.name, row.key or "")
    )


#: Maximum number of kernels of an op. Those with the most time are kept.
KERNELS = 6


class OpKernel(msgspec.Struct, frozen=True):
    """Launches of a kernel by an op, or by ops inside it, in the steps. short: the kernel's short name."""

    name: str
    short: str
    count: int
    total_ns: int


class OperatorDetail(msgspec.Struct, frozen=True):
    """The calls of an op that begin in the steps, including those inside other calls of it.

    lengths        lengths of the calls on the host
    longest        the longest call
    kernels        its kernels with the most time
    more_kernels   number of its other kernels
    """

    name: str
    lengths: LaunchLengths
    calls: LaunchTimes
    longest: Evidence
    kernels: list[OpKernel]
    more_kernels: int


def operator_details(trace: Trace, names: Sequence[str]) -> list[OperatorDetail]:
    """Returns details of the ops with these names, in the order of the names."""
    tree = op_tree(trace, "ran")
    inside = tree.is_call & tree.inside
    place = {name: number for number, name in enumerate(trace.strings.strings)}
    keys = [place[name] for name in names if name in place]
    kernels = _kernels(trace, tree, keys)
    rows = {name: tree.row[inside & (trace.events.name[tree.row] == name)] for name in keys}
    return [_detail(trace, rows[name], kernels.get(name, [])) for name in keys if len(rows[name])]


def host_window(trace: Trace) -> tuple[int, int]:
    """Returns the time from the begin of the first step on the host to the end of the last one there. All ops of the
    steps begin in this window, even one of length 0 at the end of a recording."""
    low, high = find_steps(trace).host_window
    return low, high + 1


def _detail(trace: Trace, rows: Int64, kernels: list[OpKernel]) -> OperatorDetail:
    name = trace.name_of(rows[0])
    longest = run_of(trace, int(rows[trace.events.dur_ns[rows].argmax()]))
    spread = lengths(trace.events.dur_ns[rows])
    times = launch_times(trace, rows, host_window(trace))
    return OperatorDetail(name, spread, times, longest, kernels[:KERNELS], len(kernels[KERNELS:]))


def _kernels(trace: Trace, tree: OpTree, keys: Sequence[int]) -> dict[int, list[OpKernel]]:
    """Returns the kernels of each op name, most time first."""
    name = distinct_in(trace.events.name[trace.kernels.event])
    shorter = kernel_names(trace)
    count, total = _launched(trace, tree, keys, name)
    by_op: dict[int, list[OpKernel]] = {}
    for op, counts, totals in zip(keys, count, total, strict=True):
        order = np.argsort(-totals, kind="stable")
        by_op[op] = [
            OpKernel(trace.strings[each], shorter[trace.strings[each]], int(counts[place]), int(totals[place]))
            for place, each in zip(order.tolist(), name[order].tolist(), strict=True)
            if counts[place]
        ]
    return by_op


def _launched(trace: Trace, tree: OpTree, keys: Sequence[int], names: Int64) -> tuple[Int64, Int64]:
    """Returns, by [place in keys, place in names], the number and time of the kernels of this name that ops of that
    name launched. Each kernel counts once per name around its launch, for the outermost op of the name."""
    op_name = trace.events.name[tree.row].astype(np.int32)
    row_of = np.full(len(trace.strings), -1, np.int32)
    row_of[list(keys)] = np.arange(len(keys))
    row_of_op = np.where(tree.topmost(op_name), row_of[op_name], -1).astype(np.int32)
    kernel, above = _by_ops(trace, tree)
    column = np.searchsorted(names, trace.events.name[trace.kernels.event]).astype(np.int32)
    size = len(keys) * len(names)
    count, total = np.zeros(size, np.int64), np.zeros(size, np.int64)
    while len(kernel):
        row = row_of_op[above]
        linked = kernel[row >= 0]
        place = row[row >= 0] * np.int64(len(names)) + column[linked]
        count += np.bincount(place, minlength=size)
        total += exact_sums(place, trace.events.dur_ns[trace.kernels.event[linked]], size)
        above = tree.around[above]
        kernel, above = kernel[above >= 0], above[above >= 0]
    return count.reshape(len(keys), len(names)), total.reshape(len(keys), len(names))


def _by_ops(trace: Trace, tree: OpTree) -> tuple[Int32, Int32]:
    """Returns the rows of the kernel table that ops in the steps launch, and the place of each one's op."""
    op = kernel_origins(trace).op
    kernel = np.flatnonzero(op >= 0).astype(np.int32)
    place = np.searchsorted(tree.row, op[kernel]).astype(np.int32)
    inside = tree.inside[place]
    return kernel[inside], place[inside]
