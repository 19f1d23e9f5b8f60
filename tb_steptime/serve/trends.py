"""Many spans -> the trends page: a row for each, and what changed from one to the next.

A page of a thousand spans has the series that its pictures show, and the time bins of the spans with the longest
steps: all of it would be 34 MB.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tb_steptime.analyses.tensor_cores import TensorCoresResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.pool import QueuePlace
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights import TrendFacts, judge_trends
from tb_steptime.insights.base import Headline
from tb_steptime.insights.rules.steps.change_points import WATCHED, Change, Kernels, Spans, find_changes
from tb_steptime.serve.pages import CachedResults, LruCache
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.trend_columns import TrendColumns
from tb_steptime.serve.wire import TrendSeries, TrendsPage, TrendSpan
from tb_steptime.text import Phrase

#: Maximum number of spans on the page. More do not improve the picture, and all columns must be in memory at once.
MAX_SPANS = 2_000
#: Maximum number of sets of spans whose texts are cached, so that a user can switch between them quickly.
CACHED_TEXTS = 16


@dataclass(frozen=True)
class TrendsRequest:
    """focus: as in `judge_trends`. metrics: the metrics whose series are wanted; empty: all. strips: the maximum number
    of spans with time bins; spans of the run in focus come first, then those with the longest steps; None: all."""

    focus: str | None = None
    metrics: Collection[str] = ()
    strips: int | None = None


class _TrendsTexts(NamedTuple):
    """The texts about a set of spans. They do not depend on which metrics are shown."""

    headline: Headline
    titles: dict[str, Phrase]
    changes: list[Change]


class _Row(NamedTuple):
    span: ServedSpan
    columns: TrendColumns | None


@dataclass(eq=False)
class TrendsPages:
    """All methods may be called from any thread."""

    cached: CachedResults
    _texts: LruCache[_TrendsTexts] = field(default_factory=lambda: LruCache(CACHED_TEXTS))

    def page(self, spans: Sequence[ServedSpan], places: Mapping[str, QueuePlace], request: TrendsRequest) -> TrendsPage:
        """places: the places in the queue, by span id."""
        shown = _newest(spans)
        rows = [_Row(span, self.cached.trends(span)) for span in shown]
        texts = self._texts.get(_key(rows, request.focus), None, lambda: _trends_texts(rows, request.focus))
        striped = _longest(rows, request)
        spans_shown = [
            _trend_span(row, places, row.columns.result(request.metrics, strips=row.span.found.id in striped))
            if row.columns
            else _trend_span(row, places, None)
            for row in rows
        ]
        return TrendsPage(texts.headline, spans_shown, texts.titles, texts.changes, len(spans) - len(shown))

    def series(self, spans: Sequence[ServedSpan], metric: str) -> TrendSeries:
        """Returns one metric of the same spans as `page` has, as far as they are read."""
        columns = ((span.found.id, self.cached.trends(span)) for span in _newest(spans))
        by_span = {id: series for id, each in columns if each and (series := each.series_of(metric))}
        return TrendSeries(
            metric=metric,
            spans=list(by_span),
            values=[series.value for series in by_span.values()],
            steps=[series.steps for series in by_span.values()],
            reasons={id: series.reason for id, series in by_span.items() if series.reason},
        )


def _key(rows: Sequence[_Row], focus: str | None) -> bytes:
    """Returns what stays the same while the spans and their measurements do."""
    identities = [(row.span.found.id, row.span.found.number, row.span.found.stamp, row.columns is None) for row in rows]
    return hashlib.blake2b(repr((focus, identities)).encode("utf-8", "surrogateescape"), digest_size=16).digest()


def _trends_texts(rows: Sequence[_Row], focus: str | None) -> _TrendsTexts:
    read = [(row.span, row.columns.result(WATCHED, strips=False, others=True)) for row in rows if row.columns]
    facts = [TrendFacts(span.found.run, span.found.number, result) for span, result in read]
    headline, titles = judge_trends(facts, focus)
    return _TrendsTexts(headline, titles, find_changes(_workers(read)))


def _workers(read: Sequence[tuple[ServedSpan, TrendsResult]]) -> list[Spans]:
    """Returns the spans that are read, by worker in time order."""
    groups: dict[tuple[str, str], list[tuple[ServedSpan, TrendsResult]]] = {}
    for span, result in read:
        groups.setdefault((span.found.run, span.found.worker), []).append((span, result))
    return [
        Spans(
            run, worker, [span.found.number for span, _ in group], [result for _, result in group], _kernels_of(group)
        )
        for (run, worker), group in groups.items()
    ]


def _kernels_of(group: Sequence[tuple[ServedSpan, TrendsResult]]) -> Callable[[int], Kernels]:
    """Returns the kernel times of a span of the group, read from its summary when they are asked for."""

    def kernels(index: int) -> Kernels:
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            devices = group[index][0].at_hand().result("tensor_cores", TensorCoresResult).devices
            return {row.name: row.total_ns for device in devices for row in device.kernels}
        return {}

    return kernels


def _newest(spans: Sequence[ServedSpan]) -> Sequence[ServedSpan]:
    """Keeps the files that were written last where there are too many, in the same order."""
    if len(spans) <= MAX_SPANS:
        return spans
    since = sorted(span.found.mtime_ns for span in spans)[-MAX_SPANS]
    return [span for span in spans if span.found.mtime_ns >= since][-MAX_SPANS:]


def _longest(rows: Sequence[_Row], request: TrendsRequest) -> set[str]:
    """Ids of the spans whose strips are wanted: of the run in focus first, those with the longest mean step first."""
    spans = [row.span for row in rows if row.columns]
    focus = request.focus if request.focus or not spans else spans[-1].found.run
    if request.strips is not None:
        spans = sorted(spans, key=lambda span: (span.found.run != focus, -_mean_step_ns(span)))[: request.strips]
    return {span.found.id for span in spans}


def _mean_step_ns(span: ServedSpan) -> int:
    return (span.measured.facts.mean_step_ns if span.measured else None) or 0


def _trend_span(row: _Row, places: Mapping[str, QueuePlace], result: TrendsResult | None) -> TrendSpan:
    """A span whose summary went away has no result."""
    found = row.span.found
    state = row.span.state(places.get(found.id))
    return TrendSpan(found.id, found.run, found.worker, found.number, row.span.rank, state, result)
