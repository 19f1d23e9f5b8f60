"""What the step would take with another number of workers.

step   |.
       | '.                       P / N: the workers set the pace
       |   '-.____.____.____      C: the rest of the step does
       +---1--2--3--4--5--6-> N
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.bursts import MOST_WORKERS, Burst
from tb_steptime.phrases import Note, Phrase, agreeing, count, ns, phrase


class CurvePoint(msgspec.Struct, frozen=True):
    """Predicted for so many workers: step_ns = max(consumer, loader_ns); loader_ns = production / workers."""

    workers: int
    step_ns: int
    loader_ns: int


class WorkerCurve(msgspec.Struct, frozen=True):
    """Step time against number of workers.

    measured_workers: 0 for a loader in the training process; measured_step_ns: the mean step of this span. recommended:
    the number to set; floor_ns: the step that it leaves; gain_ns: measured less floor. cores: of the recording machine,
    where a recorder says it; limit: what may keep the curve from coming true (cores, disk), in a sentence.
    """

    points: list[CurvePoint]
    measured_workers: int
    measured_step_ns: int
    recommended: int
    floor_ns: int
    gain_ns: int
    cores: int | None
    limit: Phrase | None
    title: Phrase


class Making(msgspec.Struct, frozen=True):
    """What a curve is drawn from; ns are per batch. workers: 0 for a loader in the training process.

    production_ns: one worker's time, that of its CPU where it competes for cores. busy_cores: the workers compute, so
    more of them than cores do not help. cores: None where nobody says; core_share: of one, that a worker keeps busy.
    batches: that a step takes.
    """

    workers: int
    production_ns: int
    consumer_ns: int
    needed: int
    batches: float = 1.0
    cores: int | None = None
    busy_cores: bool = False
    core_share: float | None = None

    def useful(self, workers: int) -> int:
        """How many of so many workers work at the same time."""
        return min(workers, self.cores) if self.busy_cores and self.cores else workers

    def loader_ns(self, workers: int) -> int:
        return round(self.batches * self.production_ns / self.useful(workers))

    def rest_ns(self) -> int:
        return round(self.batches * self.consumer_ns)

    def keeps_up(self, workers: int) -> bool:
        return self.loader_ns(workers) <= self.rest_ns()

    def step_ns(self, workers: int) -> int:
        return max(self.rest_ns(), self.loader_ns(workers))


def of_burst(burst: Burst, batches: float) -> Making | None:
    """What a trace alone tells of worker processes; None where it does not tell how long a batch takes."""
    if burst.production_ns is None or burst.workers is None or burst.needed_workers is None:
        return None
    return Making(burst.workers, burst.production_ns, burst.consumer_ns, burst.needed_workers, batches)


def worker_curve(making: Making, measured_step_ns: int, late_ns: int) -> WorkerCurve:
    """late_ns: of the mean step, exposed waits for batches that come late; no more than that can be gained.

    Where no batch would come late, that is the gain, whatever the predicted step: the same figure as the card's.
    """
    recommended = making.useful(min(making.needed, MOST_WORKERS))
    most = min(max(recommended + 2, making.workers + 2, _WIDTH), MOST_WORKERS + 2)
    keeps_up = making.keeps_up(recommended) and making.workers < recommended
    late = max(0, min(late_ns, measured_step_ns))
    gain = late if keeps_up else max(0, min(measured_step_ns - making.step_ns(recommended), late))
    left = measured_step_ns - gain if gain else making.step_ns(recommended)
    return WorkerCurve(
        points=[
            CurvePoint(workers, making.step_ns(workers), making.loader_ns(workers)) for workers in range(1, most + 1)
        ],
        measured_workers=making.workers,
        measured_step_ns=measured_step_ns,
        recommended=recommended,
        floor_ns=left,
        gain_ns=gain,
        cores=making.cores,
        limit=_limit(making, recommended),
        title=_title(making, recommended, left),
    )


def store_note(making: Making, measured_step_ns: int) -> Note | None:
    """Where the steps are faster than their workers: the first batches were made before the first step."""
    if not making.workers or making.step_ns(making.workers) <= IN_STORE * measured_step_ns:
        return None
    return Note(
        "batches_in_store",
        phrase("Workers made batches in advance while the profiler started."),
        phrase(
            "Once these are used up, a step takes about {then} instead of {now}, and gains grow with it.",
            then=ns(making.step_ns(making.workers)),
            now=ns(measured_step_ns),
        ),
        ("data_loading",),
    )


#: A step that is so much shorter than its workers' pace lives on what they had in store.
IN_STORE = 1.05
#: Workers on the axis, if no more are needed.
_WIDTH = 8


def _limit(making: Making, recommended: int) -> Phrase | None:
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
