"""Trends: every metric over the steps of a span, and time bins of GPU figures within it."""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.analyses.base import NOT_COMPUTED, Analysis, Series
from tb_steptime.metrics.catalogue import METRICS, main_device, measure
from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.metrics.gpu.counters import COUNTERS, sampled_ids
from tb_steptime.metrics.gpu.occupancy import EST_ACHIEVED_OCCUPANCY
from tb_steptime.metrics.gpu.utilization import EST_SM_EFFICIENCY, GPU_UTILIZATION
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.kernels.time_bins import TIME_BIN_METRICS
from tb_steptime.metrics.means import slow_after_first
from tb_steptime.metrics.steps.parts import PART_MEANINGS, Parts, step_breakdown
from tb_steptime.metrics.tensor_cores.usage import TENSOR_CORE_SHARE
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import Step, find_steps
from tb_steptime.trace.table import CALL_KINDS, Int64, Kind, median

#: Number of time bins of a figure: one for each two or three pixels of the widest picture, and 4 kB in the summary
#: file.
TIME_BINS = 440
#: Figures in time bins.
BINNED = (EST_SM_EFFICIENCY, GPU_UTILIZATION, EST_ACHIEVED_OCCUPANCY, TENSOR_CORE_SHARE)


class StepMark(msgspec.Struct, frozen=True):
    """Where a step is in its span, relative to the span's origin. left_out_ns: the part of it that is not judged."""

    name: str
    start_ns: int
    end_ns: int
    left_out_ns: int = 0

    @property
    def judged_ns(self) -> int:
        return self.end_ns - self.start_ns - self.left_out_ns


class MetricBins(msgspec.Struct, frozen=True):
    """A figure in equal time bins of a span, by exact overlap: values are thousandths (0-1000), None where it has no
    meaning (occupancy where nothing runs)."""

    metric: str
    device: int | None
    start_ns: int
    bin_ns: int
    permille: list[int | None]


class SlowStep(msgspec.Struct, frozen=True):
    """A slow step (`metrics.means`), and the part that grew most over the part's median.

    longest_event: the longest event of that part that starts in the step, where to look in the trace; None where the
    part has no events of its own.
    """

    name: str
    duration_ns: int
    over_median_ns: int
    grew: str
    grew_ns: int
    longest_event: str | None
    longest_event_ns: int | None


class TrendsResult(msgspec.Struct, frozen=True):
    """The result of the trends view. origin_ns: epoch time of the span's t = 0; series: every metric of the catalogue,
    measurable or not, except GPU counters that were not sampled."""

    origin_ns: int
    steps: list[StepMark]
    series: list[Series]
    time_bins: list[MetricBins]
    slow_steps: list[SlowStep]


def analyse(trace: Trace) -> TrendsResult:
    steps = find_steps(trace)
    device = main_device(trace)
    unsampled = COUNTERS.keys() - sampled_ids(trace, device)
    return TrendsResult(
        origin_ns=trace.origin_ns,
        steps=[
            StepMark(step.name, step.start_ns, step.end_ns, step.duration_ns - ns)
            for step, ns in zip(steps.steps, judged_ns(trace, device).tolist(), strict=True)
        ],
        series=[measure(trace, metric.id, device) for metric in METRICS if metric.id not in unsampled],
        time_bins=[bins for each in devices_by_activity(trace) for bins in _time_bins(trace, each)],
        slow_steps=_slow_steps(trace),
    )


def _time_bins(trace: Trace, device: int) -> list[MetricBins]:
    low, high = find_steps(trace).window
    bin_ns = max(1, -(-(high - low) // TIME_BINS))
    edges = low + bin_ns * np.arange(-(-(high - low) // bin_ns) + 1, dtype=np.int64)
    binned = ((metric.id, TIME_BIN_METRICS[metric](trace, device, edges)) for metric in BINNED)
    return [MetricBins(id, device, low, bin_ns, bins.permille) for id, bins in binned if bins is not None]


def _slow_steps(trace: Trace) -> list[SlowStep]:
    """Finds slow steps by the durations that are judged."""
    steps = find_steps(trace)
    durations = judged_ns(trace, main_device(trace))
    parts = step_breakdown(trace)
    middle = np.median([msgspec.structs.astuple(row) for row in parts], axis=0).astype(np.int64)
    rows = np.flatnonzero(slow_after_first(durations)).tolist()
    rows.sort(key=lambda row: -durations[row])
    usual_ns = int(median(durations))
    return [_slow_step(trace, steps.steps[row], parts[row], middle, int(durations[row]) - usual_ns) for row in rows]


def _slow_step(trace: Trace, step: Step, parts: Parts, middle: Int64, over_median_ns: int) -> SlowStep:
    growth = np.array(msgspec.structs.astuple(parts), np.int64) - middle
    most = int(growth.argmax())
    part = PART_MEANINGS[most].id
    event = _longest_event(trace, step, part)
    return SlowStep(
        name=step.name,
        duration_ns=step.duration_ns,
        over_median_ns=over_median_ns,
        grew=part,
        grew_ns=int(growth[most]),
        longest_event=None if event is None else trace.name_of(event),
        longest_event_ns=None if event is None else int(trace.events.dur_ns[event]),
    )


#: Kinds of events that a part of the step is made of; the other parts have none, or are gaps between events.
_EVENTS_OF_PART = {
    "runtime": CALL_KINDS,
    "cpu_exec": (Kind.CPU_OP,),
    "kernel": (Kind.KERNEL,),
    "memcpy": (Kind.MEMCPY,),
}


def _longest_event(trace: Trace, step: Step, part: str) -> int | None:
    """Returns the row of the longest event of the part that starts in the step."""
    if part not in _EVENTS_OF_PART:
        return None
    events, rows = trace.events, trace.events.rows(*_EVENTS_OF_PART[part])
    rows = rows[(events.start_ns[rows] >= step.start_ns) & (events.start_ns[rows] < step.end_ns)]
    return int(rows[events.dur_ns[rows].argmax()]) if len(rows) else None


_NOTHING = TrendsResult(0, [], [Series(each.id, None, None, [], NOT_COMPUTED) for each in METRICS], [], [])

ANALYSIS = Analysis("trends", "Trends", TrendsResult, analyse, _NOTHING)
