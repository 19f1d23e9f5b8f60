"""What `tb-steptime operators` prints of each span as JSON or as CSV: its ops and modules.

The JSON is a contract with other programs: fields may be added, never renamed. It and the CSV hold every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.metrics.operators.keys import By
from tb_steptime.metrics.operators.module_tree import ModuleRow, module_rows, paths_of_rows
from tb_steptime.metrics.operators.modules import OutsideModules, find_modules, outside_modules
from tb_steptime.metrics.operators.op_costs import outside_ops
from tb_steptime.metrics.operators.op_tree import Where
from tb_steptime.metrics.operators.table import OperatorRow, OpGrouping, operator_tables
from tb_steptime.tables.base import Table, report_of
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.tables.operators import OPERATORS
from tb_steptime.terminal.output import csv_table
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import as_one_step, find_steps

#: The steps of the span, or its whole recording as one step.
Window = Literal["steps", "recording"]


@dataclass(frozen=True)
class OperatorChoice:
    """What is asked for."""

    by: By
    window: Window
    backward: Where


class OperatorReportRow(msgspec.Struct, frozen=True):
    """Ops of one name that agree in what they are grouped by; sums over the window. Of shape (as the trace writes it),
    stack, module, line and phase that one is set, where it is recorded.

    Self is without the ops inside, and on the host without runtime calls: these are runtime_ns. idle_ns: how long the
    GPU had nothing to do until what the op launched, or an op inside it, began. allocated_bytes: of the allocations
    while it runs, freed or not, on the GPUs, or on the CPU where no GPU's were recorded; null where none were.
    """

    name: str
    shape: str | None
    stack: str | None
    module: str | None
    line: str | None
    phase: str | None
    calls: int
    host_total_ns: int
    host_self_ns: int
    runtime_ns: int
    device_total_ns: int | None
    device_self_ns: int | None
    launches: int | None
    idle_ns: int | None
    kernel_ns: int | None
    tensor_core_ns: int | None
    unknown_ns: int | None
    allocated_bytes: int | None
    allocated_self_bytes: int | None


#: The table of ops with the rows of this report: what is declared beyond their fields is printed, too.
OPERATOR_LINES = cast(Table[OperatorReportRow], replace(OPERATORS, row=OperatorReportRow))


class ModuleReport(msgspec.Struct, frozen=True):
    """A module; sums over the window. path: the names of the modules around it, the outermost first, and its own.

    Self is without the modules inside; python_ns: what of it is in no op. device_*: of the forward pass; backward_*: of
    what the backward pass runs for it. allocated_bytes: as of ops, in the forward pass.
    """

    name: str
    path: list[str]
    occurrences: int
    host_total_ns: int
    host_self_ns: int
    python_ns: int
    backward_host_ns: int
    device_total_ns: int | None
    device_self_ns: int | None
    backward_device_ns: int | None
    launches: int | None
    idle_ns: int | None
    allocated_bytes: int | None
    allocated_self_bytes: int | None
    backward_allocated_bytes: int | None
    children: list[ModuleReport]


class OutsideReport(msgspec.Struct, frozen=True):
    """What no recorded op launched, within the window."""

    launches: int
    device_ns: int


class SpanOperators(msgspec.Struct, frozen=True):
    """One span. Rows with most time of their own first; modules in the order of their first calls."""

    run: str
    worker: str
    span: int
    trace: str
    by: By
    window: Window
    backward: Where
    window_ns: int
    operators: list[OperatorReportRow]
    outside_ops: OutsideReport
    modules: list[ModuleReport]
    more_modules: int
    outside_modules: OutsideModules


class OperatorReport(msgspec.Struct, frozen=True):
    spans: list[SpanOperators]
    errors: list[ErrorReport]


def windowed(trace: Trace, choice: OperatorChoice) -> Trace:
    """Makes the whole recording one step if that window is chosen, so that idle time is measured in all of it."""
    return as_one_step(trace) if choice.window == "recording" else trace


def span_operators(found: FoundSpan, trace: Trace, choice: OperatorChoice) -> SpanOperators:
    trace = windowed(trace, choice)
    (rows,), outside = operator_tables(trace, [OpGrouping(choice.by, choice.backward)]), outside_ops(trace)
    tree = find_modules(trace)
    modules, more = module_rows(tree, folded=False)
    return SpanOperators(
        run=found.run,
        worker=found.worker,
        span=found.number,
        trace=found.path,
        by=choice.by,
        window=choice.window,
        backward=choice.backward,
        window_ns=int(find_steps(trace).duration_ns.sum()),
        operators=[_operator(row, choice.by) for row in rows],
        outside_ops=OutsideReport(len(outside.place), int(outside.costs(trace, "device").sum())),
        modules=_tree(modules),
        more_modules=more,
        outside_modules=outside_modules(trace, tree.calls),
    )


def _operator(row: OperatorRow, by: By) -> OperatorReportRow:
    keys = {each: row.key if each == by else None for each in ("shape", "stack", "module", "line", "phase")}
    return report_of(OperatorReportRow, row, **keys, tensor_core_ns=row.tensor_ns)


def _tree(rows: Sequence[ModuleRow]) -> list[ModuleReport]:
    """Nests the rows, each of which comes after the row of the module around it."""
    outermost: list[ModuleReport] = []
    made: list[ModuleReport] = []
    for row, path in zip(rows, paths_of_rows(rows), strict=True):
        made.append(report_of(ModuleReport, row, path=path, children=[]))
        (made[row.parent].children if row.parent >= 0 else outermost).append(made[-1])
    return outermost


def csv_lines(spans: Iterator[SpanOperators]) -> Iterator[str]:
    """Yields all rows of each span."""
    return csv_table(OPERATOR_LINES, ((span, span.operators) for span in spans))
