"""Memory that stays allocated from step to step, and the code that allocates it.

    allocated at the end of the steps   10  14  18  22        growth: (22 - 10) / 3 = 4 bytes a step
    born in steps, never freed           4   4   4   4        made by one op in every step: the maker

The first step may allocate what stays permanently (optimizer state, gradients); this does not count as growth.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, are_on, births, makers
from tb_steptime.metrics.memory.at_an_instant import AllocationRow, rows_of
from tb_steptime.metrics.memory.devices import Place, curve
from tb_steptime.text import Reason, count
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Minimum number of steps; with fewer, a difference does not show growth.
FEWEST_STEPS = 3
#: Memory that stays in this many steps in a row is allocated in every step.
FEWEST_MADE = 3
#: Maximum number of makers in the result, most bytes first.
MOST_MAKERS = 10


class Growth(msgspec.Struct, frozen=True):
    """How much more memory is allocated at the end of each step.

    bytes_per_step   mean difference from the first of at_step_ends to the last; None with a reason
    every_step       each step ends with more than the one before
    at_step_ends     bytes allocated when the host ends each step
    """

    bytes_per_step: float | None
    reason: Reason | None
    every_step: bool
    at_step_ends: list[int]


class Maker(msgspec.Struct, frozen=True):
    """Code that allocates memory which is never freed, in each of `steps` steps from the step `since` on.
    bytes_per_step, count_per_step: means over these steps; example: one of the allocations."""

    bytes_per_step: float
    count_per_step: float
    since: str
    steps: int
    example: AllocationRow


def growth(trace: Trace, place: Place) -> Growth:
    ends = curve(trace, place).at(find_steps(trace).host_end_ns - 1)
    if len(ends) < FEWEST_STEPS:
        return Growth(None, Reason("memory_needs_steps", {"least": count(FEWEST_STEPS)}), False, ends.tolist())
    mean = float(ends[-1] - ends[0]) / (len(ends) - 1)
    return Growth(mean, None, bool((np.diff(ends) > 0).all()), ends.tolist())


def leak_makers(trace: Trace, place: Place) -> list[Maker]:
    """The makers whose allocations stay in each step up to the last but one: the next step may free what the last one
    allocated. Most bytes per step first."""
    found, born = allocations(trace), births(trace)
    last = len(find_steps(trace).steps) - 1
    here = are_on(trace, place)
    stays = np.flatnonzero(here & (found.died < 0) & (born.step >= 0) & (born.step < last))
    groups = [_maker(trace, mine, last) for mine in _by_maker(trace, stays)]
    return sorted((each for each in groups if each), key=lambda each: -each.bytes_per_step)[:MOST_MAKERS]


def _by_maker(trace: Trace, some: Int64) -> list[Int64]:
    """Groups of allocations with the same op, phase, module and line."""
    born = births(trace)
    made = makers(trace, born.op[some])
    ops = [np.append(trace.events.name, -1)[of[some]].tolist() for of in (born.op, born.outer_op)]
    groups: dict[object, list[int]] = {}
    for one, *key in zip(some.tolist(), *ops, born.phase[some].tolist(), made.modules, made.lines, strict=True):
        groups.setdefault(tuple(key), []).append(one)
    return [np.array(mine, np.int64) for mine in groups.values()]


def _maker(trace: Trace, some: Int64, last: int) -> Maker | None:
    """The maker; None if the allocations do not occur in every step from some step on."""
    step = births(trace).step[some]
    since = last - 1
    there = set(step.tolist())
    while since in there:
        since -= 1
    since, steps = since + 1, last - 1 - since
    if steps < FEWEST_MADE:
        return None
    mine = some[step >= since]
    size = trace.memory.bytes[allocations(trace).born[mine]]
    (example,) = rows_of(trace, mine[np.argmax(size)][None])
    name = find_steps(trace).steps[since].name
    return Maker(float(size.sum()) / steps, len(mine) / steps, name, steps, example)
