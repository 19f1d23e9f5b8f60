"""The contents of a report: the answers that a reader's tab would request from the server, taken from a store.

index, catalogue, chain          as they are
pages                            of each span that is read: every view that is one span's
trends                           the rows of all spans, and the headlines and titles for all runs and for each run
pairs                            runs of one chain compared with each other, workers and spans with their predecessor
scalars                          of each run that logged any
job_steps                        of each run whose steps were timed
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise, permutations, takewhile
from typing import Annotated

import msgspec
from msgspec.structs import replace

from tb_steptime.comparison.comparison import MOST_IN_CHAIN
from tb_steptime.ingest.names import passed_on_workers
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.insights.base import Headline, Insight, Tried
from tb_steptime.insights.rules.steps.change_points import Change
from tb_steptime.serve.answers import ChainPage, ComparePage, RankMap, RanksPage
from tb_steptime.serve.catalogue import Catalogue, catalogue
from tb_steptime.serve.job_steps import JobSteps
from tb_steptime.serve.ranks import WAIT_METRICS
from tb_steptime.serve.scalars import JobScalars, Scalars, ScalarSeries
from tb_steptime.serve.served import ServedSpan, SpanFailed, SpanNames
from tb_steptime.serve.store import Store
from tb_steptime.serve.trends import TrendsRequest
from tb_steptime.serve.wire import RESULTS, Index, RunEntry, SpanEntry, SpanPage, TrendSpan, TrendsTitleId, Waiting
from tb_steptime.text import Phrase

#: Views of several spans, whose answers are not pages of one span.
OF_MANY = ("trends", "compare", "ranks")

#: In JSON a plain string; in TypeScript the union of the views.
ViewId = Annotated[str, msgspec.Meta(title="ViewId")]

_NOT_READ = "This recording was not read when the report was written"
_OPEN_IT = "Open the log directory in TensorBoard, or write the report again."


class TrendsTexts(msgspec.Struct, frozen=True):
    """The texts of the Trends view: its headline, and titles by picture."""

    headline: Headline
    titles: dict[TrendsTitleId, Phrase]


class IncludedTrends(msgspec.Struct, frozen=True):
    """rows, changes: of all spans. of_all: the texts about all runs, by the run in focus ("" for none). of_one: the
    texts about each run alone."""

    rows: list[TrendSpan]
    changes: list[Change]
    of_all: dict[str, TrendsTexts]
    of_one: dict[str, TrendsTexts]


class Place(msgspec.Struct, frozen=True):
    """What the reader who saves a report sees. address: the keys and values of the tab's address. compared: the ids of
    base and candidate, None where nothing is compared."""

    address: dict[str, str] = {}
    compared: tuple[str, str] | None = None


class IncludedAnswers(msgspec.Struct, frozen=True):
    """place: keys and values of the address at which the report opens; none: at its first view. pages: by span id, then
    view id. chain: of the runs in chain_runs, which are the newest where there are many. jobs, waits: of each job, with
    the ids of its spans. keeps_paths: whether a summary was written with whole paths."""

    written_ms: int
    place: dict[str, str]
    index: Index
    catalogue: Catalogue
    pages: dict[str, dict[ViewId, SpanPage]]
    trends: IncludedTrends
    pairs: list[ComparePage]
    chain: ChainPage
    chain_runs: list[str]
    jobs: list[RanksPage]
    waits: list[RankMap]
    scalars: dict[str, Scalars]
    job_steps: dict[str, JobSteps]
    keeps_paths: bool


_FIRST_VIEW = Place()


def included_answers(
    store: Store, scalars: JobScalars | None = None, tried: Collection[str] = (), place: Place = _FIRST_VIEW
) -> IncludedAnswers:
    """Collects the answers about all spans that are read so far; the others are marked as not read. scalars: the source
    of the job's own scalars. tried: the cards to tick; without any, the first ones of each span that can be ticked.
    place: where the report opens; the pair that is compared there is included."""
    index = store.index(work=False)
    index = replace(index, runs=[_settled(run) for run in index.runs], places=[], problems=[])
    spans = [span for span in store.directory.spans()[1] if span.measured]
    runs, jobs = chain_names(spans), jobs_of(store, spans)
    return IncludedAnswers(
        written_ms=round(1000 * time.time()),
        place=place.address,
        index=index,
        catalogue=catalogue(),
        pages={span.found.id: dict(_pages(store, span, tried)) for span in spans},
        trends=_trends(store, [run.name for run in index.runs]),
        pairs=list(_pairs(store, spans, place.compared)),
        chain=store.chain(SpanNames(runs), work=False),
        chain_runs=runs,
        jobs=jobs,
        waits=waits_of(store, jobs),
        job_steps={run.name: steps for run in index.runs if (steps := _job_steps(store, run.name)).workers},
        scalars={} if scalars is None else logged(scalars, [run.name for run in index.runs]),
        keeps_paths=any(span.at_hand().keeps_paths for span in spans),
    )


def _settled(run: RunEntry) -> RunEntry:
    """Marks unread spans as failed."""

    def settled(span: SpanEntry) -> SpanEntry:
        error = Problem(_NOT_READ, span.file, _OPEN_IT)
        return span if span.state.is_final else replace(span, state=SpanState.FAILED, progress=None, error=error)

    return replace(run, workers=[replace(each, spans=list(map(settled, each.spans))) for each in run.workers])


def _pages(store: Store, span: ServedSpan, tried: Collection[str]) -> Iterator[tuple[str, SpanPage]]:
    for view in RESULTS:
        page = store.page(span.found.id, view, work=False) if view not in OF_MANY else None
        if isinstance(page, SpanPage):
            yield view, page if page.tried is None else replace(page, tried=_ticked(page.tried, page.insights, tried))


def _ticked(tried: Tried, insights: Iterable[Insight], requested: Collection[str]) -> Tried:
    first = [card.id for card in takewhile(lambda card: card.id in tried.ids and card.gain_ns > 0, insights)]
    return replace(tried, ticked=[id for id in tried.ids if id in requested] if requested else first)


def can_be_tried(answers: IncludedAnswers) -> list[str]:
    """Returns the ids of the cards that can be ticked in any span."""
    tried = (page.tried for pages in answers.pages.values() for page in pages.values())
    return sorted({id for one in tried if one is not None for id in one.ids})


def _trends(store: Store, runs: Sequence[str]) -> IncludedTrends:
    whole = store.trends(SpanNames(), work=False)
    return IncludedTrends(
        rows=whole.spans,
        changes=whole.changes,
        of_all={"": TrendsTexts(whole.headline, dict(whole.titles)), **{run: _texts(store, [], run) for run in runs}},
        of_one={run: _texts(store, [run], None) for run in runs},
    )


def _texts(store: Store, runs: Sequence[str], focus: str | None) -> TrendsTexts:
    page = store.trends(SpanNames(runs), TrendsRequest(focus, strips=0), work=False)
    return TrendsTexts(page.headline, dict(page.titles))


def _pairs(store: Store, spans: Sequence[ServedSpan], compared: tuple[str, str] | None) -> Iterator[ComparePage]:
    """Yields the pairs of a report, and the one that is compared where it is none of them."""
    included = False
    for pair in pairs_of(spans):
        if (page := _pair(store, *pair)) is not None:
            yield page
            included |= compared is not None and compared[0] in page.base.spans and compared[1] in page.candidate.spans
    by_id = {span.found.id: span for span in spans}
    if compared is None or included or not by_id.keys() >= set(compared):
        return
    if (page := _pair(store, *(by_id[id] for id in compared))) is not None:
        yield page


def _pair(store: Store, base: ServedSpan, candidate: ServedSpan) -> ComparePage | None:
    page = store.compare(base.found.id, candidate.found.id, work=False)
    return None if isinstance(page, Waiting) else page


#: Maximum number of cells (ranks times steps) of a job whose waits are included; more would add several MB to the page.
MOST_CELLS = 20_000


def jobs_of(store: Store, spans: Iterable[ServedSpan]) -> list[RanksPage]:
    """Returns one page for each job, and for each span that belongs to no job."""
    pages: list[RanksPage] = []
    included: set[str] = set()
    for span in spans:
        page = None if span.found.id in included else _page(store, span.found.id)
        if page is not None:
            pages.append(page)
            included.update(page.spans)
    return pages


def waits_of(store: Store, pages: Iterable[RanksPage]) -> list[RankMap]:
    """Returns the waits by rank and step for the jobs whose waits are known, except very large ones."""
    return [
        store.ranks.map(page.spans[0], metric)
        for page in pages
        if page.job is not None and page.caused_ns and len(page.spans) * len(page.job.steps) <= MOST_CELLS
        for metric in WAIT_METRICS
    ]


def _job_steps(store: Store, run: str) -> JobSteps:
    """Returns the step times of a run, with worker names that do not reveal the machine."""
    job_steps = store.job_steps(run)
    names = passed_on_workers((run, each.worker) for each in job_steps.workers)
    return replace(job_steps, workers=[replace(each, worker=names[each.worker]) for each in job_steps.workers])


def _page(store: Store, id: str) -> RanksPage | None:
    try:
        page = store.ranks.page(id, work=False)
    except SpanFailed:
        return None
    if page.job is None:
        return page
    hosts = dict.fromkeys(row.host for row in page.job.ranks if row.host)
    numbered = {host: f"host {number}" for number, host in enumerate(hosts, 1)}  # a report names no machine
    ranks = [replace(row, host=numbered.get(row.host or "")) for row in page.job.ranks]
    return replace(page, job=replace(page.job, ranks=ranks))


#: Maximum number of runs of which every pair is included.
_FEW_RUNS = 4


def pairs_of(spans: Sequence[ServedSpan]) -> Iterator[tuple[ServedSpan, ServedSpan]]:
    """Yields pairs of base and candidate, with one span for each run or worker. A few runs yield every pair in both
    directions. More runs yield each run with the first of its chain and with the one before it, where simulated runs
    are paired only with each other. Then follow the workers of a run, and the spans of a worker, each with the one
    before it."""
    workers: dict[tuple[str, str], list[ServedSpan]] = {}
    for span in spans:
        workers.setdefault((span.found.run, span.found.worker), []).append(span)
    firsts = [of_one[0] for of_one in workers.values()]
    runs = list({span.found.run: span for span in reversed(firsts)}.values())
    shown = set(chain_names(spans))
    yield from permutations(runs, 2) if len(runs) <= _FEW_RUNS else _along_chains(runs, shown)
    yield from ((one, other) for one, other in pairwise(firsts) if one.found.run == other.found.run)
    for of_one in workers.values():
        yield from pairwise(of_one)


def _along_chains(runs: Sequence[ServedSpan], shown: Collection[str]) -> Iterator[tuple[ServedSpan, ServedSpan]]:
    """shown: the runs of the chains. Every run, shown or not, is also paired with the run recorded before it."""
    for simulated in (False, True):
        of_kind = (span for span in runs if (span.at_hand().facts.simulated is not None) is simulated)
        in_order = sorted(of_kind, key=_recorded_ns)
        in_chain = [span for span in in_order if span.found.run in shown]
        from_first = ((in_chain[0], other) for other in in_chain[1:])
        yield from dict.fromkeys([*pairwise(in_order), *pairwise(in_chain), *from_first])


def chain_names(spans: Sequence[ServedSpan]) -> list[str]:
    """Returns the runs of the chain, in the order of `spans`."""
    newest = {span.found.run: _recorded_ns(span) for span in sorted(spans, key=_recorded_ns)}
    latest = set(sorted(newest, key=newest.__getitem__)[-MOST_IN_CHAIN:])
    return [run for run in dict.fromkeys(span.found.run for span in spans) if run in latest]


def _recorded_ns(span: ServedSpan) -> int:
    return span.at_hand().facts.origin_ns


#: Maximum number of points of a tag, which is what a picture can show, and of a run, which limits the size of the page.
_MOST_POINTS, _MOST_OF_RUN = 300, 20_000
_LEAST_POINTS = 20


def logged(scalars: JobScalars, runs: Sequence[str]) -> dict[str, Scalars]:
    """Returns scalars by run; runs that logged nothing are left out."""
    by_run = {run: _scalars_of_run(scalars, run, runs) for run in runs}
    return {run: each for run, each in by_run.items() if each.tags}


def _scalars_of_run(scalars: JobScalars, run: str, runs: Sequence[str]) -> Scalars:
    tags = scalars.read(run, runs, None).tags
    points = max(_LEAST_POINTS, min(_MOST_POINTS, _MOST_OF_RUN // max(1, len(tags))))
    series = [thinned(each, points) for tag in tags for each in scalars.read(run, runs, tag).series]
    return Scalars(tags, series)


def thinned(series: ScalarSeries, points: int) -> ScalarSeries:
    """Reduces a series to at most this number of points, evenly spaced, including the first and the last.

    points 3   1 2 3 4 5  ->  1 3 5
    """
    count = len(series.steps)
    if count <= points:
        return series
    places = [place * (count - 1) // (points - 1) for place in range(points)]
    columns = ((name, getattr(series, name)) for name in ("steps", "wall_ns", "values"))
    return replace(series, **{name: [column[place] for place in places] for name, column in columns})
