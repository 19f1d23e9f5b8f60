"""Why one step in W waits: W workers that are slower than the steps deliver in bursts.

worker 0   000000000333333333
worker 1   111111111444444444      W = 3: one long wait, then two short ones, again and again
worker 2   222222222555555555
step       ........00 11 22...33   P: from a long wait's end to that of the next one of the same worker
                                   C: the step without its exposed wait; N = ceil(P / C) workers keep up
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading import is_multiprocess
from tb_steptime.metrics.epoch_starts import between_epochs_ns
from tb_steptime.metrics.loaders import Batches, find_batches, most_waited, steady_wait_ns
from tb_steptime.metrics.spread import robust_deviation
from tb_steptime.phrases import Phrase, agreeing, count, fraction, ns, phrase
from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind

#: Below a twentieth of the step there is no stall whose pattern could be told from noise.
EXPOSED_FRACTION = 0.05
#: A pattern that is seen three times is one.
PERIODS = 3
#: Of waits at the distance of a period; noise of fifteen steps reaches it once in a hundred.
ALIKE = 0.7
#: Waits below this share of the long ones are all the same: short.
SHORT_FRACTION = 0.05
#: Of two periods that fit equally well the shorter one is the number of workers: its multiples fit, too.
AS_GOOD = 0.15
#: More workers than one machine feeds.
MOST_WORKERS = 64
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
    the more a batch's time varies, the more of these wait, too. batches: that a step takes of this loader.
    production_ns: one worker's time for one batch; spread_ns: its standard deviation; consumer_ns: the step without
    exposed waits, per batch. needed_workers: None where workers is; needed_factor: as many times more workers keep up,
    known without their number. at_most_ns: where the loader keeps up, a worker takes at most so long for a batch, times
    the number of workers.
    gates: what is not fulfilled, each "... cannot be told from this trace, because ..." in full; empty: all are.
    sentence: what there is to say, whichever. waits: all batches of the loader that is waited for most.
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
    waits: list[BurstStep]


@dataclass(frozen=True, eq=False)
class _Waits:
    """Of one loader's batches between two ends of an epoch: at which instant each is there, and what it cost."""

    there_ns: Int64
    wait_ns: Int64
    exposed_ns: Int64

    def __len__(self) -> int:
        return len(self.wait_ns)


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
    period, alike = (workers, _alike(_capped(waits), workers)) if workers else _period(_capped(waits))
    long = _long(waits)
    gates = _gates(trace, batches, loader, waits, period, alike, workers)
    pace = _pace(waits, long, period) if period and not gates else None
    if not pace and not gates:
        gates = [_no_period(waits, alike)]
    late = _exposed_share(trace, batches, loader) >= EXPOSED_FRACTION
    seen = period if pace or in_a_row > 1 else None
    return _burst(trace, batches, entries, long, workers, seen, alike, pace, gates, late)


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


def _capped(waits: _Waits) -> Int64:
    """Waits, from the first long one on, with what is longer than the third longest cut: a stall is no pattern."""
    long = np.flatnonzero(_long(waits))
    values = waits.wait_ns[long[0] if len(long) else 0 :]
    capped: Int64 = np.minimum(values, np.sort(values)[-min(PERIODS, len(values))])
    return capped


def _long(waits: _Waits) -> Bool:
    """At least half as long as the third longest."""
    cap = np.sort(waits.wait_ns)[-min(PERIODS, len(waits))]
    long: Bool = np.asarray(2 * waits.wait_ns >= max(int(cap), 1))
    return long


def _alike(values: Int64, lag: int) -> float | None:
    """Correlation of the waits with those `lag` batches later; None where they do not differ or are too few.

    By their order of magnitude: a long wait that a pause of the host has made shorter is a long one still.
    """
    if len(values) <= lag + 1:
        return None
    size = np.log1p(values / max(1.0, SHORT_FRACTION * float(values.max())))
    one, other = size[:-lag], size[lag:]
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale > 0 else None


def _period(values: Int64) -> tuple[int | None, float | None]:
    """The shortest lag at which the waits are alike, and how much; (None, the best) where none is."""
    lags = range(2, min(len(values) // PERIODS, MOST_WORKERS) + 1)
    found = {lag: alike for lag in lags if (alike := _alike(values, lag)) is not None}
    if not found:
        return None, None
    best = max(found.values())
    if best < ALIKE:
        return None, best
    lag = next(lag for lag, alike in found.items() if alike >= max(ALIKE, best - AS_GOOD))
    return lag, found[lag]


def _gates(
    trace: Trace, batches: Batches, loader: int, waits: _Waits, period: int | None, alike: float | None,
    workers: int | None,
) -> list[Phrase]:  # fmt: skip
    """What keeps the production time from being told; the first one is what the user reads."""
    share = _exposed_share(trace, batches, loader)
    if share < EXPOSED_FRACTION:
        return [
            phrase(
                "How long a batch takes cannot be told from this trace, because late batches take only {share} of "
                "the step.",
                share=fraction(share),
            )
        ]
    if batches.loaders[loader].in_a_row > 1:
        return [how_many_in_a_row(batches.loaders[loader].in_a_row)]
    if workers:
        return _gates_of_known(waits, workers)
    if len(_capped(waits)) < PERIODS * 2:
        return [_too_few(len(waits))]
    if period is None:
        return [_no_period(waits, alike)]
    return []


def how_many_in_a_row(batches: int) -> Phrase:
    """Of one loader, they are used up that many times as fast as of as many zipped ones."""
    return phrase(
        "How many workers keep up cannot be told from this trace, because a step asks for {batches} batches in a row: "
        "one loader may make them, or several. A recorder tells.",
        batches=count(batches),
    )


def _gates_of_known(waits: _Waits, workers: int) -> list[Phrase]:
    """With the number of workers known the waits need no pattern, but each round of the workers has to wait once."""
    long = _long(waits)[len(waits) % workers :]
    if len(waits) < PERIODS * workers:
        return [_too_few(len(waits))]
    if not long.reshape(-1, workers).any(axis=1).all():
        return [
            phrase(
                "How long a batch takes cannot be told from this trace, because its {workers} workers "
                "keep up at times.",
                workers=count(workers),
            )
        ]
    return []


def _too_few(batches: int) -> Phrase:
    return phrase(
        "How long a batch takes cannot be told from this trace, because it shows only {batches} batches of an epoch: "
        "record three times as many steps as there are workers.",
        batches=count(batches),
    )


def _no_period(waits: _Waits, alike: float | None) -> Phrase:
    if _long(waits).mean() > 0.5:
        return phrase(
            "How many workers there are cannot be told from this trace, because every step waits alike: one worker, or "
            "several that take turns evenly."
        )
    return phrase(
        "How many workers there are cannot be told from this trace, because its waits have no period: they "
        "correlate by {alike} at best.",
        alike=fraction(alike),
    )


def _exposed_share(trace: Trace, batches: Batches, loader: int) -> float:
    """Of the steps, without what each wait lasts though its batch lies ready."""
    total = sum(step.duration_ns for step in find_steps(trace).steps)
    exposed = batches.exposed_ns[batches.of(loader)] - (steady_wait_ns(trace, batches, loader) or 0)
    return int(np.maximum(exposed, 0).sum()) / total if total else 0.0


def _pace(waits: _Waits, long: Bool, period: int) -> _Pace | None:
    """From the longest waits' place in the round, which is one worker's: from there to there it made so many batches.

    Nothing else is in these times, because a worker that is waited for begins its next batch at once.
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
    short = round(float(np.percentile(waits.wait_ns[others], 10))) if len(others) else None
    length, number = int(waits.there_ns[last] - waits.there_ns[first]), last - first
    rest = (length - int(waits.exposed_ns[within].sum())) / number
    return _Pace(
        production_ns=round(length * period / number),
        spread_ns=round(robust_deviation(times)),
        consumer_ns=round(rest) + min(short or 0, round(rest)),
        long_ns=round(float(waits.wait_ns[leader].mean())),
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
    waits = [
        BurstStep(steps[step].name, wait, is_long)
        for step, wait, is_long in zip(
            batches.step[entries].tolist(), batches.wait_ns[entries].tolist(), long.tolist(), strict=True
        )
    ]
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
        needed_workers=workers_for(pace.production_ns, pace.spread_ns, consumer) if pace else None,
        needed_factor=_factor(pace, known, consumer, exposed, len(entries) if stalls else 0),
        at_most_ns=in_a_row * consumer if keeps_up else None,
        gates=gates,
        sentence=_sentence(known, pace, in_a_row * consumer, a_step, keeps_up),
        waits=waits,
    )


def rest_ns(trace: Trace, batches: Batches, loader: int) -> int:
    """Per batch: the steps without waits for this loader, and without beginning its epochs."""
    mine = batches.loader == loader
    span = sum(step.duration_ns for step in find_steps(trace).steps) - int(between_epochs_ns(trace).sum())
    return max(0, round((span - int(batches.exposed_ns[mine].sum())) / max(int(mine.sum()), 1)))


def workers_for(production_ns: int, spread_ns: int, consumer_ns: int) -> int | None:
    """The fewest workers that keep up; None where nothing consumes.

    Batches that take longer than usual are made up for by those of the other workers, the better the more there are.
    """
    if consumer_ns <= 0:
        return None
    likely_ns = production_ns + spread_ns / math.sqrt(max(1.0, production_ns / consumer_ns))
    return max(1, math.ceil(likely_ns / consumer_ns))


def _factor(pace: _Pace | None, workers: int | None, consumer: int, exposed: int, stalled: int) -> float | None:
    """How many times as many workers keep up: the loader's time for a batch over the consumer's."""
    if consumer <= 0:
        return None
    if pace and workers:
        return pace.production_ns / workers / consumer
    return (consumer + exposed / stalled) / consumer if stalled else None


def _sentence(workers: int | None, pace: _Pace | None, consumer: int, batches: float, keeps_up: bool) -> Phrase | None:
    """None where a gate's sentence is all there is to say."""
    if pace and workers:
        return _explained(workers, pace, batches)
    if keeps_up and workers:
        return phrase(
            "The {workers} workers keep up: each takes at most {most} for a batch.",
            workers=count(workers),
            most=ns(workers * consumer),
        )
    if keeps_up:
        return phrase(
            "The workers keep up: each takes at most {most} for a batch, times their number.", most=ns(consumer)
        )
    return None


def _explained(workers: int, pace: _Pace, batches: float) -> Phrase:
    needed = workers_for(pace.production_ns, pace.spread_ns, pace.consumer_ns)
    who = agreeing("{workers} (worker needs|workers need) {batch} per batch", workers)
    when = one_in(workers, batches)
    ends = "; {needed} workers would end it." if needed else "."
    return phrase(
        who + ", " + rest_of_step(batches) + " {rest}: " + when + " waits {wait}" + ends,
        workers=count(workers),
        batch=ns(pace.production_ns),
        rest=ns(pace.consumer_ns),
        wait=ns(pace.long_ns),
        needed=count(needed),
    )


#: A loader of which a step takes one batch misses some, or has some more, at the ends of epochs.
_ABOUT_ONE = 0.1


def is_one_a_step(batches: float) -> bool:
    return abs(batches - 1) < _ABOUT_ONE


def rest_of_step(batches: float) -> str:
    """What `consumer_ns` is, as words of a phrase."""
    return "the rest of the step" if is_one_a_step(batches) else "the loop uses one up in"


def one_in(workers: int, batches: float = 1.0) -> str:
    """Which steps wait, as words of a phrase that has {workers} among its values; which batches, where a step takes
    several."""
    words = {1: "every step", 2: "every second step", 3: "every third step"}.get(workers, "one step in {workers}")
    return words if is_one_a_step(batches) else words.replace("step", "batch")
