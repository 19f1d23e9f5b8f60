"""What keeps the waits for late batches from telling how long one takes, and how many workers there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.data_loading.loaders import Batches, steady_wait_ns
from tb_steptime.metrics.data_loading.scaling.burst_wording import (
    at_times_they_keep_up,
    every_step_waits,
    how_many_in_a_row,
    no_period,
    slow_batch_or_workers,
    too_few_batches,
    too_few_waits,
    too_short_waits,
    waits_follow_the_step,
)
from tb_steptime.metrics.data_loading.scaling.wait_pattern import (
    ENOUGH_WAITS,
    MOST_LIKELY,
    PERIODS,
    capped_waits,
    follows,
    long_waits,
)
from tb_steptime.text import Phrase
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Below a twentieth of the step there is no stall whose pattern could be told from noise.
EXPOSED_FRACTION = 0.05


@dataclass(frozen=True, eq=False)
class Waits:
    """Of one loader's batches between two ends of an epoch: at which instant each is there, and what it cost."""

    there_ns: Int64
    wait_ns: Int64
    exposed_ns: Int64

    def __len__(self) -> int:
        return len(self.wait_ns)

    @property
    def rest_ns(self) -> Int64:
        """What the loop does before each wait but the first."""
        rest: Int64 = np.diff(self.there_ns) - self.wait_ns[1:]
        return rest


def gates_of(
    trace: Trace, batches: Batches, loader: int, waits: Waits, period: int | None, alike: float | None,
    workers: int | None,
) -> list[Phrase]:  # fmt: skip
    """What keeps the production time from being told; the first one is what the user reads."""
    share = exposed_share(trace, batches, loader)
    if share < EXPOSED_FRACTION:
        return [too_short_waits(share)]
    if batches.loaders[loader].in_a_row > 1:
        return [how_many_in_a_row(batches.loaders[loader].in_a_row)]
    if workers:
        return _of_known(waits, workers)
    return _of_period(waits, period, alike)


def _of_period(waits: Waits, period: int | None, alike: float | None) -> list[Phrase]:
    """Why the period of the waits, if they have one, is not the number of workers for sure."""
    told_by = len(capped_waits(waits.wait_ns))
    every = period is None and told_by >= PERIODS * 2 and _all_alike(waits)
    if told_by < ENOUGH_WAITS and not every:
        return [too_few_waits(told_by, ENOUGH_WAITS)]
    if period is None:
        return [no_period_of(waits, alike)]
    if follows(waits.wait_ns, waits.rest_ns, period):
        return [waits_follow_the_step(period)]
    return [slow_batch_or_workers(period)] if period > MOST_LIKELY else []


def _of_known(waits: Waits, workers: int) -> list[Phrase]:
    """With the number of workers known the waits need no pattern, but each round of the workers has to wait once."""
    long = long_waits(waits.wait_ns)[len(waits) % workers :]
    if len(waits) < PERIODS * workers:
        return [too_few_batches(len(waits))]
    if not long.reshape(-1, workers).any(axis=1).all():
        return [at_times_they_keep_up(workers)]
    return []


def no_period_of(waits: Waits, alike: float | None) -> Phrase:
    return every_step_waits() if _all_alike(waits) else no_period(alike)


def _all_alike(waits: Waits) -> bool:
    return bool(long_waits(waits.wait_ns).mean() > 0.5)


def exposed_share(trace: Trace, batches: Batches, loader: int) -> float:
    """Of the steps, without what each wait lasts though its batch lies ready."""
    total = sum(step.duration_ns for step in find_steps(trace).steps)
    exposed = batches.exposed_ns[batches.of(loader)] - (steady_wait_ns(trace, batches, loader) or 0)
    return int(np.maximum(exposed, 0).sum()) / total if total else 0.0
