"""Predicted step time with another number of workers.

step   |.
       | '.                       P / N: the workers set the pace
       |   '-.____.____.____      C: the rest of the step does
       | ...................      A: waits that no number of workers ends, such as for the first batch of an epoch
       +---1--2--3--4--5--6-> N

Every point is a whole step, A + max(C, P / N), comparable with the measured one; it is longer if batches are uneven, as
a slow one blocks those behind it (`in_order_delivery`). C is the measured mean step minus A and minus all waits for
late batches, so the curve promises exactly the cost of these waits, and the cards say the same.
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.data_loading.scaling.throughput import MOST_WORKERS, LoaderThroughput
from tb_steptime.text import Reason, count, ns

#: A step shorter than its workers' pace by this factor uses batches prefetched earlier.
PREFETCHED = 1.05
#: Number of workers on the axis, if no more are needed.
_WIDTH = 8


class CurvePoint(msgspec.Struct, frozen=True):
    """Prediction for this number of workers: step_ns, a mean step of the same span; loader_ns: a step's batches,
    production / workers each."""

    workers: int
    step_ns: int
    loader_ns: int


class WorkerCurve(msgspec.Struct, frozen=True):
    """Step time by number of workers.

    measured_workers   0 for a loader in the main process
    measured_step_ns   the mean step of this span
    recommended        the number of workers to set; 0 if workers would cost more than they save
    floor_ns           the step with that number
    gain_ns            measured_step_ns - floor_ns; 0 if no more workers are needed
    needed             number of workers that keep up with the step, whatever the number of cores
    epochs_ns          time for epochs that begin, in each point and in the measured step
    batches            number of batches per step
    cores              cores of the recording machine, if a recorder states them
    limits             reasons why the real step may differ from the curve
    """

    points: list[CurvePoint]
    measured_workers: int
    measured_step_ns: int
    recommended: int
    floor_ns: int
    gain_ns: int
    needed: int
    epochs_ns: int
    batches: float
    cores: int | None
    limits: list[Reason]


class MeanStep(msgspec.Struct, frozen=True):
    """ns of the span's mean step, which a curve starts from; disjoint parts of duration_ns.

    late_ns: exposed waits for batches that come late, often or rarely; epochs_ns: where epochs end and begin, waits or
    not, which no number of workers ends.
    """

    duration_ns: int
    late_ns: int
    epochs_ns: int = 0

    @property
    def rest_ns(self) -> int:
        """The rest of the step, in which only first batches of epochs are waited for."""
        return max(0, self.duration_ns - self.late_ns - self.epochs_ns)


def worker_curve(loader: LoaderThroughput, mean: MeanStep, other_loaders: bool = False) -> WorkerCurve:
    """Predict the curve. A number of workers that keeps up ends the waits for late batches, and nothing else.
    other_loaders: the steps take batches of other loaders, too."""
    recommended, workers = loader.most, loader.workers
    most = min(max(recommended + 2, workers + 2, _WIDTH), MOST_WORKERS + 2)
    points = [CurvePoint(each, _step_ns(loader, mean, each), loader.loader_ns(each)) for each in range(1, most + 1)]
    floor = points[recommended - 1].step_ns
    if not workers and floor + loader.batches * loader.handover_ns >= mean.duration_ns:
        recommended, floor = 0, mean.duration_ns  # taking batches from workers may cost as much as producing them
    return WorkerCurve(
        points=points,
        measured_workers=workers,
        measured_step_ns=mean.duration_ns,
        recommended=recommended,
        floor_ns=floor,
        gain_ns=max(0, mean.duration_ns - floor) if workers < recommended else 0,
        needed=loader.needed,
        epochs_ns=mean.epochs_ns,
        batches=loader.batches,
        cores=loader.cores,
        limits=_limits(loader, mean, points[workers - 1].step_ns if workers else 0, other_loaders),
    )


def _step_ns(loader: LoaderThroughput, mean: MeanStep, workers: int) -> int:
    """The length of the step without late batches, plus their lateness: caused by the pace, by slow batches that block
    those behind them, and an unexplained rest.

    The unexplained rest falls evenly and ends at the number of workers that leaves room for it. If that number is
    already in use and batches come late all the same, more workers do not help.
    """
    short, blocked = _short_ns(loader, mean, workers), loader.blocked_ns(workers, mean.rest_ns)
    left = _unexplained_ns(loader, mean)
    if loader.workers < workers and loader.workers < loader.needed:
        left = left * max(0, loader.needed - workers) // (loader.needed - loader.workers)
    late = short + blocked + left
    if loader.workers and workers >= loader.workers:
        late = min(late, max(mean.late_ns, _short_ns(loader, mean, loader.workers)))
    step_ns = mean.rest_ns + late + round(loader.batches * loader.handover_ns)
    if workers > loader.workers:
        step_ns = max(step_ns, min(loader.of_cores_ns(mean.rest_ns), mean.duration_ns - mean.epochs_ns))
    return mean.epochs_ns + step_ns


def _unexplained_ns(loader: LoaderThroughput, mean: MeanStep) -> int:
    """Waits for late batches beyond what the pace and slow batches explain with the current number of workers."""
    if not loader.workers:
        return 0
    explained = _short_ns(loader, mean, loader.workers) + loader.blocked_ns(loader.workers, mean.rest_ns)
    return max(0, mean.late_ns - explained)


def _short_ns(loader: LoaderThroughput, mean: MeanStep, workers: int) -> int:
    """How much longer the workers' pace is than the rest of the step; 0 with enough workers."""
    return 0 if loader.useful(workers) >= loader.needed else max(0, loader.loader_ns(workers) - mean.rest_ns)


def _limits(loader: LoaderThroughput, mean: MeanStep, now_ns: int, other_loaders: bool) -> list[Reason]:
    """What limits the prediction, and what it assumes. now_ns: prediction for the current number of workers."""
    limits = []
    if loader.cores is None:
        limits.append(Reason("curve_cores_not_known"))
    elif loader.busy and loader.most < loader.needed:
        limits.append(Reason("curve_limited_by_cores", {"cores": count(loader.cores)}))
    elif not loader.busy:
        limits.append(Reason("curve_as_far_as_disk_allows"))
    if other_loaders:
        limits.append(Reason("curve_if_other_loaders_keep_up"))
    if now_ns > PREFETCHED * mean.duration_ns:
        limits.append(Reason("curve_lived_on_prefetched_batches", {"then": ns(now_ns), "now": ns(mean.duration_ns)}))
    return limits
