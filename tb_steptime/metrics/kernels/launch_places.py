"""Kernels by where they come from: what two recordings are matched by, where a kernel has another name in each.

base        aten::addmm [[128,768],[768,3072]]  module Linear_0   volta_sgemm_128x64_nn
candidate   aten::addmm [[128,768],[768,3072]]  module Linear_0   sm80_xmma_gemm_f16f16_...
            the same place, another kernel: one row of the comparison
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.distinct_names import kernel_names
from tb_steptime.metrics.phases.assignment import PHASES, kernel_phases
from tb_steptime.metrics.phases.marks import PhaseId
from tb_steptime.metrics.set_aside.whole_steps import step_at
from tb_steptime.trace.frames import module_name
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.ops import kernel_modules, kernel_origins
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8

#: Places with most time are kept one by one; the time of the others is one number.
PLACES = 400


class LaunchPlace(msgspec.Struct, frozen=True):
    """Launches of one kernel from one place. Sums over the compared steps.

    short: the kernel's short name. op: the innermost one, None outside any; shapes: of its inputs, as the trace writes
    them, "" where it does not. module: the innermost one, None where none is recorded. order: rank of the first launch
    among those of all places.
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


def launch_places(trace: Trace, device: int, steps: Bool) -> tuple[list[LaunchPlace], int]:
    """Of the kernels of a device that start within these steps: places, most time first, and the time of all others."""
    keys = _Keys.of(trace, device, steps)
    groups = Groups.of(keys.name, keys.op, keys.shapes, keys.module, keys.phase)
    total = groups.sum(keys.dur_ns)
    columns = zip(groups.first.tolist(), groups.count().tolist(), total.tolist(), _ranks(groups.first), strict=True)
    places = [keys.place(trace, *column) for column in columns]
    places.sort(key=lambda place: (-place.total_ns, place.order))
    return places[:PLACES], sum(place.total_ns for place in places[PLACES:])


def _ranks(rows: Int64) -> list[int]:
    """Of each row its place among them in time order."""
    order = np.empty(len(rows), np.int64)
    order[np.argsort(rows)] = np.arange(len(rows))
    return order.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class _Keys:
    """What places differ in: one entry per launch; rows of the string table, `shapes` of that of inputs, -1 for none;
    phase: a place in PHASES."""

    name: Int64
    op: Int64
    shapes: Int64
    module: Int64
    phase: UInt8
    dur_ns: Int64

    @staticmethod
    def of(trace: Trace, device: int, steps: Bool) -> _Keys:
        events, event = trace.events, trace.kernels.event
        inside = (step_at(trace, events.start_ns[event], steps) >= 0) & (events.device[event] == device)
        rows = np.flatnonzero(inside)
        op, module = kernel_origins(trace).op[rows].astype(np.int64), kernel_modules(trace)[rows]
        return _Keys(
            name=events.name[event[rows]].astype(np.int64),
            op=_of(events.name, op),
            shapes=np.full(len(op), -1, np.int64) if events.shapes is None else _of(events.shapes, op),
            module=_of(events.name, module),
            phase=kernel_phases(trace)[rows],
            dur_ns=events.dur_ns[event[rows]],
        )

    def place(self, trace: Trace, row: int, count: int, total_ns: int, order: int) -> LaunchPlace:
        """That of a launch and of those that agree with it."""
        op, shapes, module = int(self.op[row]), int(self.shapes[row]), int(self.module[row])
        kernel = trace.strings[int(self.name[row])]
        return LaunchPlace(
            name=kernel,
            short=kernel_names(trace)[kernel],
            op=None if op < 0 else trace.strings[op],
            shapes="" if shapes < 0 else trace.inputs[shapes],
            module=None if module < 0 else module_name(trace.strings[module]),
            phase=PHASES[int(self.phase[row])],
            count=count,
            total_ns=total_ns,
            order=order,
        )


def _of(column: Int32, rows: Int64) -> Int64:
    """The column's values at these rows; -1 stays -1."""
    return np.where(rows >= 0, column[rows], -1).astype(np.int64)
