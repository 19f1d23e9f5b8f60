"""The lines of the dataset in which the workers' time goes, estimated from the recorder's samples.

samples   [a a b a]   [a a a a]   [b c a a]     three bursts; 12 samples: a 75 % of producing a batch, b 17 %, c 8 %
share a     75 %        100 %       50 %        how the bursts differ shows how far it may be off by chance
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text import Reason, count
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.loader_records import LineSamples, LoaderRecords
from tb_steptime.trace.table import Bool, Float64, Int64, distinct

#: Minimum number of bursts for which shares are shown. The samples of one burst see the same batch, so the number of
#: bursts counts.
LEAST_BURSTS = 5
#: Lines that are shown.
MOST_LINES = 10


class RecordedLine(msgspec.Struct, frozen=True):
    """The innermost line outside torch and Python's library, as frames name it: "data.py(41): __getitem__".

    share          estimated share of the time in which batches are produced
    error          one standard deviation of share, from the differences between bursts (between clusters, Cochran,
                   Sampling Techniques, 3rd ed., 9A.1)
    ns_per_batch   share of the time of a batch
    """

    line: str
    share: float
    error: float
    ns_per_batch: int


class RecordedLines(msgspec.Struct, frozen=True):
    """The lines of source code in which workers spend their time.

    lines             those with the most time first; empty with why
    samples, bursts   number of samples, and of bursts of samples, that they are based on
    whole             they cover the whole recording, because the span has too few samples
    """

    lines: list[RecordedLine]
    samples: int
    bursts: int
    whole: bool
    why: Reason | None


def recorded_lines(
    records: LoaderRecords, loader: int, production_ns: int | None, window: tuple[int, int]
) -> RecordedLines:
    """Returns the lines of the workers of one loader. production_ns: mean of a batch."""
    samples = records.lines
    mine = samples.loader == loader
    inside = mine & (samples.at_ns >= window[0]) & (samples.at_ns < window[1])
    whole = _bursts(samples, inside)[1] < LEAST_BURSTS
    chosen = mine if whole else inside
    bursts, total = _bursts(samples, chosen)[1], int(samples.count[chosen].sum())
    if bursts < LEAST_BURSTS or production_ns is None:
        return RecordedLines([], total, bursts, whole, _why(samples, bursts))
    lines = [
        RecordedLine(
            short_frame(samples.locations[each.location]), each.share, each.error, round(each.share * production_ns)
        )
        for each in line_shares(samples, chosen)[:MOST_LINES]
    ]
    return RecordedLines(lines, total, bursts, whole, None)


class LineShare(msgspec.Struct, frozen=True):
    """The share of one location in the samples of workers that produce batches; error: see RecordedLine."""

    location: int
    share: float
    error: float


def line_shares(samples: LineSamples, chosen: Bool) -> list[LineShare]:
    """The shares of the chosen rows with more than one burst, largest first. Locations without a name count towards the
    total."""
    burst, _ = _bursts(samples, chosen)
    location, number_of = samples.location[chosen], samples.count[chosen]
    of_burst = np.bincount(burst, number_of).astype(np.float64)
    shares = []
    for number in distinct(location[location >= 0]).tolist():
        mine = np.bincount(burst, number_of * (location == number)).astype(np.float64)
        share = float(mine.sum() / of_burst.sum())
        shares.append(LineShare(number, share, _error(mine, of_burst, share)))
    return sorted(shares, key=lambda each: (-each.share, samples.locations[each.location]))


def _bursts(samples: LineSamples, chosen: Bool) -> tuple[Int64, int]:
    """The burst of each chosen row, and how many there are."""
    keys = np.stack((samples.worker[chosen], samples.at_ns[chosen]), axis=1)
    found, burst = np.unique(keys, axis=0, return_inverse=True)
    return burst.reshape(-1).astype(np.int64), len(found)


def _error(mine: Float64, whole: Float64, share: float) -> float:
    bursts = len(whole)
    return float(np.sqrt(bursts / (bursts - 1) * ((mine - share * whole) ** 2).sum()) / whole.sum())


def _why(samples: LineSamples, bursts: int) -> Reason:
    if samples.late and samples.late >= bursts:
        return Reason("machine_too_busy_to_sample_lines")
    return Reason("too_few_line_samples", {"bursts": count(bursts), "least": count(LEAST_BURSTS)})
