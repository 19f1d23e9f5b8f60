"""What allocated memory holds: the bytes of each category, and single allocations as rows of tables.

The memory that is alive at an instant is shown as bytes by category, which sum to the allocator's total, and as the
largest allocations.

total of the allocator at t   100
alive at t                     60  =  activations 40 + gradients 20
before the recording           40  =  the rest: allocated before, and not freed until t
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import alive, allocations, births, ends_ns, makers, steps_at
from tb_steptime.metrics.memory.categories import CATEGORIES, CategoryId, categories
from tb_steptime.metrics.memory.curves import NO_TOTALS, Curve
from tb_steptime.metrics.phases.sites import PHASES, PhaseId, without_engine
from tb_steptime.text import Reason
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, UInt8

_INCONSISTENT = Reason("memory_inconsistent")
#: Maximum number of allocations in a table, largest first.
MOST_ROWS = 50


class CategoryBytes(msgspec.Struct, frozen=True):
    """The bytes of a category. count: number of allocations; 0 for memory from before the recording."""

    category: CategoryId
    bytes: int
    count: int


class AllocationRow(msgspec.Struct, frozen=True):
    """An allocation.

    op, outer_op   the innermost and the outermost op around it; None outside of ops
    module, line   the user's module and line around it; in the backward pass those of the forward op that created the
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
    """Returns the bytes by category on the row's device after this row of the memory table. The parts sum to
    `allocated`, in the order of `CATEGORIES`. The result is None if the live allocations exceed that, because frees are
    then missing."""
    is_alive = alive(trace, row)
    return parts_of(categories(trace)[is_alive], trace.memory.bytes[allocations(trace).born[is_alive]], allocated)


def parts_of(kinds: UInt8, size: Int64, allocated: int) -> list[CategoryBytes] | None:
    """Returns the parts of the live allocations, given as places in `CATEGORIES` and bytes, and of the rest up to
    `allocated`; None if they exceed `allocated`."""
    sums = exact_sums(kinds.astype(np.int64), size, len(CATEGORIES))
    sums[CATEGORIES.index("before_recording")] = allocated - int(size.sum())
    counts = np.bincount(kinds, minlength=len(CATEGORIES))
    if sums[-1] < 0:
        return None
    columns = zip(CATEGORIES, sums.tolist(), counts.tolist(), strict=True)
    return [CategoryBytes(category, total, count) for category, total, count in columns if total]


def why_no_parts(of_device: Curve) -> Reason:
    """Returns why the live memory cannot be divided among categories, if it cannot."""
    return _INCONSISTENT if of_device.whole else NO_TOTALS


def largest(trace: Trace, row: int) -> list[AllocationRow]:
    """Returns the largest allocations that are alive after this row of the memory table."""
    alive_rows = np.flatnonzero(alive(trace, row))
    size = trace.memory.bytes[allocations(trace).born[alive_rows]]
    return rows_of(trace, alive_rows[np.argsort(-size, kind="stable")[:MOST_ROWS]])


def rows_of(trace: Trace, chosen: Int64) -> list[AllocationRow]:
    """Returns table rows for these of `allocations`."""
    table_rows = allocations(trace).born[chosen]
    made_by = births(trace)
    end = ends_ns(trace)[chosen]
    names_of_makers = makers(trace, made_by.op[chosen])
    names = [step.name for step in find_steps(trace).steps]
    died, later = allocations(trace).died[chosen], later_steps(trace, chosen).tolist()
    rows = []
    for place, row in enumerate(chosen.tolist()):
        step = int(made_by.step[row])
        rows.append(
            AllocationRow(
                bytes=int(trace.memory.bytes[table_rows[place]]),
                category=CATEGORIES[categories(trace)[row]],
                op=_name(trace, int(made_by.op[row])),
                outer_op=_name(trace, int(made_by.outer_op[row])),
                module=names_of_makers.modules[place],
                line=names_of_makers.lines[place],
                phase=PHASES[made_by.phase[row]],
                step=names[step] if step >= 0 else None,
                born_ns=int(trace.memory.ts[table_rows[place]]),
                died_ns=int(end[place]) if died[place] >= 0 else None,
                lives_steps=later[place] if later[place] >= 0 else None,
            )
        )
    return rows


def later_steps(trace: Trace, chosen: Int64) -> Int64:
    """Returns for each of these of `allocations` how many steps after its own it is freed; -1 if it is made or freed in
    no step."""
    made_in, freed = births(trace).step[chosen], steps_at(trace, ends_ns(trace)[chosen])
    return np.where((made_in >= 0) & (freed >= 0), freed - made_in, -1).astype(np.int64)


def _name(trace: Trace, row: int) -> str | None:
    return without_engine(trace.name_of(row)) if row >= 0 else None
