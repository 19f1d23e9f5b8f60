"""Ops of the CPU by name, in the steps that are compared: counts, self time and how much it varies."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.trace.groups import Groups, none_if_nan
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import self_times
from tb_steptime.trace.table import Int64, Kind

#: Maximum number of ops. Those with the most self time are kept.
OPS = 200


class OpTime(msgspec.Struct, frozen=True):
    """An op; sums over the compared steps.

    self_ns        its time without the ops inside it, summed over the threads
    deviation_ns   standard deviation of that time per step; None if there is one step
    """

    name: str
    count: int
    self_ns: int
    deviation_ns: float | None = None


def op_times(trace: Trace, step_at: Callable[[Int64], Int64], steps: int) -> list[OpTime]:
    """Returns the ops by name that begin in one of the compared steps, most self time first. step_at: returns the step
    of each instant, -1 for none."""
    rows = trace.events.rows(Kind.CPU_OP)
    own_ns = self_times(trace, rows)
    step = step_at(trace.events.start_ns[rows])
    counted = step >= 0
    rows = rows[counted]  # columns are cut one after another, because each is 8 MB for a large trace
    own_ns = own_ns[counted]
    step = step[counted].astype(np.int32)
    groups = Groups.of(trace.events.name[rows])
    names = trace.events.name[rows[groups.first]].tolist()
    deviation = map(none_if_nan, groups.deviation(own_ns, step, steps).tolist())
    columns = zip(names, groups.count().tolist(), groups.sum(own_ns).tolist(), deviation, strict=True)
    ops = [OpTime(trace.strings[name], *figures) for name, *figures in columns]
    return sorted(ops, key=lambda op: (-op.self_ns, op.name))[:OPS]
