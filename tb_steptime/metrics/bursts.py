"""Why one step in W waits: W workers that are slower than the steps deliver in bursts.

worker 0   000000000333333333
worker 1   111111111444444444      W = 3: one long wait, then two short ones, again and again
worker 2   222222222555555555
step       ........00 11 22...33   P: from a long wait's end to that of the next one of the same worker
                                   C: the step without its exposed wait; N = ceil(P / C) workers keep up
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.burst_words import (
    at_times_they_keep_up,
    every_step_waits,
    how_many_in_a_row,
    no_period,
    slow_batch_instead,
    slow_batch_or_workers,
    they_are_late,
    they_keep_up,
    too_few_batches,
    too_few_waits,
    too_short_waits,
    waits_follow_the_step,
)
from tb_steptime.metrics.data_loading import is_multiprocess
from tb_steptime.metrics.epoch_marks import between_epochs_ns
from tb_steptime.metrics.loaders import Batches, find_batches, most_waited, steady_wait_ns
from tb_steptime.metrics.needed_workers import workers_for
from tb_steptime.metrics.rhythm import find_rhythm
from tb_steptime.metrics.spread import robust_deviation
from tb_steptime.metrics.taking_turns import held_up_ns
from tb_steptime.metrics.wait_pattern import (
    ENOUGH_WAITS,
    MOST_LIKELY,
    PERIODS,
    capped_waits,
    correlation,
    find_period,
    follows,
    long_waits,
    part_of,
)
from tb_steptime.phrases import Phrase
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: Below a twentieth of the step there is no stall whose pattern could be told from noise.
EXPOSED_FRACTION = 0.05
#: Of a long wait: where no wait is shorter, the others are for late batches, too, and tell of no batch that lies ready.
READY_FRACTION = 0.25
#: `multiprocessing.Queue` has a thread that feeds it, and each worker has a queue of requests.
_FEEDER = re.compile(r"multiprocessing/queues\.py\(\d+\): _feed$")


class BurstStep(msgspec.Struct, frozen=True):
    """A wait in the order of the batches: of which step, how long, and whether it is one of the long ones."""

    step: str
    wait_ns: int
    long: bool


class Burst(msgspec.Struct, frozen=True):
    """Whether waits come in bursts, and how many workers would end them. ns are means.

    workers, workers_from: how many there are, where known: "recorder", "stacks" (threads that feed them) or "period".
    period: the distance of alike waits, in batches; autocorrelation: of the waits at that lag. long_wait_ns: the mean
    of each period's worst; short_wait_ns: what a batch that lies ready takes, the tenth percentile of the others, as
    the more a batch's time varies, the more of these wait, too; None where these are not much shorter. batches: that a
    step takes of this loader. production_ns: one worker's time for one batch; spread_ns: its standard deviation;
    consumer_ns: the step without exposed waits, per batch. needed_workers: None where workers is; needed_factor: as
    many times more workers keep up, known without their number. at_most_ns: where the loader keeps up, a worker takes
    at most so long for a batch, times the number of workers.
    gates: what is not fulfilled, each "... cannot be told from this trace, because ..." in full; empty: all are.
    sentence: what there is to say, whichever. check: where workers is from the period, what else this may mean, and
    what tells. waits: all batches of the loader that is waited for most.
    """

    workers: int | None
    workers_from: str | None
    period: int | None
    autocorrelation: float | None
    long_wait_ns: int | None
    short_wait_ns: int | None
    batches: float
    production_ns: int | None
    spread_ns: int | None
    consumer_ns: int
    needed_workers: int | None
    needed_factor: float | None
    at_most_ns: int | None
    gates: list[Phrase]
    sentence: Phrase | None
    check: Phrase | None
    waits: list[BurstStep]


@dataclass(frozen=True, eq=False)
class _Waits:
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


@dataclass(frozen=True)
class _Pace:
    """From the first long wait to the last one of the same worker; see `Burst`."""

    production_ns: int
    spread_ns: int
    consumer_ns: int
    long_ns: int
    short_ns: int | None


@per_trace
def find_burst(trace: Trace) -> Burst | None:
    """Of the loader that is waited for most; None where there is none, or where the training process is the loader."""
    batches = find_batches(trace)
    loader = most_waited(batches)
    if loader is None or is_multiprocess((batches.loaders[loader].iterator,)) is False:
        return None
    waits, entries = _longest_stretch(trace, batches, loader)
    if not len(waits):
        return None
    in_a_row = batches.loaders[loader].in_a_row
    workers = workers_from_stacks(trace) if len(batches.loaders) == in_a_row == 1 else None
    capped = capped_waits(waits.wait_ns)
    period = workers or _workers_period(waits, capped)
    alike = correlation(capped, period) if period else find_period(capped)[1]
    long = long_waits(waits.wait_ns)
    gates = _gates(trace, batches, loader, waits, period, alike, workers)
    pace = _pace(waits, long, period) if period and not gates else None
    if not pace and not gates:
        gates = [_no_period(waits, alike)]
    late = _exposed_share(trace, batches, loader) >= EXPOSED_FRACTION
    is_open = late and not workers and len(capped) >= ENOUGH_WAITS  # only whether the period is the workers'
    seen = period if pace or in_a_row > 1 or is_open else None
    return _burst(trace, batches, entries, long, workers, seen, alike, pace, gates, late)


def _workers_period(waits: _Waits, capped: Int64) -> int | None:
    """That of the workers, if the waits have one, unless it is the steps'."""
    period, _ = find_period(capped)
    if period is None or follows(waits.wait_ns, waits.rest_ns, period):
        return period
    return part_of(capped, period)


def workers_from_stacks(trace: Trace) -> int | None:
    """How many threads feed requests to workers; None where no frame of one is recorded."""
    is_feeder = np.array([_FEEDER.search(name) is not None for name in trace.strings.strings], bool)
    if not is_feeder.any():
        return None
    rows = trace.events.rows(Kind.PYTHON)
    threads = np.unique(trace.events.thread[rows[is_feeder[trace.events.name[rows]]]])
    return len(threads) or None


def _longest_stretch(trace: Trace, batches: Batches, loader: int) -> tuple[_Waits, Int64]:
    """The batches of an epoch, of the longest one; each epoch begins with workers that start together."""
    mine = np.flatnonzero(batches.loader == loader)
    epoch = np.cumsum(batches.first[mine])
    mine = mine[(epoch == np.bincount(epoch).argmax()) & ~batches.first[mine]] if len(mine) else mine
    end = trace.events.ends(batches.row[mine])
    return _Waits(end, batches.wait_ns[mine], batches.exposed_ns[mine]), mine


def _gates(
    trace: Trace, batches: Batches, loader: int, waits: _Waits, period: int | None, alike: float | None,
    workers: int | None,
) -> list[Phrase]:  # fmt: skip
    """What keeps the production time from being told; the first one is what the user reads."""
    share = _exposed_share(trace, batches, loader)
    if share < EXPOSED_FRACTION:
        return [too_short_waits(share)]
    if batches.loaders[loader].in_a_row > 1:
        return [how_many_in_a_row(batches.loaders[loader].in_a_row)]
    if workers:
        return _gates_of_known(waits, workers)
    return _gates_of_period(waits, period, alike)


def _gates_of_period(waits: _Waits, period: int | None, alike: float | None) -> list[Phrase]:
    """Why the period of the waits, if they have one, is not the number of workers for sure."""
    told_by = len(capped_waits(waits.wait_ns))
    every = period is None and told_by >= PERIODS * 2 and _all_alike(waits)
    if told_by < ENOUGH_WAITS and not every:
        return [too_few_waits(told_by, ENOUGH_WAITS)]
    if period is None:
        return [_no_period(waits, alike)]
    if follows(waits.wait_ns, waits.rest_ns, period):
        return [waits_follow_the_step(period)]
    return [slow_batch_or_workers(period)] if period > MOST_LIKELY else []


def _gates_of_known(waits: _Waits, workers: int) -> list[Phrase]:
    """With the number of workers known the waits need no pattern, but each round of the workers has to wait once."""
    long = long_waits(waits.wait_ns)[len(waits) % workers :]
    if len(waits) < PERIODS * workers:
        return [too_few_batches(len(waits))]
    if not long.reshape(-1, workers).any(axis=1).all():
        return [at_times_they_keep_up(workers)]
    return []


def _no_period(waits: _Waits, alike: float | None) -> Phrase:
    return every_step_waits() if _all_alike(waits) else no_period(alike)


def _all_alike(waits: _Waits) -> bool:
    return bool(long_waits(waits.wait_ns).mean() > 0.5)


def _exposed_share(trace: Trace, batches: Batches, loader: int) -> float:
    """Of the steps, without what each wait lasts though its batch lies ready."""
    total = sum(step.duration_ns for step in find_steps(trace).steps)
    exposed = batches.exposed_ns[batches.of(loader)] - (steady_wait_ns(trace, batches, loader) or 0)
    return int(np.maximum(exposed, 0).sum()) / total if total else 0.0


def _pace(waits: _Waits, long: Bool, period: int) -> _Pace | None:
    """From the longest waits' place in the round, which is one worker's: from there to there it made so many batches.

    Little else is in these times, because a worker that is waited for begins its next batch at once: where batches are
    uneven, what it stands still for after quick ones, while another worker's slow one holds up the loop.
    """
    rounds = [np.flatnonzero(long[place::period]) * period + place for place in range(period)]
    leader = max(rounds, key=lambda each: int(waits.wait_ns[each].sum()))
    if len(leader) < 2:
        return None
    first, last = int(leader[0]), int(leader[-1])
    made = np.diff(leader) // period
    times = np.diff(waits.there_ns[leader]) / made
    within = slice(first + 1, last + 1)
    others = np.flatnonzero(~long[within]) + first + 1
    usual = float(waits.wait_ns[leader].mean())
    short = round(float(np.percentile(waits.wait_ns[others], 10))) if len(others) else None
    if short is not None and short > READY_FRACTION * usual:
        short = None
    length, number = int(waits.there_ns[last] - waits.there_ns[first]), last - first
    rest = round((length - int(waits.exposed_ns[within].sum())) / number)
    consumer = rest + min(short or 0, rest)
    each = round(length * period / number)
    # The mean of several batches differs less than each of them.
    spread = round(robust_deviation((times - np.median(times)) * np.sqrt(made)))
    return _Pace(
        production_ns=each - period * held_up_ns(each, spread, consumer, period),
        spread_ns=spread,
        consumer_ns=consumer,
        long_ns=round(usual),
        short_ns=short,
    )


def _burst(
    trace: Trace, batches: Batches, entries: Int64, long: Bool, workers: int | None, period: int | None,
    alike: float | None, pace: _Pace | None, gates: list[Phrase], late: bool,
) -> Burst:  # fmt: skip
    steps = find_steps(trace).steps
    exposed = int(batches.exposed_ns[entries].sum())
    number = int(batches.loader[entries[0]])
    in_a_row, a_step = batches.loaders[number].in_a_row, int((batches.loader == number).sum()) / len(steps)
    consumer = pace.consumer_ns if pace else rest_ns(trace, batches, number)
    known = workers or (period if pace else None)
    keeps_up = not pace and not late
    stalls = not pace and late and bool(long.mean() > 0.5)
    needed = workers_for(pace.production_ns, pace.spread_ns, consumer, rhythm=find_rhythm(trace)) if pace else None
    sentence = they_keep_up(known, in_a_row * consumer) if keeps_up else None
    if pace and known:
        sentence = they_are_late(known, pace.production_ns, consumer, pace.long_ns, a_step, needed)
    entered = zip(batches.step[entries].tolist(), batches.wait_ns[entries].tolist(), long.tolist(), strict=True)
    return Burst(
        workers=known,
        workers_from="stacks" if workers else "period" if known else None,
        period=period,
        autocorrelation=alike,
        long_wait_ns=pace.long_ns if pace else None,
        short_wait_ns=pace.short_ns if pace else None,
        batches=a_step,
        production_ns=pace.production_ns if pace else None,
        spread_ns=pace.spread_ns if pace else None,
        consumer_ns=consumer,
        needed_workers=needed,
        needed_factor=_factor(pace, known, consumer, exposed, len(entries) if stalls else 0),
        at_most_ns=in_a_row * consumer if keeps_up else None,
        gates=gates,
        sentence=sentence,
        check=slow_batch_instead(known) if known and not workers else None,
        waits=[BurstStep(steps[step].name, wait, is_long) for step, wait, is_long in entered],
    )


def rest_ns(trace: Trace, batches: Batches, loader: int) -> int:
    """Per batch: the steps without waits for this loader, and without beginning its epochs."""
    mine = batches.loader == loader
    span = sum(step.duration_ns for step in find_steps(trace).steps) - int(between_epochs_ns(trace).sum())
    return max(0, round((span - int(batches.exposed_ns[mine].sum())) / max(int(mine.sum()), 1)))


def _factor(pace: _Pace | None, workers: int | None, consumer: int, exposed: int, stalled: int) -> float | None:
    """How many times as many workers keep up: the loader's time for a batch over the consumer's."""
    if consumer <= 0:
        return None
    if pace and workers:
        return pace.production_ns / workers / consumer
    return (consumer + exposed / stalled) / consumer if stalled else None
