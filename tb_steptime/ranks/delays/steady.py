"""When being late is more than chance: how often, how much of all waits, and how alike it is in each step.

ranks that are late by chance     cost 9  1  4  7  2  3  8      one of them is last in most of few steps, but not by
a rank that loads slowly          cost 9  9  8 10  9  9  8      the same time
the same where cores are shared   cost 9  4  6 10  5  9  8      the others are late too now and then; but it loads
                               loading 9  9  9 10  9  9  9      longer by the same time in each step
"""

from __future__ import annotations

import numpy as np

from tb_steptime.ranks.result import LateRank
from tb_steptime.trace.table import Int64

#: One rank is the reason where so much of all waits ends with its arrival, in so many of the steps.
MOST_OF_WAITS, MOST_OF_STEPS = 0.6, 0.6
#: Of two ranks one is late half of the time by chance.
MOST_OF_WAITS_OF_TWO = 0.8
#: And it waits for others at most so much of what they wait.
OWN_WAITS = 0.5
#: And it costs about as much in each step: the lower quartile is at least this share of the upper one. Of many steps
#: no rank is late by chance in most; of few it is, once in ten to once in two recordings of noise alone.
_STEADY = ((16, 0.5), (5, 0.7), (0, 0.8))
#: Or what makes it late is as steady, explains so much of it, and the cost in three of four steps is half of the usual.
EXPLAINED, _HALF_OF_USUAL = 0.5, 0.5
#: Of so few steps it has to cost more of the step to be named.
FEW_STEPS = 5
#: But where it is the latest in all of them, and of so many ranks one would be by chance in fewer recordings than this.
_UNLIKELY = 0.01
#: Exposed waits below this share of the step are no matter; of few steps below the second.
LEAST_SHARE, LEAST_SHARE_OF_FEW = 0.03, 0.10


def is_steady(cost: Int64) -> bool:
    """cost: of each step, ns."""
    least = next(share for steps, share in _STEADY if len(cost) >= steps)
    low, high = np.percentile(cost, (25, 75)).tolist()
    return bool(low >= least * high)


def is_explained(cost: Int64, excess: Int64) -> bool:
    """excess: what takes the rank longer than the others for one reason, of each step, ns."""
    usual = float(np.median(cost))
    often = float(np.percentile(cost, 25)) >= _HALF_OF_USUAL * usual
    return often and is_steady(excess) and float(np.median(excess)) >= EXPLAINED * usual > 0


def worth_naming_ns(steps: int, step_ns: float) -> float:
    """What a rank has to make the others wait a step, in a recording of so many matched steps."""
    return (LEAST_SHARE_OF_FEW if steps < FEW_STEPS else LEAST_SHARE) * step_ns


def worth_naming_one_ns(late: LateRank, ranks: int, step_ns: float) -> float:
    """The same of one of so many ranks.

    >>> late = LateRank(5, 1.0, late_steps=4, steps=4, caused_share=1.0, wait_ns=0, own_wait_ns=0, gain_ns=0)
    >>> worth_naming_one_ns(late, 4, 1000), worth_naming_one_ns(late, 64, 1000)
    (100.0, 30.0)
    """
    chance = float(ranks) ** (1 - late.steps)
    if late.late_steps == late.steps and chance < _UNLIKELY:
        return LEAST_SHARE * step_ns
    return worth_naming_ns(late.steps, step_ns)
