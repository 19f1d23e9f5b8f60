"""Decides whether one rank or several make the others wait, ranks take turns, or nobody waits for long.

straggler   rank 2 arrives last in nearly every step, and hardly waits itself
late_ranks  so do several ranks together, all those of a host or two of many (`together`)
imbalance   now one rank arrives last, now another: batches of different sizes, pauses, noise
balanced    waits are a small share of the step
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.arrivals import Arrivals
from tb_steptime.ranks.delays.steady import (
    LEAST_SHARE,
    MOST_OF_STEPS,
    MOST_OF_WAITS,
    MOST_OF_WAITS_OF_TWO,
    OWN_WAITS,
    is_always_last,
    is_explained,
    is_steady,
    worth_naming_ns,
    worth_naming_one_ns,
)
from tb_steptime.ranks.result import Balance, LateGroup, LateRank
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.ranks.step_waits import StepWaits
from tb_steptime.trace.table import Int64

#: Maximum number of ranks that are named.
MOST_NAMED = 5
#: Minimum share of all waits that has to end with a rank's arrival for the rank to be named.
WORTH_NAMING = 0.05


def balance_of(
    first: LateRank | None, group: LateGroup | None, waits_ns: int, step_ns: float, ranks: int, *, straggles: bool
) -> Balance:
    """How evenly the ranks work.

    first       the rank that makes the others wait most, of this many ranks
    straggles   it does so by more than chance (`is_straggler`)
    group       the ranks that are late together
    waits_ns    waits of the median rank in the median step
    step_ns     length of the job's step
    """
    if first is None:
        return "balanced"
    if straggles and first.gain_ns >= worth_naming_one_ns(first, ranks, step_ns):
        return "straggler"
    if group is not None and group.gain_ns >= worth_naming_ns(first.steps, step_ns):
        return "late_ranks"
    return "imbalance" if waits_ns >= LEAST_SHARE * step_ns else "balanced"


def is_straggler(first: LateRank, found: Arrivals, excess: Int64 | None, steps: Int64) -> bool:
    """Whether a rank is late by more than chance. first: the rank that makes the others wait most; excess: how much
    longer its main cause takes on it than on the others, for each of these steps, in ns."""
    least = MOST_OF_WAITS if len(found.matched) > 2 else MOST_OF_WAITS_OF_TWO
    often = first.late_steps >= MOST_OF_STEPS * first.steps
    little = first.own_wait_ns <= OWN_WAITS * first.wait_ns
    ranks = int((found.matched > 0).sum())
    cost = found.exposed_ns[steps, int(found.caused_ns.argmax())] // max(1, ranks - 1)
    by_more_than_chance = (
        is_always_last(first, ranks) or is_steady(cost) or (excess is not None and is_explained(cost, excess))
    )
    return first.caused_share >= least and often and little and by_more_than_chance


def late_ranks(found: Arrivals, spans: Sequence[RankSpan], matched_steps: Int64, waits: StepWaits) -> list[LateRank]:
    """Returns the ranks that make others wait, most first. matched_steps: places among the job's steps; waits: those in
    these steps."""
    caused, whole, wait_ns = found.caused_ns, int(found.wait_ns.sum()), waits.caused_ns()
    order = [
        place for place in np.argsort(-caused, kind="stable").tolist() if caused[place] >= WORTH_NAMING * whole > 0
    ]
    return [_late(found, spans[place].rank, place, matched_steps, wait_ns[place]) for place in order[:MOST_NAMED]]


def _late(found: Arrivals, rank: int, place: int, steps: Int64, wait_ns: int) -> LateRank:
    late = found.exposed_ns[steps]
    worst = (late.argmax(axis=1) == place) & (late.max(axis=1) > 0)
    return LateRank(
        rank=rank,
        last_share=int(found.last[place]) / max(1, int(found.matched[place])),
        late_steps=int(worst.sum()),
        steps=len(steps),
        caused_share=int(found.caused_ns[place]) / int(found.wait_ns.sum()),
        wait_ns=wait_ns,
        own_wait_ns=round(int(found.exposed_wait_ns[place]) / len(steps)),
        gain_ns=min(wait_ns, round(float(np.median(found.gain_ns[steps, place])))),
    )


def imbalance_gain_ns(found: Arrivals, steps: Int64) -> int:
    """Returns the upper limit of the gain per step if all ranks arrived with the median one: the wait of the median
    rank in the median step."""
    return round(float(np.median(np.median(found.waited_ns[steps], axis=1)))) if len(steps) else 0
