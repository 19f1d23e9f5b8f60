"""In which lines of the dataset the workers' time goes, est. from the recorder's looks.

looks     [a a b a]   [a a a a]   [b c a a]     three bursts; 12 looks: a 75 % of making a batch, b 17 %, c 8 %
share a     75 %        100 %       50 %        how far it may be off by chance is told by how the bursts differ
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from tb_steptime.text import Phrase, count, phrase
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.loader_records import LineLooks, LoaderRecords
from tb_steptime.trace.table import Bool, Float64, Int64

#: Looks of one burst see the same batch, so that it is bursts that count. Fewer tell no shares.
LEAST_BURSTS = 5
#: Lines that are told.
MOST_LINES = 10


class RecordedLine(msgspec.Struct, frozen=True):
    """A line as frames name it, "data.py(41): __getitem__": the innermost one outside torch and Python's library.

    share: of the time in which batches are made, est.; error: one standard deviation of it, as bursts differ (between
    clusters, Cochran, Sampling Techniques, 3rd ed., 9A.1); ns_per_batch: that share of a batch.
    """

    line: str
    share: float
    error: float
    ns_per_batch: int


class RecordedLines(msgspec.Struct, frozen=True):
    """lines: longest first; empty with why. looks, bursts: that they rest on. whole: of the whole recording, because
    there are too few in the span."""

    lines: list[RecordedLine]
    looks: int
    bursts: int
    whole: bool
    why: Phrase | None


def recorded_lines(
    records: LoaderRecords, loader: int, production_ns: int | None, window: tuple[int, int]
) -> RecordedLines:
    """Of the workers of one loader. production_ns: mean of a batch."""
    looks = records.lines
    mine = looks.loader == loader
    inside = mine & (looks.at_ns >= window[0]) & (looks.at_ns < window[1])
    whole = _bursts(looks, inside)[1] < LEAST_BURSTS
    chosen = mine if whole else inside
    bursts, total = _bursts(looks, chosen)[1], int(looks.met[chosen].sum())
    if bursts < LEAST_BURSTS or production_ns is None:
        return RecordedLines([], total, bursts, whole, _why(looks, bursts))
    lines = [
        RecordedLine(short_frame(looks.places[each.place]), each.share, each.error, round(each.share * production_ns))
        for each in line_shares(looks, chosen)[:MOST_LINES]
    ]
    return RecordedLines(lines, total, bursts, whole, None)


@dataclass(frozen=True)
class LineShare:
    """Of the looks that met workers making batches, those at one place; error: see RecordedLine."""

    place: int
    share: float
    error: float


def line_shares(looks: LineLooks, chosen: Bool) -> list[LineShare]:
    """Of the chosen rows of looks, of more than one burst, largest first. Looks at places without a name have a part in
    the whole only."""
    burst, _ = _bursts(looks, chosen)
    place, met = looks.place[chosen], looks.met[chosen]
    of_burst = np.bincount(burst, met).astype(np.float64)
    shares = []
    for number in np.unique(place[place >= 0]).tolist():
        mine = np.bincount(burst, met * (place == number)).astype(np.float64)
        share = float(mine.sum() / of_burst.sum())
        shares.append(LineShare(number, share, _error(mine, of_burst, share)))
    return sorted(shares, key=lambda each: (-each.share, looks.places[each.place]))


def _bursts(looks: LineLooks, chosen: Bool) -> tuple[Int64, int]:
    """The burst of each chosen row, and how many there are."""
    keys = np.stack((looks.worker[chosen], looks.at_ns[chosen]), axis=1)
    found, burst = np.unique(keys, axis=0, return_inverse=True)
    return burst.reshape(-1).astype(np.int64), len(found)


def _error(mine: Float64, whole: Float64, share: float) -> float:
    bursts = len(whole)
    return float(np.sqrt(bursts / (bursts - 1) * ((mine - share * whole) ** 2).sum()) / whole.sum())


def _why(looks: LineLooks, bursts: int) -> Phrase:
    if looks.late and looks.late >= bursts:
        return phrase("Lines cannot be told: the machine was too busy to look at the workers in time.")
    return phrase(
        "Lines cannot be told: the recorder looked at the workers {bursts} times, once a second at most, and {least} "
        "are needed. Let the training run for longer.",
        bursts=count(bursts),
        least=count(LEAST_BURSTS),
    )
