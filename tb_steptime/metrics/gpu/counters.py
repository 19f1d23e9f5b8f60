"""Hardware counters of a GPU, if the profiler was told to sample them. They are measured figures beside the estimates.

    samples   t0    t1    t2    t3       each covers the time since the one before: (t0, t1] has the value at t1
    window       [           )           the mean over the part of the window that samples cover

A sample after a gap, during which the ring buffer of samples had no room, covers only one usual interval.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.gpu.utilization import sm_levels, sums_in_windows
from tb_steptime.text import Reason, Unit
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import weighted_overlap
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64, median

NOT_SAMPLED = Reason("no_counters_recorded")
NOT_SAMPLED_HERE = Reason("no_counters_in_steps")

#: If a sample follows after more than this many usual intervals, samples are missing, and it covers only one interval.
_LONGEST_INTERVAL = 2


class CounterMetric(msgspec.Struct, frozen=True):
    """A metric, and a pattern for the names of the counters that it is read from. Percentages become fractions."""

    metric: Metric
    names: re.Pattern[str]

    @property
    def unit(self) -> float:
        return 0.01 if self.metric.unit is Unit.FRACTION else 1.0


def _fraction(id: str, label: str, meaning: str, names: str, colour: str = "kernel") -> CounterMetric:
    return CounterMetric(Metric(id, label, Unit.FRACTION, meaning, colour), expression(names, re.IGNORECASE))


def _number(id: str, label: str, meaning: str, names: str) -> CounterMetric:
    return CounterMetric(Metric(id, label, Unit.NUMBER, meaning), expression(names, re.IGNORECASE))


#: Counters have the names that CUPTI's monitor writes, or CUPTI's metric names, which Kineto writes.
_ALL = (
    _fraction(
        "measured_sm_active",
        "SM active, measured",
        "Share of the cycles in which the GPU's multiprocessors (SMs) have work, as the GPU counts it: what est. SM "
        "efficiency estimates.",
        r"SM Active \(%\)|sms?__cycles_active\.avg\.pct_of_peak_sustained_elapsed",
    ),
    _fraction(
        "measured_tensor_active",
        "Tensor cores active, measured",
        "Share of their peak at which the tensor cores work, as the GPU counts it.",
        r"Tensor (?:Core )?Active \(%\)|(?:\w+\.)*sms?__(?:inst_executed_)?pipe_tensor\w*\.\w+\.pct_of_peak_\w+",
        "tensor",
    ),
    _fraction(
        "measured_dram",
        "Memory bandwidth, measured",
        "Share of the peak bandwidth of the GPU's memory that reads and writes take, as the GPU counts it.",
        r"(?:DRAM|HBM) BW \(%\)|dram__(?:throughput|cycles_active)\.\w+\.pct_of_peak_\w+",
        "copy",
    ),
    _number("gpu_power", "Power (W)", "Power that the GPU takes, in watts.", r"Power \(W\)"),
    _number("gpu_temperature", "Temperature (°C)", "Temperature of the GPU.", r"Temperature \(C\)"),
    _number(
        "sm_clock",
        "SM clock (MHz)",
        "Clock of the multiprocessors. It is locked while other counters are sampled.",
        r"SM Clock \(MHz\)",
    ),
    _number("memory_clock", "Memory clock (MHz)", "Clock of the GPU's memory.", r"Memory Clock \(MHz\)"),
)
COUNTERS = {each.metric.id: each for each in _ALL}
COUNTER_METRICS = tuple(each.metric for each in _ALL)
SM_ACTIVE, TENSOR_ACTIVE, DRAM = COUNTER_METRICS[:3]
#: The clocks are locked while these are sampled. The others are read without affecting the work.
_LOCK_CLOCKS = (SM_ACTIVE, TENSOR_ACTIVE, DRAM)


class Samples(msgspec.Struct, frozen=True, eq=False):
    """The samples of one counter of one device. Each value holds over (start, end]."""

    start: Int64
    end: Int64
    value: Float64


@shared
def samples(trace: Trace, device: int, id: str) -> Samples | None:
    """Returns the samples in the metric's unit, in time order; None if they were not recorded."""
    table, counter = trace.counters, COUNTERS[id]
    named = [bool(counter.names.fullmatch(name)) for name in trace.counter_names.strings]
    if not any(named):
        return None
    rows = np.flatnonzero(np.array(named)[table.name] & (table.device == device) & (table.value >= 0))
    rows = rows[table.name[rows] == table.name[rows[:1]]]  # only one counter, if several measure the same
    if not len(rows):
        return None
    end, value = table.ts[rows], table.value[rows] * counter.unit
    length = np.diff(end)
    usual = int(median(length)) if len(length) else 0
    length = np.where(np.append(usual, length) > _LONGEST_INTERVAL * usual, usual, np.append(usual, length))
    start = np.maximum(end - length, 0)
    return Samples(start, end, np.minimum(value, 1.0) if counter.metric.unit is Unit.FRACTION else value)


def sampled_ids(trace: Trace, device: int | None) -> tuple[str, ...]:
    """Returns the ids of the metrics that were sampled on the device."""
    return () if device is None else tuple(id for id in COUNTERS if samples(trace, device, id) is not None)


def sampled_fractions(trace: Trace, device: int) -> tuple[str, ...]:
    """Returns the ids of those metrics that are fractions, which are shown beside estimates."""
    return tuple(id for id in sampled_ids(trace, device) if COUNTERS[id].metric.unit is Unit.FRACTION)


def clocks_were_locked(trace: Trace, device: int) -> bool:
    """Returns whether counters were sampled for which the profiler locks the GPU's clocks."""
    return any(samples(trace, device, metric.id) is not None for metric in _LOCK_CLOCKS)


def measured(trace: Trace, device: int, id: str) -> Figure:
    """Returns the mean of the samples over the window and over each step, weighted by the time that they cover."""
    sampled = samples(trace, device, id)
    if sampled is None:
        return unknown(trace, NOT_SAMPLED)
    part, whole = sums_in_windows(trace, partial(_covered, sampled))
    means = [p / w if w > 0 else None for p, w in zip(part.tolist(), np.rint(whole).tolist(), strict=True)]
    return Figure(means[0], tuple(means[1:]), NOT_SAMPLED_HERE if means[0] is None else None)


def measuring(id: str) -> Callable[[Trace, int], Figure]:
    """Returns a function for the catalogue that measures this counter."""
    return lambda trace, device: measured(trace, device, id)


def measured_in(trace: Trace, device: int, id: str, edges: Int64) -> tuple[Float64, Float64] | None:
    """Returns value x time, and the time that the samples cover, in each bin [edges[i], edges[i+1]); None without
    samples."""
    sampled = samples(trace, device, id)
    return None if sampled is None else _covered(sampled, edges)


def _covered(sampled: Samples, edges: Int64) -> tuple[Float64, Float64]:
    whole = weighted_overlap(sampled.start, sampled.end, np.ones(len(sampled.end)), edges)
    return weighted_overlap(sampled.start, sampled.end, sampled.value, edges), whole


class Validation(msgspec.Struct, frozen=True):
    """The means of an estimate and of what was measured over the same time."""

    estimated: float
    measured: float


def validated_sm_efficiency(trace: Trace, device: int) -> Validation | None:
    """Returns the est. SM efficiency and the SM activity over the part of the window that samples cover; None if one is
    unknown."""
    sampled, levels = samples(trace, device, SM_ACTIVE.id), sm_levels(trace, device)
    if sampled is None or levels is None:
        return None
    return beside_samples(trace, sampled, levels.integral_ns)


def beside_samples(trace: Trace, sampled: Samples, estimated: Callable[[Int64, Int64], Float64]) -> Validation | None:
    """Returns the mean of an estimate and that of these samples, over the part of the window that they cover; None if
    they cover nothing. estimated: the estimate's integral from each start to each end."""
    low, high = find_steps(trace).window
    start, end = np.clip(sampled.start, low, high), np.clip(sampled.end, low, high)
    covered = int((end - start).sum())
    if not covered:
        return None
    measured = float((sampled.value * (end - start)).sum()) / covered
    return Validation(min(float(estimated(start, end).sum()) / covered, 1.0), measured)
