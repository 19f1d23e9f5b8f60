"""What one recording or memory snapshot holds: rows of its tables, events, which batch fits; and the definitions of
figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.memory import DeviceMemory, MemoryResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.errors import TraceError
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.insights.wording.snapshots import out_of_memory_text, snapshot_headline
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.memory.fit.fit import MARGIN
from tb_steptime.metrics.memory.fit.predictions import DeviceFit, FitSetting, fits, size_of
from tb_steptime.metrics.operators.keys import By
from tb_steptime.snapshots.lines import MOST_GROWN, DeviceGrowth
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import DeviceSnapshot, SnapshotSummary, summarize_snapshot
from tb_steptime.tables.blocking import BLOCKING
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.lines import LINES
from tb_steptime.tables.memory import ALLOCATIONS
from tb_steptime.tables.operators import OPERATORS
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError, Which
from tb_steptime.terminal.agent.numbers import lines, mb, ms, unit_of
from tb_steptime.terminal.fit_report import MADE, NOT_RECORDED
from tb_steptime.text import Reason, did_you_mean, shortened
from tb_steptime.text.printer import plain
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Kind

#: Why there is no table of ops in a grouping. Groupings that are not listed here always have one.
_NOT_RECORDED: dict[By, str] = {
    "shape": "no_shapes",
    "stack": "no_stacks",
    "line": "no_stacks",
    "module": "no_modules",
}


def kernels(logs: Logs, which: Which, limit: int) -> contract.Kernels:
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


def operators(logs: Logs, which: Which, by: By, limit: int) -> contract.Operators:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("operators", OperatorsResult)
    table = next((each for each in result.tables if each.by == by and each.where == "ran"), None)
    if table is None or not table.rows:
        missing = _NOT_RECORDED.get(by) if result.recorded.ops else "no_ops"
        return contract.Operators([], why_none=plain(MISSING[missing]) if missing else None)
    rows = sorted(table.rows, key=lambda row: (-(row.device_self_ns or 0), -row.host_self_ns))[:limit]
    return contract.Operators(_known(lines(OPERATORS, rows)), max(0, len(table.rows) - limit) + table.rest.rows)


def source_lines(logs: Logs, which: Which, limit: int) -> contract.Lines:
    """Raises RefusalError."""
    table = logs.measured(logs.find(which)).result("operators", OperatorsResult).lines
    if table is None:
        return contract.Lines([], why_none=plain(MISSING["no_stacks"]))
    said = _known(lines(LINES, table.rows[:limit]))
    return contract.Lines(said, table.line_of, max(0, len(table.rows) - limit) + table.more)


def _known(rows: list[contract.Line]) -> list[contract.Line]:
    """Removes the values that are not measurable."""
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def blocking_calls(logs: Logs, which: Which, limit: int) -> contract.BlockingCalls:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("host", HostResult)
    return contract.BlockingCalls(
        blocking_calls=lines(BLOCKING, result.blocking[:limit]),
        more=max(0, len(result.blocking) - limit) + result.more_blocking,
        why_none=_why(result.unknown),
    )


def memory(logs: Logs, which: Which, limit: int) -> contract.Memory:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("memory", MemoryResult)
    return contract.Memory([_device_memory(each, limit) for each in result.devices], _why(result.unknown))


def _device_memory(device: DeviceMemory, limit: int) -> contract.DeviceMemoryLine:
    reserved, growth = device.reserved_peak, device.growth
    return contract.DeviceMemoryLine(
        device=device.name,
        peak_mb=mb(device.peak.allocated_bytes),
        peak_step=device.peak.step,
        peak_phase=device.peak.phase,
        reserved_mb=None if reserved is None or reserved.reserved_bytes is None else mb(reserved.reserved_bytes),
        grows_mb_per_step=None if growth.bytes_per_step is None else mb(growth.bytes_per_step),
        grows_in_every_step=growth.every_step,
        largest=lines(ALLOCATIONS, device.largest[:limit]),
        categories_mb={each.category: mb(each.bytes) for each in device.categories} if device.categories else None,
        without_earlier=not device.whole,
        why_none=_why(device.why_unknown),
    )


def _why(reason: Reason | None) -> str | None:
    return plain(explain(reason)) if reason else None


def definitions(metrics: Sequence[str]) -> contract.Definitions:
    """Returns the definitions of these metrics, or of all where none is named. Raises RefusalError."""
    known = {metric.id: metric for metric in METRICS}
    missing = [each for each in metrics if each not in known]
    if missing:
        nearest = did_you_mean(missing[0], known)
        raise RefusalError(f"There is no metric {missing[0]}.{nearest} They are: {', '.join(known)}.")
    chosen = [known[each] for each in metrics] or METRICS
    return contract.Definitions(
        [contract.Definition(metric.id, metric.label, unit_of(metric), metric.meaning) for metric in chosen]
    )


def memory_fit(logs: Logs, which: Which, batches: Sequence[int], memory: str | None) -> contract.Fit:
    """Raises RefusalError."""
    try:
        limit = None if memory is None else size_of(memory)
        devices = fits(logs.trace(logs.find(which)), batches, limit)
    except ValueError as error:
        raise RefusalError(str(error)) from error
    return contract.Fit([_device(each) for each in devices], MARGIN, None if devices else NOT_RECORDED)


def _device(found: DeviceFit) -> contract.DeviceFitLine:
    return contract.DeviceFitLine(
        device=found.device,
        batch=found.batch,
        limit_mb=None if found.limit_bytes is None else mb(found.limit_bytes),
        largest_batch=found.largest,
        largest_batch_range=(found.largest_low, found.largest_high),
        peaks=[
            contract.BatchPeak(each.batch, mb(each.peak_bytes), mb(each.low_bytes), mb(each.high_bytes))
            for each in found.peaks
        ],
        filled_by=[
            contract.ModuleMemory(each.path or MADE[each.kind], mb(each.bytes), mb(each.constant), mb(each.per_sample))
            for each in found.modules
        ],
        settings=[_setting(each) for each in found.settings],
        why_none=plain(explain(found.unknown)) if found.unknown else None,
    )


def _setting(found: FitSetting) -> contract.SettingLine:
    return contract.SettingLine(
        setting=found.label,
        peak_mb=None if found.peak_bytes is None else mb(found.peak_bytes),
        step_ms=None if found.step_ns is None else ms(found.step_ns),
        largest_batch=found.largest,
        best=found.best,
        code=found.code,
        why_none=[plain(explain(why)) for why in (found.unknown, found.no_time) if why],
        copied_mb=None if found.copied_bytes is None else mb(found.copied_bytes),
        copy_ms=None if found.copy_ns is None else ms(found.copy_ns),
    )


#: Maximum length of an event's name, since names of C++ templates can fill pages.
_NAME_CHARACTERS = 120


def window(
    logs: Logs, which: Which, step: str | None, between_ms: tuple[float | None, float | None], limit: int
) -> contract.Window:
    """Returns the window of a step, or between two times from the beginning of the recording. Without both, it is the
    window of the first step. Raises RefusalError."""
    trace = logs.trace(logs.find(which))
    low, high = _bounds(trace, step, between_ms)
    events = trace.events
    within = np.minimum(events.start_ns + events.dur_ns, high) - np.maximum(events.start_ns, low)
    within[step_marks(trace)] = 0
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
    wanted = steps[0].name if step is None else step
    found = next((each for each in steps if each.name == wanted), None)
    if found is None:
        names = ", ".join(each.name for each in steps[:20])
        raise RefusalError(f'There is no step "{wanted}". The steps are: {names}.')
    return found.start_ns, found.end_ns


def _event(trace: Trace, row: int) -> contract.EventLine:
    events = trace.events
    kind = Kind(int(events.kind[row]))
    thread = trace.threads[int(events.thread[row])]
    stream = f"{trace.job.accelerator} {int(events.device[row])}, stream {int(events.stream[row])}"
    return contract.EventLine(
        kind=kind.name.lower(),
        name=shortened(short_frame(trace.name_of(row)), _NAME_CHARACTERS),
        track=stream if kind in DEVICE_KINDS else thread.name or f"thread {thread.tid}",
        start_ms=round(float(events.start_ns[row]) / 1e6, 4),
        duration_ms=ms(float(events.dur_ns[row])),
    )


def memory_snapshot(logs: Logs, file: str | None, since: str | None, limit: int) -> contract.MemorySnapshot:
    """Raises RefusalError."""
    found = logs.snapshot(file)
    summary = _summary(logs, found.file, since)
    growth = {each.device: each for each in summary.growth}
    devices = [_device_snapshot(each, growth.get(each.device), limit) for each in summary.devices]
    return contract.MemorySnapshot(found.file, devices, summary.lost)


def _summary(logs: Logs, file: str, since: str | None) -> SnapshotSummary:
    try:
        before = read_snapshot(logs.snapshot(since).path) if since else None
        return summarize_snapshot(read_snapshot(logs.snapshot(file).path), before)
    except TraceError as error:
        raise RefusalError(str(error)) from error


def _device_snapshot(found: DeviceSnapshot, grown: DeviceGrowth | None, limit: int) -> contract.DeviceSnapshotLine:
    rows = grown.lines if grown else []
    more = {(each.line, each.function): mb(each.after_bytes - each.before_bytes) for each in rows}
    unchanged = 0.0 if grown and len(rows) < MOST_GROWN else None
    return contract.DeviceSnapshotLine(
        device=found.device,
        said=plain(snapshot_headline(found).verdict),
        peak_mb=mb(found.peak_in_use_bytes),
        peak_reserved_mb=mb(found.peak_reserved_bytes),
        in_use_mb=mb(found.in_use_bytes),
        rounding_mb=mb(found.rounding_bytes),
        kept_mb=mb(found.kept_bytes),
        releasable_mb=mb(found.releasable_bytes),
        reserved_mb=mb(found.reserved_bytes),
        peak_by_category_mb={each.category: mb(each.bytes) for each in found.peak_by_category},
        lines=[
            contract.LineMemory(
                each.line,
                mb(each.bytes),
                mb(each.end_bytes),
                more.get((each.line, each.function), unchanged),
            )
            for each in found.peak_by_line[:limit]
        ],
        out_of_memory=[plain(out_of_memory_text(each)) for each in found.out_of_memory],
    )
