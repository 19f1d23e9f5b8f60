"""A metric of a job by rank and step: what the heat map of the Ranks view shows.

rank 0   steps 5 6 7   200 204 199
rank 1   steps 5 6     198 241          ->   a row for each rank, a column for each step: 200 204 199
                                                                                         198 241 NaN
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_steptime.insights.wording.ranks import step_ns
from tb_steptime.serve.rank_answers import RankMap
from tb_steptime.serve.ranks.figures import JobFigures
from tb_steptime.serve.ranks.jobs import KnownJob
from tb_steptime.serve.served import ServedSpan


def rank_map(spans: Sequence[ServedSpan], figures: JobFigures, metric: str) -> RankMap:
    """Each span is that of a rank."""
    values = figures.values.get(metric)
    unknown = np.full((len(spans), len(figures.steps)), np.nan, np.float32)
    return RankMap(
        metric=metric,
        spans=[span.found.id for span in spans],
        steps=figures.steps,
        values=_packed(unknown if values is None else values),
        least_high=0.0,
        reason=figures.reasons.get(metric) if values is None else None,
    )


def wait_map(job: KnownJob, metric: str) -> RankMap:
    """Returns the waits of a job whose collectives are matched, by rank and step. metric: of WAIT_METRICS."""
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


def _packed(values: NDArray[np.floating]) -> bytes:
    """Packs values in the format of `RankMap.values`."""
    return np.append(0.0, values).astype("<f4").tobytes()


#: Metrics by rank and step that only jobs have, in addition to those of the catalogue.
WAITS, CAUSED = "rank_wait_ns", "rank_caused_ns"
WAIT_METRICS = (WAITS, CAUSED)
#: The colour scale reaches at least this share of a step, so that shorter waits look negligible.
NOTABLE_FRACTION = 0.1
