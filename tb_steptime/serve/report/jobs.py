"""The ranks of each job in a report. Their metrics by rank and step are made of the report's trends."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tb_steptime.ranks.result import JobRanks
from tb_steptime.serve.rank_answers import RankMap, RanksPage
from tb_steptime.serve.ranks.map import WAIT_METRICS
from tb_steptime.serve.refusals import SpanFailed
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.store import Store

#: Of a job that has more, a page would be several MB larger.
MOST_CELLS = 20_000


def jobs_of(store: Store, spans: Iterable[ServedSpan]) -> list[RanksPage]:
    """One page for each job, and for each span that is of none."""
    pages: list[RanksPage] = []
    held: set[str] = set()
    for span in spans:
        page = None if span.found.id in held else _page(store, span.found.id)
        if page is not None:
            pages.append(page)
            held.update(page.spans)
    return pages


def waits_of(store: Store, pages: Iterable[RanksPage]) -> list[RankMap]:
    """By rank and step, of the jobs whose waits are known, but for very large ones."""
    return [
        store.ranks.map(page.spans[0], metric)
        for page in pages
        if page.job is not None and page.caused_ns and len(page.spans) * len(page.job.steps) <= MOST_CELLS
        for metric in WAIT_METRICS
    ]


def _page(store: Store, id: str) -> RanksPage | None:
    try:
        page = store.ranks.page(id, work=False)
    except SpanFailed:
        return None
    return page if page.job is None else replace(page, job=_without_hosts(page.job))


def _without_hosts(job: JobRanks) -> JobRanks:
    """Machines have numbers in place of their names."""
    names = {
        host: f"host {number}" for number, host in enumerate(dict.fromkeys(r.host for r in job.ranks if r.host), 1)
    }
    return replace(job, ranks=[replace(row, host=names.get(row.host or "")) for row in job.ranks])
