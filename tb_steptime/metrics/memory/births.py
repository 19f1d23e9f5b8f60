"""Where each allocation is made and freed: the op, the phase and the step at that instant.

thread   |---- aten::linear ----|          outer op
           |-- aten::addmm --|             innermost op
                 +4096                     born in aten::addmm in aten::linear, forward, step 3
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, site_at
from tb_steptime.trace.lanes import op_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import Around, innermost_at, outermost
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int32, Int64, UInt8

PHASE = {phase: place for place, phase in enumerate(PHASES)}


class Moments(msgspec.Struct, frozen=True, eq=False):
    """The host's position at some rows of the memory table.

    op, outer_op   rows of the event table: the innermost op on the thread, and the outermost around that; -1 for none
    phase          place in `PHASES`
    step           index of the step by the host's own mark; -1 outside of all
    """

    op: Int32
    outer_op: Int32
    phase: UInt8
    step: Int32


@shared
def births(trace: Trace) -> Moments:
    """The moments at which `allocations` are made."""
    return moments(trace, allocations(trace).born)


def moments(trace: Trace, rows: Int32 | Int64) -> Moments:
    """The moments of these rows of the memory table."""
    op = ops_at(trace, rows)
    outer = outermost(trace, op_rows, op)
    table = trace.memory
    phase = SITE_PHASE[site_at(trace, table.thread[rows], table.ts[rows])]
    return Moments(op.astype(np.int32), outer.astype(np.int32), phase, steps_at(trace, table.ts[rows]))


def ops_at(trace: Trace, rows: Int32 | Int64) -> Int64:
    """The innermost op that is open on the thread at each of these rows of the memory table; -1 for none."""
    return rows_at(trace, op_rows, rows)


def rows_at(trace: Trace, around: Around, rows: Int32 | Int64) -> Int64:
    """The innermost of `around`, rows of the event table, that is open on the thread at each of these rows of the
    memory table; -1 for none."""
    return innermost_at(trace, around, trace.memory.thread.take(rows), trace.memory.ts.take(rows))


def steps_at(trace: Trace, instants: Int64) -> Int32:
    """The place of the step that the host is in at each instant, -1 outside of all: memory is allocated when the host
    requests it, not when the device runs."""
    return find_steps(trace).holding_on_host(instants).astype(np.int32)
