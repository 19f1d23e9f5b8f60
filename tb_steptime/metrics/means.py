"""Means and medians of steps, in whole ns, and the steps that stand out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.trace.table import Bool, Float64, Int64, distinct_in
from tb_steptime.trace.table import median as median

#: The modified z-score beyond which a value is an outlier (Iglewicz and Hoaglin, 1993).
OUTLIER_Z = 3.5
#: A slow step is longer than the median by at least this share. Steps of one loop vary by some percent on any machine,
#: and among steps that agree to a microsecond any other one would stand out.
SLOW_FRACTION = 0.10
#: Factors that scale the median absolute deviation, and the mean one, to the standard deviation of normal values.
MAD_SCALE, MEAN_AD_SCALE = 1.4826, 1.2533
#: Minimum number of values. With fewer, median and outliers cannot be separated.
ENOUGH_STEPS = 4


def robust_deviation(values: Int64 | Float64) -> float:
    """Returns the median absolute deviation, scaled to a standard deviation of normal values."""
    return float(MAD_SCALE * median(np.abs(values - median(values))))


def modified_z(values: Int64 | Float64) -> Float64:
    """Returns the distance from the median in robust standard deviations; zeros if all values agree."""
    distance = values - median(values)
    spread = robust_deviation(values)
    if spread == 0:
        spread = MEAN_AD_SCALE * np.mean(np.abs(distance))
    return np.zeros(len(values)) if spread == 0 else np.asarray(distance / spread, np.float64)


def slow(values: Int64 | Float64) -> Bool:
    """Returns which values are outliers above the rest, and at least a tenth above the median; none if there are too
    few."""
    if len(values) < ENOUGH_STEPS:
        return np.zeros(len(values), bool)
    usual = median(values)
    return (modified_z(values) > OUTLIER_Z) & (values - usual >= SLOW_FRACTION * usual)


def slow_after_first(lengths: Int64) -> Bool:
    """Returns which steps of a recording are slow. The first one never is, because it begins with an idle device and
    with one-time work of the profiler and the job, and says nothing about the others."""
    found = slow(lengths)
    found[:1] = False
    return found


def whole_mean(total_ns: int, count: int) -> int:
    """Returns the mean in whole ns, with halves rounded up; 0 if there is nothing to count."""
    return (2 * total_ns + count) // (2 * count) if count else 0


def whole_means(sums: Sequence[int] | Int64, count: int, total_ns: int | None = None) -> list[int]:
    """Returns each sum divided by the count, in whole ns that sum to the total. Those with the largest remainders are
    rounded up. total_ns: None for the rounded mean of all sums together.

    >>> whole_means([7, 5, 3], 2)
    [4, 3, 1]
    """
    parts = np.asarray(sums, np.int64)
    total_ns = whole_mean(int(parts.sum()), count) if total_ns is None else total_ns
    whole, rest = np.divmod(parts, count)
    whole[np.argsort(-rest, kind="stable")[: total_ns - int(whole.sum())]] += 1
    return [int(ns) for ns in whole]


def usual_ns(steps: Int64, start: Int64, own_ns: Int64) -> int:
    """Returns the estimated time of some ops in the mean step. It is the lower median over the steps that run any of
    them, times the share of these steps, so an optimizer that updates in each fourth step has a quarter of its time.
    The median is taken per op if these steps run equally many, otherwise of their sums. The result is at most the mean,
    which is less if a few steps run the ops faster. steps: starts of the steps. start, own_ns: those of each op."""
    step = np.searchsorted(steps, start, side="right") - 1
    by_step = [own_ns[step == each] for each in distinct_in(step).tolist()]
    middle = (len(by_step) - 1) // 2
    if len({len(each) for each in by_step}) == 1:
        usual_ns = int(np.sort(np.stack(by_step), axis=0)[middle].sum())
    else:
        usual_ns = int(sorted(each.sum() for each in by_step)[middle])
    return min(usual_ns * len(by_step), int(own_ns.sum())) // len(steps)
