"""Whether one rank makes the others wait, ranks take turns, or nobody waits for much.

straggler   rank 2 arrives last in nearly every step, and hardly waits itself
imbalance   now one rank arrives last, now another: batches of different sizes, pauses, noise
balanced    waits are a small share of the step
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.ranks.arrivals import Arrivals
from tb_steptime.ranks.result import Balance, LateRank
from tb_steptime.ranks.spans import RankSpan
from tb_steptime.ranks.step_waits import StepWaits
from tb_steptime.trace.table import Int64

#: Exposed waits of the median rank below this share of the step are no matter.
LEAST_SHARE = 0.03
#: One rank is the reason where so much of all waits ends with its arrival, in so many of the steps.
MOST_OF_WAITS, MOST_OF_STEPS = 0.6, 0.6
#: Of two ranks one is late half of the time by chance.
MOST_OF_WAITS_OF_TWO = 0.8
#: And it waits for others at most so much of what they wait.
OWN_WAITS = 0.5
#: And it costs about as much in each step: in three of four of them half of the median at least. Of few steps, one rank
#: may be last in all by chance, but not by the same time.
STEADY, _FEW_PERCENT = 0.5, 25
#: Ranks that are named.
MOST_NAMED = 5
#: Of the waits of all ranks: what less ends with is not worth a name.
WORTH_NAMING = 0.05


def balance_of(found: Arrivals, late: Sequence[LateRank], steps: Int64, step_ns: float) -> Balance:
    """late: most first; steps: places of those that are matched; step_ns: of the job."""
    waits = imbalance_gain_ns(found, steps)
    if not late or max(waits, late[0].gain_ns) < LEAST_SHARE * step_ns:
        return "balanced"
    return "straggler" if _is_straggler(late[0], found, steps) else "imbalance"


def _is_straggler(first: LateRank, found: Arrivals, steps: Int64) -> bool:
    ranks = len(found.matched)
    least = MOST_OF_WAITS if ranks > 2 else MOST_OF_WAITS_OF_TWO
    cost = found.exposed_ns[steps, int(found.caused_ns.argmax())]
    steady = float(np.percentile(cost, _FEW_PERCENT)) >= STEADY * float(np.median(cost))
    often = first.late_steps >= MOST_OF_STEPS * first.steps
    return first.caused_share >= least and often and first.own_wait_ns <= OWN_WAITS * first.wait_ns and steady


def late_ranks(found: Arrivals, spans: Sequence[RankSpan], matched_steps: Int64, waits: StepWaits) -> list[LateRank]:
    """Those that make others wait, most first. matched_steps: places among the job's steps; waits: in them."""
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
    """A step at most, if all ranks arrived with the median one: what the median rank waits, in the median step."""
    return round(float(np.median(np.median(found.waited_ns[steps], axis=1)))) if len(steps) else 0
