"""Answers the tab's requests about the ranks of a job, which name any span of the job.

The job timeline draws a window of one step, in as many bins as the picture has columns.

rank 0   own own wait wait =    ->   11 22 3    a byte for each bin: what the rank does most of it

The heat map of the Ranks view shows a metric of a job by rank and step.

rank 0   steps 5 6 7   200 204 199
rank 1   steps 5 6     198 241          ->   a row for each rank, a column for each step: 200 204 199
                                                                                         198 241 NaN

All metrics of a job are read from the summaries of its ranks once, so that the tab can switch metrics within a frame or
two.

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
from tb_steptime.ingest.job_ranks import rank_spans
from tb_steptime.ingest.names import natural_order
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights.headlines import do_first
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.wording.job_what_if import change_text, larger_text, pipeline_text, replay_text
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.ranks import (
    cause_text,
    cause_words,
    comparison_text,
    experts_texts,
    one_rank_headline,
    path_text,
    ranks_headline,
    ranks_titles,
    step_ns,
)
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import METRIC_BY_ID
from tb_steptime.ranks.result import JobRanks, JobReplay
from tb_steptime.ranks.scaling import ScaledJob, scaling
from tb_steptime.ranks.step_lanes import Arrival, Lane, StepLanes
from tb_steptime.serve.answers import JobTimeline, LaneArrivals, LanePiece, RankMap, RanksPage, WhatIfTexts
from tb_steptime.serve.directory import LogDirectory
from tb_steptime.serve.jobs import UNREADABLE, Job, Jobs, KnownJob, alone, find_job, versions
from tb_steptime.serve.pages import LruCache
from tb_steptime.serve.reading import Reader
from tb_steptime.serve.served import ServedSpan, UnknownSpan
from tb_steptime.text import Phrase, Reason
from tb_steptime.trace.table import Int64

logger = logging.getLogger(__name__)

Float32 = NDArray[np.float32]

#: Maximum size of the cached figures: all metrics of about 1,500 ranks with a hundred steps.
MAX_BYTES = 48_000_000
#: Up to this number of ranks, all metrics are read at once, which takes at most a tenth of a second.
FEW_RANKS = 64


@dataclass(frozen=True, eq=False)
class JobFigures:
    """steps: names, in order. values: for each metric that some rank measures, a row for each span, with NaN where the
    span lacks the step or the metric is unknown there. reasons: why a metric is unknown, by metric. missing: the number
    of spans whose summary could not be read."""

    steps: list[str]
    values: dict[str, Float32]
    reasons: dict[str, Reason]
    missing: int

    @property
    def bytes(self) -> int:
        return sum(value.nbytes for value in self.values.values())


@dataclass(eq=False)
class CachedFigures:
    """A cache of the figures of the jobs requested last. All methods may be called from any thread."""

    _cache: LruCache[JobFigures] = field(default_factory=lambda: LruCache(MAX_BYTES))
    _in_progress: dict[Hashable, threading.Event] = field(default_factory=dict)

    def get(self, spans: Sequence[ServedSpan], metric: str) -> JobFigures:
        """Returns at least this metric; each span belongs to one rank. Where there are many ranks, the other metrics
        are read in the background afterwards. A request for one of them waits until that is done, because reading all
        summaries once more would take as long."""
        name = versions(span.found for span in spans)
        in_progress = self._in_progress.get(name)
        if in_progress:
            in_progress.wait()
        figures = self._cache.cached(name, None)
        if figures is not None:
            return figures
        if len(spans) <= FEW_RANKS:
            return self._all(name, spans)
        one = job_figures(spans, [metric])
        done = threading.Event()
        if self._in_progress.setdefault(name, done) is done:
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
            del self._in_progress[name]
            done.set()

    def _all(self, name: Hashable, spans: Sequence[ServedSpan]) -> JobFigures:
        all_figures = self._cache.get(name, None, lambda: job_figures(spans), lambda figures: figures.bytes)
        if all_figures.missing:
            self._cache.drop(name)  # read everything again next time: the missing summary may have been written by then
        return all_figures


def job_figures(spans: Sequence[ServedSpan], metrics: Collection[str] | None = None) -> JobFigures:
    """metrics: the wanted ones; None: all. A span whose summary is gone has no values. Results are read one at a time,
    so that the results of a thousand ranks are never in memory together."""
    filled, missing = _Filled(len(spans)), 0
    for row, span in enumerate(spans):
        if result := _trends(span):
            filled.add(row, result, metrics)
        else:
            missing += 1
    order = sorted(filled.columns, key=natural_order)
    places = [filled.columns[name] for name in order]
    values = {metric: _ordered(matrix, places) for metric, matrix in filled.values.items()}
    return JobFigures(order, values, filled.reasons, missing)


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


class Ranks:
    """All methods may be called from any thread."""

    def __init__(self, directory: LogDirectory, reader: Reader) -> None:
        self.directory, self.reader = directory, reader
        self.jobs = Jobs()
        self.figures = CachedFigures()

    def page(self, id: str, *, work: bool) -> RanksPage:
        """Returns the ranks of the span's job, as far as they are read. Raises UnknownSpan, SpanFailed."""
        span, run_spans = self._span_and_run(id)
        if work:
            self.reader.want(run_span for run_span in run_spans if run_span.found.number == span.found.number)
        try:
            return ranks_page(find_job(span, run_spans), self.jobs)
        except UNREADABLE as error:
            self.reader.again(span, error, work=work)
            return ranks_page(Job([span], [], 1), self.jobs)

    def map(self, id: str, metric: str) -> RankMap:
        """Returns a metric of the catalogue, or a wait metric, for the ranks of the span's job. Raises UnknownSpan
        (also where there is no such metric), SpanFailed."""
        span, run_spans = self._span_and_run(id)
        job = find_job(span, run_spans)
        if metric in WAIT_METRICS:
            return self._waits(job, span, metric)
        if metric not in METRIC_BY_ID:
            raise UnknownSpan(metric)
        return rank_map(job.spans, self.figures.get(job.spans, metric), metric)

    def timeline(self, id: str, step: str, between: tuple[int, int] | None, bins: int) -> JobTimeline:
        """Returns a step of the span's job, or the median one where no step has this name. Raises UnknownSpan (also
        where the ranks cannot be shown on one clock), SpanFailed."""
        span, run_spans = self._span_and_run(id)
        job = find_job(span, run_spans)
        try:
            steps, lanes = self.jobs.step(job, step) if len(job.recorded) > 1 else ([], None)
            if lanes is not None:
                return job_timeline(steps, lanes, self.jobs.get(job).ranks, between, bins)
        except UNREADABLE as error:
            self.reader.again(span, error, work=False)
        raise UnknownSpan(id)

    def scaling(self, base: str, candidate: str) -> Phrase | None:
        """Compares the jobs of two spans. None where neither job has several ranks, or one cannot be read. Raises
        UnknownSpan."""
        try:
            jobs = [self._scaled(id) for id in (base, candidate)]
        except UNREADABLE:
            return None
        several = max(len(job.spans) for job in jobs) > 1 and all(job.job.steps for job in jobs)
        return comparison_text(scaling(*jobs)) if several else None

    def _scaled(self, id: str) -> ScaledJob:
        span, run_spans = self._span_and_run(id)
        job_of_span = find_job(span, run_spans)
        job = job_of_span if job_of_span.recorded else alone(span)
        return ScaledJob(rank_spans(job.recorded), self.jobs.get(job).ranks)

    def _waits(self, job: Job, span: ServedSpan, metric: str) -> RankMap:
        try:
            known_job = self.jobs.get(job) if job.recorded else None
        except UNREADABLE as error:
            self.reader.again(span, error, work=False)
            known_job = None
        if known_job is None or known_job.waits is None:
            raise UnknownSpan(metric)
        return wait_map(known_job, metric)

    def _span_and_run(self, id: str) -> tuple[ServedSpan, Sequence[ServedSpan]]:
        span = self.directory.find(id)
        if span is None:
            raise UnknownSpan(id)
        return span, [other for other in self.directory.spans()[1] if other.found.run == span.found.run]


def ranks_page(job: Job, jobs: Jobs) -> RanksPage:
    """Builds the page from the ranks that are read so far. Raises OSError, DamagedSummary, KeyError where a summary
    lacks the results of this release."""
    spans = [span.found.id for span in job.spans]
    read = sum(span.measured is not None for span in job.spans)
    simulated = next((span.measured.facts.simulated for span in job.spans if span.measured), None)
    known_job = jobs.get(job) if job.recorded else None
    ranks = known_job.ranks if known_job else None
    if known_job is None or ranks is None or len(ranks.ranks) < 2:
        world_size = ranks.world_size if ranks else None
        return RanksPage(
            headline=one_rank_headline(world_size, len(job.recorded), job.unread, job.workers),
            spans=spans,
            read=read,
            found=read + job.unread,
            simulated=simulated,
        )
    insights = judge_job(ranks)
    gains = bool(insights) and (insights[0].gain_ns > 0 or bool(insights[0].later_ns))
    return RanksPage(
        headline=ranks_headline(ranks),
        job=ranks,
        caused_ns=known_job.waits.caused_ns() if known_job.waits else [],
        spans=[row.key for row in ranks.ranks],
        read=read,
        found=read + job.unread,
        titles=dict(ranks_titles(ranks)),
        causes=[cause_text(late_rank) for late_rank in ranks.late],
        turns=[cause_words(cause) for cause in ranks.imbalance_causes],
        path=path_text(ranks),
        pipeline=None if ranks.pipeline is None else pipeline_text(ranks.pipeline),
        experts=experts_texts(ranks),
        what_if=None if ranks.what_if is None else _what_if(ranks.what_if),
        notes=[worded(note) for note in ranks.notes],
        insights=insights,
        do_first=do_first(insights[0]) if gains else None,
        simulated=simulated,
    )


def _what_if(replay: JobReplay) -> WhatIfTexts:
    return WhatIfTexts(
        replay=replay_text(replay),
        changes=[change_text(change, replay.rank_count) for change in replay.changes],
        larger=[larger_text(larger) for larger in replay.larger],
        remark=None if replay.larger_reason is None else explain(replay.larger_reason),
    )


#: Maximum number of bins (the columns of a wide screen), of pieces of the path, and of cells (ranks times bins). An
#: answer with the maximum number of cells is half a megabyte.
MOST_BINS, MOST_PIECES, MOST_CELLS = 2048, 2048, 400_000
#: Maximum number of collectives whose arrivals are drawn, and the shortest wait at one that is drawn, as a share of the
#: window.
MOST_ARRIVALS, LEAST_WAIT = 24, 0.01


def job_timeline(
    steps: Sequence[str], step_lanes: StepLanes, job: JobRanks, between: tuple[int, int] | None, bins: int
) -> JobTimeline:
    """between: times of the picture; None for all of it."""
    low, high = _window(step_lanes.length_ns, between)
    bins = max(1, min(bins, MOST_BINS, MOST_CELLS // len(step_lanes.lanes), high - low))
    edges = low + (high - low) * np.arange(bins + 1, dtype=np.int64) // bins
    return JobTimeline(
        steps=list(steps),
        step=step_lanes.step,
        spans=[row.key for row in job.ranks],
        ranks=[row.rank for row in job.ranks],
        shift_ns=[lane.shift_ns for lane in step_lanes.lanes],
        length_ns=step_lanes.length_ns,
        from_ns=low,
        to_ns=high,
        bins=bins,
        cells=b"\0" + b"".join(_cells(lane, edges).tobytes() for lane in step_lanes.lanes),
        path=_path(step_lanes, low, high, bins),
        arrivals=[_arrivals(arrival) for arrival in _worth(step_lanes.arrivals, low, high)],
    )


def _window(length_ns: int, between: tuple[int, int] | None) -> tuple[int, int]:
    """Clips the window to the picture; returns the whole picture where nothing is left."""
    low, high = between or (0, length_ns)
    low, high = max(0, low), min(length_ns, high)
    return (low, high) if low < high else (0, length_ns)


def _cells(lane: Lane, edges: Int64) -> NDArray[np.uint8]:
    """Returns the step of each rank in each bin; 0 where the rank is in the step for less than half of the bin."""
    start, end = edges[:-1], edges[1:]
    covered = np.stack([kind.overlap_ns(start, end) for kind in (lane.own, lane.waits, lane.transfers)])
    longest = covered.argmax(axis=0) + 1
    return np.where(2 * covered.sum(axis=0) < end - start, 0, longest).astype(np.uint8)


def _path(step_lanes: StepLanes, low: int, high: int, bins: int) -> list[LanePiece]:
    visible = [piece for piece in step_lanes.path if piece.start < high and piece.end > low]
    visible = [piece for piece in visible if (piece.end - piece.start) * bins >= high - low]
    longest = sorted(visible, key=lambda piece: piece.start - piece.end)[:MOST_PIECES]
    in_order = sorted(longest, key=lambda piece: piece.start)
    return [LanePiece(row, max(low, start), min(high, end)) for row, start, end in in_order]


def _worth(arrivals: Sequence[Arrival], low: int, high: int) -> list[Arrival]:
    """Returns the collectives worth drawing, in time order."""
    visible = [arrival for arrival in arrivals if low <= arrival.end and arrival.end - arrival.wait_ns < high]
    worth = [arrival for arrival in visible if arrival.wait_ns >= LEAST_WAIT * (high - low)]
    longest = sorted(worth, key=lambda each: -each.wait_ns)[:MOST_ARRIVALS]
    return sorted(longest, key=lambda each: each.end)


def _arrivals(each: Arrival) -> LaneArrivals:
    return LaneArrivals(each.label, each.last, each.wait_ns, each.end, each.members.tolist(), each.arrived.tolist())


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
