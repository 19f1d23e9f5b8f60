"""All metrics of a job by rank and step, read once: another metric is then asked for and drawn within a frame or two.

summary of rank 0   step_time 200 204 199    gpu_utilization 0.9 0.8 0.9          step_time   200 204 199
summary of rank 1   step_time 198 241        gpu_utilization 0.9 0.7        ->                198 241 NaN   ...
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.names import natural_order
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.metrics.base import Series
from tb_steptime.serve.kept import Bounded
from tb_steptime.serve.served import ServedSpan
from tb_steptime.text import Reason

logger = logging.getLogger(__name__)

Float32 = NDArray[np.float32]

#: All that some 1,500 ranks measure at a hundred steps.
MAX_BYTES = 48_000_000
#: Up to so many ranks all metrics are read at once, within a tenth of a second.
FEW_RANKS = 64


@dataclass(frozen=True, eq=False)
class JobFigures:
    """steps: names, in order. values: by metric that some rank measures, a row for each span, NaN where it has no such
    step or the metric is not known in it; reasons: of other metrics. lacking: spans whose summary could not be read."""

    steps: list[str]
    values: dict[str, Float32]
    reasons: dict[str, Reason]
    lacking: int

    @property
    def bytes(self) -> int:
        return sum(each.nbytes for each in self.values.values())


@dataclass(eq=False)
class KeptFigures:
    """Of the jobs that were asked for last. All methods may be called from any thread."""

    _kept: Bounded[JobFigures] = field(default_factory=lambda: Bounded(MAX_BYTES))
    _begun: set[Hashable] = field(default_factory=set)

    def of(self, spans: Sequence[ServedSpan], metric: str) -> JobFigures:
        """At least this metric; each span is that of a rank. Of many ranks the others are read meanwhile."""
        name = tuple(f"{span.found.id} {span.found.stamp}" for span in spans)
        found = self._kept.known(name, None)
        if found is not None:
            return found
        if len(spans) <= FEW_RANKS:
            return self._all(name, spans)
        if name not in self._begun:
            self._begun.add(name)
            threading.Thread(target=self._prepare, args=(name, spans), daemon=True, name="tb_steptime ranks").start()
        return job_figures(spans, [metric])

    def _prepare(self, name: Hashable, spans: Sequence[ServedSpan]) -> None:
        try:
            self._all(name, spans)
        except Exception:  # a thread of its own: nobody else would hear of it
            logger.exception("tb_steptime could not prepare the figures of a job")
        finally:
            self._begun.discard(name)

    def _all(self, name: Hashable, spans: Sequence[ServedSpan]) -> JobFigures:
        found = self._kept.get(name, None, lambda: job_figures(spans), lambda figures: figures.bytes)
        if found.lacking:
            self._kept.drop(name)  # a summary that is written again is read again
        return found


def job_figures(spans: Sequence[ServedSpan], metrics: Collection[str] | None = None) -> JobFigures:
    """metrics: those that are wanted; None: all. A span whose summary went away has no values. Results are read one at
    a time: those of a thousand ranks are never in memory as a whole."""
    ranks = [_RankFigures.of(result, metrics) if (result := _trends(span)) else None for span in spans]
    known = [rank for rank in ranks if rank]
    steps = _in_order(name for rank in known for name in rank.steps)
    measured = {metric: None for rank in known for metric in rank.values}
    reasons = {metric: reason for rank in reversed(known) for metric, reason in rank.reasons.items()}
    values = {metric: _matrix(ranks, metric, steps) for metric in measured}
    return JobFigures(steps, values, reasons, len(ranks) - len(known))


def _trends(span: ServedSpan) -> TrendsResult | None:
    with contextlib.suppress(OSError, DamagedSummary, KeyError):
        return span.at_hand().result("trends", TrendsResult)
    return None


@dataclass(frozen=True, eq=False)
class _RankFigures:
    steps: list[str]
    values: dict[str, Float32]
    reasons: dict[str, Reason]

    @classmethod
    def of(cls, result: TrendsResult, metrics: Collection[str] | None) -> _RankFigures:
        """values: of the metrics that are known at some step."""
        wanted = [series for series in result.series if metrics is None or series.metric in metrics]
        figures = {series.metric: _numbers(series, len(result.steps)) for series in wanted}
        return cls(
            steps=[step.name for step in result.steps],
            values={metric: values for metric, values in figures.items() if not np.isnan(values).all()},
            reasons={series.metric: series.reason for series in result.series if series.reason},
        )


def _numbers(series: Series, steps: int) -> Float32:
    values = np.array(series.steps, np.float32)
    return values if len(values) == steps else np.full(steps, np.nan, np.float32)


def _matrix(ranks: Sequence[_RankFigures | None], metric: str, steps: Sequence[str]) -> Float32:
    column = {name: place for place, name in enumerate(steps)}
    matrix = np.full((len(ranks), len(steps)), np.nan, np.float32)
    for row, rank in zip(matrix, ranks, strict=True):
        if rank and metric in rank.values:
            values = rank.values.pop(metric)  # or all of them would be held twice
            row[[column[name] for name in rank.steps]] = values
    return matrix


def _in_order(names: Iterable[str]) -> list[str]:
    """Each once; steps are numbers."""
    return sorted(set(names), key=natural_order)
