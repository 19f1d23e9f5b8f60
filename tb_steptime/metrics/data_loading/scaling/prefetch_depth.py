"""What more batches in advance are worth, where slow ones hold up those behind them.

measured     |wwwwwwwwwwww|             late waits of the mean step
replayed     |hhhhhhhhh|                of uneven batches, with as many in advance as now
             |hh|                       with DEEP_PREFETCH; the difference is saved, as far as it was waited for
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tb_steptime.metrics.data_loading.overhead import Jitter
from tb_steptime.metrics.data_loading.scaling.curve_input import Making, MeanStep

#: Batches in advance that make up for nearly all slow ones.
DEEP_PREFETCH = 8
DEEP = f"prefetch_factor={DEEP_PREFETCH}"
#: Where so many in advance end less of the long waits, another deed is better.
MOST_OF_IT = 0.5


@dataclass(frozen=True)
class HeldUp:
    """ns of the mean step. held_ns: slow batches hold up those behind them; saved_ns: of that, with DEEP_PREFETCH
    batches in advance, 0 where there are as many already."""

    held_ns: int
    saved_ns: int

    @property
    def left_ns(self) -> int:
        return self.held_ns - self.saved_ns


def held_up(making: Making, mean: MeanStep, workers: int) -> HeldUp:
    """With so many workers; where so many are measured, no longer than was waited."""
    held = making.held_up_ns(workers, mean.rest_ns)
    deep = msgspec.structs.replace(making, prefetch=max(making.prefetch, DEEP_PREFETCH))
    saved = max(0, held - deep.held_up_ns(workers, mean.rest_ns))
    if workers == making.workers:
        held = min(held, mean.late_ns)
    return HeldUp(held, min(held, saved))


def saved_ns(making: Making | None, mean: MeanStep) -> int | None:
    """Of the mean step as it is, 0 where as many are made in advance already; None where nothing tells how uneven
    batches are, or they hold up none."""
    if making is None or not making.workers or not making.spread_ns:
        return None
    return held_up(making, mean, making.workers).saved_ns


def with_store(jitter: Jitter, making: Making | None, mean: MeanStep) -> Jitter:
    """With the number of batches in advance that bridges its long waits, and what that is worth: all that they cost,
    where nothing tells how uneven batches are. Unchanged where as many are made already, or it does not do much."""
    if making is not None and making.prefetch >= DEEP_PREFETCH:
        return jitter
    told = saved_ns(making, mean)
    saved = jitter.exposed_ns if told is None else min(told, jitter.exposed_ns)
    if saved < MOST_OF_IT * jitter.exposed_ns:
        return jitter
    return msgspec.structs.replace(jitter, prefetch=DEEP_PREFETCH, bridged_ns=saved)
