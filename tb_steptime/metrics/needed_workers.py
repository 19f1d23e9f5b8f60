"""How many workers keep up with a training loop."""

from __future__ import annotations

import math


def workers_for(production_ns: int, spread_ns: int, consumer_ns: int) -> int | None:
    """The fewest workers that keep up; None where nothing consumes. See `bursts.Burst`.

    Batches that take longer than usual are made up for by those of the other workers, the better the more there are.
    """
    if consumer_ns <= 0:
        return None
    likely_ns = production_ns + spread_ns / math.sqrt(max(1.0, production_ns / consumer_ns))
    return max(1, math.ceil(likely_ns / consumer_ns))
