"""The trends of a span as columns of numbers, which take a fifth of the memory that objects would.

figures   metric x step     float64, NaN where not measurable
values    metric            the span's own figure
strips    figure x bin      int16, -1 where it has no meaning
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_steptime.analyses.base import Series
from tb_steptime.analyses.trends import MetricBins, SlowStep, StepMark, TrendsResult

#: Approximate bytes of memory of a step, a slow step and a series without its numbers.
_STEP_BYTES, _SLOW_BYTES, _SERIES_BYTES = 200, 500, 120
#: Larger values are taken as unknown. No figure of a recording is larger, in ns, bytes or a rate of these, but a
#: summary that another program wrote may contain one.
MOST = 1e24
#: Stands for None in the strips, whose values are thousandths.
_NO_MEANING = -1


@dataclass(frozen=True, eq=False)
class TrendColumns:
    """heads: the series without their numbers; of_strips: the time bins without theirs."""

    origin_ns: int
    steps: list[StepMark]
    slow_steps: list[SlowStep]
    heads: list[Series]
    values: NDArray[np.float64]
    figures: NDArray[np.float64]
    of_strips: list[MetricBins]
    strips: list[NDArray[np.int16]]

    @classmethod
    def from_result(cls, result: TrendsResult) -> TrendColumns:
        series, bins = result.series, result.time_bins
        return cls(
            origin_ns=result.origin_ns,
            steps=result.steps,
            slow_steps=result.slow_steps,
            heads=[Series(sys.intern(each.metric), each.device, None, [], each.reason) for each in series],
            values=_numbers([each.value for each in series]),
            figures=_numbers([each.steps for each in series]).reshape(len(series), len(result.steps)),
            of_strips=[msgspec.structs.replace(each, permille=[]) for each in bins],
            strips=[np.array([_NO_MEANING if n is None else n for n in each.permille], np.int16) for each in bins],
        )

    @property
    def bytes(self) -> int:
        """The approximate size in memory."""
        arrays = self.values.nbytes + self.figures.nbytes + sum(each.nbytes for each in self.strips)
        objects = _STEP_BYTES * len(self.steps) + _SLOW_BYTES * len(self.slow_steps) + _SERIES_BYTES * len(self.heads)
        return arrays + objects

    def result(self, metrics: Collection[str] = (), *, strips: bool = True, others: bool = False) -> TrendsResult:
        """Restores the trends. metrics: whose series are included; empty: all. strips: whether to include the time
        bins. others: whether to include the other series, without their steps."""
        included = [not metrics or head.metric in metrics for head in self.heads]
        return TrendsResult(
            origin_ns=self.origin_ns,
            steps=self.steps,
            series=[self._series(at, whole) for at, whole in enumerate(included) if whole or others],
            time_bins=[self._bins(at) for at in range(len(self.strips))] if strips else [],
            slow_steps=self.slow_steps,
        )

    def values_of(self, metrics: Collection[str]) -> dict[str, float | None]:
        return {head.metric: _number(value) for head, value in zip(self.heads, self.values.tolist(), strict=True)
                if head.metric in metrics}  # fmt: skip

    def steps_of(self, metrics: Collection[str]) -> dict[str, list[float | None]]:
        return {head.metric: self._steps(at) for at, head in enumerate(self.heads) if head.metric in metrics}

    def series_of(self, metric: str) -> Series | None:
        """Returns the series of a metric; None where there is no such metric."""
        at = next((at for at, head in enumerate(self.heads) if head.metric == metric), None)
        return None if at is None else self._series(at, whole=True)

    def _series(self, at: int, whole: bool) -> Series:
        head = self.heads[at]
        steps = self._steps(at) if whole else []
        return Series(head.metric, head.device, _number(float(self.values[at])), steps, head.reason)

    def _steps(self, at: int) -> list[float | None]:
        return [None if value != value else value for value in self.figures[at].tolist()]

    def _bins(self, at: int) -> MetricBins:
        permille = [None if value == _NO_MEANING else value for value in self.strips[at].tolist()]
        return msgspec.structs.replace(self.of_strips[at], permille=permille)


def _numbers(values: Sequence[float | None] | Sequence[Sequence[float | None]]) -> NDArray[np.float64]:
    """Rounds values to a millionth, which halves the page of a thousand spans. Impossible values become NaN."""
    numbers: NDArray[np.float64] = np.array(values, np.float64)
    numbers[~(np.abs(numbers) <= MOST)] = np.nan
    rounded: NDArray[np.float64] = numbers.round(6)
    return rounded


def _number(value: float) -> float | None:
    return None if value != value else value  # NaN alone differs from itself
