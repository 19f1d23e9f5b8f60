"""Summaries -> what the tab is answered: a span's page, its neighbours, the trends of many spans. Pure but for reading
summary files; which span is meant and whether it is read is the store's business."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.tensor_cores import TensorCoresResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.discovery import FoundSpan, rank_in_name
from tb_steptime.ingest.states import Problem, Progress, SpanState
from tb_steptime.ingest.summary import DamagedSummary, Summary
from tb_steptime.insights import judge, judge_trends
from tb_steptime.insights.added_gains import may_be_added
from tb_steptime.insights.base import Headline, Insight, Judgement
from tb_steptime.insights.rules.steps.change_points import Kernels, Spans, find_changes
from tb_steptime.metrics.base import Series
from tb_steptime.serve.wire import (
    RESULTS,
    Neighbour,
    RunEntry,
    SpanEntry,
    SpanHead,
    SpanPage,
    TrendsPage,
    TrendSpan,
    WorkerEntry,
)
from tb_steptime.text import Note

#: The view that every insight stands in; another with insights shows those that lead to it.
_FIRST_VIEW = ANALYSES[0].id
_WITH_INSIGHTS = ("host",)


@dataclass(frozen=True)
class ReadSpan:
    """A span with its summary, and how many spans its worker has."""

    found: FoundSpan
    summary: Summary
    span_count: int


@dataclass(frozen=True)
class KnownSpan:
    """A span and what is known of it now: a summary when it is ready, a problem when it failed."""

    found: FoundSpan
    state: SpanState
    summary: Summary | None = None
    problem: Problem | None = None
    progress: Progress | None = None

    @property
    def rank(self) -> int | None:
        """As the trace says it, else as the worker's name does."""
        return _rank(self.found, self.summary)


class _SeriesOnly(msgspec.Struct, frozen=True):
    """The part of a TrendsResult that sparks are drawn from."""

    series: list[Series]


def judgement(summary: Summary) -> Judgement:
    """What the rules say. Raises DamagedSummary, OSError, KeyError where it lacks the results of this release."""
    return judge({view: summary.result(view, kind) for view, kind in RESULTS.items()})


def span_page(span: ReadSpan, view: str, judged: Judgement, neighbours: Iterable[Neighbour]) -> SpanPage:
    """One view of one span. Raises like `judgement`; KeyError when there is no such view."""
    result = span.summary.result(view, RESULTS[view])
    shown = _metrics_shown(result)
    notes = [note for note in span.summary.head.facts.notes if _stands_above(note, view, shown)]
    first, insights = view == _FIRST_VIEW, _insights(view, judged)
    return SpanPage(
        head=_head(span, notes, judged),
        headline=judged.headlines[view] if view in judged.headlines else _trends_headline(span.found, result),
        result=msgspec.Raw(span.summary.view(view)),
        titles=judged.titles.get(view, {}),
        insights=insights,
        insights_remark=judged.insights_remark if first else may_be_added(insights, judged.addable),
        could_be=judged.could_be if first else None,
        neighbours=[_only(neighbour, shown) for neighbour in neighbours],
    )


def _insights(view: str, judged: Judgement) -> list[Insight]:
    if view == _FIRST_VIEW:
        return judged.insights
    return [insight for insight in judged.insights if view in _WITH_INSIGHTS and insight.view in (view, "timeline")]


def neighbour(span: ReadSpan) -> Neighbour:
    """A span's figures by metric, for the sparks and changes of its neighbours' tiles."""
    series = span.summary.result("trends", _SeriesOnly).series
    values = {each.metric: each.value for each in series}
    return Neighbour(span.found.id, span.found.number, values, {each.metric: each.steps for each in series})


def trends_page(spans: Sequence[KnownSpan], focus: str | None = None) -> TrendsPage:
    """focus as in `judge_trends`."""
    rows = [_trend_span(span) for span in spans]
    read = [(row.run, row.worker, row.number, row.result) for row in rows if row.result]
    headline, titles = judge_trends(read, focus)
    return TrendsPage(headline, rows, titles, find_changes(_workers(spans, rows)))


def _workers(spans: Sequence[KnownSpan], rows: Sequence[TrendSpan]) -> list[Spans]:
    """The spans that are read, by worker in time order."""
    groups: dict[tuple[str, str], list[tuple[KnownSpan, TrendSpan, TrendsResult]]] = {}
    for span, row in zip(spans, rows, strict=True):
        if row.result:
            groups.setdefault((row.run, row.worker), []).append((span, row, row.result))
    return [
        Spans(run, worker, [row.number for _, row, _ in group], [result for *_, result in group], _kernels_of(group))
        for (run, worker), group in groups.items()
    ]


def _kernels_of(group: Sequence[tuple[KnownSpan, TrendSpan, TrendsResult]]) -> Callable[[int], Kernels]:
    """Kernel times of a span of the group, read from its summary when they are asked for."""

    def kernels(index: int) -> Kernels:
        summary = group[index][0].summary
        if summary is None:
            return {}
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            devices = summary.result("tensor_cores", TensorCoresResult).devices
            return {row.name: row.total_ns for device in devices for row in device.kernels}
        return {}

    return kernels


def run_entries(spans: Iterable[KnownSpan]) -> list[RunEntry]:
    """The pickers: runs, their workers, their spans, in the order of `spans`."""
    runs: dict[str, dict[str, list[KnownSpan]]] = {}
    for span in spans:
        runs.setdefault(span.found.run, {}).setdefault(span.found.worker, []).append(span)
    return [
        RunEntry(run, _simulated(workers), [_worker_entry(name, known) for name, known in workers.items()])
        for run, workers in runs.items()
    ]


def _simulated(workers: Mapping[str, Sequence[KnownSpan]]) -> bool:
    summaries = (span.summary for spans in workers.values() for span in spans)
    return any(summary.head.facts.simulated is not None for summary in summaries if summary)


def _worker_entry(name: str, spans: Sequence[KnownSpan]) -> WorkerEntry:
    """The rank is that of any span that tells it."""
    rank = next((span.rank for span in spans if span.rank is not None), None)
    return WorkerEntry(name, rank, [_span_entry(span) for span in spans])


def _span_entry(span: KnownSpan) -> SpanEntry:
    facts = span.summary.head.facts if span.summary else None
    return SpanEntry(
        id=span.found.id,
        number=span.found.number,
        file=span.found.file,
        file_bytes=facts.file_bytes if facts else span.found.bytes,
        state=span.state,
        mean_step_ns=facts.mean_step_ns if facts else None,
        first_step=facts.first_step if facts else None,
        last_step=facts.last_step if facts else None,
        progress=span.progress,
        error=span.problem,
    )


def _rank(found: FoundSpan, summary: Summary | None) -> int | None:
    if summary and summary.head.facts.rank is not None:
        return summary.head.facts.rank
    return rank_in_name(found.worker)


def _trends_headline(found: FoundSpan, result: msgspec.Struct) -> Headline:
    """Trends are judged over many spans; here over one."""
    assert isinstance(result, TrendsResult)
    return judge_trends([(found.run, found.worker, found.number, result)])[0]


def _head(span: ReadSpan, notes: list[Note], judged: Judgement) -> SpanHead:
    facts, found = span.summary.head.facts, span.found
    return SpanHead(
        id=found.id,
        run=found.run,
        worker=found.worker,
        number=found.number,
        span_count=span.span_count,
        file=found.file,
        file_bytes=facts.file_bytes,
        events=facts.events,
        origin_ns=facts.origin_ns,
        step_count=facts.step_count,
        first_step=facts.first_step,
        last_step=facts.last_step,
        device_names=facts.device_names,
        sm_count=facts.sm_count,
        rank=_rank(found, span.summary),
        world_size=facts.world_size,
        simulated=facts.simulated,
        notes=notes,
        rails=judged.rails,
    )


def _metrics_shown(result: msgspec.Struct) -> set[str]:
    series = [*getattr(result, "tiles", ()), *getattr(result, "series", ())]
    return {each.metric for each in series}


def _stands_above(note: Note, view: str, shown: set[str]) -> bool:
    return not note.qualifies or not {view, *shown}.isdisjoint(note.qualifies)


def _only(neighbour: Neighbour, shown: set[str]) -> Neighbour:
    return Neighbour(
        neighbour.id,
        neighbour.number,
        {metric: value for metric, value in neighbour.values.items() if metric in shown},
        {metric: steps for metric, steps in neighbour.steps.items() if metric in shown},
    )


def _trend_span(span: KnownSpan) -> TrendSpan:
    """A span whose summary went away or is of another release stands without a result."""
    found, result = span.found, None
    if span.summary:
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            result = span.summary.result("trends", TrendsResult)
    return TrendSpan(found.id, found.run, found.worker, found.number, span.rank, span.state, result)
