"""The rows of each table (`tables`), of one span, in the order of its columns."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tb_steptime.analyses.gpu import DeviceGpu, GpuResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.tables.base import Surface, Value
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.modules import MODULES, placed_modules
from tb_steptime.tables.operators import OPERATORS
from tb_steptime.terminal.export.spans import ExportedSpan
from tb_steptime.text.printer import plain

Row = tuple[Value, ...]


def spans(span: ExportedSpan) -> Iterator[Row]:
    facts, overview = span.measured.facts, _overview(span)
    yield (
        span.ends_ns,
        span.time_from,
        facts.rank,
        facts.world_size,
        ", ".join(facts.device_names) or None,
        facts.simulated,
        facts.step_count,
        facts.steps_by,
        overview.mean_duration_ns,
        overview.job.purpose,
        overview.job.execution,
        span.judgement.verdict.bound.value,
        plain(span.judgement.verdict.text),
    )


def figures(span: ExportedSpan) -> Iterator[Row]:
    """Of the main device, as in Trends."""
    metrics = {metric.id: metric for metric in METRICS}
    names = [step.name for step in span.trends.steps]
    for series in span.trends.series:
        metric = metrics.get(series.metric)
        if metric is None:
            continue  # of an earlier release
        what = (metric.id, metric.label, metric.unit.value, series.device)
        reason = plain(explain(series.reason)) if series.reason else None
        yield (*what, None, series.value, reason)
        yield from ((*what, name, value, None) for name, value in zip(names, series.steps, strict=True))


def steps(span: ExportedSpan) -> Iterator[Row]:
    for row, mark in zip(_overview(span).steps, span.trends.steps, strict=True):
        yield (
            row.name,
            row.start_ns,
            span.wall_ns(mark),
            row.duration_ns,
            row.host_ns,
            row.gpu_busy_ns,
            row.slow,
            row.before_recording_ns,
            row.once_ns,
            row.after_recording_ns,
            row.profiler_ns,
            *msgspec.structs.astuple(row.parts_ns),
        )


def kernels(span: ExportedSpan) -> Iterator[Row]:
    for device in span.measured.result("gpu", GpuResult).devices:
        yield from _kernels(device)


def _kernels(device: DeviceGpu) -> Iterator[Row]:
    for table in (each for each in device.tables if each.by == "name"):
        yield from (KERNELS.values(row, Surface.EXPORT) for row in table.rows)
        if table.more_rows:
            share = table.more_ns / device.split.kernel_ns if device.split.kernel_ns else None
            known = {
                "device": device.device, "count": table.more_count, "total_ns": table.more_ns, "share": share,
            }  # fmt: skip
            yield KERNELS.some_values(known, Surface.EXPORT)


def operators(span: ExportedSpan) -> Iterator[Row]:
    tables = span.measured.result("operators", OperatorsResult).tables
    for table in (each for each in tables if each.by == "name" and each.where == "ran"):
        yield from (OPERATORS.values(row, Surface.EXPORT) for row in table.rows)
        if table.rest.rows:
            known = ("calls", "host_self_ns", "runtime_ns", "device_self_ns", "allocated_self_bytes")
            yield OPERATORS.some_values({id: getattr(table.rest, id) for id in known}, Surface.EXPORT)


def modules(span: ExportedSpan) -> Iterator[Row]:
    for placed in placed_modules(span.measured.result("operators", OperatorsResult).modules):
        yield MODULES.values(placed, Surface.EXPORT)


def cards(span: ExportedSpan) -> Iterator[Row]:
    return (CARDS.values(card, Surface.EXPORT) for card in span.judgement.insights)


def _overview(span: ExportedSpan) -> OverviewResult:
    return span.measured.result("overview", OverviewResult)
