"""Memory that is allocated and freed again within one step, by the op that allocates it.

step    |----------------|            aten::addmm: 2 allocations, 24 bytes a step
addmm     +8  -8   +16 -16
relu            +4 .............      stays longer: no churn
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, are_on, births, ends_ns, steps_at
from tb_steptime.metrics.memory.devices import Place
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: Maximum number of ops in the table, most bytes first.
MOST_OPS = 50


class ChurnRow(msgspec.Struct, frozen=True):
    """What an op allocates and frees within a step; means per step. op: None outside of ops; largest_bytes: size of the
    largest allocation."""

    op: str | None
    count: float
    bytes: float
    largest_bytes: int


def churn(trace: Trace, place: Place) -> list[ChurnRow]:
    """Allocations that are made and freed in the same step, by op."""
    found, born, table = allocations(trace), births(trace), trace.memory
    here = are_on(trace, place)
    freed_in = np.where(found.died >= 0, steps_at(trace, ends_ns(trace)), -1)
    some = np.flatnonzero(here & (born.step >= 0) & (freed_in == born.step))
    name = np.append(trace.events.name, -1)[born.op[some]].astype(np.int64)
    groups, size = Groups.of(name), table.bytes[found.born[some]]
    _, most = groups.extremes(size)
    steps = len(find_steps(trace).steps)
    columns = zip(
        name[groups.first].tolist(), groups.count().tolist(), groups.sum(size).tolist(), most.tolist(), strict=True
    )
    rows = [ChurnRow(trace.strings.get(op), number / steps, total / steps, top) for op, number, total, top in columns]
    return sorted(rows, key=lambda row: -row.bytes)[:MOST_OPS]
