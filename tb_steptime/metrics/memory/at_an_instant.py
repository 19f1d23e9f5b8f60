"""Memory that is alive at an instant: bytes by category, which add up to the allocator's total, and the largest
allocations.

total of the allocator at t   100
alive at t                     60  =  activations 40 + gradients 20
before the recording           40  =  the rest: allocated before, and not freed until t
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import alive, allocations, births, ends_ns, makers, steps_at
from tb_steptime.metrics.memory.categories import CATEGORIES, CategoryId, categories
from tb_steptime.metrics.phases.assignment import PHASES
from tb_steptime.metrics.phases.marks import PhaseId, without_engine
from tb_steptime.text import Reason
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, UInt8

INCONSISTENT = Reason("memory_inconsistent")
#: Maximum number of allocations in a table, the largest first.
MOST_ROWS = 50


class CategoryBytes(msgspec.Struct, frozen=True):
    """Bytes of a category. count: number of allocations; 0 for memory from before the recording."""

    category: CategoryId
    bytes: int
    count: int


class AllocationRow(msgspec.Struct, frozen=True):
    """An allocation.

    op, outer_op   the innermost and the outermost op around it; None outside of ops
    module, line   module and line of the user around it; in the backward pass those of the forward op that created the
                   node
    died_ns        when it is freed; None if it outlives the recording
    lives_steps    number of steps after its own in which it is freed; None if either step is not known
    """

    bytes: int
    category: CategoryId
    op: str | None
    outer_op: str | None
    module: str | None
    line: str | None
    phase: PhaseId
    step: str | None
    born_ns: int
    died_ns: int | None
    lives_steps: int | None


def by_category(trace: Trace, row: int, allocated: int) -> list[CategoryBytes] | None:
    """Bytes by category on the row's device after this row of the memory table: parts that sum to `allocated`, in the
    order of `CATEGORIES`. None if the live allocations exceed that, since frees are then missing."""
    here = alive(trace, row)
    return parts_of(categories(trace)[here], trace.memory.bytes[allocations(trace).born[here]], allocated)


def parts_of(kinds: UInt8, size: Int64, allocated: int) -> list[CategoryBytes] | None:
    """Parts of the live allocations, given as places in `CATEGORIES` and bytes, and of the rest up to `allocated`."""
    sums = exact_sums(kinds.astype(np.int64), size, len(CATEGORIES))
    sums[CATEGORIES.index("before_recording")] = allocated - int(size.sum())
    counts = np.bincount(kinds, minlength=len(CATEGORIES))
    if sums[-1] < 0:
        return None
    columns = zip(CATEGORIES, sums.tolist(), counts.tolist(), strict=True)
    return [CategoryBytes(category, total, count) for category, total, count in columns if total]


def largest(trace: Trace, row: int) -> list[AllocationRow]:
    """The largest allocations that are alive after this row of the memory table."""
    some = np.flatnonzero(alive(trace, row))
    size = trace.memory.bytes[allocations(trace).born[some]]
    return rows_of(trace, some[np.argsort(-size, kind="stable")[:MOST_ROWS]])


def rows_of(trace: Trace, some: Int64) -> list[AllocationRow]:
    """Table rows for these of `allocations`."""
    born, at, end = allocations(trace).born[some], births(trace), ends_ns(trace)[some]
    made, names = makers(trace, at.op[some]), [step.name for step in find_steps(trace).steps]
    died, later = allocations(trace).died[some], later_steps(trace, some).tolist()
    rows = []
    for place, one in enumerate(some.tolist()):
        step = int(at.step[one])
        rows.append(
            AllocationRow(
                bytes=int(trace.memory.bytes[born[place]]),
                category=CATEGORIES[categories(trace)[one]],
                op=_name(trace, int(at.op[one])),
                outer_op=_name(trace, int(at.outer_op[one])),
                module=made.modules[place],
                line=made.lines[place],
                phase=PHASES[at.phase[one]],
                step=names[step] if step >= 0 else None,
                born_ns=int(trace.memory.ts[born[place]]),
                died_ns=int(end[place]) if died[place] >= 0 else None,
                lives_steps=later[place] if later[place] >= 0 else None,
            )
        )
    return rows


def later_steps(trace: Trace, some: Int64) -> Int64:
    """For each of these of `allocations`, how many steps after its own it is freed; -1 if either is in no step."""
    born, freed = births(trace).step[some], steps_at(trace, ends_ns(trace)[some])
    return np.where((born >= 0) & (freed >= 0), freed - born, -1).astype(np.int64)


def _name(trace: Trace, row: int) -> str | None:
    return without_engine(trace.name_of(row)) if row >= 0 else None
