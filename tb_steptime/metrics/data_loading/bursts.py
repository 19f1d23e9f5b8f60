"""Why one step in W waits: W workers that are slower than the steps deliver in bursts.

worker 0   000000000333333333
worker 1   111111111444444444      W = 3: one long wait, then two short ones, again and again
worker 2   222222222555555555
step       ........00 11 22...33   P: from a long wait's end to that of the next one of the same worker
                                   C: the step without its exposed wait; N = ceil(P / C) workers keep up

The period of the waits is the number of workers, unless longer steps recur with the same period. If that or anything
else is uncertain, no number of workers is stated; only a recorder can tell then.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.in_order import BatchProduction
from tb_steptime.metrics.data_loading.loaders import (
    Batches,
    MainLoader,
    between_epochs_ns,
    find_batches,
    main_loader,
    short_wait_ns,
)
from tb_steptime.metrics.data_loading.waits import work_from_before
from tb_steptime.metrics.means import robust_deviation
from tb_steptime.text import Reason, fraction, ns
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int64, median, percentile

#: Number of repetitions from which on a period is a pattern.
PERIODS = 3
#: Minimum number of waits. Fewer can only show a period of two, so any number of workers would be taken for two.
ENOUGH_WAITS = PERIODS * 3
#: Minimum correlation of waits at the distance of a period. Noise of fifteen steps reaches it once in a hundred times.
ALIKE = 0.7
#: A shorter period whose correlation is lower by at most this is preferred as the number of workers, because the
#: multiples of a period fit as well.
AS_GOOD = 0.15
#: Correlation at a divisor of the period that is not chance. The period may be a multiple of the number of workers
#: then.
ALIKE_IN_PART = 0.4
#: Maximum period that is taken for a number of workers. One process rarely has more, and waits that are further apart
#: are more often for an occasional slow batch.
MOST_LIKELY = 24
#: Scripts and examples set up to eight workers. If the waits have a longer period, a slow batch is just as likely to be
#: the cause.
LIKELY_WORKERS = 8
#: Waits below this share of the longest one are all short, and their lengths are not distinguished.
SHORT_FRACTION = 0.05
#: The remainder of the step does not cause the waits if it varies by less than this share of their variation.
CAUSES_WAITS = 0.5
#: If late waits are below this share of the step, noise hides any pattern.
EXPOSED_FRACTION = 0.05
#: Share of a long wait. If the other waits are not shorter than this, they are for late batches as well, and not for
#: prefetched ones.
READY_FRACTION = 0.25

#: Maximum number of waits in the picture, counted from the first one.
MOST_SHOWN = 5_000

AMBIGUOUS = Reason("ambiguous_record_the_workers")


class BurstStep(msgspec.Struct, frozen=True):
    """A wait in the order of the batches: its step, its length, whether it is one of the long ones, and how much of it
    the device's work hides."""

    step: str
    wait_ns: int
    long: bool
    hidden_ns: int = 0


class Burst(msgspec.Struct, frozen=True):
    """Whether waits come in bursts, for the longest epoch; times are means in ns.

    consumer_ns       the step without exposed waits, per batch
    workers           number of workers that the period shows; where it is None, `why` says why
    workers_from      the evidence ("stacks" in summaries of earlier releases)
    period            distance of similar waits, in batches
    autocorrelation   correlation of waits at that distance
    long_wait_ns      mean wait for the worker with the most waiting
    short_wait_ns     time for a prefetched batch, the tenth percentile of the other waits; None if these are not much
                      shorter
    production_ns, spread_ns   one worker's time for one batch, and its standard deviation
    """

    consumer_ns: int
    waits: list[BurstStep]
    workers: int | None = None
    workers_from: Literal["stacks", "period"] | None = None
    period: int | None = None
    autocorrelation: float | None = None
    long_wait_ns: int | None = None
    short_wait_ns: int | None = None
    production_ns: int | None = None
    spread_ns: int | None = None
    why: Reason | None = None


class Waits(msgspec.Struct, frozen=True, eq=False):
    """The waits for one loader's batches in one epoch: when each batch arrived, and how long the wait was."""

    arrived_ns: Int64
    wait_ns: Int64
    exposed_ns: Int64


@shared
def find_burst(trace: Trace) -> Burst | None:
    """Finds the bursts of the loader with the longest total wait; None if no loader is waited for, or the main process
    is the loader."""
    batches, main = find_batches(trace), main_loader(trace)
    entries = _longest_epoch(batches, main.loader) if main and main.multiprocess is not False else np.empty(0, np.int64)
    if main is None or not len(entries):
        return None
    waits = Waits(trace.events.ends(batches.row[entries]), batches.wait_ns[entries], batches.exposed_ns[entries])
    period, alike = find_period(capped_waits(waits.wait_ns))
    why = _why_unknown(trace, main, waits, period)
    wait_ns, steps = batches.wait_ns[entries], find_steps(trace).steps
    hidden_ns = wait_ns - batches.exposed_ns[entries]
    columns = (batches.step[entries].tolist(), wait_ns.tolist(), long_waits(wait_ns).tolist(), hidden_ns.tolist())
    unknown = Burst(
        consumer_ns=rest_ns(trace, main.loader),
        waits=[BurstStep(steps[step].name, *more) for step, *more in zip(*columns, strict=True)][:MOST_SHOWN],
        period=period if why == AMBIGUOUS else None,
        autocorrelation=alike,
        why=why or AMBIGUOUS,
    )
    return _with_pace(unknown, waits, period) if why is None and period else unknown


def rest_ns(trace: Trace, loader: int) -> int:
    """Returns the time of the steps per batch, without waits for this loader, starts of epochs, and work from before
    the recording."""
    batches, steps = find_batches(trace), find_steps(trace)
    of_loader = batches.loader == loader
    before = steps.overlap_ns(work_from_before(trace))
    span = int((steps.duration_ns - before).sum()) - int(between_epochs_ns(trace).sum())
    return max(0, round((span - int(batches.exposed_ns[of_loader].sum())) / max(int(of_loader.sum()), 1)))


def may_be_turns(wait_ns: Int64, long: Int64) -> bool:
    """Returns whether workers may deliver in turns although too few turns are recorded for a period: two waits are long
    and about equal, as far apart as a usual number of workers is, and no other batch at that distance is recorded.

    >>> waits = np.array([0, 0, 60, 0, 0, 0, 64, 0])
    >>> may_be_turns(waits, np.array([2, 6])), may_be_turns(np.tile(waits, 2)[:14], np.array([2, 6]))
    (True, False)
    """
    if len(long) != 2:
        return False
    turn, lengths = int(long[1] - long[0]), wait_ns[long]
    alone = long[0] < turn and long[1] + turn >= len(wait_ns)
    return bool(1 < turn <= LIKELY_WORKERS and alone and 2 * lengths.min() >= lengths.max())


def long_waits(wait_ns: Int64) -> Bool:
    """Returns which waits are at least half as long as the third longest."""
    return np.asarray(2 * wait_ns >= max(_third_longest(wait_ns), 1))


def capped_waits(wait_ns: Int64) -> Int64:
    """Returns the waits from the first long one on, limited to the third longest, because a stall is not part of a
    pattern."""
    values = wait_ns[int(long_waits(wait_ns).argmax()) :]
    return np.minimum(values, _third_longest(values))


def _third_longest(wait_ns: Int64) -> int:
    return int(np.sort(wait_ns)[-min(PERIODS, len(wait_ns))])


def correlation(wait_ns: Int64, lag: int) -> float | None:
    """Returns the correlation of the waits with those `lag` batches later; None if they do not vary or are too few.

    Waits are compared by order of magnitude, so a long wait that a pause of the host has shortened still counts as
    long.
    """
    if len(wait_ns) <= lag + 1:
        return None
    size = np.log1p(wait_ns / max(1.0, SHORT_FRACTION * float(wait_ns.max())))
    one, other = size[:-lag] - size[:-lag].mean(), size[lag:] - size[lag:].mean()
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale > 0 else None


def find_period(wait_ns: Int64) -> tuple[int | None, float | None]:
    """Returns the shortest lag at which the waits are similar, and their correlation; if there is none, None and the
    best correlation."""
    lags = range(2, len(wait_ns) // PERIODS + 1)
    correlations = {lag: alike for lag in lags if (alike := correlation(wait_ns, lag)) is not None}
    best = max(correlations.values(), default=None)
    if best is None or best < ALIKE:
        return None, best
    lag = next(lag for lag, alike in correlations.items() if alike >= max(ALIKE, best - AS_GOOD))
    return lag, correlations[lag]


def follows(wait_ns: Int64, rest_ns: Int64, lag: int) -> bool:
    """Returns whether waits have this period because the remainder of the step has it. rest_ns: the remainder before
    each wait but the first one.

    During a long remainder workers prefetch batches, so the wait after it is short. Conversely, a long wait does not
    lengthen a remainder. At most it shortens the one after it, because the device has caught up.
    """
    alike = correlation(np.minimum(rest_ns, np.sort(rest_ns)[-2]), lag) if len(rest_ns) > 1 else None
    if alike is None or alike < ALIKE:
        return False
    wait, rest = _by_place(wait_ns[1:], lag), _by_place(rest_ns, lag)
    return bool((wait - wait.mean()) @ (rest - rest.mean()) < 0 and np.ptp(rest) >= CAUSES_WAITS * np.ptp(wait))


def _by_place(values: Int64, lag: int) -> Float64:
    """Returns the median of the values at each place in the period."""
    return np.array([median(values[place::lag]) for place in range(lag)])


def _longest_epoch(batches: Batches, loader: int) -> Int64:
    """Returns the entries of the batches of the longest epoch without its first batch, because workers start together
    in each epoch."""
    of_loader = np.flatnonzero(batches.loader == loader)
    epoch = np.cumsum(batches.first[of_loader])
    return of_loader[(epoch == np.bincount(epoch).argmax()) & ~batches.first[of_loader]]


def _why_unknown(trace: Trace, main: MainLoader, waits: Waits, period: int | None) -> Reason | None:
    """Returns the reason why the production time is not known; None if it is."""
    share = _late_share(trace, main.loader)
    if share < EXPOSED_FRACTION:
        most_ns = ns(main.in_a_row * rest_ns(trace, main.loader))
        return Reason("late_batches_are_few", {"share": fraction(share), "most": most_ns})
    settled = main.in_a_row == 1 and period is not None and _is_of_workers(waits, period)
    return None if settled else AMBIGUOUS


def _late_share(trace: Trace, loader: int) -> float:
    """Returns the share of the steps that is spent in exposed waits, without the part of each wait that remains if its
    batch is ready."""
    batches = find_batches(trace)
    total = sum(step.duration_ns for step in find_steps(trace).steps)
    late_ns = batches.exposed_ns[batches.of(loader)] - (short_wait_ns(trace, batches, loader) or 0)
    return int(np.maximum(late_ns, 0).sum()) / total if total else 0.0


def _is_of_workers(waits: Waits, period: int) -> bool:
    """Returns whether only the number of workers can cause this period."""
    capped = capped_waits(waits.wait_ns)
    rest = np.diff(waits.arrived_ns) - waits.wait_ns[1:]
    parts = [part for part in range(2, period) if period % part == 0]
    multiple = any((correlation(capped, part) or 0.0) >= ALIKE_IN_PART for part in parts)
    enough = len(capped) >= ENOUGH_WAITS and period <= MOST_LIKELY
    return enough and not multiple and _differs(capped, period) and not follows(waits.wait_ns, rest, period)


def _differs(capped: Int64, period: int) -> bool:
    """Returns whether waits at one place of the round are usually short. If all are long, as with one worker, noise has
    a period by chance."""
    return bool(2 * _by_place(capped, period).min() < _third_longest(capped))


def _with_pace(burst: Burst, waits: Waits, period: int) -> Burst:
    """Adds the pace. The longest waits' place in the round belongs to one worker, which produced its batches between
    them.

    These times contain little else, because a worker whose batch is waited for begins its next one at once. If batches
    are uneven, the times also contain the worker's idle time after quick ones, while another worker's slow batch blocks
    the loop.
    """
    long = long_waits(waits.wait_ns)
    rounds = [np.flatnonzero(long[place::period]) * period + place for place in range(period)]
    leader = max(rounds, key=lambda each: int(waits.wait_ns[each].sum()))
    if len(leader) < 2:
        return burst
    first, last = int(leader[0]), int(leader[-1])
    within, number = slice(first + 1, last + 1), last - first
    length = int(waits.arrived_ns[last] - waits.arrived_ns[first])
    rest = round((length - int(waits.exposed_ns[within].sum())) / number)
    usual = round(float(waits.wait_ns[leader].mean()))
    # The more the times of batches vary, the more of the shorter waits are for late batches as well.
    others = waits.wait_ns[within][~long[within]]
    short = round(percentile(others, 10)) if len(others) else None
    short = None if short is None or short > READY_FRACTION * usual else short
    consumer = rest + min(short or 0, rest)
    batches = np.diff(leader) // period
    times = np.diff(waits.arrived_ns[leader]) / batches
    # The mean of several batches differs less than each of them.
    spread = round(robust_deviation((times - median(times)) * np.sqrt(batches)))
    each = round(length * period / number)
    return msgspec.structs.replace(
        burst,
        workers=period,
        workers_from="period",
        period=period,
        long_wait_ns=usual,
        short_wait_ns=short,
        production_ns=each - period * BatchProduction(each, spread).blocked_ns(period, consumer),
        spread_ns=spread,
        consumer_ns=consumer,
        why=None,
    )
