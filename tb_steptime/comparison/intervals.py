"""Bootstrap intervals over steps, to decide whether a difference of means is more than noise.

Steps are resampled from each side many times, in blocks of neighbours, and the difference of means is computed each
time: the middle 95 % of these are the interval. Blocks are as long as a known period (workers that deliver in turns),
since the steps within one depend on each other. The interval is widened by the ratio of Student's t to the normal
distribution, since the spread of a few steps is known only roughly.

A few very long steps on one side make this interval wide, however far apart the sides are. So their order counts, too:

    base        213 213 2.4 213 2.4 ms     each step is longer than all of the candidate, by 0.8 ms or more; by chance,
    candidate   1.2 1.6 1.2 1.2 1.3 ms     2 of the 252 ways to share out ten steps would have one side above the other

The interval says how far the mean of these recordings' steps may be off. Two runs of the same job may differ by more,
since a machine behaves differently an hour later. If a side has several recordings, the differences between their means
show that:

    base        run 1  100 ms     run 2  103 ms     run 3  101 ms       the runs differ by 1.5 %: so the mean of three
    candidate   run 1  111 ms     run 2  110 ms     run 3  113 ms       may be off by 2.4 %, whatever their steps say

Both sides are assumed to vary equally, in percent, so the estimate rests on six runs instead of three. The mean of a
side may be off by a factor, to either side, and not by an amount: a time is never below zero. With amounts, runs that
differ by more than half would never show a change, however large:

    base        run 1  100 ms     run 2  210 ms      either mean may be off by a factor of 4.0, whatever the steps say
    candidate   run 1 1400 ms     run 2 2500 ms      longer by 0.3 s or more; by amounts it might be 0.9 s shorter

The wider of the two intervals counts. Recordings with one value each (the median of the steps without the profiler)
have no steps to resample, so only the differences between them count.

Of a table's row only mean and spread per step are stored, since whole columns would make summaries large (`Sample`):

    span 1   4 steps   mean 10   deviation 2       one sample of 9 steps: mean and deviation as if all were at hand
    span 2   5 steps   mean 12   deviation 1
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.trace.table import Float64, Int64

LEVEL = 0.95
DRAWS = 2000
#: Maximum number of values that are drawn at once, which limits memory.
AT_ONCE = 2_000_000
#: Means of more blocks than this are distributed normally, and need not be drawn one by one.
MANY = 500
#: Maximum for the number of steps that would be enough: nobody records more, and more would not help.
MOST_STEPS = 10_000


class Change(msgspec.Struct, frozen=True):
    """candidate - base of a mean, and its interval. low, high and distinguishable (0 is outside of the interval) are
    None where a side has too few steps to say. enough_steps: how many on each side would show a change of this size,
    None where these do, or where no number would."""

    base: float
    candidate: float
    low: float | None = None
    high: float | None = None
    distinguishable: bool | None = None
    enough_steps: int | None = None

    @property
    def change(self) -> float:
        return self.candidate - self.base


def change_of_mean(
    base: Int64 | Float64, candidate: Int64 | Float64, period: int = 1, level: float = LEVEL, *, by_order: bool = True
) -> Change:
    """Returns the change of the mean between two series of values per step, both in time order and not empty. The
    result is reproducible. by_order: where the order of the values shows that the sides differ, the interval ends at
    the gap between them."""
    means = Change(float(base.mean()), float(candidate.mean()))
    if period > 1 and min(len(base), len(candidate)) < 2 * period:
        period = 1
    blocks = min(len(base), len(candidate)) // period
    if blocks < 2:
        return means
    draws = np.random.default_rng(0)
    of_base, of_candidate = _means(draws, base, period), _means(draws, candidate, period)
    freedom = _freedom(of_base, len(base) // period, of_candidate, len(candidate) // period)
    wider = student(freedom, level) / student(math.inf, level) * math.sqrt(blocks / (blocks - 1))
    edges = np.quantile(of_candidate - of_base, [(1 - level) / 2, (1 + level) / 2]).tolist()
    low, high = (means.change + (edge - means.change) * wider for edge in edges)
    if by_order and 2 / math.comb(len(base) // period + len(candidate) // period, len(base) // period) < 1 - level:
        longer, shorter = float(candidate.min() - base.max()), float(candidate.max() - base.min())
        low, high = (max(low, longer), high) if longer > 0 else (low, min(high, shorter) if shorter < 0 else high)
    clear = not low <= 0 <= high
    return msgspec.structs.replace(
        means, low=low, high=high, distinguishable=clear,
        enough_steps=None if clear else _enough(means.change, low, high, min(len(base), len(candidate))),
    )  # fmt: skip


def change_between(
    base: Sequence[Float64],
    candidate: Sequence[Float64],
    period: int = 1,
    level: float = LEVEL,
    *,
    base_is_exact: bool = False,
) -> Change:
    """Returns the change as `change_of_mean` does, for values grouped by separate recording, at least one recording per
    side. The mean of a side is the mean of its recordings. The interval covers the differences between the recordings
    of a side. level: that of this interval. With one recording per side it is LEVEL, because nothing is known of these
    differences. The order of steps does not count: another recording of the same job may be slower in all its steps.
    base_is_exact: the base is a number that was not measured, so it tells nothing of how recordings differ."""
    freedom = len(candidate) - 1 + (0 if base_is_exact else len(base) - 1)
    level = level if freedom else LEVEL
    within = change_of_mean(np.concatenate(base), np.concatenate(candidate), period, level, by_order=False)
    if not freedom or not within.base:
        return within
    of_base, of_candidate = (np.array([values.mean() for values in parts]) for parts in (base, candidate))
    change = Change(float(of_base.mean()), float(of_candidate.mean()))
    squares = sum(float(((each / each.mean() - 1) ** 2).sum()) for each in (of_base, of_candidate) if each.any())
    half_width = student(freedom, level) * math.sqrt(squares / freedom)  # of the logarithm of one recording
    base_off, candidate_off = (math.exp(half_width / math.sqrt(len(each))) for each in (of_base, of_candidate))
    base_off = 1.0 if base_is_exact else base_off
    low = change.change - math.hypot(change.candidate * (1 - 1 / candidate_off), change.base * (base_off - 1))
    high = change.change + math.hypot(change.candidate * (candidate_off - 1), change.base * (1 - 1 / base_off))
    moved = change.change - within.change
    has_steps = any(len(values) > 1 for values in (*base, *candidate))
    if has_steps and within.low is not None and within.high is not None:
        low, high = min(low, within.low + moved), max(high, within.high + moved)
    return msgspec.structs.replace(change, low=low, high=high, distinguishable=not low <= 0 <= high)


def _means(draws: np.random.Generator, values: Int64 | Float64, block: int) -> Float64:
    """Returns the means of resampled values, (DRAWS,), drawn in blocks that wrap around from the end to the start."""
    number = len(values) // block
    sums = np.convolve(np.concatenate([values, values[: block - 1]]).astype(np.float64), np.ones(block), "valid")
    if number > MANY:
        spread = float(sums.std()) / block / math.sqrt(number)
        return float(values.mean()) + draws.normal(0.0, spread, DRAWS)
    means, rows = [], max(1, AT_ONCE // number)
    for first in range(0, DRAWS, rows):
        chosen = draws.integers(0, len(values), (min(rows, DRAWS - first), number))
        means.append(sums[chosen].mean(axis=1) / block)
    return np.concatenate(means)


def _freedom(base: Float64, base_blocks: int, candidate: Float64, candidate_blocks: int) -> float:
    """Returns the degrees of freedom of the difference (Welch, Satterthwaite)."""
    variances = float(base.var()), float(candidate.var())
    if not sum(variances):
        return math.inf
    parts = variances[0] ** 2 / (base_blocks - 1) + variances[1] ** 2 / (candidate_blocks - 1)
    return sum(variances) ** 2 / parts


def student(freedom: float, level: float = LEVEL) -> float:
    """Returns the quantile of Student's t that leaves (1 - level) / 2 above it, by its expansion in 1 / freedom
    (Abramowitz and Stegun, 26.7.5). Below 3 degrees of freedom, where the expansion is too small, it returns the exact
    values for 1 and 2.

    >>> round(student(5), 2), round(student(30), 2), round(student(math.inf), 2)
    (2.57, 2.04, 1.96)
    """
    if freedom < 2:
        return math.tan(math.pi * level / 2)
    if freedom < 3:
        return level * math.sqrt(2 / (1 - level**2))
    z, inverse = NormalDist().inv_cdf((1 + level) / 2), 1 / freedom
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return sum(term * inverse**power for power, term in enumerate(terms))


def _enough(change: float, low: float, high: float, steps: int) -> int | None:
    """Returns how many steps would be enough, given that the interval shrinks with the square root of their number. The
    end beyond 0 counts, because an interval may be longer to one side."""
    if not change:
        return None
    beyond = low if change > 0 else high
    needed = math.floor(steps * ((change - beyond) / change) ** 2) + 1
    return needed if needed <= MOST_STEPS else None


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
    parts = list(samples)
    steps = sum(each.steps for each in parts)
    mean = sum(each.steps * each.mean for each in parts) / steps
    if steps < 2 or any(each.deviation is None and each.steps > 1 for each in parts):
        return Sample(steps, mean, None)
    within = sum((each.steps - 1) * (each.deviation or 0.0) ** 2 for each in parts)
    between = sum(each.steps * (each.mean - mean) ** 2 for each in parts)
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
