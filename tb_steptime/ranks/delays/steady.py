"""Decides when being late is more than chance: by how often it happens, its share of all waits, and how similar it is
in each step.

ranks that are late by chance     cost 9  1  4  7  2  3  8      one of them is last in most of few steps, but not by
a rank that loads slowly          cost 9  9  8 10  9  9  8      the same time
the same where cores are shared   cost 9  4  6 10  5  9  8      the others are late too now and then; but it loads
                               loading 9  9  9 10  9  9  9      longer by the same time in each step
"""

from __future__ import annotations

import numpy as np

from tb_steptime.ranks.result import LateRank
from tb_steptime.trace.table import Int64

#: One rank is the reason if at least this share of all waits ends with its arrival, in at least this share of the
#: steps.
MOST_OF_WAITS, MOST_OF_STEPS = 0.6, 0.6
#: The share of all waits that is required with two ranks, of which one is late half of the time by chance.
MOST_OF_WAITS_OF_TWO = 0.8
#: A late rank waits for others at most this share of the time that they wait for it.
OWN_WAITS = 0.5
#: A late rank costs about the same in each step: the lower quartile is at least this share of the upper one, by minimum
#: number of steps. In many steps no rank is late by chance in most of them; in few steps that happens in one in ten to
#: one in two recordings of pure noise.
_STEADY = ((16, 0.5), (5, 0.7), (0, 0.8))
#: Alternatively, the cause of its lateness is that steady and explains at least this share of it, and the cost in three
#: of four steps is at least half of the usual cost.
EXPLAINED, _HALF_OF_USUAL = 0.5, 0.5
#: With fewer steps than this, a rank has to cost a larger share of the step to be named.
FEW_STEPS = 5
#: Exception: it is the latest in all steps, and with this number of ranks that happens by chance in a smaller share of
#: recordings than this. Then it need not cost about the same in each step, either.
_UNLIKELY = 0.01
#: Exposed waits below this share of the step do not matter; with few steps, those below the second share.
LEAST_SHARE, LEAST_SHARE_OF_FEW = 0.03, 0.10


def is_steady(cost: Int64) -> bool:
    """Whether the cost is about the same in each step. cost: of each step, ns."""
    least = next(share for steps, share in _STEADY if len(cost) >= steps)
    low, high = np.percentile(cost, (25, 75)).tolist()
    return bool(low >= least * high)


def is_explained(cost: Int64, excess: Int64) -> bool:
    """Whether a cause explains what the rank costs the others. excess: how much longer the cause takes on the rank than
    on the others, in each step, ns."""
    usual = float(np.median(cost))
    often = float(np.percentile(cost, 25)) >= _HALF_OF_USUAL * usual
    return often and is_steady(excess) and float(np.median(excess)) >= EXPLAINED * usual > 0


def worth_naming_ns(steps: int, step_ns: float) -> float:
    """Returns how long per step a rank has to make the others wait to be named, in a recording of this many matched
    steps."""
    return (LEAST_SHARE_OF_FEW if steps < FEW_STEPS else LEAST_SHARE) * step_ns


def worth_naming_one_ns(late: LateRank, ranks: int, step_ns: float) -> float:
    """Returns the same limit for one rank out of this many.

    >>> late = LateRank(5, 1.0, late_steps=4, steps=4, caused_share=1.0, wait_ns=0, own_wait_ns=0, gain_ns=0)
    >>> worth_naming_one_ns(late, 4, 1000), worth_naming_one_ns(late, 64, 1000)
    (100.0, 30.0)
    """
    return LEAST_SHARE * step_ns if is_always_last(late, ranks) else worth_naming_ns(late.steps, step_ns)


def is_always_last(late: LateRank, ranks: int) -> bool:
    """Whether the rank is the latest in every step, and hardly ever one of this many would be by chance.

    >>> late = LateRank(5, 1.0, late_steps=7, steps=7, caused_share=1.0, wait_ns=0, own_wait_ns=0, gain_ns=0)
    >>> is_always_last(late, 4), is_always_last(late, 2)
    (True, False)
    """
    return late.late_steps == late.steps and float(ranks) ** (1 - late.steps) < _UNLIKELY
