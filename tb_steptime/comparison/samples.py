"""The time of a table's row per step, of which only mean and spread are stored: whole columns would make summaries
large.

span 1   4 steps   mean 10   deviation 2       one sample of 9 steps: mean and deviation as if all were at hand
span 2   5 steps   mean 12   deviation 1
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tb_steptime.comparison.intervals import Change, student

#: Minimum change in ns per step: clocks of recordings resolve no less.
LEAST_NS = 1_000
#: Without an interval, a change below this share of the longer side is taken to be noise.
LEAST_FRACTION = 0.05

Status = Literal["changed", "alike", "new", "gone"]


@dataclass(frozen=True)
class Sample:
    """Values of a number of steps, at least one. deviation: their standard deviation, None where it is not known."""

    steps: int
    mean: float
    deviation: float | None


def pooled(samples: Iterable[Sample]) -> Sample:
    """Pools samples into one.

    >>> pooled([Sample(2, 1.0, 0.0), Sample(2, 3.0, 0.0)])
    Sample(steps=4, mean=2.0, deviation=1.1547005383792515)
    """
    of = list(samples)
    steps = sum(each.steps for each in of)
    mean = sum(each.steps * each.mean for each in of) / steps
    if steps < 2 or any(each.deviation is None and each.steps > 1 for each in of):
        return Sample(steps, mean, None)
    within = sum((each.steps - 1) * (each.deviation or 0.0) ** 2 for each in of)
    between = sum(each.steps * (each.mean - mean) ** 2 for each in of)
    return Sample(steps, mean, math.sqrt((within + between) / (steps - 1)))


def change_of_samples(base: Sample, candidate: Sample) -> Change:
    """Returns the change of the mean with Welch's 95 % interval, which assumes that steps are independent of each
    other."""
    change = candidate.mean - base.mean
    if base.deviation is None or candidate.deviation is None or min(base.steps, candidate.steps) < 2:
        return Change(base.mean, candidate.mean)
    variances = [
        deviation**2 / steps
        for deviation, steps in ((base.deviation, base.steps), (candidate.deviation, candidate.steps))
    ]
    parts = sum(variance**2 / (each.steps - 1) for variance, each in zip(variances, (base, candidate), strict=True))
    freedom = sum(variances) ** 2 / parts if parts else math.inf
    half = student(freedom) * math.sqrt(sum(variances))
    return Change(base.mean, candidate.mean, change - half, change + half, abs(change) > half)


def status_of(change: Change) -> Status:
    """Returns the status of what is on both sides: changed by more than noise, and enough to matter."""
    size = abs(change.change)
    if size < LEAST_NS or change.distinguishable is False:
        return "alike"
    if change.distinguishable is None and size < LEAST_FRACTION * max(change.base, change.candidate):
        return "alike"
    return "changed"
