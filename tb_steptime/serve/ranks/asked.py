"""Answers the tab's requests about the ranks of a job, which name any span of the job."""

from __future__ import annotations

from collections.abc import Sequence

from tb_steptime.ingest.job_ranks import rank_spans
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights.headlines import do_first
from tb_steptime.insights.job_rules import judge_job
from tb_steptime.insights.wording.job_what_if import change_text, larger_text, replay_text
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.pipeline import pipeline_text
from tb_steptime.insights.wording.ranks import (
    cause_text,
    cause_words,
    experts_texts,
    held_text,
    one_rank_headline,
    path_text,
    ranks_headline,
    ranks_titles,
)
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.ranks.scaling import ScaledJob, scaling
from tb_steptime.ranks.what_if import JobReplay
from tb_steptime.serve.directory import LogDirectory
from tb_steptime.serve.rank_answers import JobTimeline, RankMap, RanksPage, WhatIfTexts
from tb_steptime.serve.ranks.figures import KeptFigures
from tb_steptime.serve.ranks.jobs import Job, Jobs, alone, find_job
from tb_steptime.serve.ranks.lanes import job_timeline
from tb_steptime.serve.ranks.map import WAIT_METRICS, rank_map, wait_map
from tb_steptime.serve.reading import Reader
from tb_steptime.serve.refusals import UnknownSpan
from tb_steptime.serve.served import ServedSpan
from tb_steptime.text import Phrase

#: The errors that reading results raises. ValueError and IndexError mean that a packed column is malformed, and
#: OverflowError that a number is larger than any recording can contain.
_UNREADABLE = (OSError, DamagedSummary, LookupError, ValueError, OverflowError)


class Ranks:
    """All methods may be called from any thread."""

    def __init__(self, directory: LogDirectory, reader: Reader) -> None:
        self.directory, self.reader = directory, reader
        self.jobs = Jobs()
        self.figures = KeptFigures()

    def page(self, id: str, *, work: bool) -> RanksPage:
        """Returns the ranks of the span's job, as far as they are read. Raises UnknownSpan, SpanFailed."""
        span, of_run = self._of_run(id)
        if work:
            self.reader.want(each for each in of_run if each.found.number == span.found.number)
        try:
            return ranks_page(find_job(span, of_run), self.jobs)
        except _UNREADABLE as error:
            self.reader.again(span, error, work=work)
            return ranks_page(Job([span], [], 1), self.jobs)

    def map(self, id: str, metric: str) -> RankMap:
        """Returns a metric of the catalogue, or a wait metric, for the ranks of the span's job. Raises UnknownSpan
        (also where there is no such metric), SpanFailed."""
        span, of_run = self._of_run(id)
        job = find_job(span, of_run)
        if metric in WAIT_METRICS:
            return self._waits(job, span, metric)
        if metric not in {each.id for each in METRICS}:
            raise UnknownSpan(metric)
        return rank_map(job.spans, self.figures.of(job.spans, metric), metric)

    def timeline(self, id: str, step: str, between: tuple[int, int] | None, bins: int) -> JobTimeline:
        """Returns a step of the span's job, or the median one where no step has this name. Raises UnknownSpan (also
        where the ranks cannot be shown on one clock), SpanFailed."""
        span, of_run = self._of_run(id)
        job = find_job(span, of_run)
        try:
            steps, lanes = self.jobs.step(job, step) if len(job.recorded) > 1 else ([], None)
            if lanes is not None:
                return job_timeline(steps, lanes, self.jobs.of(job).ranks, between, bins)
        except _UNREADABLE as error:
            self.reader.again(span, error, work=False)
        raise UnknownSpan(id)

    def scaling(self, base: str, candidate: str) -> Phrase | None:
        """Compares the jobs of two spans. None where neither job has several ranks, or one cannot be read. Raises
        UnknownSpan."""
        try:
            jobs = [self._scaled(id) for id in (base, candidate)]
        except _UNREADABLE:
            return None
        several = max(len(each.spans) for each in jobs) > 1 and all(each.job.steps for each in jobs)
        return held_text(scaling(*jobs)) if several else None

    def _scaled(self, id: str) -> ScaledJob:
        span, of_run = self._of_run(id)
        found = find_job(span, of_run)
        job = found if found.recorded else alone(span)
        return ScaledJob(rank_spans(job.recorded), self.jobs.of(job).ranks)

    def _waits(self, job: Job, span: ServedSpan, metric: str) -> RankMap:
        try:
            known = self.jobs.of(job) if job.recorded else None
        except _UNREADABLE as error:
            self.reader.again(span, error, work=False)
            known = None
        if known is None or known.waits is None:
            raise UnknownSpan(metric)
        return wait_map(known, metric)

    def _of_run(self, id: str) -> tuple[ServedSpan, Sequence[ServedSpan]]:
        span = self.directory.find(id)
        if span is None:
            raise UnknownSpan(id)
        return span, [each for each in self.directory.spans()[1] if each.found.run == span.found.run]


def ranks_page(job: Job, jobs: Jobs) -> RanksPage:
    """Builds the page from the ranks that are read so far. Raises OSError, DamagedSummary, KeyError where a summary
    lacks the results of this release."""
    spans, read = [span.found.id for span in job.spans], len(job.spans)
    simulated = next((span.measured.facts.simulated for span in job.spans if span.measured), None)
    known = jobs.of(job) if job.recorded else None
    found = known.ranks if known else None
    if known is None or found is None or len(found.ranks) < 2:
        headline = one_rank_headline(found.world_size if found else None, len(job.recorded), job.unread, job.workers)
        all_spans = read + job.unread
        return RanksPage(
            headline, None, [], spans, read, all_spans, {}, [], [], None, None, [], None, [], [], None, simulated
        )
    insights = judge_job(found)
    return RanksPage(
        headline=ranks_headline(found),
        job=found,
        caused_ns=known.waits.caused_ns() if known.waits else [],
        spans=[row.key for row in found.ranks],
        read=read,
        found=read + job.unread,
        titles=dict(ranks_titles(found)),
        causes=[cause_text(late) for late in found.late],
        turns=[cause_words(cause) for cause in found.imbalance_causes],
        path=path_text(found),
        pipeline=None if found.pipeline is None else pipeline_text(found.pipeline),
        experts=experts_texts(found),
        what_if=None if found.what_if is None else _what_if(found.what_if),
        notes=[worded(note) for note in found.notes],
        insights=insights,
        do_first=do_first(insights[0]) if insights else None,
        simulated=simulated,
    )


def _what_if(found: JobReplay) -> WhatIfTexts:
    return WhatIfTexts(
        replay=replay_text(found),
        changes=[change_text(each, found.rank_count) for each in found.changes],
        larger=[larger_text(each) for each in found.larger],
        remark=None if found.larger_reason is None else explain(found.larger_reason),
    )
