"""One rank's recording in the form that the analysis of a job needs: columns with the figures of every step. A job may
have a thousand ranks.

        step 5  step 6  step 7
rank 0     101     102     101      a metric over ranks and steps
rank 1     101     102       .      it was cut off
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from tb_steptime.analyses.compare import CompareResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.ranks import RanksResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.text import Note, count
from tb_steptime.trace.table import Float64, Int64

_NUMBER = re.compile(r"(\d+)$")


@dataclass(frozen=True, eq=False)
class RankSpan:
    """A measured span of one rank.

    key          the caller's name for the span
    results      by view id, read on access
    gap          its exchanges or steps could not be computed
    origin_ns    epoch time of its t = 0
    step_names, step_start_ns, step_ns   name, start relative to the origin, and length of each step
    figures      by metric of the catalogue, for each step; NaN where a metric is not measurable; only metrics that are
                 measurable in some step
    """

    key: str
    worker: str
    host: str | None
    rank: int
    world_size: int | None
    cut_short: bool
    gap: bool
    origin_ns: int
    step_names: tuple[str, ...]
    step_start_ns: Int64
    step_ns: Int64
    figures: Mapping[str, Float64]
    results: Mapping[str, msgspec.Struct] = field(repr=False)

    @property
    def mean_step_ns(self) -> int:
        """The mean length of the steps, or 0 if there are none."""
        return round(float(self.step_ns.mean())) if len(self.step_ns) else 0

    @property
    def ranks_result(self) -> RanksResult:
        """The measurements for the comparison of ranks. They are empty where nothing was measured. Raises what reading
        results raises."""
        result = self.results.get("ranks", RanksResult())
        assert isinstance(result, RanksResult)
        return result

    @property
    def infers(self) -> bool:
        """Whether the rank is known to run inference. Raises what reading results raises."""
        result = self.results.get("overview")
        return isinstance(result, OverviewResult) and result.job.purpose == "inference"

    @property
    def compare_result(self) -> CompareResult:
        """The measurements for the comparison of recordings. They are empty where nothing was measured. Raises what
        reading results raises."""
        result = self.results.get("compare", CompareResult())
        assert isinstance(result, CompareResult)
        return result

    def step_window(self, name: str) -> tuple[int, int]:
        """Returns when a step begins (epoch time, ns) and its length, or 0 for both where the rank did not record
        it."""
        if name not in self.step_names:
            return 0, 0
        row = self.step_names.index(name)
        return self.origin_ns + int(self.step_start_ns[row]), int(self.step_ns[row])


def rank_span(
    results: Mapping[str, msgspec.Struct],
    *,
    key: str,
    worker: str,
    rank: int,
    host: str | None = None,
    world_size: int | None = None,
    cut_short: bool = False,
    gap: bool = False,
) -> RankSpan:
    """Makes the span from its results, and from what its head and its name say. Raises what reading results raises."""
    trends = results["trends"]
    assert isinstance(trends, TrendsResult)
    columns = {series.metric: np.array(series.steps, np.float64) for series in trends.series}  # None becomes NaN
    return RankSpan(
        key=key,
        worker=worker,
        host=host,
        rank=rank,
        world_size=world_size,
        cut_short=cut_short,
        gap=gap,
        origin_ns=trends.origin_ns,
        step_names=tuple(step.name for step in trends.steps),
        step_start_ns=np.array([step.start_ns for step in trends.steps], np.int64),
        step_ns=np.array([step.end_ns - step.start_ns for step in trends.steps], np.int64),
        figures={metric: column for metric, column in columns.items() if not np.isnan(column).all()},
        results=results,
    )


def step_names(spans: Sequence[RankSpan]) -> list[str]:
    """Returns all steps that any rank recorded, ordered by number. Names without a number are in the order in which
    they first appear.

    >>> sorted(["ProfilerStep#10", "ProfilerStep#9"], key=_step_number)
    ['ProfilerStep#9', 'ProfilerStep#10']
    """
    names = dict.fromkeys(name for span in spans for name in span.step_names)
    return sorted(names, key=_step_number)


def _step_number(name: str) -> int:
    number = _NUMBER.search(name)
    return int(number[1]) if number else -1


def matrix_values(spans: Sequence[RankSpan], metric: str) -> Float64:
    """Returns the values of a metric, (ranks, steps), with NaN where they are not known."""
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


#: Maximum number of ranks of a job: a file may state any number, and ranks without a recording are listed.
MOST_RANKS = 2**17


@dataclass(frozen=True)
class Members:
    """The recorded ranks of a job.

    spans        one span for each rank, by rank
    missing      ranks below world_size without a recording
    world_size   None if no file states it
    """

    spans: list[RankSpan]
    missing: list[int]
    world_size: int | None
    notes: list[Note]


def members(spans: Sequence[RankSpan]) -> Members:
    """Selects one span for each rank among spans that were recorded at the same time. Of two spans of one rank, it
    takes the one with more steps."""
    by_rank: dict[int, list[RankSpan]] = defaultdict(list)
    for span in spans:
        by_rank[span.rank].append(span)
    chosen = [max(by_rank[rank], key=lambda span: len(span.step_names)) for rank in sorted(by_rank)]
    world_size = max((size for span in spans if 0 < (size := span.world_size or 0) <= MOST_RANKS), default=None)
    missing = sorted(set(range(world_size or 0)) - set(by_rank))
    twice = sum(len(same) > 1 for same in by_rank.values())
    return Members(chosen, missing, world_size, _notes(chosen, len(missing), twice))


def _notes(chosen: Sequence[RankSpan], missing: int, twice: int) -> list[Note]:
    cut, gaps = sum(span.cut_short for span in chosen), sum(span.gap for span in chosen)
    names = {name for span in chosen for name in span.step_names}
    other = sum(len(set(span.step_names)) < len(names) for span in chosen)
    all_ranks = count(len(chosen))
    counted = [
        (missing, Note("ranks_missing", {"count": count(missing), "all": count(len(chosen) + missing)})),
        (twice, Note("ranks_twice", {"count": count(twice)})),
        (gaps, Note("ranks_not_computed", {"count": count(gaps), "all": all_ranks})),
        (cut, Note("ranks_cut_short", {"count": count(cut), "all": all_ranks})),
        (other, Note("ranks_with_other_steps", {"count": count(other), "all": all_ranks})),
    ]
    return [note for number, note in counted if number]
