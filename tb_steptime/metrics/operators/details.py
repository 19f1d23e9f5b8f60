"""What the calls of an op are like: how long they last on the host, when they come, and which kernels run for them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.distinct_names import kernel_names
from tb_steptime.metrics.gpu.kernel_site import KernelRun, run_of
from tb_steptime.metrics.kernels.details import LaunchLengths, LaunchTimes, launch_times, lengths
from tb_steptime.metrics.operators.op_tree import OpTree, op_tree
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Kernels of an op, those with most time.
KERNELS = 6


class OpKernel(msgspec.Struct, frozen=True):
    """Launches of a kernel by an op, or by ops inside it, in the steps. short: the kernel's short name."""

    name: str
    short: str
    count: int
    total_ns: int


class OperatorDetail(msgspec.Struct, frozen=True):
    """Of the calls of an op that begin in the steps: how long they last on the host, when they come, the longest one;
    its kernels, and how many more there are. Calls within calls of the same op count too."""

    name: str
    lengths: LaunchLengths
    calls: LaunchTimes
    longest: KernelRun
    kernels: list[OpKernel]
    more_kernels: int


def operator_details(trace: Trace, names: Sequence[str]) -> list[OperatorDetail]:
    """Of the ops of these names, in their order."""
    tree = op_tree(trace, "ran")
    inside = tree.is_call & tree.inside
    place = {name: number for number, name in enumerate(trace.strings.strings)}
    wanted = [place[name] for name in names if name in place]
    kernels = _kernels(trace, tree, wanted)
    rows = {name: tree.row[inside & (trace.events.name[tree.row] == name)] for name in wanted}
    return [_detail(trace, rows[name], kernels.get(name, [])) for name in wanted if len(rows[name])]


def host_window(trace: Trace) -> tuple[int, int]:
    """From the begin of the first step on the host to the end of the last one there: all ops of the steps begin within,
    one of no length at the end of a recording included."""
    steps = find_steps(trace).steps
    return steps[0].host_start_ns, steps[-1].host_start_ns + steps[-1].host_ns + 1


def _detail(trace: Trace, rows: Int64, kernels: list[OpKernel]) -> OperatorDetail:
    name = trace.strings[int(trace.events.name[rows[0]])]
    longest = run_of(trace, int(rows[trace.events.dur_ns[rows].argmax()]))
    spread, times = lengths(trace.events.dur_ns[rows]), launch_times(trace, rows, host_window(trace))
    return OperatorDetail(name, spread, times, longest, kernels[:KERNELS], len(kernels[KERNELS:]))


def _kernels(trace: Trace, tree: OpTree, wanted: Sequence[int]) -> dict[int, list[OpKernel]]:
    """By name of an op its kernels, most time first."""
    op, kernel = _launched(trace, tree, wanted)
    found: dict[int, list[OpKernel]] = {}
    if not len(op):
        return found
    events, event = trace.events, trace.kernels.event[kernel]
    groups, shorter = Groups.of(op, events.name[event]), kernel_names(trace)
    total, count = groups.sum(events.dur_ns[event]), groups.count()
    for group in np.argsort(-total, kind="stable").tolist():
        first = groups.first[group]
        name = trace.strings[int(events.name[event[first]])]
        row = OpKernel(name, shorter[name], int(count[group]), int(total[group]))
        found.setdefault(int(op[first]), []).append(row)
    return found


def _launched(trace: Trace, tree: OpTree, wanted: Sequence[int]) -> tuple[Int64, Int64]:
    """Pairs of an op's name and a row of the kernel table: each kernel once for each wanted name around its launch."""
    name = trace.events.name[tree.row].astype(np.int64)
    op = kernel_origins(trace).op
    kernel = np.flatnonzero(op >= 0)
    above = np.searchsorted(tree.row, op[kernel]).astype(np.int32)
    inside = tree.inside[above]
    kernel, above = kernel[inside], above[inside]
    size, pairs = len(op) + 1, [np.empty(0, np.int64)]
    while len(kernel):
        here = np.isin(name[above], wanted)
        pairs.append(name[above[here]] * size + kernel[here])
        above = tree.around[above]
        kernel, above = kernel[above >= 0], above[above >= 0]
    distinct = np.unique(np.concatenate(pairs))
    return distinct // size, distinct % size
