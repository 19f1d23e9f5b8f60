"""The job's own scalars in a report: all tags of each run, with up to a few hundred points each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.serve.scalars import JobScalars, Scalars, ScalarSeries

#: Maximum number of points of a tag, which is what a picture can show, and of a run, which limits the size of the page.
_MOST_POINTS, _MOST_OF_RUN = 300, 20_000
_LEAST_POINTS = 20


def logged(scalars: JobScalars, runs: Sequence[str]) -> dict[str, Scalars]:
    """Returns scalars by run; runs that logged nothing are left out."""
    found = {run: _of_run(scalars, run, runs) for run in runs}
    return {run: each for run, each in found.items() if each.tags}


def _of_run(scalars: JobScalars, run: str, runs: Sequence[str]) -> Scalars:
    tags = scalars.of(run, runs, None).tags
    points = max(_LEAST_POINTS, min(_MOST_POINTS, _MOST_OF_RUN // max(1, len(tags))))
    series = [thinned(each, points) for tag in tags for each in scalars.of(run, runs, tag).series]
    return Scalars(tags, series)


def thinned(series: ScalarSeries, points: int) -> ScalarSeries:
    """Reduces a series to at most this number of points, evenly spaced, including the first and the last.

    points 3   1 2 3 4 5  ->  1 3 5
    """
    count = len(series.steps)
    if count <= points:
        return series
    kept = [at * (count - 1) // (points - 1) for at in range(points)]
    return msgspec.structs.replace(
        series,
        steps=[series.steps[at] for at in kept],
        wall_ns=[series.wall_ns[at] for at in kept],
        values=[series.values[at] for at in kept],
    )
