"""What the step would take with another number of workers.

step   |.
       | '.                       P / N: the workers set the pace
       |   '-.____.____.____      C: the rest of the step does
       | ...................      A: waits that no number of workers ends, such as for the first batch of an epoch
       +---1--2--3--4--5--6-> N

Every point is a whole step, A + max(C, P / N), as the measured one is, longer where batches are uneven, as one that
takes long holds up those behind it (`taking_turns`), or where more workers start anew in each epoch, and at least what
the workers of another loader need for the batches that the same step takes of it. C is the measured mean step less A
and less all waits for late batches, so what the curve promises is what these waits cost, and the cards say the same.
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.data_loading.scaling.curve_input import Beside, Making, MeanStep
from tb_steptime.metrics.data_loading.scaling.curve_wording import apart_words, curve_title, limit_words, pace_words
from tb_steptime.metrics.data_loading.scaling.wait_pattern import MOST_WORKERS
from tb_steptime.text import Note, Phrase, ns

#: A step that is so much shorter than its workers' pace lives on what they had in store.
IN_STORE = 1.05
#: Workers on the axis, if no more are needed.
_WIDTH = 8


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
    started_ns: as much again for each worker, which starts anew in each epoch; apart says both. pace: how fast the
    loader is, with one worker. cores: of the recording machine, where a recorder says it; limit: what may keep the
    curve from coming true (cores, disk, uneven batches, workers that start), or beside, in a sentence or two.
    beside: another loader that limits with the recommended number.
    """

    points: list[CurvePoint]
    measured_workers: int
    measured_step_ns: int
    recommended: int
    floor_ns: int
    gain_ns: int
    apart_ns: int
    started_ns: int
    apart: Phrase | None
    pace: Phrase
    cores: int | None
    limit: Phrase | None
    beside: Beside | None
    title: Phrase


def worker_curve(making: Making, mean: MeanStep) -> WorkerCurve:
    """A number of workers that keeps up ends the waits for late batches, and nothing else."""
    recommended = _recommended(making, mean)
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
        apart_ns=mean.first_ns - _started_ns(making, mean, making.workers),
        started_ns=_started_ns(making, mean, 1),
        apart=apart_words(making, mean),
        pace=pace_words(making),
        cores=making.cores,
        limit=limit_words(making, mean, recommended, beside),
        beside=beside,
        title=curve_title(making, mean, recommended, floor),
    )


def _recommended(making: Making, mean: MeanStep) -> int:
    """As many as keep up; fewer where more of them take longer to start in each epoch than they save."""
    if not _started_ns(making, mean, 1):
        return making.most
    return min(range(1, making.most + 1), key=lambda workers: (_step_ns(making, mean, workers), workers))


def _started_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """What so many take to start anew and to end, of the mean step: in proportion, as one starts after the other."""
    return (mean.processes_ns or 0) * workers // making.workers if making.workers else 0


def _step_ns(making: Making, mean: MeanStep, workers: int) -> int:
    alone = _alone_ns(making, mean, workers)
    return max(alone, making.beside.pace_ns) if making.beside else alone


def _alone_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """If all other loaders kept up."""
    more = _started_ns(making, mean, workers) - _started_ns(making, mean, making.workers)
    return mean.first_ns + more + mean.rest_ns + _late_ns(making, mean, workers)


def _late_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """Waits for late batches: what the pace and uneven batches cost with so many workers, and what they do not explain.

    The latter ends with the number of workers that leaves room for it, and until then falls evenly. Where so many are
    there and batches come late all the same, no more of them help. The step as it is has what was measured; and more
    workers make none longer, unless it is known batch by batch that they do.
    """
    told = _short_ns(making, mean, workers) + making.held_up_ns(workers, mean.rest_ns)
    if not making.workers:
        return told
    pace = _short_ns(making, mean, making.workers)
    left = max(0, mean.late_ns - pace - making.held_up_ns(making.workers, mean.rest_ns))
    if workers < making.workers:
        return told + left
    if making.workers < making.needed:
        left = left * max(0, making.needed - workers) // (making.needed - making.workers)
    most = max(mean.late_ns, pace)
    return told + left if making.rhythm.making and workers > making.workers else min(told + left, most)


def _short_ns(making: Making, mean: MeanStep, workers: int) -> int:
    """By how much the workers' pace is longer than the rest of the step; as many as are needed keep up.

    The batches that the workers make while an epoch's first one is waited for are there with it, one of each.
    """
    if making.useful(workers) >= making.needed:
        return 0
    waited = max(0.0, 1 - workers * mean.first_share)
    return max(0, round(waited * (making.loader_ns(workers) - mean.rest_ns)))


def store_note(curve: WorkerCurve) -> Note | None:
    """Where the steps are faster than their workers: the first batches were made before the first step."""
    then = next((point.step_ns for point in curve.points if point.workers == curve.measured_workers), 0)
    if then <= IN_STORE * curve.measured_step_ns:
        return None
    values = {"then": ns(then), "now": ns(curve.measured_step_ns)}
    return Note("batches_in_store", values, ("data_loading",))
