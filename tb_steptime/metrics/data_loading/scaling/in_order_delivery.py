"""How long a loop waits for workers that take turns, where some batches take longer than others.

A loader hands batches out in order: worker 1's, worker 2's, ..., worker N's, worker 1's again. One that takes long
holds up the loop while those behind it lie ready, and workers stand still once each has made as many as it may in
advance:

worker 1   |-0--|-3-|-6-           made[k]  = max(made[k - N], taken[k - N * prefetch]) + what batch k takes
worker 2   |---1----|-4-|-7-       taken[k] = max(taken[k - 1] + consumer, made[k])
worker 3   |-2-|-5--
loop            0   1 2 3 4 5 6    A worker is asked for its next batch when one of its own was taken.

With batches that all take the same the loop waits production / N - consumer for each, and not at all if that is less.
With uneven ones it waits longer, most where the loader is about as fast as the loop; so it does where
what it does with them is uneven, as workers stand still in a long step. Where each batch's time is recorded, these are
replayed in their order. Of others a trace tells the mean and the spread, which tell nearly enough: times are drawn,
log-normal, from a stream with a given seed, so that the same trace always says the same. For other distributions of the
same spread the waits are the same within 5 % of the step up to a spread of 0.4 of the mean, and within 12 % up to 0.7
(`tests/unit/metrics/data_loading/scaling/test_in_order_delivery.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tb_steptime.trace.table import Float64, Int64

#: Batches that each worker makes in advance, unless the training says otherwise.
USUAL_PREFETCH = 2
#: More in advance than this makes no difference to a mean.
_MOST_PREFETCH = 16
#: Batches of a loop before it runs steadily, and how many count at least.
_BEFORE, _COUNTED = 200, 200
#: Loops that are replayed side by side, each with times of its own, or from another batch on.
_LOOPS = 24
#: More batches than these, of those recorded, take long to replay and tell no more.
_MOST_BATCHES = 800
#: Numbers of workers that are replayed at once.
_NUMBERS = 16


@dataclass(frozen=True)
class Rhythm:
    """Times of batches in the order of taking them, as shares of their mean: making them, and what the loop does with
    each. Empty: not known, or even."""

    making: tuple[float, ...] = ()
    using: tuple[float, ...] = ()


EVEN = Rhythm()


def held_up_ns(
    production_ns: int,
    spread_ns: int,
    consumer_ns: float,
    workers: int,
    prefetch: int = USUAL_PREFETCH,
    rhythm: Rhythm = EVEN,
) -> int:
    """Per batch, what the loop waits beyond what the pace alone costs; 0 where all is even.

    production_ns: one worker's mean time for a batch; spread_ns: its standard deviation, which tells where the rhythm
    does not; consumer_ns: how long the loop uses one.
    """
    if production_ns <= 0 or (spread_ns <= 0 and rhythm == EVEN):
        return 0
    ahead = min(max(1, prefetch), _MOST_PREFETCH)
    block, place = divmod(workers - 1, _NUMBERS)
    spread = 0.0 if rhythm.making else spread_ns / production_ns
    return round(production_ns * _held_up(spread, consumer_ns / production_ns, ahead, block, rhythm)[place])


@lru_cache(maxsize=256)
def _held_up(spread: float, consumer: float, prefetch: int, block: int, rhythm: Rhythm) -> tuple[float, ...]:
    """Times in units of the mean production time; by number of workers."""
    workers = np.arange(_NUMBERS) + block * _NUMBERS + 1
    known = min(_MOST_BATCHES, max(len(rhythm.making), len(rhythm.using)))
    counted = known * math.ceil(_COUNTED / known) if known else _COUNTED
    making = _played(rhythm.making, counted) if rhythm.making else _drawn(spread, counted)
    using = consumer * (_played(rhythm.using, counted) if rhythm.using else np.ones_like(making))
    waits = replayed_waits(making, using, workers, prefetch)[_BEFORE:].mean((0, 1))
    return tuple(np.maximum(0, waits - np.maximum(0, 1 / workers - consumer)).tolist())


def _drawn(spread: float, counted: int) -> Float64:
    """Times of batches, shape (batches, loops); those that count have a mean of 1."""
    # RandomState, as its streams stay the same with every version of numpy.
    normal = np.random.RandomState(0).standard_normal((_BEFORE + counted, _LOOPS))
    times: Float64 = np.exp(normal * math.sqrt(math.log1p(spread**2)))
    times /= times[_BEFORE:].mean()
    return times


def _played(shares: tuple[float, ...], counted: int) -> Float64:
    """The same of times that are known: over and over, each loop from another one on."""
    times = np.array(shares[-_MOST_BATCHES:])
    begin = np.arange(_LOOPS) * len(times) // _LOOPS
    played: Float64 = times[(np.arange(_BEFORE + counted)[:, None] + begin) % len(times)]
    played /= played[_BEFORE:].mean()
    return played


def replayed_waits(making: Float64, using: Float64, workers: Int64, prefetch: int) -> Float64:
    """What each batch of each loop is waited for, shape (batches, loops, workers); making, using: (batches, loops)."""
    before = int(workers.max()) * prefetch  # rows of zeros: the first batches are asked for at once
    shape = (before + len(making), making.shape[1], len(workers))
    made, taken, waits = np.zeros(shape), np.zeros(shape), np.zeros((len(making), *shape[1:]))
    each = np.arange(len(workers))
    now = np.zeros(shape[1:])
    for batch in range(len(making)):
        place = before + batch
        begun = np.maximum(made[place - workers, :, each], taken[place - workers * prefetch, :, each]).T
        made[place] = begun + making[batch][:, None]
        taken[place] = np.maximum(now, made[place])
        waits[batch] = taken[place] - now
        now = taken[place] + using[batch][:, None]
    return waits
