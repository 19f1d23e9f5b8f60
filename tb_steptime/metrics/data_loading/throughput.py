"""How fast batches are produced and used, from the best available source: a recorder, the single process, or bursts.

Everything here is about the loader with the most waiting, and is per batch:

production   one process's time for one batch, from the recorder, from the wait in the main process, or from bursts
consumer     the time of the steps without late batches of this loader, divided by the number of its batches
needed       the fewest workers whose pace, production / workers, is no slower than the consumer's
"""

from __future__ import annotations

import math

import msgspec

from tb_steptime.metrics.data_loading.bursts import AMBIGUOUS, find_burst, rest_ns
from tb_steptime.metrics.data_loading.in_order import BLOCKED_FRACTION, FEWEST, USUAL_PREFETCH, BatchProduction
from tb_steptime.metrics.data_loading.loaders import MainLoader, find_batches, main_loader
from tb_steptime.metrics.data_loading.recorded import Recorded, settled_batches, what_is_recorded
from tb_steptime.metrics.data_loading.recorded_workers import COMPUTES_FRACTION, find_timings
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.text import Reason, count, ns
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import Int64

TOO_FEW_STEPS = Reason("record_more_steps")
#: Minimum length of a sequence. For fewer batches the mean and the spread are as informative.
ENOUGH = 16
#: Maximum number of workers. One machine cannot feed more.
MOST_WORKERS = 64
#: No further worker is added for a part of its work as small as this.
ROUNDING = 0.1
#: Estimated cost for a loop of taking a batch from a worker. With one small tensor, 0.3 to 1.3 ms were measured.
HANDOVER_NS = 700_000


class LoaderThroughput(msgspec.Struct, frozen=True):
    """The measured values behind a curve over the number of workers.

    workers       number of workers; 0 for a loader in the main process
    production    times of one worker, without its waits for a core that other workers use
    consumer_ns   time of the rest of the step, per batch
    needed        number of workers that keep up with the step
    batches       number of batches per step
    cores         cores of the recording machine; None if unknown
    cpu_ns        CPU time of a batch in its worker, and its waits for a core that other programs use; None if it is
                  unknown whether the worker computes
    handover_ns   estimated time to take a batch from a worker, if there are no workers yet; otherwise 0
    on_cpu        whether the rest of the step also computes on the cores
    """

    workers: int
    production: BatchProduction
    consumer_ns: int
    needed: int
    batches: float = 1.0
    cores: int | None = None
    cpu_ns: int | None = None
    handover_ns: int = 0
    on_cpu: bool = False

    @property
    def computing_ns(self) -> int:
        """The CPU time of a batch. If it is unknown whether a worker computes, it is the whole time of the batch. No
        number of workers beyond the cores is recommended then, and the gain is the smaller one."""
        return self.production.mean_ns if self.cpu_ns is None else self.cpu_ns

    @property
    def busy(self) -> bool:
        """Whether the workers mostly compute, or may do so."""
        return self.computing_ns >= COMPUTES_FRACTION * self.production.mean_ns

    def useful(self, workers: int) -> float:
        """Returns how many of the workers work at the same time. All cores together take at least computing_ns / cores
        for a batch."""
        if not self.cores or not self.computing_ns:
            return workers
        return min(workers, max(1.0, self.cores * self.production.mean_ns / self.computing_ns))

    @property
    def most(self) -> int:
        """The number of workers beyond which further ones are of no use."""
        return math.ceil(self.useful(min(self.needed, MOST_WORKERS)) - ROUNDING)

    def loader_ns(self, workers: int) -> int:
        """Returns the time for a step's batches, at the workers' mean pace."""
        return round(self.batches * self.production.mean_ns / self.useful(workers))

    def of_cores_ns(self, rest_ns: int) -> int:
        """Returns the shortest step that the cores allow if its rest takes rest_ns. With any number of workers, all
        cores together have to compute the rest and its batches, each of which a worker sends and the loop receives. The
        result is 0 if the rest does not compute on the cores, or their number is not known."""
        if not self.cores or not self.on_cpu:
            return 0
        return round((rest_ns + self.batches * (self.computing_ns + 2 * self.handover_ns)) / self.cores)

    def blocked_ns(self, workers: int, step_rest_ns: int) -> int:
        """Returns by how much slow batches, which block those behind them, lengthen a step whose rest takes
        step_rest_ns."""
        consumer_ns = step_rest_ns / max(self.batches, 1e-9)
        return round(self.batches * self.production.blocked_ns(max(1, round(self.useful(workers))), consumer_ns))


@shared
def find_throughput(trace: Trace) -> LoaderThroughput | None:
    """Returns the throughput; None if nothing shows how long a batch takes, or how many workers keep up. `why_unknown`
    says why."""
    main, recorded = main_loader(trace), recorded_of_main(trace)
    if main is None:
        return None
    throughput = _as_recorded(trace, recorded) if recorded else None
    if throughput is not None:
        throughput = msgspec.structs.replace(throughput, on_cpu=not devices_with_activity(trace))
    if main.multiprocess is not False:
        return throughput or _throughput_of_burst(trace, main)
    alone = throughput or _in_training_process(trace, main)
    if alone is None:
        return None
    return msgspec.structs.replace(alone, workers=0, needed=max(FEWEST, alone.needed), handover_ns=HANDOVER_NS)


def production_ns(trace: Trace) -> int | None:
    """Returns one process's time for one batch; None if nothing shows it."""
    main = main_loader(trace)
    recorded = recorded_of_main(trace)
    burst = find_burst(trace)
    if recorded is not None and recorded.production_ns is not None:
        return recorded.production_ns
    if main is not None and main.multiprocess is False:
        return round(float(_waits_in_process(trace, main).mean()))
    return burst.production_ns if burst else None


def consumer_ns(trace: Trace) -> int | None:
    """Returns the time of the steps without late batches, per batch; None if it is uncertain how many batches of a
    loader a step takes."""
    main = main_loader(trace)
    recorded = recorded_of_main(trace)
    burst = find_burst(trace)
    if recorded is not None:
        return recorded.consumer_ns
    if main is None or main.in_a_row > 1:
        return None
    return burst.consumer_ns if burst else rest_ns(trace, main.loader)


def why_unknown(trace: Trace) -> Reason | None:
    """Returns why there is no curve over the number of workers; None if there is one."""
    main, burst = main_loader(trace), find_burst(trace)
    if find_throughput(trace) is not None:
        return None
    if burst is not None and burst.why is not None:
        return burst.why
    return AMBIGUOUS if main is not None and main.in_a_row > 1 else TOO_FEW_STEPS


def recorded_of_main(trace: Trace) -> Recorded | None:
    """Returns the recorder's data; None if marks show that they are about another loader than the one with the most
    waiting."""
    recorded, main = what_is_recorded(trace), main_loader(trace)
    return recorded if recorded is None or main is None or recorded.main == main.recorded else None


def _as_recorded(trace: Trace, recorded: Recorded) -> LoaderThroughput | None:
    main, consumer = recorded.main_loader, recorded.consumer_ns
    if recorded.production_ns is None or not consumer:
        return None
    # Workers wait for cores that other workers use. A training process that produces its batches waits for cores that
    # other programs use; a worker would wait as long, so this wait counts like computing.
    waits = recorded.core_wait_share or 0.0
    own, computes = (1 - waits, 0.0) if main.workers else (1.0, waits)
    in_any_order = main.in_order is False  # a slow batch blocks no other
    production = BatchProduction(
        mean_ns=round(recorded.production_ns * own),
        spread_ns=0 if in_any_order else round((recorded.production_spread_ns or 0) * own),
        prefetch=main.prefetch or USUAL_PREFETCH,
        sequence=() if in_any_order else _recorded_sequence(trace, recorded),
    )
    needed, late_ns = production.workers_for(consumer) or 1, recorded.late_ns
    if 0 < recorded.production_ns <= main.workers * consumer and late_ns <= BLOCKED_FRACTION * consumer:
        needed = min(needed, main.workers)  # this many kept up in the recording
    return LoaderThroughput(
        workers=main.workers,
        production=production,
        consumer_ns=consumer,
        needed=needed,
        batches=recorded.batches_per_step,
        cores=recorded.cores,
        cpu_ns=None
        if recorded.kind is None
        else round(recorded.production_ns * ((recorded.cpu_share or 0.0) + computes)),
    )


def _recorded_sequence(trace: Trace, recorded: Recorded) -> tuple[float, ...]:
    """Returns the recorded times in sequence. The result is empty for an iterable dataset: each worker has its own
    batches there, so more workers would deliver them in another order."""
    records, timings = trace.loader_records, find_timings(trace)
    if records is None or timings is None or recorded.main_loader.iterable:
        return ()
    settled = settled_batches(records, timings, recorded.main).by("next_called_ns")
    return _sequence(settled.dataset_ns + settled.collate_ns)


def _sequence(times_ns: Int64) -> tuple[float, ...]:
    mean = float(times_ns.mean()) if len(times_ns) >= ENOUGH else 0.0
    return tuple((times_ns / mean).tolist()) if mean > 0 else ()


def _throughput_of_burst(trace: Trace, main: MainLoader) -> LoaderThroughput | None:
    burst = find_burst(trace)
    if burst is None or burst.production_ns is None or burst.workers is None:
        return None
    production = BatchProduction(burst.production_ns, burst.spread_ns or 0)
    needed = production.workers_for(burst.consumer_ns)
    return LoaderThroughput(burst.workers, production, burst.consumer_ns, needed, main.batches) if needed else None


def _in_training_process(trace: Trace, main: MainLoader) -> LoaderThroughput | None:
    """Returns the throughput of a loader in the training process, where the wait for a batch is its production."""
    times, rest = _waits_in_process(trace, main), rest_ns(trace, main.loader)
    production = BatchProduction(round(float(times.mean())), round(float(times.std())), sequence=_sequence(times))
    needed = production.workers_for(rest) if main.in_a_row == 1 else None
    cores = trace.loader_records.cores if trace.loader_records else None
    return LoaderThroughput(0, production, rest, needed, main.batches, cores) if needed else None


def _waits_in_process(trace: Trace, main: MainLoader) -> Int64:
    """Returns the wait for each batch. Those for first batches of epochs count only if the recording has no others."""
    batches = find_batches(trace)
    rows = batches.of(main.loader)
    return batches.wait_ns[rows if len(rows) else batches.loader == main.loader]


# The step time with another number of workers is predicted.
#
# step   |.
#        | '.                       P / N: the workers set the pace
#        |   '-.____.____.____      C: the rest of the step does
#        | ...................      A: waits that no number of workers ends, such as for the first batch of an epoch
#        +---1--2--3--4--5--6-> N
#
# Every point is a whole step, A + max(C, P / N), comparable with the measured one. It is longer if batches are uneven,
# because a slow one blocks those behind it (see `BatchProduction`). C is the measured mean step minus A and minus all
# waits for late batches, so the curve promises exactly the cost of these waits, and the cards say the same.

#: A step that is shorter than its workers' pace by more than this factor uses batches that were prefetched earlier.
PREFETCHED = 1.05
#: Minimum number of workers on the axis.
_WIDTH = 8


class CurvePoint(msgspec.Struct, frozen=True):
    """The prediction for this number of workers. step_ns: the mean step of the same span. loader_ns: the time for the
    batches of a step."""

    workers: int
    step_ns: int
    loader_ns: int


class WorkerCurve(msgspec.Struct, frozen=True):
    """The step time by number of workers.

    measured_workers   0 for a loader in the main process
    measured_step_ns   the mean step of this span
    recommended        the number of workers to set; 0 if workers would cost more than they save
    floor_ns           the step with that number
    gain_ns            measured_step_ns - floor_ns; 0 if no more workers are needed
    needed             number of workers that keep up with the step, whatever the number of cores
    epochs_ns          time for the ends and starts of epochs, in each point and in the measured step
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
    """The parts of the span's mean step from which a curve starts, ns. They are disjoint parts of duration_ns.

    late_ns: exposed waits for batches that come late, often or rarely. epochs_ns: time in which epochs end and begin,
    with or without waits; no number of workers ends it.
    """

    duration_ns: int
    late_ns: int
    epochs_ns: int = 0

    @property
    def rest_ns(self) -> int:
        """The rest of the step, in which the loop waits for no late batch and no first batch of an epoch."""
        return max(0, self.duration_ns - self.late_ns - self.epochs_ns)


def worker_curve(loader: LoaderThroughput, mean: MeanStep, other_loaders: bool = False) -> WorkerCurve:
    """Predicts the curve. A number of workers that keeps up ends the waits for late batches, and nothing else.
    other_loaders: whether the steps take batches of other loaders, too."""
    recommended, workers = loader.most, loader.workers
    most = min(max(recommended + 2, workers + 2, _WIDTH), MOST_WORKERS + 2)
    points = [CurvePoint(each, _step_ns(loader, mean, each), loader.loader_ns(each)) for each in range(1, most + 1)]
    floor = points[recommended - 1].step_ns
    if not workers and floor + loader.batches * loader.handover_ns >= mean.duration_ns:
        recommended, floor = 0, mean.duration_ns  # taking a batch from a worker may cost as much as producing it
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
    """Returns the length of the step without late batches, plus their lateness. The causes of lateness are the pace,
    slow batches that block those behind them, and an unexplained rest.

    The unexplained rest falls evenly and ends at the number of workers that leaves room for it. If that number is
    already in use and batches come late all the same, more workers do not help.
    """
    short = _short_ns(loader, mean, workers)
    blocked = loader.blocked_ns(workers, mean.rest_ns)
    left = _unexplained_ns(loader, mean)
    if loader.workers < workers and loader.workers < loader.needed:
        left = left * max(0, loader.needed - workers) // (loader.needed - loader.workers)
    late_ns = short + blocked + left
    if loader.workers and workers >= loader.workers:
        late_ns = min(late_ns, max(mean.late_ns, _short_ns(loader, mean, loader.workers)))
    step_ns = mean.rest_ns + late_ns + round(loader.batches * loader.handover_ns)
    if workers > loader.workers:
        step_ns = max(step_ns, min(loader.of_cores_ns(mean.rest_ns), mean.duration_ns - mean.epochs_ns))
    return mean.epochs_ns + step_ns


def _unexplained_ns(loader: LoaderThroughput, mean: MeanStep) -> int:
    """Returns the waits for late batches beyond what the pace and slow batches explain with the current number of
    workers."""
    if not loader.workers:
        return 0
    explained = _short_ns(loader, mean, loader.workers) + loader.blocked_ns(loader.workers, mean.rest_ns)
    return max(0, mean.late_ns - explained)


def _short_ns(loader: LoaderThroughput, mean: MeanStep, workers: int) -> int:
    """Returns by how much the workers' pace is longer than the rest of the step; 0 with enough workers."""
    return 0 if loader.useful(workers) >= loader.needed else max(0, loader.loader_ns(workers) - mean.rest_ns)


def _limits(loader: LoaderThroughput, mean: MeanStep, now_ns: int, other_loaders: bool) -> list[Reason]:
    """Returns what limits the prediction, and what it assumes. now_ns: the prediction for the current number of
    workers."""
    limits = []
    if loader.cores is None:
        limits.append(Reason("curve_cores_not_known"))
    elif loader.busy and loader.most < loader.needed:
        computes, cores = loader.cpu_ns is not None, count(loader.cores)
        limits.append(
            Reason("curve_limited_by_cores", {"cores": cores})
            if computes
            else Reason("curve_limited_if_workers_compute", {"cores": cores})
        )
    elif not loader.busy:
        limits.append(Reason("curve_as_far_as_disk_allows"))
    if other_loaders:
        limits.append(Reason("curve_if_other_loaders_keep_up"))
    if now_ns > PREFETCHED * mean.duration_ns:
        limits.append(Reason("curve_lived_on_prefetched_batches", {"then": ns(now_ns), "now": ns(mean.duration_ns)}))
    return limits
