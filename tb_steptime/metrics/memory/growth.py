"""Memory that stays allocated from step to step, and the code that allocates it.

    allocated at the end of the steps   10  14  18  22        growth: (22 - 10) / 3 = 4 bytes a step
    born in steps, never freed           4   4   4   4        made by one op in every step: the maker

The first step may allocate what stays permanently (optimizer state, gradients), which does not count as growth.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, are_on, births, makers
from tb_steptime.metrics.memory.contents import AllocationRow, rows_of
from tb_steptime.metrics.memory.curves import Place, curve
from tb_steptime.text import Reason, count
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Minimum number of steps. With fewer, a difference does not show growth.
FEWEST_STEPS = 3
#: Memory that stays in at least this many steps in a row is allocated in every step.
FEWEST_MADE = 3
#: Maximum number of makers in the result, most bytes first.
MOST_MAKERS = 10


class Growth(msgspec.Struct, frozen=True):
    """How much more memory is allocated at the end of each step.

    bytes_per_step   mean difference from the first of at_step_ends to the last; where it is None, `reason` says why
    every_step       whether each step ends with more than the one before
    at_step_ends     bytes allocated when the host ends each step
    """

    bytes_per_step: float | None
    reason: Reason | None
    every_step: bool
    at_step_ends: list[int]


class Maker(msgspec.Struct, frozen=True):
    """Code that allocates memory which is never freed, in each of `steps` steps from the step `since` on.
    bytes_per_step: mean over these steps. example: one of the allocations."""

    bytes_per_step: float
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
    """Returns the makers whose allocations stay in each step up to the last but one, most bytes per step first. The
    last step does not count, because the next step might free what it allocated."""
    lives, made_by = allocations(trace), births(trace)
    last = len(find_steps(trace).steps) - 1
    on_device = are_on(trace, place)
    stays = np.flatnonzero(on_device & (lives.died < 0) & (made_by.step >= 0) & (made_by.step < last))
    groups = [_maker(trace, of_maker, last) for of_maker in _by_maker(trace, stays)]
    return sorted((maker for maker in groups if maker), key=lambda maker: -maker.bytes_per_step)[:MOST_MAKERS]


def _by_maker(trace: Trace, chosen: Int64) -> list[Int64]:
    """Groups the allocations by op, phase, module and line."""
    made_by = births(trace)
    names_of_makers = makers(trace, made_by.op[chosen])
    ops = [np.append(trace.events.name, -1)[op[chosen]].tolist() for op in (made_by.op, made_by.outer_op)]
    groups: dict[object, list[int]] = {}
    for row, *key in zip(
        chosen.tolist(),
        *ops,
        made_by.phase[chosen].tolist(),
        names_of_makers.modules,
        names_of_makers.lines,
        strict=True,
    ):
        groups.setdefault(tuple(key), []).append(row)
    return [np.array(of_maker, np.int64) for of_maker in groups.values()]


def _maker(trace: Trace, chosen: Int64, last: int) -> Maker | None:
    """Returns the maker; None if the allocations do not occur in every step from some step on."""
    step = births(trace).step[chosen]
    since = last - 1
    steps_with = set(step.tolist())
    while since in steps_with:
        since -= 1
    since, steps = since + 1, last - 1 - since
    if steps < FEWEST_MADE:
        return None
    allocated = chosen[step >= since]
    size = trace.memory.bytes[allocations(trace).born[allocated]]
    (example,) = rows_of(trace, allocated[np.argmax(size)][None])
    name = find_steps(trace).steps[since].name
    return Maker(float(size.sum()) / steps, name, steps, example)
