"""What `tb-steptime mcp` answers: a list of recordings, a summary of one, a comparison of two; rows of the tables of a
recording, its events, which batch fits; a memory snapshot; the definitions of figures.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import msgspec
import numpy as np

from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.memory import DeviceMemory, MemoryResult, device_fits
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.comparison.comparison import StepChange, compare
from tb_steptime.comparison.row_changes import RowChange, table_of
from tb_steptime.comparison.waterfall import Contribution
from tb_steptime.errors import TraceError
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.insights import judge
from tb_steptime.insights.rules.ranks import judge_job
from tb_steptime.insights.wording.card_text import as_one
from tb_steptime.insights.wording.compare import CONTRIBUTION_LABELS, comparison_headline, warning_texts
from tb_steptime.insights.wording.job_what_if import pipeline_text, what_if_texts
from tb_steptime.insights.wording.notes import worded
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.insights.wording.ranks import experts_texts, path_text, ranks_sentences
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.insights.wording.snapshots import out_of_memory_text, snapshot_headline
from tb_steptime.metrics.base import Series
from tb_steptime.metrics.catalogue import DATA_LOADING_TILES, HOST_TILES, METRIC_BY_ID, METRICS, TILES
from tb_steptime.metrics.memory.fit.fit import MARGIN
from tb_steptime.metrics.memory.fit.predictions import DeviceFit, FitSetting, size_of
from tb_steptime.metrics.operators.keys import By
from tb_steptime.snapshots.lines import MOST_GROWN, DeviceGrowth
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import DeviceSnapshot, SnapshotSummary, summarize_snapshot
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.host import BLOCKING
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.memory import ALLOCATIONS
from tb_steptime.tables.notes import note_line
from tb_steptime.tables.operators import LINES, OPERATORS
from tb_steptime.tables.ranks import STAGES
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.contract import answer_of, in_unit, lines, maybe_mb, maybe_ms, mb, ms, unit_of
from tb_steptime.terminal.agent.logs import Logs, RefusalError, SpanChoice, at_hand
from tb_steptime.terminal.compared import WrongPathsError, compared_sides
from tb_steptime.terminal.explanation import stream_of
from tb_steptime.terminal.memory_report import MADE, NOT_RECORDED
from tb_steptime.terminal.ranks.jobs import NO_JOB, FoundJob, Jobs
from tb_steptime.terminal.run_lines import Runs
from tb_steptime.text import Reason, did_you_mean, shortened
from tb_steptime.text.printer import plain
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.step_marks import STEP_MARK, step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Kind

#: Maximum number of recordings in a list, and of kernels in a comparison. An agent can request a recording by name.
_LISTED, _KERNELS = 100, 10
_SHOWN = dict.fromkeys((*TILES, *HOST_TILES, *DATA_LOADING_TILES))


def runs(logs: Logs) -> contract.Runs:
    spans, problems = logs.spans()
    listed = [(span, at_hand(span)) for span in spans[:_LISTED]]
    return contract.Runs(
        recordings=[_run_line(span, measured) for span, measured in listed],
        more=len(spans) - len(listed),
        problems=[f"{problem.file}: {problem.problem}." for problem in problems],
        first_cards=_first_cards(listed, {span.run for span in spans[_LISTED:]}),
    )


def _first_cards(listed: Iterable[tuple[FoundSpan, MeasuredSpan | None]], cut: Container[str]) -> dict[str, str]:
    """Returns the text of each run, whose processes are named where others of the run do different work. cut: runs of
    which some recordings are not listed, whose jobs would lack ranks."""
    jobs, read = Jobs(), Runs()
    for span, measured in listed:
        if measured is not None:
            if span.run not in cut:
                jobs.add(span, measured)
            read.add(span, measured, judge(measured.results, measured.facts.gaps))
    read.add_jobs(jobs.found())
    return {
        f"{report.run} ({', '.join(report.workers)})" if report.workers else report.run: report.text
        for report in read.reports()
    }


def _run_line(span: FoundSpan, measured: MeasuredSpan | None) -> contract.RunLine:
    if measured is None:
        return contract.RunLine(span.run, span.worker, span.number, False)
    facts = measured.facts
    step_ms, gpu = maybe_ms(facts.mean_step_ns), ", ".join(facts.device_names) or None
    return contract.RunLine(span.run, span.worker, span.number, True, step_ms, facts.step_count, gpu)


def summary(logs: Logs, which: SpanChoice) -> contract.Summary:
    """Raises RefusalError."""
    span = logs.find(which)
    measured = logs.measured(span)
    judged = judge(measured.results, measured.facts.gaps)
    overview, trends = measured.result("overview", OverviewResult), measured.result("trends", TrendsResult)
    return contract.Summary(
        run=span.run,
        worker=span.worker,
        span=span.number,
        job=plain(judged.job.line),
        verdict=plain(judged.verdict.text),
        steps=len(overview.steps),
        step_ms=ms(overview.mean_duration_ns),
        left_out_ms=ms(sum(row.duration_ns - row.judged_ns for row in overview.steps) / max(1, len(overview.steps))),
        parts_ms=_times(overview.mean_parts_ns),
        gpu_idle_ms=_idle(measured),
        figures=[_figure(series) for series in trends.series if series.metric in _SHOWN],
        cards=lines(CARDS, judged.insights),
        notes=[note_line(worded(note)) for note in measured.facts.notes],
        quality=[plain(as_one(line)) for line in judged.quality],
        steady_step_ms=maybe_ms(overview.steady_step_ns),
        excess=[plain(excess) for excess in judged.excess.values()],
    )


def _times(parts: msgspec.Struct) -> dict[str, float]:
    return {name: ms(ns) for name, ns in msgspec.structs.asdict(parts).items() if ns}


def _idle(measured: MeasuredSpan) -> dict[str, float] | None:
    mean = measured.result("host", HostResult).main_idle
    return None if mean is None else _times(mean)


def _figure(series: Series) -> contract.FigureLine:
    metric = METRIC_BY_ID[series.metric]
    return contract.FigureLine(metric.id, in_unit(series.value, metric), unit_of(metric), _why(series.reason))


def comparison(logs: Logs, base: str, candidate: str) -> contract.Comparison:
    """Raises RefusalError."""
    problems: list[Problem] = []
    names = [logs.find(SpanChoice(run)).run for run in (base, candidate)]
    folders = [logs.folder if name == "." else logs.folder / name for name in names]
    try:
        sides = [side for _, side in compared_sides(folders, problems, "found")]
    except WrongPathsError as error:
        raise RefusalError(str(error)) from error
    if problems or len(sides) < 2:
        raise RefusalError("; ".join(map(str, problems)))
    result = compare(*sides)
    return contract.Comparison(
        headline=plain(comparison_headline(result)),
        distinguishable=result.step.distinguishable,
        step=_change("step", result.step),
        parts=[_change(CONTRIBUTION_LABELS.get(row.id, row.id), row) for row in result.waterfalls[0].rows],
        kernels=[_kernel(row) for row in table_of("kernels", result.tables).rows[:_KERNELS]],
        predictions=[
            answer_of(contract.PredictionLine, prediction, card=prediction.insight) for prediction in result.predictions
        ],
        warnings=list(map(note_line, warning_texts(result))),
    )


def _kernel(row: RowChange) -> contract.KernelChangeLine:
    base = row.base_short or row.base_name
    candidate = row.candidate_short or row.candidate_name
    return answer_of(contract.KernelChangeLine, row, base=base, candidate=candidate)


def _change(of: str, row: StepChange | Contribution) -> contract.ChangeLine:
    return answer_of(contract.ChangeLine, row, of=of, low_ms=maybe_ms(row.low), high_ms=maybe_ms(row.high))


def ranks(logs: Logs, run: str | None) -> contract.Ranks:
    """Raises RefusalError."""
    jobs, chosen = Jobs(), logs.find(SpanChoice(run)).run
    for span in logs.spans()[0]:
        if span.run == chosen:
            jobs.add(span, logs.measured(span))
    found = jobs.found()
    return contract.Ranks([_job(job) for job in found], None if found else NO_JOB)


def _job(found_job: FoundJob) -> contract.Job:
    job = found_job.ranks
    path, pipeline = path_text(job), job.pipeline
    return contract.Job(
        run=found_job.run,
        ranks=[row.rank for row in job.ranks],
        missing=job.missing,
        verdict=" ".join(map(plain, ranks_sentences(job))),
        path=None if path is None else plain(path),
        pipeline=None if pipeline is None else plain(pipeline_text(pipeline)),
        stages=lines(STAGES, pipeline.rows if pipeline else []),
        what_if=[plain(text) for text in what_if_texts(job.what_if)],
        what_if_unknown=_why(job.what_if_reason),
        experts=list(map(plain, experts_texts(job))),
        cards=lines(CARDS, judge_job(job)),
        notes=[note_line(worded(note)) for note in job.notes],
    )


#: Why there is no table of ops in a grouping. Groupings that are not listed here always have one.
_NOT_RECORDED: dict[By, str] = {"shape": "no_shapes", "stack": "no_stacks", "line": "no_stacks", "module": "no_modules"}


def kernels(logs: Logs, which: SpanChoice, limit: int) -> contract.Kernels:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("gpu", GpuResult)
    tables = [(device.device, table) for device in result.devices for table in device.tables if table.by == "name"]
    rows = sorted((row for _, table in tables for row in table.rows), key=lambda row: -row.total_ns)
    folded = rows[limit:]
    more_ns = sum(row.total_ns for row in folded) + sum(table.more_ns for _, table in tables)
    return contract.Kernels(
        kernels=lines(KERNELS, rows[:limit]),
        more=len(folded) + sum(table.more_rows for _, table in tables),
        more_ms=ms(more_ns) if more_ns else None,
        why_none=_why(result.unknown),
    )


def operators(logs: Logs, which: SpanChoice, by: By, limit: int) -> contract.Operators:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("operators", OperatorsResult)
    table = next((each for each in result.tables if each.by == by and each.where == "ran"), None)
    if table is None or not table.rows:
        missing = _NOT_RECORDED.get(by) if result.recorded.ops else "no_ops"
        return contract.Operators([], why_none=plain(MISSING[missing]) if missing else None)
    rows = sorted(table.rows, key=lambda row: (-(row.device_self_ns or 0), -row.host_self_ns))[:limit]
    return contract.Operators(_without_nulls(lines(OPERATORS, rows)), max(0, len(table.rows) - limit) + table.rest.rows)


def source_lines(logs: Logs, which: SpanChoice, limit: int) -> contract.Lines:
    """Raises RefusalError."""
    table = logs.measured(logs.find(which)).result("operators", OperatorsResult).lines
    if table is None:
        return contract.Lines([], why_none=plain(MISSING["no_stacks"]))
    measured = _without_nulls(lines(LINES, table.rows[:limit]))
    return contract.Lines(measured, table.line_of, max(0, len(table.rows) - limit) + table.more)


def _without_nulls(rows: list[contract.Line]) -> list[contract.Line]:
    """Removes the values that are not measurable."""
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def blocking_calls(logs: Logs, which: SpanChoice, limit: int) -> contract.BlockingCalls:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("host", HostResult)
    return contract.BlockingCalls(
        blocking_calls=lines(BLOCKING, result.blocking[:limit]),
        more=max(0, len(result.blocking) - limit) + result.more_blocking,
        why_none=_why(result.unknown),
    )


def memory(logs: Logs, which: SpanChoice, limit: int) -> contract.Memory:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("memory", MemoryResult)
    return contract.Memory([_device_memory(device, limit) for device in result.devices], _why(result.unknown))


def _device_memory(device: DeviceMemory, limit: int) -> contract.DeviceMemoryLine:
    growth = device.growth
    return contract.DeviceMemoryLine(
        device=device.name,
        peak_mb=mb(device.peak.allocated_bytes),
        peak_step=device.peak.step,
        peak_phase=device.peak.phase,
        reserved_mb=maybe_mb(device.most_reserved_bytes),
        grows_mb_per_step=maybe_mb(growth.bytes_per_step),
        grows_in_every_step=growth.every_step,
        largest=lines(ALLOCATIONS, device.largest[:limit]),
        categories_mb={category.category: mb(category.bytes) for category in device.categories}
        if device.categories
        else None,
        without_earlier=not device.whole,
        why_none=_why(device.why_unknown),
    )


def _why(reason: Reason | None) -> str | None:
    return plain(explain(reason)) if reason else None


def definitions(metrics: Sequence[str]) -> contract.Definitions:
    """Returns the definitions of these metrics, or of all where none is named. Raises RefusalError."""
    missing = [metric for metric in metrics if metric not in METRIC_BY_ID]
    if missing:
        nearest = did_you_mean(missing[0], METRIC_BY_ID)
        raise RefusalError(f"There is no metric {missing[0]}.{nearest} They are: {', '.join(METRIC_BY_ID)}.")
    chosen = [METRIC_BY_ID[metric] for metric in metrics] or METRICS
    return contract.Definitions(
        [contract.Definition(metric.id, metric.label, unit_of(metric), metric.meaning) for metric in chosen]
    )


def memory_fit(logs: Logs, which: SpanChoice, batches: Sequence[int], memory: str | None) -> contract.Fit:
    """Raises RefusalError."""
    try:
        limit = None if memory is None else size_of(memory)
        devices = device_fits(logs.trace(logs.find(which)), batches, limit)
    except ValueError as error:
        raise RefusalError(str(error)) from error
    return contract.Fit([_device(device) for device in devices], MARGIN, None if devices else NOT_RECORDED)


def _device(fit: DeviceFit) -> contract.DeviceFitLine:
    return answer_of(
        contract.DeviceFitLine,
        fit,
        largest_batch=fit.largest,
        largest_batch_range=(fit.largest_low, fit.largest_high),
        peaks=[answer_of(contract.BatchPeak, peak) for peak in fit.peaks],
        filled_by=[
            contract.ModuleMemory(
                module.path or MADE[module.kind], mb(module.bytes), mb(module.constant), mb(module.per_sample)
            )
            for module in fit.modules
        ],
        settings=[_setting(setting) for setting in fit.settings],
        why_none=_why(fit.unknown),
    )


def _setting(setting: FitSetting) -> contract.SettingLine:
    why_none = [plain(explain(why)) for why in (setting.unknown, setting.no_time) if why]
    return answer_of(
        contract.SettingLine, setting, setting=setting.label, largest_batch=setting.largest, why_none=why_none
    )


#: Maximum length of an event's name, since names of C++ templates can fill pages.
_NAME_CHARACTERS = 120


def window(
    logs: Logs, which: SpanChoice, step: str | None, between_ms: tuple[float | None, float | None], limit: int
) -> contract.Window:
    """Returns the window of a step, or between two times from the beginning of the recording. Without both, it is the
    window of the first step. Raises RefusalError."""
    trace = logs.trace(logs.find(which))
    low, high = _bounds(trace, step, between_ms)
    events = trace.events
    within = np.minimum(events.start_ns + events.dur_ns, high) - np.maximum(events.start_ns, low)
    within[step_marks(trace)] = 0
    within[rows_named(trace, (Kind.GPU_USER,), STEP_MARK.match)] = 0
    touching = np.flatnonzero(within > 0)
    longest = touching[np.argsort(-within[touching], kind="stable")[:limit]]
    return contract.Window(
        ms(low), ms(high), [_event(trace, row) for row in np.sort(longest).tolist()], len(touching) - len(longest)
    )


def _bounds(trace: Trace, step: str | None, between_ms: tuple[float | None, float | None]) -> tuple[int, int]:
    """Raises RefusalError."""
    start, end = between_ms
    if start is not None and end is not None:
        if start >= end:
            raise RefusalError("The window ends before it begins.")
        return round(start * 1e6), round(end * 1e6)
    steps = find_steps(trace).steps
    name = steps[0].name if step is None else step
    match = next((step for step in steps if step.name == name), None)
    if match is None:
        names = ", ".join(step.name for step in steps[:20])
        raise RefusalError(f'There is no step "{name}". The steps are: {names}.')
    return match.start_ns, match.end_ns


def _event(trace: Trace, row: int) -> contract.EventLine:
    events = trace.events
    kind = Kind(int(events.kind[row]))
    thread = trace.threads[int(events.thread[row])]
    return contract.EventLine(
        kind=kind.name.lower(),
        name=shortened(short_frame(trace.name_of(row)), _NAME_CHARACTERS),
        track=stream_of(trace, row)
        if kind in (*DEVICE_KINDS, Kind.GPU_USER)
        else thread.name or f"thread {thread.tid}",
        start_ms=round(float(events.start_ns[row]) / 1e6, 4),
        duration_ms=ms(float(events.dur_ns[row])),
    )


def memory_snapshot(logs: Logs, file: str | None, since: str | None, limit: int) -> contract.MemorySnapshot:
    """Raises RefusalError."""
    snapshot = logs.snapshot(file)
    summary = _summary(logs, snapshot.file, since)
    growth = {row.device: row for row in summary.growth}
    devices = [_device_snapshot(device, growth.get(device.device), limit) for device in summary.devices]
    return contract.MemorySnapshot(snapshot.file, devices, summary.lost)


def _summary(logs: Logs, file: str, since: str | None) -> SnapshotSummary:
    try:
        before = read_snapshot(logs.snapshot(since).path) if since else None
        return summarize_snapshot(read_snapshot(logs.snapshot(file).path), before)
    except TraceError as error:
        raise RefusalError(str(error)) from error


def _device_snapshot(device: DeviceSnapshot, grown: DeviceGrowth | None, limit: int) -> contract.DeviceSnapshotLine:
    rows = grown.lines if grown else []
    more = {(row.line, row.function): mb(row.after_bytes - row.before_bytes) for row in rows}
    unchanged = 0.0 if grown and len(rows) < MOST_GROWN else None
    return answer_of(
        contract.DeviceSnapshotLine,
        device,
        said=plain(snapshot_headline(device).verdict),
        peak_mb=mb(device.peak_in_use_bytes),
        peak_by_category_mb={row.category: mb(row.bytes) for row in device.peak_by_category},
        lines=[
            answer_of(
                contract.LineMemory,
                row,
                peak_mb=mb(row.bytes),
                more_mb=more.get((row.line, row.function), unchanged),
            )
            for row in device.peak_by_line[:limit]
        ],
        out_of_memory=[plain(out_of_memory_text(row)) for row in device.out_of_memory],
    )
