"""How long a loop waits for workers that take turns, where some batches take longer than others.

A loader hands batches out in order: worker 1's, worker 2's, ..., worker N's, worker 1's again. One that takes long
holds up the loop while those behind it lie ready, and workers stand still once each has made as many as it may in
advance:

worker 1   |-0--|-3-|-6-           made[k]  = max(made[k - N], taken[k - N * prefetch]) + what batch k takes
worker 2   |---1----|-4-|-7-       taken[k] = max(taken[k - 1] + consumer, made[k])
worker 3   |-2-|-5--
loop            0   1 2 3 4 5 6    A worker is asked for its next batch when one of its own was taken.

With batches that all take the same the loop waits production / N - consumer for each, and not at all if that is less.
With uneven ones it waits longer, and near the number that keeps up by a tenth of the step and more. A trace tells their
mean and their spread, and these tell enough: times are drawn, log-normal, from a stream with a given seed, so that the
same trace always says the same. For other distributions of the same spread the waits are the same within 5 % of the
step up to a spread of 0.4 of the mean, and within 12 % up to 0.7 (`tests/test_taking_turns.py`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tb_steptime.trace.table import Float64, Int64

#: Batches that each worker makes in advance, unless the training says otherwise.
USUAL_PREFETCH = 2
#: More in advance than this makes no difference to a mean.
_MOST_PREFETCH = 16
#: Loops that are replayed side by side, the batches of each before it runs steadily, and those that count.
_LOOPS, _BEFORE, _COUNTED = 24, 200, 200
#: Numbers of workers that are replayed at once.
_NUMBERS = 16


def held_up_ns(
    production_ns: int, spread_ns: int, consumer_ns: float, workers: int, prefetch: int = USUAL_PREFETCH
) -> int:
    """Per batch, what the loop waits beyond what the pace alone costs; 0 for even batches.

    production_ns: one worker's mean time for a batch; spread_ns: its standard deviation; consumer_ns: how long the loop
    uses one.
    """
    if spread_ns <= 0 or production_ns <= 0:
        return 0
    ahead = min(max(1, prefetch), _MOST_PREFETCH)
    block, place = divmod(workers - 1, _NUMBERS)
    share = _held_up(spread_ns / production_ns, consumer_ns / production_ns, ahead, block)[place]
    return round(production_ns * share)


@lru_cache(maxsize=256)
def _held_up(spread: float, consumer: float, prefetch: int, block: int) -> tuple[float, ...]:
    """Times in units of the mean production time; by number of workers."""
    workers = np.arange(_NUMBERS) + block * _NUMBERS + 1
    times = _drawn(spread)
    waits = replayed_waits(times, consumer, workers, prefetch)[_BEFORE:].mean((0, 1))
    return tuple(np.maximum(0, waits - np.maximum(0, 1 / workers - consumer)).tolist())


def _drawn(spread: float) -> Float64:
    """Times of batches, shape (batches, loops); those that count have a mean of 1."""
    # RandomState, as its streams stay the same with every version of numpy.
    normal = np.random.RandomState(0).standard_normal((_BEFORE + _COUNTED, _LOOPS))
    times: Float64 = np.exp(normal * math.sqrt(math.log1p(spread**2)))
    times /= times[_BEFORE:].mean()
    return times


def replayed_waits(times: Float64, consumer: float, workers: Int64, prefetch: int) -> Float64:
    """What each batch of each loop is waited for, shape (batches, loops, workers); times: (batches, loops)."""
    before = int(workers.max()) * prefetch  # rows of zeros: the first batches are asked for at once
    shape = (before + len(times), times.shape[1], len(workers))
    made, taken, waits = np.zeros(shape), np.zeros(shape), np.zeros((len(times), *shape[1:]))
    each = np.arange(len(workers))
    now = np.zeros(shape[1:])
    for batch, time in enumerate(times):
        place = before + batch
        begun = np.maximum(made[place - workers, :, each], taken[place - workers * prefetch, :, each]).T
        made[place] = begun + time[:, None]
        taken[place] = np.maximum(now, made[place])
        waits[batch] = taken[place] - now
        now = taken[place] + consumer
    return waits
