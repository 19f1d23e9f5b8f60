"""Waits that come back: which of a loader's waits are long, and at what distance they are alike.

wait   #__#__#__#__      long, short, short, again and again: the period is 3

wait   ##_##_##_##_      a longer step gives the workers time, so that the next wait is short: the period is the steps'
rest   ..-..-..-..-
"""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.table import Bool, Float64, Int64

#: A pattern that is seen three times is one.
PERIODS = 3
#: Of waits at the distance of a period; noise of fifteen steps reaches it once in a hundred.
ALIKE = 0.7
#: Waits below this share of the long ones are all the same: short.
SHORT_FRACTION = 0.05
#: Of two periods that fit equally well the shorter one is the number of workers: its multiples fit, too.
AS_GOOD = 0.15
#: Of waits at the distance of a part of a period. Where longer steps spare some of the workers' rounds a long wait, a
#: multiple of their number may be what fits best.
ALIKE_IN_PART = 0.4
#: More workers than one machine feeds.
MOST_WORKERS = 64
#: Of fewer waits only a period of two can show, so that any other number of workers is two if it is told: of even
#: batches that happens three times as often as of these, while another three waits mend little.
ENOUGH_WAITS = PERIODS * 3
#: More workers of one process are rare, as a machine has fewer cores for each of its GPUs: waits that are as far apart
#: as that are more often those for a batch that is slow now and then.
MOST_LIKELY = 24
#: Of what waits differ by; a rest of the step that differs by less does not make them.
MAKES_WAITS = 0.5


def long_waits(wait_ns: Int64) -> Bool:
    """At least half as long as the third longest."""
    cap = np.sort(wait_ns)[-min(PERIODS, len(wait_ns))]
    long: Bool = np.asarray(2 * wait_ns >= max(int(cap), 1))
    return long


def capped_waits(wait_ns: Int64) -> Int64:
    """Waits, from the first long one on, with what is longer than the third longest cut: a stall is no pattern."""
    long = np.flatnonzero(long_waits(wait_ns))
    values = wait_ns[long[0] if len(long) else 0 :]
    capped: Int64 = np.minimum(values, np.sort(values)[-min(PERIODS, len(values))])
    return capped


def correlation(wait_ns: Int64, lag: int) -> float | None:
    """Of the waits with those `lag` batches later; None where they do not differ or are too few.

    By their order of magnitude: a long wait that a pause of the host has made shorter is a long one still.
    """
    if len(wait_ns) <= lag + 1:
        return None
    size = np.log1p(wait_ns / max(1.0, SHORT_FRACTION * float(wait_ns.max())))
    one, other = size[:-lag], size[lag:]
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale > 0 else None


def find_period(wait_ns: Int64) -> tuple[int | None, float | None]:
    """The shortest lag at which the waits are alike, and how much; (None, the best) where none is."""
    lags = range(2, min(len(wait_ns) // PERIODS, MOST_WORKERS) + 1)
    found = {lag: alike for lag in lags if (alike := correlation(wait_ns, lag)) is not None}
    if not found:
        return None, None
    best = max(found.values())
    if best < ALIKE:
        return None, best
    lag = next(lag for lag, alike in found.items() if alike >= max(ALIKE, best - AS_GOOD))
    return lag, found[lag]


def part_of(wait_ns: Int64, lag: int) -> int:
    """The number of workers where waits are alike at a multiple of it: the part of the lag that fits best, or all."""
    parts = {part: correlation(wait_ns, part) or 0.0 for part in range(2, lag) if lag % part == 0}
    part = max(parts, key=lambda each: parts[each], default=lag)
    return part if parts.get(part, 0.0) >= ALIKE_IN_PART else lag


def follows(wait_ns: Int64, rest_ns: Int64, lag: int) -> bool:
    """Whether waits have this period because the rest of the step has it; rest_ns: before each wait but the first.

    In a long rest workers make batches in advance, so that the wait after it is short. The other way round, a long wait
    makes no rest longer: at most the one after it shorter, as the device has caught up.
    """
    alike = correlation(np.minimum(rest_ns, np.sort(rest_ns)[-2]), lag) if len(rest_ns) > 1 else None
    if alike is None or alike < ALIKE:
        return False
    wait, rest = _by_place(wait_ns[1:], lag), _by_place(rest_ns, lag)
    return bool((wait - wait.mean()) @ (rest - rest.mean()) < 0 and np.ptp(rest) >= MAKES_WAITS * np.ptp(wait))


def _by_place(values: Int64, lag: int) -> Float64:
    """The usual value of each place in the period."""
    return np.array([np.median(values[place::lag]) for place in range(lag)])
