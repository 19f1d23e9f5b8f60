"""Memory that each op allocates itself: on the GPUs, or on the CPU if no GPU memory was recorded.

thread   |------- aten::linear -------|     4
           |-- aten::addmm --|              8
        +2   +8   -8           +4           2 outside ops: counts for the module around it, if there is one

Allocations count whether or not they are freed again.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import ops_at, rows_at, steps_at
from tb_steptime.metrics.memory.devices import CPU, memory_devices
from tb_steptime.metrics.operators.op_tree import in_steps
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64


class Allocated(msgspec.Struct, frozen=True, eq=False):
    """One entry per allocation, in time order.

    row    int32, of the memory table
    op     int32, row of the event table: the innermost op on the thread; -1 for none
    bytes  int64
    """

    row: Int32
    op: Int32
    bytes: Int64


@shared
def allocated(trace: Trace) -> Allocated:
    """The allocations; empty if memory was not recorded."""
    table = trace.memory
    on_gpus = any(place.type != CPU for place in memory_devices(trace))
    row = np.flatnonzero((table.bytes > 0) & ((table.device_type != CPU) == on_gpus))
    return Allocated(row.astype(np.int32), ops_at(trace, row).astype(np.int32), table.bytes[row])


def allocated_by_ops(trace: Trace, ops: Int32) -> Int64:
    """Bytes that each op of the trace allocates while no op inside it is open; ops: rows of the event table."""
    found = allocated(trace)
    inside = found.op >= 0
    return exact_sums(np.searchsorted(ops, found.op[inside]), found.bytes[inside], len(ops))


def allocated_in_steps(trace: Trace) -> int:
    """Bytes that ops of the steps allocate, plus those allocated outside ops while the host is in a step."""
    found = allocated(trace)
    by_ops = found.op >= 0
    of_steps = found.bytes[by_ops][in_steps(trace, found.op[by_ops])]
    return int(of_steps.sum() + found.bytes[_loose(trace, found)].sum())


def allocated_outside_ops(trace: Trace, around: Int64) -> tuple[Int64, Int64]:
    """Allocations in the steps outside of ops: for each the innermost of these rows of the event table that is open on
    the thread, -1 for none; and its bytes."""
    found = allocated(trace)
    loose = _loose(trace, found)
    return rows_at(trace, around, found.row[loose]), found.bytes[loose]


def _loose(trace: Trace, found: Allocated) -> Bool:
    """Which allocations are in the steps but outside ops."""
    loose = found.op < 0
    if find_steps(trace).by != "recording":
        loose &= steps_at(trace, trace.memory.ts[found.row]) >= 0
    return loose
