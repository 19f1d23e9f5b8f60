"""Details of an op's calls: how long they last on the host, when they occur, and which kernels run for them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.base import Evidence
from tb_steptime.metrics.gpu.kernel_site import run_of
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.kernels.details import LaunchLengths, LaunchTimes, launch_times, lengths
from tb_steptime.metrics.operators.op_tree import OpTree, op_tree
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import kernel_origins
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, distinct_in

#: Maximum number of kernels of an op, those with the most time.
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
    """Details of the ops with these names, in their order."""
    tree = op_tree(trace, "ran")
    inside = tree.is_call & tree.inside
    place = {name: number for number, name in enumerate(trace.strings.strings)}
    wanted = [place[name] for name in names if name in place]
    kernels = _kernels(trace, tree, wanted)
    rows = {name: tree.row[inside & (trace.events.name[tree.row] == name)] for name in wanted}
    return [_detail(trace, rows[name], kernels.get(name, [])) for name in wanted if len(rows[name])]


def host_window(trace: Trace) -> tuple[int, int]:
    """From the begin of the first step on the host to the end of the last one there. All ops of the steps begin in this
    window, even one of length 0 at the end of a recording."""
    low, high = find_steps(trace).host_window
    return low, high + 1


def _detail(trace: Trace, rows: Int64, kernels: list[OpKernel]) -> OperatorDetail:
    name = trace.name_of(rows[0])
    longest = run_of(trace, int(rows[trace.events.dur_ns[rows].argmax()]))
    spread, times = lengths(trace.events.dur_ns[rows]), launch_times(trace, rows, host_window(trace))
    return OperatorDetail(name, spread, times, longest, kernels[:KERNELS], len(kernels[KERNELS:]))


def _kernels(trace: Trace, tree: OpTree, wanted: Sequence[int]) -> dict[int, list[OpKernel]]:
    """The kernels of each op name, most time first."""
    name, shorter = distinct_in(trace.events.name[trace.kernels.event]), kernel_names(trace)
    count, total = _launched(trace, tree, wanted, name)
    found: dict[int, list[OpKernel]] = {}
    for op, counts, totals in zip(wanted, count, total, strict=True):
        order = np.argsort(-totals, kind="stable")
        found[op] = [
            OpKernel(trace.strings[each], shorter[trace.strings[each]], int(counts[place]), int(totals[place]))
            for place, each in zip(order.tolist(), name[order].tolist(), strict=True)
            if counts[place]
        ]
    return found


def _launched(trace: Trace, tree: OpTree, wanted: Sequence[int], names: Int64) -> tuple[Int64, Int64]:
    """By [place in wanted, place in names], the number and time of the kernels of this name that ops of that name
    launched. Each kernel counts once per wanted name around its launch: for the outermost op of the name."""
    op_name = trace.events.name[tree.row].astype(np.int32)
    row_of = np.full(len(trace.strings), -1, np.int32)
    row_of[list(wanted)] = np.arange(len(wanted))
    row_of_op = np.where(tree.topmost(op_name), row_of[op_name], -1).astype(np.int32)
    kernel, above = _by_ops(trace, tree)
    column = np.searchsorted(names, trace.events.name[trace.kernels.event]).astype(np.int32)
    size = len(wanted) * len(names)
    count, total = np.zeros(size, np.int64), np.zeros(size, np.int64)
    while len(kernel):
        row = row_of_op[above]
        here = kernel[row >= 0]
        place = row[row >= 0] * np.int64(len(names)) + column[here]
        count += np.bincount(place, minlength=size)
        total += exact_sums(place, trace.events.dur_ns[trace.kernels.event[here]], size)
        above = tree.around[above]
        kernel, above = kernel[above >= 0], above[above >= 0]
    return count.reshape(len(wanted), len(names)), total.reshape(len(wanted), len(names))


def _by_ops(trace: Trace, tree: OpTree) -> tuple[Int32, Int32]:
    """Rows of the kernel table that ops in the steps launch, and the place of each one's op."""
    op = kernel_origins(trace).op
    kernel = np.flatnonzero(op >= 0).astype(np.int32)
    place = np.searchsorted(tree.row, op[kernel]).astype(np.int32)
    inside = tree.inside[place]
    return kernel[inside], place[inside]
