"""How many workers keep up with a training loop."""

from __future__ import annotations

import math

from tb_steptime.metrics.data_loading.scaling.in_order_delivery import EVEN, USUAL_PREFETCH, Rhythm, held_up_ns

#: A single worker has nobody to make up for a batch that takes longer than usual.
FEWEST = 2
#: What slow batches may hold up the loop for, with workers that keep up: a share of the time that it uses a batch for.
HELD_UP_FRACTION = 0.05
#: More than so many times as many as keep up on average do not mend slow batches.
MOST_TIMES = 2


def workers_for(
    production_ns: int,
    spread_ns: int,
    consumer_ns: int,
    prefetch: int = USUAL_PREFETCH,
    rhythm: Rhythm = EVEN,
) -> int | None:
    """The fewest workers that keep up; None where nothing consumes. See `bursts.Burst`.

    Batches that take longer than usual are made up for by those of the other workers, the better the more there are.
    Where they differ much, more workers are needed until slow ones no longer hold up those behind them.
    """
    if consumer_ns <= 0:
        return None
    on_average = production_ns / consumer_ns
    likely = on_average + spread_ns / consumer_ns / math.sqrt(max(1.0, on_average))
    workers, most = max(1, math.ceil(likely)), MOST_TIMES * math.ceil(on_average)
    little_ns = HELD_UP_FRACTION * consumer_ns
    while workers < most and held_up_ns(production_ns, spread_ns, consumer_ns, workers, prefetch, rhythm) > little_ns:
        workers += 1
    return workers
