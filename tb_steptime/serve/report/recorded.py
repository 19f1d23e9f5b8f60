"""What a report holds: the answers that a reader's tab would ask the server for, taken from a store.

index, catalogue, chain          as they are
pages                            of each span that is read: every view that is one span's
trends                           the rows of all spans, and what is said of all runs, and of each one
pairs                            runs of one chain against each other, workers and spans against the one before
scalars                          of each run that logged any
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec.structs import replace

from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.insights.base import Headline
from tb_steptime.insights.rules.steps.change_points import Change
from tb_steptime.serve.catalogue import Catalogue, catalogue
from tb_steptime.serve.compare_answers import ChainPage, ComparePage
from tb_steptime.serve.rank_answers import RankMap, RanksPage
from tb_steptime.serve.report.jobs import jobs_of, waits_of
from tb_steptime.serve.report.pairs import chain_names, pairs_of
from tb_steptime.serve.report.scalars import logged
from tb_steptime.serve.scalars import JobScalars, Scalars
from tb_steptime.serve.served import ServedSpan, SpanNames
from tb_steptime.serve.store import Store
from tb_steptime.serve.trends import TrendsAsked
from tb_steptime.serve.wire import (
    RESULTS,
    Index,
    RunEntry,
    SpanEntry,
    SpanPage,
    TrendSpan,
    TrendsTitleId,
    Waiting,
)
from tb_steptime.text import Phrase

#: Views of many spans or of two: their answers are no span's page.
OF_MANY = ("trends", "compare", "ranks")

#: In JSON a plain string; in TypeScript the union of the views.
ViewId = Annotated[str, msgspec.Meta(title="ViewId")]

_NOT_READ = "This recording was not read when the report was written"
_OPEN_IT = "Open the log directory in TensorBoard, or write the report again."


class SaidOfRuns(msgspec.Struct, frozen=True):
    """What the Trends view says: its headline, and titles by picture."""

    headline: Headline
    titles: dict[TrendsTitleId, Phrase]


class HeldTrends(msgspec.Struct, frozen=True):
    """rows, changes: of all spans. of_all: of all runs, by the one in focus, "" for none; of_one: of each run alone."""

    rows: list[TrendSpan]
    changes: list[Change]
    of_all: dict[str, SaidOfRuns]
    of_one: dict[str, SaidOfRuns]


class HeldAnswers(msgspec.Struct, frozen=True):
    """pages: by span id, then view id. chain: of the runs chain_runs, the newest where there are many. jobs, waits: of
    each job, with the ids of its spans. keeps_paths: a summary was written with whole paths."""

    written_ms: int
    index: Index
    catalogue: Catalogue
    pages: dict[str, dict[ViewId, SpanPage]]
    trends: HeldTrends
    pairs: list[ComparePage]
    chain: ChainPage
    chain_runs: list[str]
    jobs: list[RanksPage]
    waits: list[RankMap]
    scalars: dict[str, Scalars]
    keeps_paths: bool


def recorded(store: Store, scalars: JobScalars | None = None) -> HeldAnswers:
    """Of all that is read by now; what is not says so. scalars: where the job's own are read from."""
    index = _written(store.index(work=False))
    spans = [span for span in store.directory.spans()[1] if span.measured]
    runs, jobs = chain_names(spans), jobs_of(store, spans)
    return HeldAnswers(
        written_ms=round(1000 * time.time()),
        index=index,
        catalogue=catalogue(),
        pages={span.found.id: dict(_pages(store, span)) for span in spans},
        trends=_trends(store, [run.name for run in index.runs]),
        pairs=[page for base, other in pairs_of(spans) if (page := _pair(store, base, other)) is not None],
        chain=store.chain(SpanNames(runs), work=False),
        chain_runs=runs,
        jobs=jobs,
        waits=waits_of(store, jobs),
        scalars={} if scalars is None else logged(scalars, [run.name for run in index.runs]),
        keeps_paths=any(span.at_hand().keeps_paths for span in spans),
    )


def _written(index: Index) -> Index:
    """Where the log directory lies is nobody's business; nothing is being read any more."""
    return replace(index, runs=[_settled_run(run) for run in index.runs], places=[], problems=[])


def _settled_run(run: RunEntry) -> RunEntry:
    workers = [replace(worker, spans=[_settled(span) for span in worker.spans]) for worker in run.workers]
    return replace(run, workers=workers)


def _settled(span: SpanEntry) -> SpanEntry:
    if span.state in (SpanState.READY, SpanState.FAILED):
        return span
    return replace(span, state=SpanState.FAILED, progress=None, error=Problem(_NOT_READ, span.file, _OPEN_IT))


def _pages(store: Store, span: ServedSpan) -> Iterator[tuple[str, SpanPage]]:
    for view in RESULTS:
        page = store.page(span.found.id, view, work=False) if view not in OF_MANY else None
        if isinstance(page, SpanPage):
            yield view, page


def _trends(store: Store, runs: Sequence[str]) -> HeldTrends:
    whole = store.trends(SpanNames(), work=False)
    return HeldTrends(
        rows=whole.spans,
        changes=whole.changes,
        of_all={"": SaidOfRuns(whole.headline, dict(whole.titles)), **{run: _said(store, [], run) for run in runs}},
        of_one={run: _said(store, [run], None) for run in runs},
    )


def _said(store: Store, runs: Sequence[str], focus: str | None) -> SaidOfRuns:
    page = store.trends(SpanNames(runs), TrendsAsked(focus, strips=0), work=False)
    return SaidOfRuns(page.headline, dict(page.titles))


def _pair(store: Store, base: ServedSpan, candidate: ServedSpan) -> ComparePage | None:
    page = store.compare(base.found.id, candidate.found.id, work=False)
    return None if isinstance(page, Waiting) else page
