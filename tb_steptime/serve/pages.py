"""A span that is measured -> the page of one of its views.

Results of spans are cached, so that repeated requests are cheap. The cache is bounded in bytes, however many spans a
log directory has and however long TensorBoard runs.

    summary file ──> trends of a span as columns, 20 kB ──> sparks of its neighbours, rows of Trends
                 ──> judgement, 80 kB                   ──> pages of all its views
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Set
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights import TrendFacts, judge, judge_trends
from tb_steptime.insights.base import FindingText, Headline, Insight, Judgement
from tb_steptime.insights.data_quality import quality_of_view
from tb_steptime.insights.severity import remark_of_view
from tb_steptime.insights.wording.notes import noted, notes_of_cards
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.trend_columns import TrendColumns
from tb_steptime.serve.wire import Neighbour, SpanHead, SpanPage, encode
from tb_steptime.tables.base import report_of, with_derived
from tb_steptime.tables.heads import TABLES
from tb_steptime.text import Note

#: Notes that no view shows above its pictures: the hint of the GPU's kernels says them, with the share.
_IN_HINTS = frozenset({"kineto_occupancy"})
#: The view that shows every insight; another with insights shows those that lead to it.
_FIRST_VIEW = ANALYSES[0].id
#: For each view with insights, the views whose insights it shows.
_WITH_INSIGHTS = {"host": ("host", "timeline"), "memory": ("memory",)}


def judgement(measured: MeasuredSpan) -> Judgement:
    """Applies the rules. Raises DamagedSummary, OSError, KeyError where the span lacks the results of this release."""
    return judge(measured.results, measured.facts.gaps)


def span_page(
    span: ServedSpan,
    judged: Judgement,
    view: str,
    span_count: int,
    neighbours: Iterable[tuple[FoundSpan, TrendColumns]],
) -> SpanPage:
    """Returns one view of one measured span; span_count: of its worker, neighbours: those near it. Raises like
    `judgement`; KeyError when there is no such view."""
    measured = span.at_hand()
    result = measured.results[view]
    series = [*getattr(result, "tiles", ()), *getattr(result, "series", ())]
    shown = {each.metric for each in series}
    headline = _headline(span, view, judged)
    first, insights = view == _FIRST_VIEW, _insights(view, judged)
    said = judged.notes_in_verdict if headline.verdict == judged.verdict.text else frozenset()
    notes = notes_above(measured.facts.notes, {view, *shown}, said | notes_of_cards(insights))
    return SpanPage(
        head=_head(span, span_count, notes, judged, quality_of_view(judged.quality, view)),
        headline=headline,
        result=msgspec.Raw(encode(with_derived(result, *TABLES))),
        titles=judged.titles.get(view, {}),
        notes=judged.notes.get(view, []),
        insights=insights,
        insights_remark=judged.insights_remark if first else remark_of_view(insights, judged),
        could_be=judged.could_be if first else None,
        tried=judged.tried if first else None,
        excess=list(judged.excess.values()) if first else [],
        largest=judged.largest if first else None,
        neighbours=[
            Neighbour(found.id, found.number, trends.values_of(shown), trends.steps_of(shown))
            for found, trends in neighbours
        ],
        shown_step=judged.shown_step,
        gap=view in measured.facts.gaps,
    )


def _insights(view: str, judged: Judgement) -> list[Insight]:
    if view == _FIRST_VIEW:
        return judged.under_headline
    return [insight for insight in judged.insights if insight.view in _WITH_INSIGHTS.get(view, ())]


def _headline(span: ServedSpan, view: str, judged: Judgement) -> Headline:
    """Returns the headline of a view, or that of the first view where the view has none of its own. Trends are usually
    judged over many spans; here they are judged over this one, where they could be computed."""
    if view == "trends" and view not in judged.headlines:
        result = span.at_hand().result(view, TrendsResult)
        return judge_trends([TrendFacts(span.found.run, span.found.number, result)])[0]
    return judged.headlines.get(view) or judged.headlines[_FIRST_VIEW]


def _head(
    span: ServedSpan, span_count: int, notes: list[Note], judged: Judgement, quality: list[FindingText]
) -> SpanHead:
    found = span.found
    return report_of(
        SpanHead,
        span.at_hand().facts,
        id=found.id,
        run=found.run,
        worker=found.worker,
        number=found.number,
        span_count=span_count,
        file=found.file,
        rank=span.rank,
        job=judged.job,
        notes=noted(notes),
        quality=quality,
        sidebar=judged.sidebar,
    )


def notes_above(notes: Iterable[Note], shown: Set[str], said: Set[str]) -> list[Note]:
    """Returns the notes that stand above a view. shown: the view, and the metrics that it shows; said: ids of the notes
    that its headline or a card says."""
    left_out = _IN_HINTS | said
    return [
        note
        for note in notes
        if note.id not in left_out and (not note.qualifies or not shown.isdisjoint(note.qualifies))
    ]


T = TypeVar("T")

#: Maximum size of the cached trends: about three thousand spans of forty steps.
MAX_TREND_BYTES = 64_000_000
#: Maximum size of the cached judgements: about two hundred spans of 80 kB each.
MAX_JUDGEMENT_BYTES = 16_000_000
#: Approximate bytes of memory that a Python object takes for each byte of its JSON.
_BYTES_PER_JSON = 4


@dataclass(eq=False)
class LruCache(Generic[T]):
    """A least-recently-used cache by name, of at most max_bytes, or of so many values where `get` is told no size. All
    methods may be called from any thread."""

    max_bytes: int
    bytes: int = 0
    _entries: OrderedDict[Hashable, tuple[object, T, int]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, name: Hashable, source: object, make: Callable[[], T], size: Callable[[T], int] = lambda _: 1) -> T:
        """Returns the value that is cached under the name if it was made of this very object (`source`), else the
        result of `make`, which is then cached. Raises what `make` raises."""
        value = self.cached(name, source)
        if value is not None:
            return value
        result = make()
        self._add(name, (source, result, size(result)))
        return result

    def cached(self, name: Hashable, source: object) -> T | None:
        """Returns the cached value, or None where none is cached under the name or it was made of another object."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is None or entry[0] is not source:
                return None
            self._entries.move_to_end(name)
            return entry[1]

    def drop(self, name: Hashable) -> None:
        """Removes the value that is cached under a name."""
        with self._lock:
            _, _, size = self._entries.pop(name, (None, None, 0))
            self.bytes -= size

    def _add(self, name: Hashable, entry: tuple[object, T, int]) -> None:
        with self._lock:
            replaced = self._entries.pop(name, None)
            self.bytes += entry[2] - (replaced[2] if replaced else 0)
            self._entries[name] = entry
            while self.bytes > self.max_bytes and len(self._entries) > 1:
                _, (_, _, size) = self._entries.popitem(last=False)
                self.bytes -= size


class CachedResults:
    """The cached results of a store's spans."""

    def __init__(self) -> None:
        self._trends: LruCache[TrendColumns] = LruCache(MAX_TREND_BYTES)
        self._judgements: LruCache[Judgement] = LruCache(MAX_JUDGEMENT_BYTES)

    @property
    def bytes(self) -> int:
        return self._trends.bytes + self._judgements.bytes

    def trends(self, span: ServedSpan) -> TrendColumns | None:
        """Returns the span's trends; None where the span is not read, its summary went away or makes no sense, or could
        not be computed."""
        measured = span.measured
        if measured is None or "trends" in measured.facts.gaps:
            return None
        with contextlib.suppress(OSError, DamagedSummary, KeyError, ValueError, OverflowError):
            make = lambda: TrendColumns.from_result(measured.result("trends", TrendsResult))  # noqa: E731
            return self._trends.get(span.found.id, measured, make, lambda columns: columns.bytes)
        return None

    def judgement(self, span: ServedSpan) -> Judgement:
        """Raises like `pages.judgement`, FileNotFoundError."""
        measured = span.at_hand()
        return self._judgements.get(
            span.found.id, measured, lambda: judgement(measured), lambda judged: _BYTES_PER_JSON * len(encode(judged))
        )
