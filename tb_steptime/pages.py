"""Summaries -> what the tab is answered: a span's page, its neighbours, the trends of many spans. Pure but for reading
summary files; which span is meant and whether it is read is the store's business."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.discovery import FoundSpan, rank_in_name
from tb_steptime.insights import judge, judge_trends
from tb_steptime.insights.base import Headline, Judgement
from tb_steptime.metrics.base import Series
from tb_steptime.phrases import Note
from tb_steptime.summary import Summary
from tb_steptime.wire import RESULTS, Neighbour, SpanHead, SpanPage, SpanState, TrendsPage, TrendSpan

#: The view that insights stand in.
_FIRST_VIEW = ANALYSES[0].id


@dataclass(frozen=True)
class ReadSpan:
    """A span with its summary, and how many spans its worker has."""

    found: FoundSpan
    summary: Summary
    span_count: int


class _SeriesOnly(msgspec.Struct, frozen=True):
    """The part of a TrendsResult that sparks are drawn from."""

    series: list[Series]


def judgement(summary: Summary) -> Judgement:
    """What the rules say. Raises ValueError when the summary does not hold the results of this release."""
    return judge({view: msgspec.json.decode(summary.view(view), type=kind) for view, kind in RESULTS.items()})


def span_page(span: ReadSpan, view: str, judged: Judgement, neighbours: Iterable[Neighbour]) -> SpanPage:
    """One view of one span. Raises like `judgement`; KeyError when there is no such view."""
    raw = span.summary.view(view)
    result = msgspec.json.decode(raw, type=RESULTS[view])
    shown = _metrics_shown(result)
    notes = [note for note in span.summary.head.facts.notes if _stands_above(note, view, shown)]
    first = view == _FIRST_VIEW
    return SpanPage(
        head=_head(span, notes, judged),
        headline=judged.headlines[view] if view in judged.headlines else _trends_headline(span.found, result),
        result=msgspec.Raw(raw),
        insights=judged.insights if first else [],
        insights_remark=judged.insights_remark if first else None,
        could_be=judged.could_be if first else None,
        neighbours=[_only(neighbour, shown) for neighbour in neighbours],
    )


def neighbour(span: ReadSpan) -> Neighbour:
    """A span's figures by metric, for the sparks and changes of its neighbours' tiles."""
    series = msgspec.json.decode(span.summary.view("trends"), type=_SeriesOnly).series
    values = {each.metric: each.value for each in series}
    return Neighbour(span.found.id, span.found.number, values, {each.metric: each.steps for each in series})


def trends_page(spans: Sequence[tuple[FoundSpan, SpanState, Summary | None]]) -> TrendsPage:
    rows = [_trend_span(*span) for span in spans]
    read = [(row.run, row.worker, row.number, row.result) for row in rows if row.result]
    headline, titles = judge_trends(read)
    return TrendsPage(headline, rows, titles)


def rank_of(found: FoundSpan, summary: Summary | None) -> int | None:
    """As the trace says it, else as the worker's name does."""
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
        rank=rank_of(found, span.summary),
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


def _trend_span(found: FoundSpan, state: SpanState, summary: Summary | None) -> TrendSpan:
    result = msgspec.json.decode(summary.view("trends"), type=TrendsResult) if summary else None
    return TrendSpan(found.id, found.run, found.worker, found.number, rank_of(found, summary), state, result)
