"""The rows of each table (`tables`), of one span, in the order of its columns."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tb_steptime.analyses.gpu import DeviceGpu, GpuResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.operators.module_tree import paths_of_rows
from tb_steptime.terminal.export.spans import ExportedSpan
from tb_steptime.text.printer import plain

#: None: not measurable, or not said.
Value = str | int | float | bool | None
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
        for row in table.rows:
            yield (
                device.device,
                row.name,
                row.short,
                row.count,
                row.total_ns,
                row.share,
                row.min_ns,
                row.max_ns,
                row.tensor_core,
                row.op,
                row.module,
                row.blocks_per_sm,
                row.waves,
                row.est_achieved_occupancy,
            )
        if table.more_rows:
            share = table.more_ns / device.split.kernel_ns if device.split.kernel_ns else None
            yield (device.device, None, None, table.more_count, table.more_ns, share, *(None,) * 8)


def operators(span: ExportedSpan) -> Iterator[Row]:
    tables = span.measured.result("operators", OperatorsResult).tables
    for table in (each for each in tables if each.by == "name" and each.where == "ran"):
        for row in table.rows:
            yield (
                row.name,
                row.calls,
                row.host_self_ns,
                row.host_total_ns,
                row.runtime_ns,
                row.device_self_ns,
                row.device_total_ns,
                row.launches,
                row.idle_ns,
                row.allocated_bytes,
                row.allocated_self_bytes,
            )
        if table.rest.rows:
            rest = table.rest
            known = (None, rest.calls, rest.host_self_ns, None, rest.runtime_ns, rest.device_self_ns)
            yield (*known, *(None,) * 4, rest.allocated_self_bytes)


def modules(span: ExportedSpan) -> Iterator[Row]:
    found = span.measured.result("operators", OperatorsResult).modules
    for row, path in zip(found, paths_of_rows(found), strict=True):
        yield (
            " / ".join(path),
            row.occurrences,
            row.host_total_ns,
            row.host_self_ns,
            row.python_ns,
            row.backward_host_ns,
            row.device_total_ns,
            row.device_self_ns,
            row.backward_device_ns,
            row.launches,
            row.idle_ns,
            row.allocated_bytes,
            row.allocated_self_bytes,
        )


def cards(span: ExportedSpan) -> Iterator[Row]:
    for card in span.judgement.insights:
        yield (
            card.id,
            card.severity.value,
            plain(card.title),
            plain(card.why),
            card.how,
            card.gain_ns,
            card.gain_fraction,
            plain(card.gain_formula),
            card.confidence.value,
            card.view,
            card.later_ns,
            card.lowered_from.value if card.lowered_from else None,
            plain(card.why_confidence),
        )


def _overview(span: ExportedSpan) -> OverviewResult:
    return span.measured.result("overview", OverviewResult)
