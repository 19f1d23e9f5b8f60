"""Kernels by place of origin. Two recordings are matched by it even if a kernel has a different name in each.

base        aten::addmm [[128,768],[768,3072]]  module Linear_0   volta_sgemm_128x64_nn
candidate   aten::addmm [[128,768],[768,3072]]  module Linear_0   sm80_xmma_gemm_f16f16_...
            the same place, another kernel: one row of the comparison

Each kernel comes from a module and a line of the user's. A backward kernel comes from those of the op that created its
node.

thread     |- train.py(9): step, Linear_0 -|
             |- aten::linear -|                         k: Linear_0, train.py(9)
autograd                            |- AddmmBackward0 -|     j: of the addmm inside linear, so Linear_0, train.py(9)
device             kkkk                     jjjj
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import step_at
from tb_steptime.metrics.gpu.utilization import blocks
from tb_steptime.metrics.kernel_names.short_names import kernel_names
from tb_steptime.metrics.phases.assignment import kernel_phases
from tb_steptime.metrics.phases.sites import PHASES, PhaseId
from tb_steptime.trace.frames import module_frames, module_name
from tb_steptime.trace.groups import Groups, none_if_nan
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.ops import forward_of, kernel_modules, kernel_op_names, kernel_origins
from tb_steptime.trace.sources import Words, modules, sources, words_of
from tb_steptime.trace.table import MODULE_SEPARATOR, Bool, Int64, UInt8, values_at

#: Maximum number of places that are kept, those with the most time. The time of the others is one number.
PLACES = 400


class LaunchPlace(msgspec.Struct, frozen=True):
    """The launches of one kernel from one place; sums over the compared steps.

    short          short name of the kernel
    op             the innermost op; None if there is none
    shapes         shapes of the op's inputs, as in the trace; "" if not recorded
    module         the innermost module; None if none is recorded
    order          rank of the place by its first launch
    deviation_ns   standard deviation of the time per step; None if there is one step
    blocks         mean number of blocks of a launch; None if `shapes` is known, or a grid is not recorded
    """

    name: str
    short: str
    op: str | None
    shapes: str
    module: str | None
    phase: PhaseId
    count: int
    total_ns: int
    order: int
    deviation_ns: float | None = None
    blocks: float | None = None


def launch_places(trace: Trace, device: int, steps: Bool) -> tuple[list[LaunchPlace], int]:
    """Returns the kernels of a device that start within these steps, grouped by place, most time first; and the time of
    all others."""
    keys = _Keys.of(trace, device, steps)
    groups = Groups.of(keys.name, keys.op, keys.shapes, keys.module, keys.phase)
    total = groups.sum(keys.dur_ns)
    order = np.empty(len(groups), np.int64)
    order[np.argsort(groups.first)] = np.arange(len(groups))
    largest = np.lexsort((order, -total))[:PLACES]
    count, total_blocks = groups.count(), groups.sum(np.maximum(keys.blocks, 0))
    has_blocks = groups.extremes(keys.blocks)[0] >= 0
    deviation = groups.deviation(keys.dur_ns, keys.step, int(steps.sum()))
    first, names = groups.first[largest], kernel_names(trace)
    places = [
        LaunchPlace(
            name=trace.strings[name],
            short=names[trace.strings[name]],
            op=trace.strings.get(op),
            shapes=(inputs := trace.inputs.get(shapes) or ""),
            module=None if module < 0 else keys.modules[module],
            phase=PHASES[phase],
            count=int(count[group]),
            total_ns=int(total[group]),
            order=int(order[group]),
            deviation_ns=none_if_nan(float(deviation[group])),
            blocks=float(total_blocks[group] / count[group]) if has_blocks[group] and not inputs else None,
        )
        for group, name, op, shapes, module, phase in zip(
            largest.tolist(),
            *(column[first].tolist() for column in (keys.name, keys.op, keys.shapes, keys.module, keys.phase)),
            strict=True,
        )
    ]
    return places, int(total.sum() - total[largest].sum())


class _Keys(msgspec.Struct, frozen=True, eq=False):
    """The keys of places, with one entry per launch. name, op: rows of the string table, -1 for none. shapes: rows of
    the table of inputs, -1 for none. module: places in `modules`, -1 for none. phase: places in PHASES. blocks: -1 if
    not recorded."""

    name: Int64
    op: Int64
    shapes: Int64
    module: Int64
    modules: Sequence[str]
    phase: UInt8
    step: Int64
    dur_ns: Int64
    blocks: Int64

    @staticmethod
    def of(trace: Trace, device: int, steps: Bool) -> _Keys:
        events, event = trace.events, trace.kernels.event
        step = step_at(trace, events.start_ns[event], steps)
        rows = np.flatnonzero((step >= 0) & (events.device[event] == device))
        op = kernel_origins(trace).op[rows].astype(np.int64)
        labels = kernel_labels(trace)
        modules = _launching_modules(trace)
        recorded_blocks = blocks(trace)
        shapes = np.full(len(op), -1, np.int64) if events.shapes is None else values_at(events.shapes, op)
        return _Keys(
            name=events.name[event[rows]].astype(np.int64),
            op=np.maximum(kernel_op_names(trace, rows), -1).astype(np.int64),
            shapes=shapes if labels is None else np.where(labels.op[rows] >= 0, labels.shapes[rows], shapes),
            module=modules.number[rows].astype(np.int64),
            modules=modules.texts,
            phase=kernel_phases(trace)[rows],
            step=step[rows],
            dur_ns=events.dur_ns[event[rows]],
            blocks=np.full(len(rows), -1, np.int64) if recorded_blocks is None else recorded_blocks[rows],
        )


def _launching_modules(trace: Trace) -> Words:
    """Returns for each kernel the innermost module around its launch, or in a graph that around the eager launch. The
    eager backward pass launches outside of modules, so its kernels in a graph get no module either; both then have the
    same place."""
    recorded = values_at(trace.events.name, kernel_modules(trace)).astype(np.int32)
    names = words_of(recorded, trace.strings.strings, module_name)
    labels = kernel_labels(trace)
    if labels is None:
        return names
    forward = np.where(kernel_phases(trace) == PHASES.index("backward"), -1, labels.modules).astype(np.int32)
    return words_of(forward, labels.texts.strings, lambda path: path.rpartition(MODULE_SEPARATOR)[2]).over(names)


class KernelMakers(msgspec.Struct, frozen=True, eq=False):
    """What made each kernel. There is one entry per row of the kernel table.

    module   the innermost nn.Module; -1 if there is none, or none is recorded
    line     the innermost source line outside torch; -1 likewise
    """

    module: Words
    line: Words


@shared
def kernel_makers(trace: Trace) -> KernelMakers:
    """Returns the module and line of each kernel of the recording."""
    user, labels = _made_by(trace), kernel_labels(trace)
    module, line = modules(trace, user), sources(trace, user)
    if labels is None:
        return KernelMakers(module, line)
    innermost_module = words_of(labels.modules, labels.texts.strings, lambda path: path.rpartition(MODULE_SEPARATOR)[2])
    return KernelMakers(innermost_module.over(module), words_of(labels.line, labels.texts.strings, str).over(line))


def kernel_module_rows(trace: Trace) -> Int64:
    """Returns for each kernel the row of the innermost module frame around its maker; -1 for none."""
    return innermost(trace, module_frames, _made_by(trace))


def _made_by(trace: Trace) -> Int64:
    """Returns for each kernel the row of its launch or op; for a backward kernel, that of the op that created its
    node."""
    place = kernel_origins(trace).place
    forward_ops = forward_of(trace, place)
    return np.where(forward_ops >= 0, forward_ops, place)
