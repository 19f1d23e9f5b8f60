"""What a curve over the number of workers is drawn from: how batches are made, and the mean step that takes them."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tb_steptime.metrics.data_loading.scaling.burst_wording import is_one_a_step
from tb_steptime.metrics.data_loading.scaling.bursts import Burst
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import EVEN, USUAL_PREFETCH, Rhythm, held_up_ns
from tb_steptime.metrics.data_loading.scaling.needed_workers import workers_for
from tb_steptime.metrics.data_loading.scaling.wait_pattern import MOST_WORKERS
from tb_steptime.text import Phrase, agreeing, count, ns


class Beside(msgspec.Struct, frozen=True):
    """Another loader that the same steps take batches of, with its workers as they are. name: within a sentence;
    production_ns: one worker's, for one batch; batches: that a step takes."""

    name: Phrase
    workers: int
    production_ns: int
    batches: float

    @property
    def pace_ns(self) -> int:
        """No step is shorter, once the batches are used up that were made in advance."""
        return round(self.batches * self.production_ns / self.workers)

    def limits(self) -> Phrase:
        """That it does, as the end of a sentence."""
        alone = self.workers == 1 and is_one_a_step(self.batches)
        words = "its {theirs} (worker needs|workers need) {pace} " + (
            "per batch." if alone else "for the batches of a step."
        )
        values = {"theirs": count(self.workers), "pace": ns(self.production_ns if alone else self.pace_ns)}
        return Phrase(f"then {self.name.template} limits: {agreeing(words, self.workers)}", values | self.name.values)


class Making(msgspec.Struct, frozen=True):
    """What a curve is drawn from; ns are per batch. workers: 0 for a loader in the training process.

    production_ns: one worker's time, that of its CPU where it competes for cores. busy_cores: the workers compute, so
    more of them than cores do not help. cores: None where nobody says; core_share: of one, that a worker keeps busy;
    few_looked: how many batches tell of busy_cores and core_share, where these are few, else None. spread_ns: by how
    much one batch's time differs from another's, its standard deviation; 0 where batches are taken in any order.
    prefetch: batches that each worker makes in advance. rhythm: of what is known in turn. batches: that a step takes.
    needed: by the slower of consumer_ns and beside, the slowest other loader.
    """

    workers: int
    production_ns: int
    consumer_ns: int
    needed: int
    batches: float = 1.0
    cores: int | None = None
    busy_cores: bool = False
    core_share: float | None = None
    few_looked: int | None = None
    beside: Beside | None = None
    spread_ns: int = 0
    prefetch: int = USUAL_PREFETCH
    rhythm: Rhythm = EVEN

    @property
    def used_every_ns(self) -> int:
        return used_every_ns(self.consumer_ns, self.batches, self.beside)

    @property
    def is_held_up(self) -> bool:
        """By the other loader, with however many workers."""
        return self.used_every_ns > self.consumer_ns

    def useful(self, workers: int) -> int:
        """How many of so many workers work at the same time."""
        return min(workers, self.cores) if self.busy_cores and self.cores else workers

    def held_up_by(self, beside: Beside | None) -> Making:
        """With another loader, where none was known."""
        every = used_every_ns(self.consumer_ns, self.batches, beside)
        if every <= self.consumer_ns:
            return msgspec.structs.replace(self, beside=beside)
        needed = workers_for(self.production_ns, self.spread_ns, every, self.prefetch, self.rhythm) or 1
        return msgspec.structs.replace(self, beside=beside, needed=min(self.needed, needed))

    @property
    def most(self) -> int:
        """More of them are of no use."""
        return self.useful(min(self.needed, MOST_WORKERS))

    def loader_ns(self, workers: int) -> int:
        """A step's batches, at the workers' mean pace."""
        return round(self.batches * self.production_ns / self.useful(workers))

    def held_up_ns(self, workers: int, rest_ns: int) -> int:
        """Of a step whose rest takes rest_ns: how much longer it is as slow batches hold up those behind them."""
        if not self.batches:
            return 0
        consumer_ns, useful = rest_ns / self.batches, self.useful(workers)
        each = held_up_ns(self.production_ns, self.spread_ns, consumer_ns, useful, self.prefetch, self.rhythm)
        return round(self.batches * each)


def used_every_ns(consumer_ns: int, batches: float, beside: Beside | None) -> int:
    """How fast a loader's batches are used up if none of them is late: a slower loader beside it says so."""
    theirs = round(beside.pace_ns / batches) if beside and batches else 0
    return max(consumer_ns, theirs)


def of_burst(burst: Burst, batches: float, rhythm: Rhythm) -> Making | None:
    """What a trace alone tells of worker processes; None where it does not tell how long a batch takes."""
    if burst.production_ns is None or burst.workers is None or burst.needed_workers is None:
        return None
    return Making(
        burst.workers,
        burst.production_ns,
        burst.consumer_ns,
        burst.needed_workers,
        batches,
        spread_ns=burst.spread_ns or 0,
        rhythm=rhythm,
    )


@dataclass(frozen=True)
class MeanStep:
    """ns of the span's mean step, which a curve starts from; disjoint parts of duration_ns.

    late_ns: exposed waits for batches that come late, often or rarely; first_ns: where epochs end and begin, waits or
    not, which no number of workers ends. processes_ns: of first_ns, what the measured workers take to start and to end,
    and more of them longer; 0 where they are kept between epochs, None where nothing tells whether they are.
    first_share: of the batches, those that begin an epoch.
    """

    duration_ns: int
    late_ns: int
    first_ns: int = 0
    processes_ns: int | None = 0
    first_share: float = 0.0

    @property
    def rest_ns(self) -> int:
        """What is left where nothing is waited for but first batches."""
        return max(0, self.duration_ns - self.late_ns - self.first_ns)
