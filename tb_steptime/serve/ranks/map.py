"""A metric of a job by rank and step: what the heat map of the Ranks view shows.

rank 0   steps 5 6 7   200 204 199
rank 1   steps 5 6     198 241          ->   a row for each rank, a column for each step: 200 204 199
                                                                                         198 241 NaN
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

import numpy as np

from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.names import natural_order
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights.wording.ranks import step_ns
from tb_steptime.metrics.base import Series
from tb_steptime.serve.rank_answers import RankMap
from tb_steptime.serve.ranks.jobs import KnownJob
from tb_steptime.serve.served import ServedSpan
from tb_steptime.text import Reason
from tb_steptime.trace.table import Float64


def rank_map(spans: Sequence[ServedSpan], metric: str) -> RankMap:
    """Each span is that of a rank; one whose summary went away has no values. Results are read one at a time: a job
    of a thousand ranks is never in memory as a whole."""
    read = [_step_values(span, metric) for span in spans]
    names = _in_order(name for values, _ in read for name in values)
    column = {name: place for place, name in enumerate(names)}
    values = np.full((len(spans), len(names)), np.nan)
    for row, (steps, _) in zip(values, read, strict=True):
        row[[column[name] for name in steps]] = list(steps.values())
    measured = bool((~np.isnan(values)).any())
    return RankMap(
        metric=metric,
        spans=[span.found.id for span in spans],
        steps=names,
        values=_packed(values),
        least_high=0.0,
        reason=None if measured else next((reason for _, reason in read if reason), None),
    )


def wait_map(job: KnownJob, metric: str) -> RankMap:
    """The waits of a job whose collectives are matched, by rank and step. metric: of WAIT_METRICS."""
    assert job.waits is not None
    values = job.waits.waits if metric == WAITS else job.waits.caused
    return RankMap(
        metric=metric,
        spans=[row.key for row in job.ranks.ranks],
        steps=[step.name for step in job.ranks.steps],
        values=_packed(values),
        least_high=NOTABLE_FRACTION * step_ns(job.ranks),
        reason=None,
    )


def _packed(values: Float64) -> bytes:
    """As `RankMap` has them."""
    return np.append(0.0, values).astype("<f4").tobytes()


def _step_values(span: ServedSpan, metric: str) -> tuple[dict[str, float], Reason | None]:
    """By step, those that were measured; and why where none was."""
    with contextlib.suppress(OSError, DamagedSummary, KeyError):
        result = span.at_hand().result("trends", TrendsResult)
        series = next((each for each in result.series if each.metric == metric), _NOTHING)
        named = zip(result.steps, series.steps, strict=False)
        return {step.name: value for step, value in named if value is not None}, series.reason
    return {}, None


_NOTHING = Series("", None, None, [])

#: What a job has by rank and step besides the metrics of the catalogue.
WAITS, CAUSED = "rank_wait_ns", "rank_caused_ns"
WAIT_METRICS = (WAITS, CAUSED)
#: Waits below this share of a step look like nothing.
NOTABLE_FRACTION = 0.1


def _in_order(names: Iterable[str]) -> list[str]:
    """Each once; steps are numbers."""
    return sorted(set(names), key=natural_order)
