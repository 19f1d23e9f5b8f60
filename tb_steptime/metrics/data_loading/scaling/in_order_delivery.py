"""How long a loop waits for round-robin workers with in-order delivery, where some batches take longer than others.

A loader delivers batches in order: worker 1's, worker 2's, ..., worker N's, worker 1's again. While the loop waits for
a slow one, those behind it lie ready, and workers stand still once each has prefetched as many as it may:

worker 1   |-0--|-3-|-6-           ready[k] = max(ready[k - N], taken[k - N * prefetch]) + production of batch k
worker 2   |---1----|-4-|-7-       taken[k] = max(taken[k - 1] + consumption, ready[k])
worker 3   |-2-|-5--
loop            0   1 2 3 4 5 6    A worker is asked for its next batch when one of its own was taken.

If all batches take the same time, the loop waits production / N - consumption for each, or not at all if that is
negative. With uneven ones it waits longer, most if the loader is about as fast as the loop. Recorded batch times are
simulated in their order. Otherwise only the mean and the spread are known, which is nearly enough: times are drawn from
a log-normal distribution with a fixed seed, so that the same trace always gives the same result. For other
distributions of the same spread the waits are the same within 5 % of the step up to a spread of 0.4 of the mean, and
within 12 % up to 0.7 (`tests/unit/metrics/data_loading/scaling/test_in_order_delivery.py`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import msgspec
import numpy as np

from tb_steptime.trace.table import Float64, Int64

#: Number of batches that each worker prefetches, unless the training sets another.
USUAL_PREFETCH = 2
#: Maximum simulated prefetch; more makes no difference to a mean.
_MOST_PREFETCH = 16
#: Number of batches before a loop runs steadily, and minimum number of batches that count.
_BEFORE, _COUNTED = 200, 200
#: Number of loops that are simulated at once, each with times of its own, or starting at another batch.
_LOOPS = 24
#: Maximum number of recorded batches; more take long to simulate and do not change the mean.
_MOST_BATCHES = 800
#: How many numbers of workers are simulated at once.
_NUMBERS = 16
#: Minimum number of workers: no other worker can compensate for a slow batch of a single one.
FEWEST = 2
#: Share of the time that the loop uses a batch for. With enough workers, slow batches may block the loop for this long.
BLOCKED_FRACTION = 0.05
#: More than this many times the workers that keep up on average do not compensate for slow batches.
MOST_TIMES = 2


#: No machine runs this many for one process, and simulating more would take unlimited memory if a file's times are
#: wrong.
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
        """Wait of the loop per batch beyond the cost of the mean pace; 0 if all batches are even."""
        if self.mean_ns <= 0 or not (self.spread_ns or self.sequence):
            return 0
        prefetch = min(max(1, self.prefetch), _MOST_PREFETCH)
        block, place = divmod(min(workers, _MOST_WORKERS) - 1, _NUMBERS)
        spread = 0.0 if self.sequence else self.spread_ns / self.mean_ns
        return round(self.mean_ns * _blocked(spread, consumer_ns / self.mean_ns, prefetch, block, self.sequence)[place])

    def workers_for(self, consumer_ns: int) -> int | None:
        """The fewest workers that keep up; None if nothing consumes.

        Other workers compensate for batches that take longer than usual, the better the more workers there are. If
        batches vary much, more workers are needed until slow ones no longer block those behind them.
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
    """Blocked times in units of the mean production time, by number of workers."""
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
    """Known times in the same shape: repeated, with each loop starting at another one."""
    times = np.array(shares[-_MOST_BATCHES:])
    begin = np.arange(_LOOPS) * len(times) // _LOOPS
    repeated: Float64 = times[(np.arange(_BEFORE + counted)[:, None] + begin) % len(times)]
    repeated /= repeated[_BEFORE:].mean()
    return repeated


def simulated_waits(production: Float64, consumer: float, workers: Int64, prefetch: int) -> Float64:
    """How long each batch of each loop is waited for, shape (batches, loops, workers); production: (batches, loops)."""
    before = int(workers.max()) * prefetch  # rows of zeros: the first batches are requested at once
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
