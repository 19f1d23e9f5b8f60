"""Many spans -> the trends page: a row for each, and what changed from one to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from tb_steptime.analyses.tensor_cores import TensorCoresResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.pool import QueuePlace
from tb_steptime.ingest.summaries import DamagedSummary
from tb_steptime.insights import judge_trends
from tb_steptime.insights.rules.steps.change_points import Kernels, Spans, find_changes
from tb_steptime.serve.served import ServedSpan
from tb_steptime.serve.wire import TrendsPage, TrendSpan


def trends_page(spans: Sequence[ServedSpan], places: Mapping[str, QueuePlace], focus: str | None = None) -> TrendsPage:
    """places: in the queue, by span id; focus as in `judge_trends`."""
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


def _trend_span(span: ServedSpan, places: Mapping[str, QueuePlace]) -> TrendSpan:
    """A span whose summary went away has no result."""
    found, result = span.found, None
    if span.measured:
        with contextlib.suppress(OSError, DamagedSummary, KeyError):
            result = span.measured.result("trends", TrendsResult)
    state = span.state(places.get(found.id))
    return TrendSpan(found.id, found.run, found.worker, found.number, span.rank, state, result)
