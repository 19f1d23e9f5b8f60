"""Change points: the span at which a figure changes level, and which kernels changed there.

    span     1        2        3        4
    step   aaaaaa   aaabaa | cccccc   ccccbc      from span 3 on: a -> c

Only borders between spans are considered: that is where code, data or the machine change. A slow step within a span has
its own rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

import msgspec

from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.metrics.base import Metric
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.means import MAD_SCALE
from tb_steptime.text import Phrase, Quantity, count, text

#: Figures whose changes are reported; the rest of the catalogue follows from them.
WATCHED = (
    "step_time", "gpu_utilization", "est_sm_efficiency", "est_achieved_occupancy", "tensor_core_share",
    "data_loading_exposed", "host_bound_share",
)  # fmt: skip

#: Fewer steps than this on a side could be chance.
ENOUGH_STEPS = 3
#: Spans that are compared on each side: enough to know the level, and few enough for runs of a thousand spans.
SIDE_SPANS = 8
#: A change is real if the distance of the medians is more than this many robust deviations of the steps ...
DEVIATIONS = 3.0
#: ... and worth reporting if the distance is at least this share of the larger median ...
WORTH_FRACTION = 0.05
#: ... and, for fractions, at least this much in absolute terms: a change from 0.1 % to 0.2 % is not worth reporting.
WORTH_POINTS = 0.02

_METRICS: Mapping[str, Metric] = {metric.id: metric for metric in METRICS}

#: Kernel name -> ns per step, of one span.
Kernels = Mapping[str, float]


class Change(msgspec.Struct, frozen=True):
    """From `span` on, `metric` of this run and worker is `after` and no longer `before` (medians over steps)."""

    metric: str
    run: str
    worker: str
    span: int
    before: float
    after: float
    text: Phrase


class Spans(msgspec.Struct, frozen=True):
    """The spans of one worker in time order; kernels(i) is called only where a change was found."""

    run: str
    worker: str
    numbers: Sequence[int]
    results: Sequence[TrendsResult]
    kernels: Callable[[int], Kernels]


def find_changes(workers: Sequence[Spans]) -> list[Change]:
    """Returns the changes of all workers, those of several workers of a run at the same span reported once; largest
    first."""
    by_place: dict[tuple[str, str, int], tuple[float, Change]] = {}
    for spans in workers:
        for metric in WATCHED:
            values = [_steps(result, metric) for result in spans.results]
            for border in _borders(values, 0, len(values)):
                weight, change = _change(spans, metric, values, border)
                by_place.setdefault((spans.run, metric, change.span), (weight, change))
    return [change for _, change in sorted(by_place.values(), key=lambda each: -each[0])]


def _steps(result: TrendsResult, metric: str) -> list[float]:
    """Returns the values of steps of which hardly any time is left out; if there are none, the values of all steps."""
    series = next(series for series in result.series if series.metric == metric)
    whole = [step.left_out_ns < WORTH_FRACTION * (step.end_ns - step.start_ns) for step in result.steps]
    included = whole if any(whole) else [True] * len(whole)
    return [value for value, keep in zip(series.steps, included, strict=True) if keep and value is not None]


def _borders(values: Sequence[list[float]], low: int, high: int) -> list[int]:
    """Borders within values[low:high] between two levels: the strongest splits first, then each side is searched."""
    strengths = {
        place: _strength(values[max(low, place - SIDE_SPANS) : place], values[place : min(high, place + SIDE_SPANS)])
        for place in range(low + 1, high)
    }
    best = max(strengths, key=lambda place: strengths[place], default=None)
    if best is None or strengths[best] <= DEVIATIONS:
        return []
    return [*_borders(values, low, best), best, *_borders(values, best, high)]


def _strength(before: Sequence[list[float]], after: Sequence[list[float]]) -> float:
    """Returns the distance of the medians in deviations of the steps around their side's median; 0: not worth
    reporting."""
    left, right = ([value for span in side for value in span] for side in (before, after))
    if min(len(left), len(right)) < ENOUGH_STEPS:
        return 0.0
    distance = abs(median(right) - median(left))
    largest = max(abs(median(left)), abs(median(right)))
    if distance < WORTH_FRACTION * largest or (largest <= 1.0 and distance < WORTH_POINTS):
        return 0.0
    residuals = [abs(value - median(side)) for side in (left, right) for value in side]
    spread = MAD_SCALE * median(residuals)
    return distance / spread if spread else float("inf")


def _change(spans: Spans, metric: str, values: Sequence[list[float]], border: int) -> tuple[float, Change]:
    """The levels are those of the two spans at the border, so that a drift over many spans is not one change."""
    before, after = median(values[border - 1] or [0.0]), median(values[border] or [0.0])
    sentences = _words(spans, metric, border, before, after)
    weight = abs(after - before) / max(abs(before), abs(after), 1e-12)
    return weight, Change(metric, spans.run, spans.worker, spans.numbers[border], before, after, sentences)


def _words(spans: Spans, metric: str, border: int, before: float, after: float) -> Phrase:
    unit = _METRICS[metric].unit
    values = {
        "run": text(spans.run),
        "span": count(spans.numbers[border]),
        "label": text(_METRICS[metric].label),
        "before": Quantity(before, unit),
        "after": Quantity(after, unit),
    }
    template = "{run}, from span {span} on: {label} " + ("falls" if after < before else "rises")
    template += " from {before} to {after}"
    was, now = spans.kernels(border - 1), spans.kernels(border)
    old, new = _largest_missing(was, now), _largest_missing(now, was)
    if old is not None and new is not None:
        values |= {"new": text(new), "old": text(old)}
        template += "; {new} replaced {old}"
    return Phrase(template + ".", values)


#: A kernel that comes or goes with less than this share of kernel time explains nothing.
KERNEL_FRACTION = 0.05


def _largest_missing(kernels: Kernels, others: Kernels) -> str | None:
    """Returns the largest kernel of `kernels` that `others` does not have at all."""
    only = {name: ns for name, ns in kernels.items() if name not in others}
    name = max(only, key=lambda each: only[each], default=None)
    return name if name is not None and only[name] >= KERNEL_FRACTION * sum(kernels.values()) else None
