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

from tb_steptime.metrics.data_loading.epoch_marks import between_epochs_ns
from tb_steptime.metrics.data_loading.loaders import Batches, find_batches, most_waited
from tb_steptime.metrics.data_loading.scaling.batch_sequence import find_rhythm
from tb_steptime.metrics.data_loading.scaling.burst_gates import (
    EXPOSED_FRACTION,
    Waits,
    exposed_share,
    gates_of,
    no_period_of,
)
from tb_steptime.metrics.data_loading.scaling.burst_wording import (
    slow_batch_instead,
    they_are_late,
    they_keep_up,
)
from tb_steptime.metrics.data_loading.scaling.in_order_delivery import held_up_ns
from tb_steptime.metrics.data_loading.scaling.needed_workers import workers_for
from tb_steptime.metrics.data_loading.scaling.wait_pattern import (
    ENOUGH_WAITS,
    capped_waits,
    correlation,
    find_period,
    follows,
    long_waits,
    part_of,
)
from tb_steptime.metrics.data_loading.waits import is_multiprocess
from tb_steptime.metrics.outliers import robust_deviation
from tb_steptime.text import Phrase
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

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


@dataclass(frozen=True)
class _Pace:
    """From the first long wait to the last one of the same worker; see `Burst`."""

    production_ns: int
    spread_ns: int
    consumer_ns: int
    long_ns: int
    short_ns: int | None


@shared(between_epochs_ns, find_batches, find_rhythm, find_steps)
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
    period, alike = (workers, correlation(capped, workers)) if workers else _workers_period(waits, capped)
    long = long_waits(waits.wait_ns)
    gates = gates_of(trace, batches, loader, waits, period, alike, workers)
    pace = _pace(waits, long, period) if period and not gates else None
    if not pace and not gates:
        gates = [no_period_of(waits, alike)]
    late = exposed_share(trace, batches, loader) >= EXPOSED_FRACTION
    is_open = late and not workers and len(capped) >= ENOUGH_WAITS  # only whether the period is the workers'
    seen = period if pace or in_a_row > 1 or is_open else None
    return _burst(trace, batches, entries, long, workers, seen, alike, pace, gates, late)


def _workers_period(waits: Waits, capped: Int64) -> tuple[int | None, float | None]:
    """That of the workers, if the waits have one, unless it is the steps', and how much waits that far apart agree."""
    period, alike = find_period(capped)
    if period is None or follows(waits.wait_ns, waits.rest_ns, period):
        return period, alike
    part = part_of(capped, period)
    return part, correlation(capped, part)


def workers_from_stacks(trace: Trace) -> int | None:
    """How many threads feed requests to workers; None where no frame of one is recorded."""
    is_feeder = np.array([_FEEDER.search(name) is not None for name in trace.strings.strings], bool)
    if not is_feeder.any():
        return None
    rows = trace.events.rows(Kind.PYTHON)
    threads = np.unique(trace.events.thread[rows[is_feeder[trace.events.name[rows]]]])
    return len(threads) or None


def _longest_stretch(trace: Trace, batches: Batches, loader: int) -> tuple[Waits, Int64]:
    """The batches of an epoch, of the longest one; each epoch begins with workers that start together."""
    mine = np.flatnonzero(batches.loader == loader)
    epoch = np.cumsum(batches.first[mine])
    mine = mine[(epoch == np.bincount(epoch).argmax()) & ~batches.first[mine]] if len(mine) else mine
    end = trace.events.ends(batches.row[mine])
    return Waits(end, batches.wait_ns[mine], batches.exposed_ns[mine]), mine


def _pace(waits: Waits, long: Bool, period: int) -> _Pace | None:
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
