"""All metrics of a job by rank and step, read once: another metric is then asked for and drawn within a frame or two.

summary of rank 0   step_time 200 204 199    gpu_utilization 0.9 0.8 0.9          step_time   200 204 199
summary of rank 1   step_time 198 241        gpu_utilization 0.9 0.7        ->                198 241 NaN   ...
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.names import natural_order
from tb_steptime.ingest.summaries import DamagedSummary
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
    """Figures of the jobs that were asked for last. All methods may be called from any thread."""

    _kept: Bounded[JobFigures] = field(default_factory=lambda: Bounded(MAX_BYTES))
    _begun: dict[Hashable, threading.Event] = field(default_factory=dict)

    def of(self, spans: Sequence[ServedSpan], metric: str) -> JobFigures:
        """At least this metric; each span is that of a rank. Of many ranks the others are read afterwards, and who asks
        for one of them meanwhile waits for that: to read all summaries once more would take as long."""
        name = tuple(f"{span.found.id} {span.found.stamp}" for span in spans)
        begun = self._begun.get(name)
        if begun:
            begun.wait()
        found = self._kept.known(name, None)
        if found is not None:
            return found
        if len(spans) <= FEW_RANKS:
            return self._all(name, spans)
        one = job_figures(spans, [metric])
        done = threading.Event()
        if self._begun.setdefault(name, done) is done:
            threading.Thread(
                target=self._prepare, args=(name, spans, done), daemon=True, name="tb_steptime ranks"
            ).start()
        return one

    def _prepare(self, name: Hashable, spans: Sequence[ServedSpan], done: threading.Event) -> None:
        try:
            self._all(name, spans)
        except Exception:  # a thread of its own: nobody else would hear of it
            logger.exception("tb_steptime could not prepare the figures of a job")
        finally:
            del self._begun[name]
            done.set()

    def _all(self, name: Hashable, spans: Sequence[ServedSpan]) -> JobFigures:
        found = self._kept.get(name, None, lambda: job_figures(spans), lambda figures: figures.bytes)
        if found.lacking:
            self._kept.drop(name)  # a summary that is written again is read again
        return found


def job_figures(spans: Sequence[ServedSpan], metrics: Collection[str] | None = None) -> JobFigures:
    """metrics: those that are wanted; None: all. A span whose summary went away has no values. Results are read one at
    a time: those of a thousand ranks are never in memory as a whole."""
    filled = _Filled(len(spans))
    lacking = 0
    for row, span in enumerate(spans):
        result = _trends(span)
        if result:
            filled.add(row, result, metrics)
        else:
            lacking += 1
    order = sorted(filled.columns, key=natural_order)
    places = [filled.columns[name] for name in order]
    values = {metric: _ordered(matrix, places) for metric, matrix in filled.values.items()}
    return JobFigures(order, values, filled.reasons, lacking)


def _trends(span: ServedSpan) -> TrendsResult | None:
    with contextlib.suppress(OSError, DamagedSummary, KeyError):
        return span.at_hand().result("trends", TrendsResult)
    return None


def _ordered(matrix: Float32, places: list[int]) -> Float32:
    """Steps are in order where all ranks recorded the same ones."""
    return matrix if places == list(range(matrix.shape[1])) else matrix[:, places]


@dataclass(eq=False)
class _Filled:
    """Large blocks from the beginning: a thousand small arrays would leave holes that no one gets back. columns: by
    name of a step, in the order in which they came; a matrix has all of them."""

    rows: int
    columns: dict[str, int] = field(default_factory=dict)
    values: dict[str, Float32] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)

    def add(self, row: int, result: TrendsResult, metrics: Collection[str] | None) -> None:
        columns = [self.columns.setdefault(step.name, len(self.columns)) for step in result.steps]
        self.values = {metric: self._wide(matrix) for metric, matrix in self.values.items()}
        for series in result.series:
            if metrics is not None and series.metric not in metrics:
                continue
            if series.reason:
                self.reasons.setdefault(series.metric, series.reason)
            if len(series.steps) == len(columns) and series.steps.count(None) < len(columns):
                matrix = self.values[series.metric] = self._wide(self.values.get(series.metric, _NOTHING))
                matrix[row, columns] = np.array(series.steps, np.float32)

    def _wide(self, matrix: Float32) -> Float32:
        """With a column for every step that is known by now."""
        if matrix.shape[1] == len(self.columns):
            return matrix
        wide = np.full((self.rows, len(self.columns)), np.nan, np.float32)
        wide[: len(matrix), : matrix.shape[1]] = matrix
        return wide


_NOTHING: Float32 = np.empty((0, 0), np.float32)
