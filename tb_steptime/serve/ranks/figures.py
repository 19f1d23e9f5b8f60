"""All metrics of a job by rank and step. They are read once, so that the tab can switch metrics within a frame or two.

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
from tb_steptime.serve.pages import Bounded
from tb_steptime.serve.served import ServedSpan
from tb_steptime.text import Reason

logger = logging.getLogger(__name__)

Float32 = NDArray[np.float32]

#: Maximum size of the cached figures: all metrics of about 1,500 ranks with a hundred steps.
MAX_BYTES = 48_000_000
#: Up to this number of ranks, all metrics are read at once, which takes at most a tenth of a second.
FEW_RANKS = 64


@dataclass(frozen=True, eq=False)
class JobFigures:
    """steps: names, in order. values: for each metric that some rank measures, a row for each span, with NaN where the
    span lacks the step or the metric is unknown there. reasons: why a metric is unknown, by metric. lacking: the number
    of spans whose summary could not be read."""

    steps: list[str]
    values: dict[str, Float32]
    reasons: dict[str, Reason]
    lacking: int

    @property
    def bytes(self) -> int:
        return sum(each.nbytes for each in self.values.values())


@dataclass(eq=False)
class KeptFigures:
    """A cache of the figures of the jobs requested last. All methods may be called from any thread."""

    _kept: Bounded[JobFigures] = field(default_factory=lambda: Bounded(MAX_BYTES))
    _begun: dict[Hashable, threading.Event] = field(default_factory=dict)

    def of(self, spans: Sequence[ServedSpan], metric: str) -> JobFigures:
        """Returns at least this metric; each span belongs to one rank. Where there are many ranks, the other metrics
        are read in the background afterwards. A request for one of them waits until that is done, because reading all
        summaries once more would take as long."""
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
        except Exception:  # runs in a thread of its own: no caller would see the error
            logger.exception("tb_steptime could not prepare the figures of a job")
        finally:
            del self._begun[name]
            done.set()

    def _all(self, name: Hashable, spans: Sequence[ServedSpan]) -> JobFigures:
        found = self._kept.get(name, None, lambda: job_figures(spans), lambda figures: figures.bytes)
        if found.lacking:
            self._kept.drop(name)  # read everything again next time: the missing summary may have been written by then
        return found


def job_figures(spans: Sequence[ServedSpan], metrics: Collection[str] | None = None) -> JobFigures:
    """metrics: the wanted ones; None: all. A span whose summary is gone has no values. Results are read one at a time,
    so that the results of a thousand ranks are never in memory together."""
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
    """Orders the columns of a matrix. They are in order already where all ranks recorded the same steps."""
    return matrix if places == list(range(matrix.shape[1])) else matrix[:, places]


@dataclass(eq=False)
class _Filled:
    """Collects values in one matrix per metric, since a thousand small arrays would fragment the memory. columns: the
    column of each step name, numbered in the order in which the names were first seen."""

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
        """Returns the matrix with a column for every step that is known so far."""
        if matrix.shape[1] == len(self.columns):
            return matrix
        wide = np.full((self.rows, len(self.columns)), np.nan, np.float32)
        wide[: len(matrix), : matrix.shape[1]] = matrix
        return wide


_NOTHING: Float32 = np.empty((0, 0), np.float32)
