"""Every run in one line: how long its step is, what limits it, what to do first. Runs of the same work share a number.

A line is made of a summary once, and again only where the run is read again. A log directory of a thousand runs has too
many summaries for one answer: each answer makes some more of them and says how many are left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence

from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.comparison.fairness import Works
from tb_steptime.errors import TraceError
from tb_steptime.ingest.compared import compared_side
from tb_steptime.ingest.job_ranks import recorded_ranks
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.insights.base import Insight
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.run_advice import (
    RunAdvice,
    SpanAdvice,
    agreement,
    is_surer,
    job_advice,
    run_advice,
    span_advice,
)
from tb_steptime.insights.wording.ranks import step_ns
from tb_steptime.metrics.idle.bottleneck import Bound
from tb_steptime.serve.answers import RunLine, RunsPage
from tb_steptime.serve.jobs import UNREADABLE, Jobs, find_job
from tb_steptime.serve.pages import CachedResults
from tb_steptime.serve.served import ServedSpan, first_workers
from tb_steptime.text import Phrase, count, phrase

#: Maximum time that one answer spends on new lines: a list that fills step by step is better than one that comes late.
BUDGET_SECONDS = 0.5
#: Maximum number of steps or spans in the trend of a run: more than a small picture can show.
MOST_IN_TREND = 40
#: Number of newest spans of a run whose first cards are compared.
MOST_JUDGED = 8
#: Maximum number of ranks of a job that a line waits for. Of a larger job it has the first card of the first rank.
MOST_RANKS = 64

#: Errors of a summary that cannot be read, or that an earlier release wrote without what a comparison needs.
_UNREADABLE = (*UNREADABLE, TraceError)


class RunLines:
    """The lines of a store. All methods may be called from any thread."""

    def __init__(self, cached: CachedResults, jobs: Jobs) -> None:
        self._cached, self._jobs = cached, jobs
        self._lines: dict[str, tuple[tuple[MeasuredSpan | None, ...], RunLine | None]] = {}
        self._works = Works()
        self._lock = threading.Lock()

    def page(self, spans: Iterable[ServedSpan], budget_seconds: float = BUDGET_SECONDS) -> RunsPage:
        """Returns the lines of all runs with a span that is read; spans: those of the log directory, in time order
        within a worker."""
        with self._lock:
            until, left = time.monotonic() + budget_seconds, 0
            lines: list[RunLine] = []
            by_run: dict[str, list[ServedSpan]] = {}
            for span in spans:
                by_run.setdefault(span.found.run, []).append(span)
            for first_worker in first_workers(span for of_run in by_run.values() for span in of_run):
                run = first_worker[0].found.run
                made_of = tuple(span.measured for span in by_run[run])
                before, line = self._lines.get(run, ((), None))
                if not _same(before, made_of):
                    if time.monotonic() > until:
                        left += 1
                        continue
                    line = self._line(first_worker, by_run[run])
                    self._lines[run] = made_of, line
                if line is not None:
                    lines.append(line)
            return RunsPage(_headline(lines), lines, left)

    def _line(self, spans: Sequence[ServedSpan], all_spans: Sequence[ServedSpan]) -> RunLine | None:
        """spans: of the first worker; all_spans: of all. None where the summary lacks what this release needs."""
        newest = spans[-1]
        work = self._work(newest)
        try:
            shown, advice = self._advice_of_spans(spans[-MOST_JUDGED:])
            job = self._advice_of_job(newest, all_spans, advice.card)
            if job is not None:
                shown, advice = newest, job
            judged = self._cached.judgement(shown)
            overview = shown.at_hand().result("overview", OverviewResult)
            trend_ns = _trend(spans, newest.at_hand().result("overview", OverviewResult))
        except _UNREADABLE:
            return None
        first = advice.card
        return RunLine(
            run=shown.found.run,
            worker=shown.found.worker,
            number=shown.found.number,
            span=shown.found.id,
            work=work,
            others=self._others(shown.found.worker, work, all_spans),
            ranks=job.spans if job else 1,
            step_ns=advice.step_ns or 0,
            trend_ns=trend_ns,
            parts_ns=overview.mean_parts_ns,
            bound=judged.verdict.bound,
            fix=first.title if first else None,
            agreement=agreement(advice),
            gain_ns=first.gain_ns if first else 0,
            gain_fraction=first.gain_fraction if first else 0.0,
            job=judged.job.line,
            machine=judged.job.machine,
        )

    def _advice_of_spans(self, spans: Sequence[ServedSpan]) -> tuple[ServedSpan, RunAdvice]:
        """Returns the span to show, and the advice: the span whose card it is, so that a gain stands beside the step
        that it was found in; the newest where most spans have no card."""
        each = [self._advice(span) for span in spans]
        advice = run_advice(each)
        of_card = (span for span, own in zip(spans, each, strict=True) if advice.card and own.card is advice.card)
        return next(of_card, spans[-1]), advice

    def _advice(self, span: ServedSpan) -> SpanAdvice:
        """Its first card that saves time."""
        measured = span.at_hand()
        cards = self._cached.judgement(span).insights
        return span_advice(next((card for card in cards if card.gain_ns > 0), None), measured.results)

    def _advice_of_job(
        self, newest: ServedSpan, all_spans: Sequence[ServedSpan], own: Insight | None
    ) -> RunAdvice | None:
        """Returns the advice of the job, if the span is of one rank of a job that has a card that saves time, and no
        surer one of its own."""
        job = find_job(newest, all_spans)
        if len(job.recorded) < 2 or len(job.recorded) > MOST_RANKS:
            return None
        ranks = self._jobs.get(job).ranks
        first = next((card for card in judge_job(ranks) if card.gain_ns > 0), None)
        if first is None or is_surer(own, first):
            return None
        return job_advice(first, len(job.recorded), step_ns(ranks))

    def _work(self, span: ServedSpan) -> int | None:
        """Returns the number of its work; None where that cannot be told."""
        try:
            return self._works.number(compared_side(span.found.run, [span.at_hand()], with_gains=False))
        except _UNREADABLE:
            return None

    def _others(self, worker: str, work: int | None, all_spans: Sequence[ServedSpan]) -> int:
        """Returns how many other processes of the run do other work. Ranks of a job are parts of one work."""
        newest = {span.found.worker: span for span in all_spans if span.measured and span.found.worker != worker}
        if work is None or not newest:
            return 0
        alone = [span for span in newest.values() if not recorded_ranks([(span.found, span.at_hand())])]
        return sum(self._work(span) not in (None, work) for span in alone)


def _headline(lines: Sequence[RunLine]) -> Phrase | None:
    """Says how many runs the GPU does not limit, among those whose limit is known; the CPU, where no run has a GPU."""
    known = [line for line in lines if line.bound is not Bound.UNKNOWN]
    if not known:
        return None
    on_gpu = any(line.parts_ns.kernel for line in known)
    computes, bound = ("GPU", Bound.GPU) if on_gpu else ("CPU", Bound.CPU)
    others = sum(line.bound is not bound for line in known)
    if not others:
        return phrase(f"The {computes} sets the pace in all [{{runs}} runs].", runs=count(len(known)))
    which = "all [{runs} runs]" if others == len(known) else "[{others} of {runs} runs]"
    values = {"others": count(others), "runs": count(len(known))}
    return phrase(f"In {which} something other than the {computes} sets the pace.", **values)


def _same(before: tuple[MeasuredSpan | None, ...], now: tuple[MeasuredSpan | None, ...]) -> bool:
    """Compares by identity. An equal but different object only costs one line that is made again."""
    return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))


def _trend(spans: Sequence[ServedSpan], newest: OverviewResult) -> list[int]:
    means = [mean for span in spans if (mean := span.at_hand().facts.mean_step_ns) is not None]
    return (means if len(means) > 1 else [step.duration_ns for step in newest.steps])[-MOST_IN_TREND:]
