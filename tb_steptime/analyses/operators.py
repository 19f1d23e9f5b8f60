"""Operators: what each op costs on host and device, by name, shapes, stack, module, line or phase; and each module."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.analyses.base import Analysis, TimelineStep
from tb_steptime.metrics.operators.keys import By, OpsRecorded, recorded
from tb_steptime.metrics.operators.lines import CodeLine, CodeLineSums, LineOf, find_lines, sums_of
from tb_steptime.metrics.operators.module_tree import ModuleRow, module_rows
from tb_steptime.metrics.operators.modules import OutsideModules, find_modules, outside_modules
from tb_steptime.metrics.operators.op_tree import Where, outside_ops
from tb_steptime.metrics.operators.table import (
    OperatorDetail,
    OperatorRow,
    OpGrouping,
    host_window,
    operator_details,
    operator_tables,
)
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps

#: Maximum number of rows of each table, those with most time; the rest is one line.
ROWS: dict[By, int] = {"name": 150, "shape": 100, "stack": 60, "module": 100, "line": 80, "phase": 80}
#: Maximum number of rows for lines of the user's code.
LINE_ROWS = 200
#: Number of ops, those with most time, whose calls can be opened.
OPENED_OPS = 40


class OperatorRest(msgspec.Struct, frozen=True):
    """Sums over the rows that a table leaves out. device_self_ns: None where nothing ran on a device;
    allocated_self_bytes: None where memory was not recorded."""

    rows: int = 0
    calls: int = 0
    host_self_ns: int = 0
    runtime_ns: int = 0
    device_self_ns: int | None = None
    allocated_self_bytes: int | None = None


class OperatorTable(msgspec.Struct, frozen=True):
    """Ops grouped by their name and another key. Own times of the rows and of the rest sum to those of all ops."""

    by: By
    where: Where
    rows: list[OperatorRow]
    rest: OperatorRest


class LineTable(msgspec.Struct, frozen=True):
    """The cost of each line of the user's code by itself. rows, rest and elsewhere sum to the whole.

    line_of     whether a line is the one on which a function begins, or one that was executed
    where       for which line work of the backward pass counts
    host_ns     length of the steps on the training thread
    more        number of lines in `rest`
    elsewhere   cost outside any line
    """

    line_of: LineOf
    where: Where
    host_ns: int
    rows: list[CodeLine]
    more: int
    rest: CodeLineSums
    elsewhere: CodeLineSums


class OutsideOps(msgspec.Struct, frozen=True):
    """Work in the steps that no recorded op launched."""

    launches: int = 0
    device_ns: int = 0


class OperatorsResult(msgspec.Struct, frozen=True):
    """The result of the operators view: sums over the steps, whose total length is steps_ns. All are empty in a summary
    of a release that did not measure ops.

    start_ns, end_ns   range in which the host is in the steps
    steps              the host's part of each
    tables             one for each recorded grouping; if links to the forward pass are recorded, another one in which
                       work of the backward pass counts for the op that created it
    details            of the ops with the most time
    folded             modules with repeated layers as one row
    modules            each module, without the more_modules smallest ones
    lines              None if no line of the user's code is recorded
    """

    start_ns: int = 0
    end_ns: int = 0
    steps: list[TimelineStep] = []
    steps_ns: int = 0
    has_device: bool = False
    recorded: OpsRecorded = OpsRecorded()
    tables: list[OperatorTable] = []
    outside: OutsideOps = OutsideOps()
    outside_modules: OutsideModules = OutsideModules()
    details: list[OperatorDetail] = []
    folded: list[ModuleRow] = []
    modules: list[ModuleRow] = []
    more_modules: int = 0
    lines: LineTable | None = None


def analyse(trace: Trace) -> OperatorsResult:
    (low, high), facts = host_window(trace), recorded(trace)
    groupings = _groupings(facts)
    tables = [
        _table(grouping, rows) for grouping, rows in zip(groupings, operator_tables(trace, groupings), strict=True)
    ]
    modules_found, outside = find_modules(trace), outside_ops(trace)
    modules, more = module_rows(modules_found, folded=False)
    return OperatorsResult(
        start_ns=low,
        end_ns=high,
        steps=[TimelineStep(step.name, step.host_start_ns, step.host_end_ns) for step in find_steps(trace).steps],
        steps_ns=int(find_steps(trace).duration_ns.sum()),
        has_device=len(find_launches(trace).activity) > 0,
        recorded=facts,
        tables=tables,
        outside=OutsideOps(len(outside.place), int(outside.costs(trace, "device").sum())),
        outside_modules=outside_modules(trace, modules_found.calls),
        details=operator_details(trace, [row.name for row in tables[0].rows[:OPENED_OPS]]),
        folded=module_rows(modules_found, folded=True)[0],
        modules=modules,
        more_modules=more,
        lines=_lines(trace),
    )


def _groupings(facts: OpsRecorded) -> list[OpGrouping]:
    """Returns the ways in which the recorded data can group ops; the first one is by name, where work ran."""
    recorded_by: dict[By, bool] = {
        "name": True, "shape": facts.shapes, "stack": facts.stacks, "module": facts.modules, "line": facts.stacks,
        "phase": True,
    }  # fmt: skip
    directions: tuple[Where, ...] = ("ran", "made") if facts.backward else ("ran",)
    return [OpGrouping(by, where) for where in directions for by, is_there in recorded_by.items() if is_there]


def _table(grouping: OpGrouping, rows: Sequence[OperatorRow]) -> OperatorTable:
    shown, more = list(rows[: ROWS[grouping.by]]), rows[ROWS[grouping.by] :]
    device = [row.device_self_ns for row in more if row.device_self_ns is not None]
    allocated = [row.allocated_self_bytes for row in more if row.allocated_self_bytes is not None]
    rest = OperatorRest(
        rows=len(more),
        calls=sum(row.calls for row in more),
        host_self_ns=sum(row.host_self_ns for row in more),
        runtime_ns=sum(row.runtime_ns for row in more),
        device_self_ns=sum(device) if device else None,
        allocated_self_bytes=sum(allocated) if allocated else None,
    )
    return OperatorTable(grouping.by, grouping.where, shown, rest)


def _lines(trace: Trace) -> LineTable | None:
    lines = find_lines(trace)
    if lines is None:
        return None
    shown, rest = lines.rows[:LINE_ROWS], lines.rows[LINE_ROWS:]
    return LineTable(lines.line_of, lines.where, lines.host_ns, shown, len(rest), sums_of(rest), lines.elsewhere)


ANALYSIS = Analysis("operators", "Operators", OperatorsResult, analyse, OperatorsResult())
