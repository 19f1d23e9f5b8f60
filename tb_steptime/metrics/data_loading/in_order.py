"""How many workers keep up, if batches are delivered in order and some take longer than others.

A loader delivers batches in order: worker 1's, worker 2's, ..., worker N's, worker 1's again. While the loop waits
for a slow batch, those behind it are ready, and each worker is idle once it has prefetched as many as it may:

worker 1   |-0--|-3-|-6-           ready[k] = max(ready[k - N], taken[k - N * prefetch]) + production of batch k
worker 2   |---1----|-4-|-7-       taken[k] = max(taken[k - 1] + consumption, ready[k])
worker 3   |-2-|-5--
loop            0   1 2 3 4 5 6    A worker is asked for its next batch when one of its own was taken.

If all batches take the same time, the loop waits production / N - consumption for each, or not at all if that is
negative. If batches are uneven it waits longer, and longest if the loader is about as fast as the loop. Recorded
batch times are simulated in their order. Otherwise only the mean and the spread are known, which is nearly enough:
times are drawn from a log-normal distribution with a fixed seed, so that the same trace always gives the same result.
For other distributions of the same spread the waits are the same within 5 % of the step up to a spread of 0.4 of the
mean, and within 12 % up to 0.7 (`tests/unit/metrics/data_loading/test_in_order_delivery.py`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from tb_steptime.trace.table import Float64, Int64

#: Number of batches that each worker prefetches, unless the training sets another number.
USUAL_PREFETCH = 2
#: Maximum simulated prefetch. A larger one does not change the mean.
_MOST_PREFETCH = 16
#: Number of batches before a loop runs steadily, and minimum number of batches that count after that.
_BEFORE, _COUNTED = 200, 200
#: Number of loops that are simulated at once. Each has its own times, or starts at another batch.
_LOOPS = 24
#: Maximum number of recorded batches. More take long to simulate and do not change the mean.
_MOST_BATCHES = 800
#: Number of worker counts that are simulated at once.
_NUMBERS = 16
#: Minimum number of workers. A single worker has no other that could compensate for its slow batch.
FEWEST = 2
#: Share of the time for which the loop uses a batch. With enough workers, slow batches may block the loop for this
#: share.
BLOCKED_FRACTION = 0.05
#: If this many times the workers that keep up on average do not compensate for slow batches, more do not either.
MOST_TIMES = 2


#: Maximum number of simulated workers. No machine runs this many for one process, and wrong times in a file would
#: otherwise take unlimited memory.
_MOST_WORKERS = 512


class BatchProduction(msgspec.Struct, frozen=True):
    """How workers produce batches. mean_ns: one worker's time for one batch. spread_ns: its standard deviation.
    prefetch: number of batches that each worker prefetches. sequence: each batch's time as a share of the mean, in the
    order in which batches are taken; if it is empty, the spread counts."""

    mean_ns: int
    spread_ns: int = 0
    prefetch: int = USUAL_PREFETCH
    sequence: tuple[float, ...] = ()

    def blocked_ns(self, workers: int, consumer_ns: float) -> int:
        """Returns the loop's wait per batch beyond the cost of the mean pace; 0 if all batches take the same time."""
        if self.mean_ns <= 0 or not (self.spread_ns or self.sequence):
            return 0
        prefetch = min(max(1, self.prefetch), _MOST_PREFETCH)
        block, place = divmod(min(workers, _MOST_WORKERS) - 1, _NUMBERS)
        spread = 0.0 if self.sequence else self.spread_ns / self.mean_ns
        return round(self.mean_ns * _blocked(spread, consumer_ns / self.mean_ns, prefetch, block, self.sequence)[place])

    def workers_for(self, consumer_ns: int) -> int | None:
        """Returns the fewest workers that keep up; None if nothing consumes batches.

        Other workers compensate for batches that take longer than usual, and do so better the more workers there are.
        If batches vary much, workers are added until slow batches no longer block those behind them.
        """
        if consumer_ns <= 0:
            return None
        on_average = self.mean_ns / consumer_ns
        likely = on_average + self.spread_ns / consumer_ns / math.sqrt(max(1.0, on_average))
        workers = max(1, math.ceil(likely))
        most = min(MOST_TIMES * math.ceil(on_average), _MOST_WORKERS)
        while workers < most and self.blocked_ns(workers, consumer_ns) > BLOCKED_FRACTION * consumer_ns:
            workers += 1
        return workers


@lru_cache(maxsize=256)
def _blocked(
    spread: float, consumer: float, prefetch: int, block: int, sequence: tuple[float, ...]
) -> tuple[float, ...]:
    """Returns the blocked time per batch in units of the mean production time, for each number of workers of the
    block."""
    workers = np.arange(_NUMBERS) + block * _NUMBERS + 1
    length = min(_MOST_BATCHES, len(sequence))
    times = _repeated(sequence, length * math.ceil(_COUNTED / length)) if length else _drawn(spread)
    waits = simulated_waits(times, consumer, workers, prefetch)[_BEFORE:].mean((0, 1))
    return tuple(np.maximum(0, waits - np.maximum(0, 1 / workers - consumer)).tolist())


def _drawn(spread: float) -> Float64:
    """Returns random times of batches, shape (batches, loops). The times of those that count have a mean of 1."""
    # The streams of RandomState are the same in every version of numpy.
    normal = np.random.RandomState(0).standard_normal((_BEFORE + _COUNTED, _LOOPS))
    times: Float64 = np.exp(normal * math.sqrt(math.log1p(spread**2)))
    times /= times[_BEFORE:].mean()
    return times


def _repeated(shares: tuple[float, ...], counted: int) -> Float64:
    """Returns known times in the shape of `_drawn`. They are repeated, and each loop starts at another one."""
    times = np.array(shares[-_MOST_BATCHES:])
    begin = np.arange(_LOOPS) * len(times) // _LOOPS
    repeated: Float64 = times[(np.arange(_BEFORE + counted)[:, None] + begin) % len(times)]
    repeated /= repeated[_BEFORE:].mean()
    return repeated


def simulated_waits(production: Float64, consumer: float, workers: Int64, prefetch: int) -> Float64:
    """Simulates how long each batch of each loop is waited for, shape (batches, loops, workers). production: shape
    (batches, loops)."""
    before = int(workers.max()) * prefetch  # these rows stay 0, because the first batches are requested at once
    shape = (before + len(production), production.shape[1], len(workers))
    ready = np.zeros(shape)
    taken = np.zeros(shape)
    waits = np.zeros((len(production), *shape[1:]))
    each = np.arange(len(workers))
    now = np.zeros(shape[1:])
    for batch in range(len(production)):
        place = before + batch
        starts = np.maximum(ready[place - workers, :, each], taken[place - workers * prefetch, :, each]).T
        ready[place] = starts + production[batch][:, None]
        taken[place] = np.maximum(now, ready[place])
        waits[batch] = taken[place] - now
        now = taken[place] + consumer
    return waits
