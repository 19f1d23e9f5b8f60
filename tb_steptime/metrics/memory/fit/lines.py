"""The peak as a function of the batch: the maximum of the lines that belong to instants of steady steps.

instant     constant   per sample     at 8     at 64
a                100            4      132       356
b                180            1      188       244      the peak is at b up to a batch of 26, at a from 27 on
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.table import Int64


class PeakLine(msgspec.Struct, frozen=True):
    """Memory at an instant for any batch: constant + batch x per_sample, bytes. row: the instant, as a row of the
    device's curve."""

    constant: int
    per_sample: float
    row: int

    def at(self, batch: float) -> float:
        return self.constant + self.per_sample * batch


def highest_lines(constant: Int64, growing: Int64, batch: int) -> list[PeakLine]:
    """The lines that are the highest at some batch from 0 on, the flattest first; growing / batch is per sample.

    >>> [line.row for line in highest_lines(np.array([100, 180, 90]), np.array([32, 8, 8]), 8)]
    [1, 0]
    """
    kept: list[int] = []
    for row in _steeper_and_lower(constant, growing):
        while kept and _needless(constant, growing, batch, kept, row):
            kept.pop()
        kept.append(row)
    return [PeakLine(int(constant[row]), float(growing[row]) / batch, row) for row in kept]


def _steeper_and_lower(constant: Int64, growing: Int64) -> list[int]:
    """Rows by rising slope, so that constants fall; without rows that another one exceeds at every batch."""
    order = np.lexsort((constant, growing))[::-1]
    highest = np.maximum.accumulate(constant[order])
    first = np.append(True, highest[1:] > highest[:-1]) if len(order) else order
    rows: list[int] = order[np.flatnonzero(first)][::-1].tolist()
    return rows


def _needless(constant: Int64, growing: Int64, batch: int, kept: list[int], row: int) -> bool:
    """Whether the last kept line is nowhere above both its neighbours."""
    if len(kept) < 2:
        return False
    before, last = kept[-2], kept[-1]
    return _crossing(constant, growing, batch, before, row) <= _crossing(constant, growing, batch, before, last)


def _crossing(constant: Int64, growing: Int64, batch: int, flat: int, steep: int) -> float:
    return float(constant[flat] - constant[steep]) * batch / float(growing[steep] - growing[flat])


def peak_at(lines: list[PeakLine], batch: float) -> float:
    """Bytes at this batch."""
    return max(line.at(batch) for line in lines)


def largest_batch(lines: list[PeakLine], limit: float) -> int | None:
    """The largest whole batch whose peak is within the limit; 0 if there is none, None if every batch fits."""
    if any(line.constant > limit for line in lines):
        return 0
    most = [(limit - line.constant) / line.per_sample for line in lines if line.per_sample > 0]
    return int(min(most)) if most else None
