"""How long a loop waits for round-robin workers with in-order delivery, where some batches take longer than others.

A loader hands batches out in order: worker 1's, worker 2's, ..., worker N's, worker 1's again. While a slow one is
waited for, those behind it lie ready, and workers stand still once each has prefetched as many as it may:

worker 1   |-0--|-3-|-6-           ready[k] = max(ready[k - N], taken[k - N * prefetch]) + production of batch k
worker 2   |---1----|-4-|-7-       taken[k] = max(taken[k - 1] + consumption, ready[k])
worker 3   |-2-|-5--
loop            0   1 2 3 4 5 6    A worker is asked for its next batch when one of its own was taken.

With batches that all take the same the loop waits production / N - consumption for each, and not at all if that is
less. With uneven ones it waits longer, most where the loader is about as fast as the loop. Recorded batch times are
simulated in their order. Of others only the mean and the spread are known, which is nearly enough: times are drawn,
log-normal, from a stream with a given seed, so that the same trace always says the same. For other distributions of the
same spread the waits are the same within 5 % of the step up to a spread of 0.4 of the mean, and within 12 % up to 0.7
(`tests/unit/metrics/data_loading/scaling/test_in_order_delivery.py`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from tb_steptime.trace.table import Float64, Int64

#: Batches that each worker prefetches, unless the training says otherwise.
USUAL_PREFETCH = 2
#: More prefetched batches than this make no difference to a mean.
_MOST_PREFETCH = 16
#: Batches of a loop before it runs steadily, and how many count at least.
_BEFORE, _COUNTED = 200, 200
#: Loops that are simulated at once, each with times of its own, or from another batch on.
_LOOPS = 24
#: More recorded batches than these take long to simulate and change no mean.
_MOST_BATCHES = 800
#: Numbers of workers that are simulated at once.
_NUMBERS = 16
#: A single worker has nobody to make up for a batch that takes longer than usual.
FEWEST = 2
#: What slow batches may block the loop for, with workers that keep up: a share of the time that it uses a batch for.
BLOCKED_FRACTION = 0.05
#: More than so many times as many as keep up on average do not mend slow batches.
MOST_TIMES = 2


#: No machine runs so many for one process, and simulating more takes memory without end where a file's times are false.
_MOST_WORKERS = 512


class BatchProduction(msgspec.Struct, frozen=True):
    """How workers produce batches. mean_ns: one worker's time for one batch; spread_ns: its standard deviation;
    prefetch: batches that each worker prefetches. sequence: each batch's time as a share of the mean, in the order of
    taking them; empty where not known, so that the spread counts."""

    mean_ns: int
    spread_ns: int = 0
    prefetch: int = USUAL_PREFETCH
    sequence: tuple[float, ...] = ()

    def blocked_ns(self, workers: int, consumer_ns: float) -> int:
        """Per batch, what the loop waits beyond what the mean pace costs; 0 where all is even."""
        if self.mean_ns <= 0 or not (self.spread_ns or self.sequence):
            return 0
        prefetch = min(max(1, self.prefetch), _MOST_PREFETCH)
        block, place = divmod(min(workers, _MOST_WORKERS) - 1, _NUMBERS)
        spread = 0.0 if self.sequence else self.spread_ns / self.mean_ns
        return round(self.mean_ns * _blocked(spread, consumer_ns / self.mean_ns, prefetch, block, self.sequence)[place])

    def workers_for(self, consumer_ns: int) -> int | None:
        """The fewest workers that keep up; None where nothing consumes.

        Batches that take longer than usual are made up for by those of the other workers, the better the more there
        are. Where they differ much, more workers are needed until slow ones no longer block those behind them.
        """
        if consumer_ns <= 0:
            return None
        on_average = self.mean_ns / consumer_ns
        likely = on_average + self.spread_ns / consumer_ns / math.sqrt(max(1.0, on_average))
        workers, most = max(1, math.ceil(likely)), min(MOST_TIMES * math.ceil(on_average), _MOST_WORKERS)
        while workers < most and self.blocked_ns(workers, consumer_ns) > BLOCKED_FRACTION * consumer_ns:
            workers += 1
        return workers


@lru_cache(maxsize=256)
def _blocked(
    spread: float, consumer: float, prefetch: int, block: int, sequence: tuple[float, ...]
) -> tuple[float, ...]:
    """Times in units of the mean production time; by number of workers."""
    workers = np.arange(_NUMBERS) + block * _NUMBERS + 1
    known = min(_MOST_BATCHES, len(sequence))
    times = _repeated(sequence, known * math.ceil(_COUNTED / known)) if known else _drawn(spread)
    waits = simulated_waits(times, consumer, workers, prefetch)[_BEFORE:].mean((0, 1))
    return tuple(np.maximum(0, waits - np.maximum(0, 1 / workers - consumer)).tolist())


def _drawn(spread: float) -> Float64:
    """Times of batches, shape (batches, loops); those that count have a mean of 1."""
    # RandomState, as its streams stay the same with every version of numpy.
    normal = np.random.RandomState(0).standard_normal((_BEFORE + _COUNTED, _LOOPS))
    times: Float64 = np.exp(normal * math.sqrt(math.log1p(spread**2)))
    times /= times[_BEFORE:].mean()
    return times


def _repeated(shares: tuple[float, ...], counted: int) -> Float64:
    """The same of times that are known: over and over, each loop from another one on."""
    times = np.array(shares[-_MOST_BATCHES:])
    begin = np.arange(_LOOPS) * len(times) // _LOOPS
    repeated: Float64 = times[(np.arange(_BEFORE + counted)[:, None] + begin) % len(times)]
    repeated /= repeated[_BEFORE:].mean()
    return repeated


def simulated_waits(production: Float64, consumer: float, workers: Int64, prefetch: int) -> Float64:
    """What each batch of each loop is waited for, shape (batches, loops, workers); production: (batches, loops)."""
    before = int(workers.max()) * prefetch  # rows of zeros: the first batches are asked for at once
    shape = (before + len(production), production.shape[1], len(workers))
    ready, taken, waits = np.zeros(shape), np.zeros(shape), np.zeros((len(production), *shape[1:]))
    each = np.arange(len(workers))
    now = np.zeros(shape[1:])
    for batch in range(len(production)):
        place = before + batch
        begun = np.maximum(ready[place - workers, :, each], taken[place - workers * prefetch, :, each]).T
        ready[place] = begun + production[batch][:, None]
        taken[place] = np.maximum(now, ready[place])
        waits[batch] = taken[place] - now
        now = taken[place] + consumer
    return waits
