"""Allocations with their frees, joined on the address.

address 64   +512 ......... -512   +256 ...            two allocations, the second one alive at the end
address 96   ...... -128                               memory from before the recording

Each is made and freed in the op, the phase and the step of that instant.

thread   |---- aten::linear ----|          outer op
           |-- aten::addmm --|             innermost op
                 +4096                     born in aten::addmm in aten::linear, forward, step 3
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.curves import Place
from tb_steptime.metrics.phases.assignment import site_at
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import Around, innermost_at, op_rows, outermost
from tb_steptime.trace.ops import Rows, forward_of
from tb_steptime.trace.sources import modules, sources
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Columns, Int32, Int64, UInt8


class Allocations(Columns, frozen=True, eq=False):
    """Allocations as rows of the memory table, ascending by birth.

    born   int32, row of the allocation
    died   int32, row of its free; -1 if it was not freed while recording. If the address was allocated again without a
           recorded free, the row of that allocation
    """

    born: Int32
    died: Int32


def are_on(trace: Trace, place: Place) -> Bool:
    """Returns which of the allocations are of this device's memory."""
    rows, table = allocations(trace).born, trace.memory
    return np.asarray((table.device_type[rows] == place.type) & (table.device[rows] == place.device), bool)


@shared
def allocations(trace: Trace) -> Allocations:
    """Returns every allocation whose address was recorded; none in a file of 2021."""
    table = trace.memory
    rows = np.flatnonzero((table.addr >= 0) & (table.bytes != 0))
    order = rows[np.lexsort((rows, table.addr[rows], table.device[rows], table.device_type[rows]))]
    keys = (table.addr[order], table.device[order], table.device_type[order])
    follows = np.append(np.logical_and.reduce([key[1:] == key[:-1] for key in keys]), False) if len(order) else order
    is_born = table.bytes[order] > 0
    after = np.append(order[1:], -1)
    died = np.where(follows.astype(bool), after, -1)[is_born]
    allocating = order[is_born]
    by_birth = np.argsort(allocating)
    return Allocations(allocating[by_birth].astype(np.int32), died[by_birth].astype(np.int32))


def sizes(trace: Trace) -> Int64:
    """Returns the bytes of each allocation."""
    return trace.memory.bytes[allocations(trace).born]


@shared
def ends_ns(trace: Trace) -> Int64:
    """Returns when each allocation is freed; NEVER for one that outlives the recording."""
    died = allocations(trace).died
    return np.where(died >= 0, trace.memory.ts[died], NEVER)


def alive(trace: Trace, row: int) -> Bool:
    """Returns which allocations are alive after this row of the memory table, on its device."""
    table, lives = trace.memory, allocations(trace)
    on_device = (table.device_type[lives.born] == table.device_type[row]) & (
        table.device[lives.born] == table.device[row]
    )
    return on_device & (lives.born <= row) & ((lives.died < 0) | (lives.died > row))


PHASE = {phase: place for place, phase in enumerate(PHASES)}


class HostPositions(msgspec.Struct, frozen=True, eq=False):
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
def births(trace: Trace) -> HostPositions:
    """Returns the host's positions when `allocations` are made."""
    return moments(trace, allocations(trace).born)


def moments(trace: Trace, rows: Int32 | Int64) -> HostPositions:
    """Returns the host's positions at these rows of the memory table."""
    op = ops_at(trace, rows)
    outer = outermost(trace, op_rows, op)
    table = trace.memory
    phase = SITE_PHASE[site_at(trace, table.thread[rows], table.ts[rows])]
    return HostPositions(op.astype(np.int32), outer.astype(np.int32), phase, steps_at(trace, table.ts[rows]))


def ops_at(trace: Trace, rows: Int32 | Int64) -> Int64:
    """Returns the innermost op that is open on the thread at each of these rows of the memory table; -1 for none."""
    return rows_at(trace, op_rows, rows)


def rows_at(trace: Trace, around: Around, rows: Int32 | Int64) -> Int64:
    """Returns the innermost of `around`, rows of the event table, that is open on the thread at each of these rows of
    the memory table; -1 for none."""
    return innermost_at(trace, around, trace.memory.thread.take(rows), trace.memory.ts.take(rows))


def steps_at(trace: Trace, instants: Int64) -> Int32:
    """Returns the place of the step that the host is in at each instant, -1 outside of all. Memory is allocated when
    the host requests it, not when the device runs."""
    return find_steps(trace).holding_on_host(instants).astype(np.int32)


class Makers(msgspec.Struct, frozen=True):
    """The module and the line that made each of some ops; None if there is none."""

    modules: list[str | None]
    lines: list[str | None]


def makers(trace: Trace, ops: Rows) -> Makers:
    """Returns the makers of these ops, rows of the event table, -1 for none. In the backward pass they are those of the
    forward op."""
    ops = ops.astype(np.int64)
    forward = np.where(ops >= 0, forward_of(trace, ops), -1)
    anchor = np.where(forward >= 0, forward, ops)
    found_modules, found_lines = modules(trace, anchor), sources(trace, anchor)
    places = range(len(ops))
    return Makers([found_modules[place] for place in places], [found_lines[place] for place in places])
