"""Rows of one recording: kernels, blocking calls, events of a window; and what figures mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.operators.keys import By
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError, Which
from tb_steptime.terminal.agent.numbers import maybe_ms, ms, short, unit_of
from tb_steptime.terminal.printer import plain
from tb_steptime.text import Reason, shortened
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.model import Trace
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import DEVICE_KINDS, Kind

#: Of an event; templates of C++ fill pages.
_NAME_CHARACTERS = 120

#: What is missing where there is no table of ops in a grouping; the others are always there.
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
        kernels=[
            contract.KernelLine(
                row.device, row.short or row.name, row.count, ms(row.total_ns), short(row.share), row.tensor_core,
                row.op, row.module, None if row.est_achieved_occupancy is None else short(row.est_achieved_occupancy),
            )
            for row in rows[:limit]
        ],
        more=len(folded) + sum(table.more_rows for _, table in tables),
        more_ms=ms(more_ns) if more_ns else None,
        why_none=_why(result.unknown),
    )  # fmt: skip


def operators(logs: Logs, which: Which, by: By, limit: int) -> contract.Operators:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("operators", OperatorsResult)
    table = next((each for each in result.tables if each.by == by and each.where == "ran"), None)
    if table is None or not table.rows:
        missing = _NOT_RECORDED.get(by) if result.recorded.ops else "no_ops"
        return contract.Operators([], why_none=plain(MISSING[missing]) if missing else None)
    lines = [
        contract.OperatorLine(
            row.name, row.calls, ms(row.host_self_ns), ms(row.host_total_ns), row.key, maybe_ms(row.device_self_ns),
            maybe_ms(row.device_total_ns), row.launches, maybe_ms(row.idle_ns),
        )
        for row in sorted(table.rows, key=lambda row: (-(row.device_self_ns or 0), -row.host_self_ns))[:limit]
    ]  # fmt: skip
    return contract.Operators(lines, max(0, len(table.rows) - limit) + table.rest.rows)


def blocking_calls(logs: Logs, which: Which, limit: int) -> contract.BlockingCalls:
    """Raises RefusalError."""
    result = logs.measured(logs.find(which)).result("host", HostResult)
    return contract.BlockingCalls(
        blocking_calls=[
            contract.BlockingLine(
                row.call, row.op, row.source, row.phase, short(row.count), ms(row.blocked_ns), ms(row.bubble_ns)
            )
            for row in result.blocking[:limit]
        ],
        more=max(0, len(result.blocking) - limit) + result.more_blocking,
        why_none=_why(result.unknown),
    )


def _why(reason: Reason | None) -> str | None:
    return plain(explain(reason)) if reason else None


def window(
    logs: Logs, which: Which, step: str | None, between_ms: tuple[float | None, float | None], limit: int
) -> contract.Window:
    """Of a step, or between two times from the begin of the recording; of the first step where nothing is said. Raises
    RefusalError."""
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
        name=shortened(short_frame(trace.strings[int(events.name[row])]), _NAME_CHARACTERS),
        track=stream if kind in DEVICE_KINDS else thread.name or f"thread {thread.tid}",
        start_ms=round(float(events.start_ns[row]) / 1e6, 4),
        duration_ms=ms(float(events.dur_ns[row])),
    )


def definitions(metrics: Sequence[str]) -> contract.Definitions:
    """All of them where none is named. Raises RefusalError."""
    known = {metric.id: metric for metric in METRICS}
    missing = [each for each in metrics if each not in known]
    if missing:
        raise RefusalError(f"There is no metric {missing[0]}. They are: {', '.join(known)}.")
    chosen = [known[each] for each in metrics] or METRICS
    return contract.Definitions(
        [contract.Definition(metric.id, metric.label, unit_of(metric), metric.meaning) for metric in chosen]
    )
