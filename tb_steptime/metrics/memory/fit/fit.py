"""The predicted peak of a training's steady steps at other batches, and the largest batch that fits."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, steps_at
from tb_steptime.metrics.memory.devices import NO_TOTALS, NOT_RECORDED, Curve, Place, curve
from tb_steptime.metrics.memory.fit.growing import PeakLine, growing_sizes, highest_lines, step_batches
from tb_steptime.metrics.memory.peak import step_peaks
from tb_steptime.text import Reason
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.table import Bool, Int64, is_in

NO_SHAPES = Reason("memory_fit_needs_shapes")
#: Margin of a prediction, in both directions: workspaces and other choices of libraries depend on shapes in ways that
#: no recording shows. All but two of the models of `benchmarks/memory_fit.py` stay within it.
MARGIN = 0.05


class Steady(msgspec.Struct, frozen=True, eq=False):
    """The basis of a prediction: the steps after the first recorded one, or the only step. The first one may allocate
    what stays. Of these steps, those that have the batch of the step with the highest peak.

    steps    indices of the steps
    curve    of the device
    within   which events of the curve are in these steps
    grown    int64, how much of the memory allocated after each event grows with the batch
    """

    batch: int
    steps: list[int]
    curve: Curve
    within: Bool
    grown: Int64


class MemoryFit(msgspec.Struct, frozen=True):
    """The peak of steady steps at any batch is the highest of `lines`. batch: the recorded one; peak_bytes: measured
    with it."""

    batch: int
    peak_bytes: int
    lines: list[PeakLine]


@shared
def steady(trace: Trace, place: Place) -> Steady | Reason:
    of = curve(trace, place)
    if not len(of.row):
        return NOT_RECORDED
    if not of.whole:
        return NO_TOTALS
    batches, peaks = step_batches(trace), step_peaks(trace, place)
    some = [number for number in range(min(1, len(batches) - 1), len(batches)) if batches[number]]
    if not some:
        return NO_SHAPES
    batch = batches[max(some, key=lambda number: peaks[number])]
    assert batch is not None
    steps = [number for number in some if batches[number] == batch]
    within = is_in(steps_at(trace, of.ts), steps)
    return Steady(batch, steps, of, within, bytes_alive(trace, place, growing_sizes(trace, batch)))


def memory_fit(trace: Trace, place: Place) -> MemoryFit | Reason:
    of = steady(trace, place)
    if isinstance(of, Reason):
        return of
    rows = np.flatnonzero(of.within)
    allocated, grown = of.curve.allocated[rows], of.grown[rows]
    lines = [
        PeakLine(line.constant, line.per_sample, int(rows[line.row]))
        for line in highest_lines(allocated - grown, grown, of.batch)
    ]
    return MemoryFit(of.batch, int(allocated.max()), lines)


def bytes_alive(trace: Trace, place: Place, size: Int64) -> Int64:
    """The sum over the live allocations after each event of the device. size: bytes of each of `allocations` that
    count."""
    found, of = allocations(trace), curve(trace, place)
    freed = found.died >= 0
    rows = np.concatenate((found.born, found.died[freed])).astype(np.int64)
    change = exact_sums(rows, np.concatenate((size, -size[freed])), len(trace.memory))
    return np.cumsum(change[of.row])


def bounds(value: float, margin: float = MARGIN) -> tuple[int, int]:
    """A prediction minus and plus the margin, in whole bytes."""
    return math.floor(value * (1 - margin)), math.ceil(value * (1 + margin))
