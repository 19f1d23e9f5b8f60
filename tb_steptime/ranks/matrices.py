"""A metric over ranks and steps.

        step 5  step 6  step 7
rank 0     101     102     101
rank 1     101     102       .      it was cut off
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.ranks.result import RankMatrix
from tb_steptime.ranks.spans import RankSpan, step_names
from tb_steptime.text import Reason
from tb_steptime.trace.table import Float64


def rank_matrix(spans: Sequence[RankSpan], metric: str) -> RankMatrix:
    """Returns a matrix with one row for each span, ordered by rank, and one column for each of `step_names`. Raises
    KeyError if there is no such metric."""
    if metric not in {each.id for each in METRICS}:
        raise KeyError(metric)
    values = matrix_values(spans, metric)
    rows = [[None if value != value else value for value in row] for row in values.tolist()]
    return RankMatrix(metric, rows, Reason("no_rank_measures_it") if np.isnan(values).all() else None)


def matrix_values(spans: Sequence[RankSpan], metric: str) -> Float64:
    """Returns (ranks, steps), NaN where the value is not known."""
    names = step_names(spans)
    place = {name: column for column, name in enumerate(names)}
    values = np.full((len(spans), len(names)), np.nan)
    for row, span in enumerate(spans):
        if metric in span.figures:
            values[row, [place[name] for name in span.step_names]] = span.figures[metric]
    return values


def measured_metrics(spans: Sequence[RankSpan]) -> list[str]:
    """Returns the ids of the metrics that some rank measures in some step, in the order of the catalogue."""
    measured = {metric for span in spans for metric in span.figures}
    return [metric.id for metric in METRICS if metric.id in measured]
