"""What the peak of a training's steady steps would be at other batches, and which batch is the largest that fits."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations
from tb_steptime.metrics.memory.births import steps_at
from tb_steptime.metrics.memory.devices import NO_TOTALS, NOT_RECORDED, Curve, Place, curve
from tb_steptime.metrics.memory.fit.batch import step_batches
from tb_steptime.metrics.memory.fit.growing import growing
from tb_steptime.metrics.memory.fit.lines import PeakLine, highest_lines
from tb_steptime.metrics.memory.peak import step_peaks
from tb_steptime.text import Reason
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64

NO_SHAPES = Reason("memory_fit_needs_shapes")
#: Of what is predicted, either way: workspaces and other choices of libraries depend on shapes in ways that no
#: recording tells. All but two of the models of `benchmarks/memory_fit.py` stay within it.
MARGIN = 0.05


class MemoryFit(msgspec.Struct, frozen=True):
    """The peak of steady steps at any batch is the highest of `lines`. batch: the recorded one; peak_bytes: measured
    with it."""

    batch: int
    peak_bytes: int
    lines: list[PeakLine]


def memory_fit(trace: Trace, place: Place) -> MemoryFit | Reason:
    """Of the steps after the first one recorded, which may make what stays; of one that is alone, that."""
    of = curve(trace, place)
    if not len(of.row):
        return NOT_RECORDED
    if not of.whole:
        return NO_TOTALS
    batches, peaks = step_batches(trace), step_peaks(trace, place)
    steady = [number for number in range(min(1, len(batches) - 1), len(batches)) if batches[number]]
    if not steady:
        return NO_SHAPES
    batch = batches[max(steady, key=lambda number: peaks[number])]
    assert batch is not None
    within = _within(trace, of, [number for number in steady if batches[number] == batch])
    grown = growing_bytes(trace, place, growing(trace, batch))[within]
    lines = highest_lines(of.allocated[within] - grown, grown, batch)
    rows = np.flatnonzero(within)
    return MemoryFit(
        batch,
        int(of.allocated[within].max()),
        [PeakLine(line.constant, line.per_sample, int(rows[line.row])) for line in lines],
    )


def _within(trace: Trace, of: Curve, steps: list[int]) -> Bool:
    return np.isin(steps_at(trace, of.ts), steps)


def growing_bytes(trace: Trace, place: Place, grows: Bool) -> Int64:
    """After each event of the device, how much of what is allocated grows with the batch."""
    found, of = allocations(trace), curve(trace, place)
    size = np.where(grows, trace.memory.bytes[found.born], 0)
    freed = found.died >= 0
    rows = np.concatenate((found.born, found.died[freed])).astype(np.int64)
    change = exact_sums(rows, np.concatenate((size, -size[freed])), len(trace.memory))
    return np.cumsum(change[of.row])


def bounds(value: float) -> tuple[int, int]:
    """A prediction less and more the margin."""
    return math.floor(value * (1 - MARGIN)), math.ceil(value * (1 + MARGIN))
