"""What the step would take with another number of workers.

step   |.
       | '.                       P / N: the workers set the pace
       |   '-.____.____.____      C: the rest of the step does
       | ...................      A: waits that no number of workers ends, such as for the first batch of an epoch
       +---1--2--3--4--5--6-> N

Every point is a whole step, A + max(C, P / N), as the measured one is, longer where batches are uneven, as one that
takes long holds up those behind it (`taking_turns`), and at least what the workers of another loader need for the
batches that the same step takes of it. C is the measured mean step less A and less all waits for late batches, so what
the curve promises is what these waits cost, and the cards say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tb_steptime.metrics.burst_words import is_one_a_step
from tb_steptime.metrics.bursts import Burst
from tb_steptime.metrics.needed_workers import HELD_UP_FRACTION
from tb_steptime.metrics.taking_turns import USUAL_PREFETCH, held_up_ns
from tb_steptime.metrics.wait_pattern import MOST_WORKERS
from tb_steptime.phrases import Note, Phrase, agreeing, code, count, ns, phrase


class CurvePoint(msgspec.Struct, frozen=True):
    """Predicted for so many workers: step_ns, a mean step of the same span; loader_ns: a step's batches,
    production / workers each."""

    workers: int
    step_ns: int
    loader_ns: int


class WorkerCurve(msgspec.Struct, frozen=True):
    """Step time against number of workers.

    measured_workers: 0 for a loader in the training process; measured_step_ns: the mean step of this span. recommended:
    the number to set; floor_ns: the step that it leaves, its point; gain_ns: measured less floor, 0 where no more
    workers are asked for. apart_ns: in each point and in the measured step, waits that no number of workers ends;
    apart says so. pace: how fast the loader is, with one worker. cores: of the recording machine, where a recorder says
    it; limit: what may keep the curve from coming true (cores, disk, uneven batches), or beside, in a sentence or two.
    beside: another loader that limits with the recommended number.
    """

    points: list[CurvePoint]
    measured_workers: int
    measured_step_ns: int
    recommended: int
    floor_ns: int
    gain_ns: int
    apart_ns: int
    apart: Phrase | None
    pace: Phrase
    cores: int | None
    limit: Phrase | None
    beside: Beside | None
    title: Phrase


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
    more of them than cores do not help. cores: None where nobody says; core_share: of one, that a worker keeps busy.
    spread_ns: by how much one batch's time differs from another's, its standard deviation; 0 where batches are taken in
    any order. prefetch: batches that each worker makes in advance. batches: that a step takes.
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
    beside: Beside | None = None
    spread_ns: int = 0
    prefetch: int = USUAL_PREFETCH

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

    def loader_ns(self, workers: int) -> int:
        return round(self.batches * self.production_ns / self.useful(workers))


def used_every_ns(consumer_ns: int, batches: float, beside: Beside | None) -> int:
    """How fast a loader's batches are used up if none of them is late: a slower loader beside it says so."""
    theirs = round(beside.pace_ns / batches) if beside and batches else 0
    return max(consumer_ns, theirs)


@dataclass(frozen=True)
class MeanStep:
    """ns of the span's mean step, which a curve starts from; disjoint parts of duration_ns.

    late_ns: exposed waits for batches that come late; first_ns: where epochs end and begin, waits or not; other_ns:
    what else no number of workers ends, such as rare long waits, or another loader's.
    """

    duration_ns: int
    late_ns: int
    first_ns: int = 0
    other_ns: int = 0

    @property
    def apart_ns(self) -> int:
        return self.first_ns + self.other_ns

    @property
    def rest_ns(self) -> int:
        """What is left where nothing is waited for but what stands apart."""
        return max(0, self.duration_ns - self.late_ns - self.apart_ns)


def of_burst(burst: Burst, batches: float) -> Making | None:
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
    )


def worker_curve(making: Making, mean: MeanStep) -> WorkerCurve:
    """A number of workers that keeps up ends the waits for late batches, and nothing else."""
    recommended = making.useful(min(making.needed, MOST_WORKERS))
    most = min(max(recommended + 2, making.workers + 2, _WIDTH), MOST_WORKERS + 2)
    points = [
        CurvePoint(workers, _step_ns(making, mean, workers), making.loader_ns(workers))
        for workers in range(1, most + 1)
    ]
    floor = points[recommended - 1].step_ns
    beside = making.beside if floor > _alone_ns(making, mean, recommended) else None
    return WorkerCurve(
        points=points,
        measured_workers=making.workers,
        measured_step_ns=mean.duration_ns,
        recommended=recommended,
        floor_ns=floor,
        gain_ns=max(0, mean.duration_ns - floor) if making.workers < recommended else 0,
        apart_ns=mean.apart_ns,
        apart=_apart(mean),
        pace=_pace(making),
        cores=making.cores,
        limit=_and_uneven(making, mean, recommended, _limit(making, recommended, beside)),
        beside=beside,
        title=_title(making, recommended, floor),
    )


def _step_ns(making: Making, mean: MeanStep, workers: int) -> int:
    alone = _alone_ns(making, mean, workers)
    return max(alone, making.beside.pace_ns) if making.beside else alone


def _alone_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """If all other loaders kept up."""
    return mean.apart_ns + mean.rest_ns + _late_ns(making, mean, workers)


def _late_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """Waits for late batches: what the pace and uneven batches cost with so many workers, and what they do not explain.

    The latter ends with the number of workers that leaves room for it, and until then falls evenly. Where so many are
    there and batches come late all the same, no more of them help; and more than there are make no step longer.
    """
    told = _short_ns(making, mean, workers) + _held_up_ns(making, mean, workers)
    if not making.workers:
        return told
    pace = _short_ns(making, mean, making.workers)
    left = max(0, mean.late_ns - pace - _held_up_ns(making, mean, making.workers))
    if workers < making.workers:
        return told + left
    if making.workers < making.needed:
        left = left * max(0, making.needed - workers) // (making.needed - making.workers)
    return min(told + left, max(mean.late_ns, pace))


def _short_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """By how much the workers' pace is longer than the rest of the step; as many as are needed keep up."""
    if making.useful(workers) >= making.needed:
        return 0
    return max(0, making.loader_ns(workers) - mean.rest_ns)


def _held_up_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """By how much it is longer where a batch that takes long holds up those behind it."""
    if not making.batches:
        return 0
    each = held_up_ns(
        making.production_ns, making.spread_ns, mean.rest_ns / making.batches, making.useful(workers), making.prefetch
    )
    return round(making.batches * each)


def _pace(making: Making) -> Phrase:
    every = "a batch every" if is_one_a_step(making.batches) else "the batches of a step every"
    return phrase(every + " {time} / workers", time=ns(making.loader_ns(1)))


def _apart(mean: MeanStep) -> Phrase | None:
    if mean.first_ns < VISIBLE_FRACTION * mean.duration_ns:
        return None
    return phrase(
        "In each step, measured or predicted: {first} for epochs that begin, which no number of workers ends.",
        first=ns(mean.first_ns),
    )


def store_note(curve: WorkerCurve) -> Note | None:
    """Where the steps are faster than their workers: the first batches were made before the first step."""
    then = next((point.step_ns for point in curve.points if point.workers == curve.measured_workers), 0)
    if then <= IN_STORE * curve.measured_step_ns:
        return None
    return Note(
        "batches_in_store",
        phrase("Workers made batches in advance while the profiler started."),
        phrase(
            "Once these are used up, a step takes about {then} instead of {now}, and gains grow with it.",
            then=ns(then),
            now=ns(curve.measured_step_ns),
        ),
        ("data_loading",),
    )


#: Less of the step than this is not worth a sentence.
VISIBLE_FRACTION = 0.01
#: A step that is so much shorter than its workers' pace lives on what they had in store.
IN_STORE = 1.05
#: Batches in advance that make up for nearly all slow ones.
DEEP_PREFETCH = 8
DEEP = f"prefetch_factor={DEEP_PREFETCH}"
#: Workers on the axis, if no more are needed.
_WIDTH = 8


def _limit(making: Making, recommended: int, beside: Beside | None) -> Phrase | None:
    if beside is not None:
        then = beside.limits()
        return Phrase("T" + then.template[1:], then.values)
    if making.cores is None:
        return phrase("As far as cores and disk allow: this trace does not say how many cores the machine has.")
    if making.busy_cores and recommended < making.needed:
        return phrase(
            "The workers compute, and the machine has {cores} cores: more than {cores} workers slow each other down.",
            cores=count(making.cores),
        )
    share = 1.0 if making.core_share is None else making.core_share
    if recommended * share > making.cores:
        return phrase(
            "The machine has {cores} cores, so these workers must not compute much.", cores=count(making.cores)
        )
    return phrase("As far as disk or network allow.") if not making.busy_cores else None


def _and_uneven(making: Making, mean: MeanStep, recommended: int, said: Phrase | None) -> Phrase | None:
    """Where single batches take many times as long as others, one holds up those behind it, which no mean tells."""
    workers = max(recommended, making.workers)
    held = _held_up_ns(making, mean, workers)
    if held <= HELD_UP_FRACTION * mean.rest_ns:
        return said
    then = _held_up_ns(msgspec.structs.replace(making, prefetch=DEEP_PREFETCH), mean, workers)
    words = (
        "Batches differ by {spread} (one standard deviation): slow ones hold up those behind them, est. {held} a step"
    )
    values = {"spread": ns(making.spread_ns), "held": ns(held), "then": ns(then), "deep": code(DEEP)}
    if then < VISIBLE_FRACTION * mean.rest_ns:
        words += ", which {deep} would end"
    elif then < held:
        words += ", of which {deep} would leave {then}"
    said = said or Phrase("", {})
    return Phrase(f"{said.template} {words}.".lstrip(), said.values | values)


def _title(making: Making, recommended: int, left: int) -> Phrase:
    values = {"number": count(recommended), "left": ns(left)}
    if recommended < making.needed:
        template = "{number} (worker leaves|workers leave) a step of {left}: the loader stays the limit"
    elif making.workers > recommended:
        template = "{number} (worker|workers) would do"
    elif making.workers == recommended:
        template = "{number} (worker is|workers are) enough, more would not help"
    else:
        template = "{number} (worker|workers) would leave a step of about {left}"
    return Phrase(agreeing(template, recommended), values)
