"""One side of a comparison: the spans of a run, whose complete steps form one sample.

base        span 1: steps 5 6 7 8     span 2: steps 25 26 27 28      eight steps
candidate   span 1: steps 5 6 7 8                                    four
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import msgspec
import numpy as np

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.text import Reason
from tb_steptime.trace.loader_records import StepPace
from tb_steptime.trace.table import Bool, Float64, Int64

R = TypeVar("R", bound=msgspec.Struct)

#: The views that a side needs, besides those for its cards.
COMPARED_VIEWS = ("overview", "host", "data_loading", "trends", "compare", "tensor_cores")


@dataclass(frozen=True)
class ExpectedGain:
    """The gain that a recording's card promised. part: the part of the step that it shortens, None if there are
    several."""

    insight: str
    gain_ns: int
    part: str | None


@dataclass(frozen=True)
class ComparedSpan:
    """A measured span, with facts about its machine. results: by view id. simulated: its figures are not from a
    recording. expected: gains of its cards, largest first."""

    results: Mapping[str, msgspec.Struct]
    device_names: tuple[str, ...] = ()
    world_size: int | None = None
    simulated: bool = False
    expected: tuple[ExpectedGain, ...] = ()

    def result(self, view: str, kind: type[R]) -> R:
        """Returns the result of a view. Raises KeyError where that view was not measured."""
        result = self.results[view]
        assert isinstance(result, kind)
        return result

    @cached_property
    def whole(self) -> Bool:
        """Whether each step is compared."""
        return np.array([step.whole for step in self.compare.steps], bool)

    @cached_property
    def kernels(self) -> dict[str, tuple[float, float]]:
        """The calls and the time of each kernel per step, ns, by name."""
        by_name: dict[str, tuple[float, float]] = {}
        steps = int(self.whole.sum())
        for place in self.compare.kernels:
            calls, ns = by_name.get(place.name, (0.0, 0.0))
            by_name[place.name] = calls + place.count / steps, ns + place.total_ns / steps
        return by_name

    @property
    def compare(self) -> CompareResult:
        return self.result("compare", CompareResult)

    @property
    def overview(self) -> OverviewResult:
        return self.result("overview", OverviewResult)

    @property
    def host(self) -> HostResult:
        return self.result("host", HostResult)

    @property
    def data_loading(self) -> DataLoadingResult:
        return self.result("data_loading", DataLoadingResult)

    @property
    def trends(self) -> TrendsResult:
        return self.result("trends", TrendsResult)


@dataclass(frozen=True)
class Side:
    """Spans of one run and worker, in time order, at least one; name is its name in the comparison. runs: if there are
    several recordings of the same job, how many spans each has; empty for one recording.

    Per-step columns hold the complete steps of all spans in time order.
    """

    name: str
    spans: tuple[ComparedSpan, ...]
    runs: tuple[int, ...] = ()

    @cached_property
    def step_ns(self) -> Int64:
        """The durations of the steps, (steps,)."""
        return np.concatenate([self._column(span, [row.duration_ns for row in span.overview.steps])
                               for span in self.spans])  # fmt: skip

    @cached_property
    def parts_ns(self) -> Int64:
        """The parts of each step, (steps, parts), in the order of `Parts`. A row sums to its step."""
        return self._rows(lambda span: [msgspec.structs.astuple(row.parts_ns) for row in span.overview.steps])

    @cached_property
    def phases_ns(self) -> Int64:
        """The phases of each step, (steps, phases). A row sums to its step."""
        return self._rows(lambda span: [step.phases_ns for step in span.compare.steps])

    @cached_property
    def idle_ns(self) -> Int64 | None:
        """The busy time of the main device, then its idle time by reason: (steps, 1 + reasons). A row sums to its step.
        None where a span has no device."""
        if any(span.host.device is None for span in self.spans):
            return None
        return self._rows(_idle_rows)

    @property
    def expected(self) -> list[ExpectedGain]:
        """The gains of the first span's cards. Each is a mean over the compared steps of all spans that promise it,
        since the result is measured over all spans, too."""
        return [replace(gain, gain_ns=self._mean_gain_ns(gain)) for gain in self.spans[0].expected]

    def _mean_gain_ns(self, gain: ExpectedGain) -> int:
        promised = [(each.gain_ns, max(1, int(span.whole.sum()))) for span in self.spans for each in span.expected
                    if each.insight == gain.insight]  # fmt: skip
        return round(sum(ns * steps for ns, steps in promised) / sum(steps for _, steps in promised))

    @cached_property
    def left_out(self) -> list[str]:
        """The names of the steps that are not compared."""
        return [step.name for span in self.spans for step in span.compare.steps if not step.whole]

    @property
    def first(self) -> ComparedSpan:
        return self.spans[0]

    def per_step(self, metric: str) -> Float64:
        """Returns the values of a metric of the catalogue over the compared steps. Steps in which it is not measurable
        are left out."""
        return np.array([value for span in self.spans for value in self._metric(span, metric)], np.float64)

    def per_unit(self, metric: str) -> list[Float64]:
        """Returns the values of `per_step` grouped by separate recording: by run, or by span if there is only one
        run."""
        parts = self._recordings if self.runs else [(span,) for span in self.spans]
        by_part = [np.array([value for span in part for value in self._metric(span, metric)], float) for part in parts]
        return [values for values in by_part if len(values)]

    def paces(self) -> list[StepPace]:
        """Returns for each run that the recorder timed how long its steps take without the profiler, according to its
        last span."""
        paces = [[span.overview.pace for span in part if span.overview.pace] for part in self._recordings]
        return [run_paces[-1] for run_paces in paces if run_paces]

    def spread(self, metric: str) -> float | None:
        """Returns the largest difference between the spans of one run, as a fraction of their mean, or None where each
        run has one span."""
        runs = [means for means in self._span_means(metric) if len(means) > 1 and means.mean()]
        return max((float((means.max() - means.min()) / means.mean()) for means in runs), default=None)

    def least_span_means(self, metric: str) -> list[float]:
        """Returns the mean of a metric in the span of each run where it is least."""
        return [float(means.min()) for means in self._span_means(metric) if len(means)]

    def _span_means(self, metric: str) -> list[Float64]:
        """Returns for each run the means of a metric over the compared steps of each span where it is measurable."""
        by_run = [[self._metric(span, metric) for span in part] for part in self._recordings]
        return [np.array([np.mean(values) for values in spans if values], np.float64) for spans in by_run]

    @property
    def _recordings(self) -> list[tuple[ComparedSpan, ...]]:
        ends = np.cumsum(self.runs or (len(self.spans),)).tolist()
        return [self.spans[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def why_not(self, metric: str) -> Reason | None:
        """Returns why a metric is not measurable, from the first span that has a reason, or None where none has."""
        reasons = (series.reason for span in self.spans for series in span.trends.series if series.metric == metric)
        return next((reason for reason in reasons if reason), None)

    @cached_property
    def period(self) -> int:
        """The distance in steps at which waits for batches recur, where they come in bursts, or 1 where none is
        known."""
        bursts = [span.data_loading.burst for span in self.spans]
        return max((burst.period for burst in bursts if burst and burst.period), default=1)

    @staticmethod
    def _metric(span: ComparedSpan, metric: str) -> list[float]:
        """Returns the values of a metric in the compared steps in which it is measurable. There are none in a summary
        of a release that did not measure it."""
        steps = [
            zip(each.steps, span.whole.tolist(), strict=True) for each in span.trends.series if each.metric == metric
        ]
        return [value for pairs in steps for value, whole in pairs if whole and value is not None]

    @staticmethod
    def _column(span: ComparedSpan, values: Sequence[object]) -> Int64:
        return np.array(values, np.int64)[span.whole]

    def _rows(self, rows_of: Callable[[ComparedSpan], Sequence[object]]) -> Int64:
        return np.concatenate([self._column(span, rows_of(span)) for span in self.spans])


def _idle_rows(span: ComparedSpan) -> list[tuple[int, ...]]:
    device = next(each for each in span.host.devices if each.device == span.host.device)
    return [(busy, *msgspec.structs.astuple(idle)) for busy, idle in zip(device.busy_ns, device.steps, strict=True)]
