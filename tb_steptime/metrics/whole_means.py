"""Means of steps in whole ns. The parts of a step and the step itself are rounded together, so that they still add up.

sums of two steps    kernel 7   cpu 5   other 3    step 15
means                kernel 4   cpu 3   other 1    step  8
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.trace.table import Int64


def whole_mean(total_ns: int, count: int) -> int:
    """The mean in whole ns; halves are rounded up. 0 where there is nothing to count."""
    return (2 * total_ns + count) // (2 * count) if count else 0


def whole_means(sums: Sequence[int] | Int64, count: int, total_ns: int | None = None) -> list[int]:
    """Each sum divided by the count, in whole ns that add up to the total: those with the largest remainders are
    rounded up. total_ns: None for the rounded mean of all sums together.

    >>> whole_means([7, 5, 3], 2)
    [4, 3, 1]
    """
    parts = np.asarray(sums, np.int64)
    total_ns = whole_mean(int(parts.sum()), count) if total_ns is None else total_ns
    whole, rest = np.divmod(parts, count)
    whole[np.argsort(-rest, kind="stable")[: total_ns - int(whole.sum())]] += 1
    return [int(ns) for ns in whole]
