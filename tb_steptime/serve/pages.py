"""Summaries -> what the tab is answered: a span's page, its neighbours, the trends of many spans. Pure but for reading
summary files; which span is meant and whether it is read is the store's business."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.tensor_cores import TensorCoresResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.pool import QueuePlace
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights import judge, judge_trends
from tb_steptime.insights.added_gains import may_be_added
from tb_steptime.insights.base import Headline, Insight, Judgement, SidebarShare
from tb_steptime.insights.rules.steps.change_points import Kernels, Spans, find_changes
from tb_steptime.insights.wording.notes import worded
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.wire import (
    Neighbour,
    RunEntry,
    SpanEntry,
    SpanHead,
    SpanPage,
    TrendsPage,
    TrendSpan,
    WorkerEntry,
    encode,
)
from tb_steptime.text import Note

#: The view that every insight stands in; another with insights shows those that lead to it.
_FIRST_VIEW = ANALYSES[0].id
_WITH_INSIGHTS = ("host",)

#: Of the spans that wait or are being read, by id.
QueuePlaces = Mapping[str, QueuePlace]


def judgement(measured: MeasuredSpan) -> Judgement:
    """What the rules say. Raises DamagedSummary, OSError, KeyError where it lacks the results of this release."""
    return judge(dict(measured.results))


def span_page(span: ServedSpan, view: str, span_count: int, neighbours: Iterable[Neighbour]) -> SpanPage:
    """One view of one span that is measured and judged; span_count: of its worker. Raises like `judgement`; KeyError
    when there is no such view."""
    measured, judged = span.at_hand(), span.judgement
    assert judged is not None
    result = measured.results[view]
    shown = _metrics_shown(result)
    notes = [note for note in measured.facts.notes if _stands_above(note, view, shown)]
    first, insights = view == _FIRST_VIEW, _insights(view, judged)
    return SpanPage(
        head=_head(span, span_count, notes, judged.sidebar),
        headline=_headline(span, view, judged),
        result=msgspec.Raw(encode(result)),
        titles=judged.titles.get(view, {}),
        notes=judged.notes.get(view, []),
        insights=insights,
        insights_remark=judged.insights_remark if first else may_be_added(insights, judged.addable),
        could_be=judged.could_be if first else None,
        neighbours=[_only(neighbour, shown) for neighbour in neighbours],
    )


def _insights(view: str, judged: Judgement) -> list[Insight]:
    if view == _FIRST_VIEW:
        return judged.insights
    return [insight for insight in judged.insights if view in _WITH_INSIGHTS and insight.view in (view, "timeline")]


def trends_page(spans: Sequence[ServedSpan], places: QueuePlaces, focus: str | None = None) -> TrendsPage:
    """focus as in `judge_trends`."""
    rows = [_trend_span(span, places) for span in spans]
    read = [(row.run, row.worker, row.number, row.result) for row in rows if row.result]
    headline, titles = judge_trends(read, focus)
    return TrendsPage(headline, rows, titles, find_changes(_workers(spans, rows)))


def _workers(spans: Sequence[ServedSpan], rows: Sequence[TrendSpan]) -> list[Spans]:
    """The spans that are read, by worker in time order."""
    groups: dict[tuple[str, str], list[tuple[ServedSpan, TrendSpan, TrendsResult]]] = {}
    for span, row in zip(spans, rows, strict=True):
        if row.result:
            groups.setdefault((row.run, row.worker), []).append((span, row, row.result))
    return [
        Spans(run, worker, [row.number for _, row, _ in group], [result for *_, result in group], _kernels_of(group))
        for (run, worker), group in groups.items()
    ]


def _kernels_of(group: Sequence[tuple[ServedSpan, TrendSpan, TrendsResult]]) -> Callable[[int], Kernels]:
    """Kernel times of a span of the group, read from its summary when they are asked for."""

    def kernels(index: int) -> Kernels:
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            devices = group[index][0].at_hand().result("tensor_cores", TensorCoresResult).devices
            return {row.name: row.total_ns for device in devices for row in device.kernels}
        return {}

    return kernels


def run_entries(spans: Iterable[ServedSpan], places: QueuePlaces) -> list[RunEntry]:
    """The pickers: runs, their workers, their spans, in the order of `spans`."""
    runs: dict[str, dict[str, list[ServedSpan]]] = {}
    for span in spans:
        runs.setdefault(span.found.run, {}).setdefault(span.found.worker, []).append(span)
    return [
        RunEntry(run, _simulated(workers), [_worker_entry(*each, places) for each in workers.items()])
        for run, workers in runs.items()
    ]


def _simulated(workers: Mapping[str, Sequence[ServedSpan]]) -> bool:
    measured = (span.measured for spans in workers.values() for span in spans)
    return any(each.facts.simulated is not None for each in measured if each)


def _worker_entry(name: str, spans: Sequence[ServedSpan], places: QueuePlaces) -> WorkerEntry:
    """The rank is that of any span that tells it."""
    rank = next((span.rank for span in spans if span.rank is not None), None)
    return WorkerEntry(name, rank, [_span_entry(span, places.get(span.found.id)) for span in spans])


def _span_entry(span: ServedSpan, place: QueuePlace | None) -> SpanEntry:
    facts = span.measured.facts if span.measured else None
    return SpanEntry(
        id=span.found.id,
        number=span.found.number,
        file=span.found.file,
        file_bytes=facts.file_bytes if facts else span.found.bytes,
        state=span.state(place),
        mean_step_ns=facts.mean_step_ns if facts else None,
        first_step=facts.first_step if facts else None,
        last_step=facts.last_step if facts else None,
        progress=place.progress if place else None,
        error=span.problem,
    )


def _headline(span: ServedSpan, view: str, judged: Judgement) -> Headline:
    """Trends are judged over many spans, here over one; a view without a headline of its own has the span's."""
    if view == "trends":
        result = span.at_hand().result(view, TrendsResult)
        return judge_trends([(span.found.run, span.found.worker, span.found.number, result)])[0]
    return judged.headlines.get(view) or judged.headlines[_FIRST_VIEW]


def _head(span: ServedSpan, span_count: int, notes: list[Note], sidebar: dict[str, SidebarShare]) -> SpanHead:
    facts, found = span.at_hand().facts, span.found
    return SpanHead(
        id=found.id,
        run=found.run,
        worker=found.worker,
        number=found.number,
        span_count=span_count,
        file=found.file,
        file_bytes=facts.file_bytes,
        events=facts.events,
        origin_ns=facts.origin_ns,
        step_count=facts.step_count,
        first_step=facts.first_step,
        last_step=facts.last_step,
        device_names=facts.device_names,
        sm_count=facts.sm_count,
        rank=span.rank,
        world_size=facts.world_size,
        simulated=facts.simulated,
        notes=[worded(note) for note in notes],
        sidebar=sidebar,
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


def _trend_span(span: ServedSpan, places: QueuePlaces) -> TrendSpan:
    """A span whose summary went away stands without a result."""
    found, result = span.found, None
    if span.measured:
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            result = span.measured.result("trends", TrendsResult)
    state = span.state(places.get(found.id))
    return TrendSpan(found.id, found.run, found.worker, found.number, span.rank, state, result)
