"""Spans of two runs -> the page that compares them; of many -> the chain of experiments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from tb_steptime.comparison.comparison import chain, compare
from tb_steptime.comparison.sides import Side
from tb_steptime.errors import TraceError
from tb_steptime.ingest.compared import compared_side
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights.wording.compare import (
    CHANGE_LABELS,
    CONTRIBUTION_LABELS,
    comparison_sentences,
    residual_text,
    warning_texts,
)
from tb_steptime.serve.answers import ChainPage, ComparedSpans, ComparePage, LinkOfChain
from tb_steptime.serve.served import ServedSpan, first_workers

#: Errors raised by a summary that cannot be read, or that an earlier release wrote without what a comparison needs.
_UNREADABLE = (OSError, DamagedSummary, KeyError, TraceError)


def compare_page(base: Sequence[ServedSpan], candidate: Sequence[ServedSpan]) -> ComparePage:
    """Each side holds measured spans of one run and worker, in time order. Raises OSError, DamagedSummary,
    KeyError, TraceError where a span lacks the results of this release."""
    sides = _side(base), _side(candidate, with_gains=False)
    comparison = compare(*sides)
    headline, below = comparison_sentences(comparison)
    ids = {row.id for waterfall in comparison.waterfalls for row in waterfall.rows}  # some are names of the trace
    return ComparePage(
        headline=headline,
        below=below,
        comparison=comparison,
        warnings=warning_texts(comparison),
        labels={id: CONTRIBUTION_LABELS[id] for id in sorted(ids & CONTRIBUTION_LABELS.keys())},
        changes={change: CHANGE_LABELS[change] for change in comparison.changes},
        residuals=[residual_text(each) for each in comparison.predictions],
        base=_spans(base),
        candidate=_spans(candidate),
    )


def chain_page(spans: Iterable[ServedSpan], order: Sequence[str] = ()) -> ChainPage:
    """Builds the chain from the first worker of each run that is read. Runs named in `order` come first, then the
    others in the order of recording. Simulated runs are compared only with each other, and come last."""
    members, links = [], []
    for run_spans in _runs(spans, order):
        with contextlib.suppress(*_UNREADABLE):
            members.append((_spans(run_spans), _side(run_spans, with_gains=False)))
    for simulated in (False, True):
        group = [(compared, side) for compared, side in members if side.first.simulated is simulated]
        chained = chain([side for _, side in group])
        links += [LinkOfChain(compared, link) for (compared, _), link in zip(group, chained, strict=True)]
    return ChainPage(links)


def _runs(spans: Iterable[ServedSpan], order: Sequence[str]) -> list[list[ServedSpan]]:
    place = {run: number for number, run in enumerate(order)}
    return sorted(
        first_workers(spans),
        key=lambda run_spans: (place.get(run_spans[0].found.run, len(place)), run_spans[0].at_hand().facts.origin_ns),
    )


def _side(spans: Sequence[ServedSpan], *, with_gains: bool = True) -> Side:
    return compared_side(spans[0].found.run, [span.at_hand() for span in spans], with_gains=with_gains)


def _spans(spans: Sequence[ServedSpan]) -> ComparedSpans:
    first = spans[0].found
    return ComparedSpans(first.run, first.worker, [span.found.id for span in spans])
