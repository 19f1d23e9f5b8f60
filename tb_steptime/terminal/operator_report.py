"""What `tb-steptime operators` prints of each span: its ops and modules.

The JSON is a contract with other programs: fields may be added, never renamed. It and the CSV hold every row; a
terminal shows the ops with most time, by module also the modules:

Module               calls   each  slowest  ...
BertModel                3  40 ms
  12 x BertLayer        36  1.8 ms  2.3 ms        layers of one class in one place are a line
    36 x Linear        108  0.4 ms  0.5 ms
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.metrics.operators.keys import By
from tb_steptime.metrics.operators.module_tree import ModuleRow, depths_of, each_ns, module_rows, paths_of_rows
from tb_steptime.metrics.operators.modules import OutsideModules, find_modules, outside_modules
from tb_steptime.metrics.operators.op_tree import Where, outside_ops
from tb_steptime.metrics.operators.table import OperatorRow, OpGrouping, operator_tables
from tb_steptime.tables.base import Table, report_of
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.tables.operators import OPERATORS
from tb_steptime.terminal.output import (
    TABLE_ROWS,
    OfSpan,
    aligned,
    cut_off,
    span_heading,
    span_names,
    table_cells,
    width_of_names,
)
from tb_steptime.text.frames import code_line
from tb_steptime.text.printer import GAP, UNKNOWN, count, duration, maybe, nbytes, printable
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


class SpanOperators(OfSpan, frozen=True):
    """One span. Rows with most time of their own first; modules in the order of their first calls."""

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


def span_operators(span: FoundSpan, trace: Trace, choice: OperatorChoice) -> SpanOperators:
    trace = windowed(trace, choice)
    (rows,), outside = operator_tables(trace, [OpGrouping(choice.by, choice.backward)]), outside_ops(trace)
    tree = find_modules(trace)
    modules, more = module_rows(tree, folded=False)
    return SpanOperators(
        *span_names(span),
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
    reports: list[ModuleReport] = []
    for row, path in zip(rows, paths_of_rows(rows), strict=True):
        reports.append(report_of(ModuleReport, row, path=path, children=[]))
        (reports[row.parent].children if row.parent >= 0 else outermost).append(reports[-1])
    return outermost


INDENT = "  "

#: Columns that are unknown where an op runs only in CUDA graphs.
_ON_HOST = {"calls", "host_total_ns", "host_self_ns", "runtime_ns"}
_MODULE_HEADS = ["calls", "each", "slowest", "host total", "host self", "device total", "device self",
                 "host backward", "device backward", "allocated", "allocated backward"]  # fmt: skip


def span_text(span: FoundSpan, trace: Trace, choice: OperatorChoice, width: int) -> str:
    """Returns the tables for a terminal of that width, without a trailing newline."""
    text = operator_text(span_operators(span, trace, choice), width)
    folded = module_rows(find_modules(windowed(trace, choice)), folded=True)[0] if choice.by == "module" else []
    if not folded:
        return text
    head, ops = text.split("\n", 1)
    return "\n".join((head, "", *module_lines(folded, width), ops))


def operator_text(span: SpanOperators, width: int) -> str:
    over = "the steps" if span.window == "steps" else "the recording"
    head = span_heading(span) + f" · {over}, {duration(span.window_ns)}"
    shown, more = span.operators[:TABLE_ROWS], span.operators[TABLE_ROWS:]
    if not shown:
        return f"{head}\n\nNo CPU ops are recorded.".replace(GAP, " ")
    sums = [{id: sum(getattr(row, id) for row in more) for id in ("calls", "host_self_ns")}] if more else []
    heads, *cells = table_cells(OPERATOR_LINES, shown, *sums, unknown=_unknown)
    names = ["Op", *map(_name, shown), *([f"{count(len(more))} more"] if more else [])]
    return "\n".join([head, "", *_lines(names, heads, cells, width)]).replace(GAP, " ")


def module_lines(rows: Sequence[ModuleRow], width: int) -> list[str]:
    """Returns the folded rows with most time, in the order of the tree."""
    depths, shown = depths_of(rows), _largest(rows)
    named = [f"{count(row.instances)} x {row.name}" if row.instances > 1 else row.name for row in rows]
    names = ["Module", *(f"{INDENT * depths[at]}{named[at]}" for at in shown)]
    lines = _lines(names, _MODULE_HEADS, [_module_cells(rows[at]) for at in shown], width)
    if len(rows) > len(shown):
        lines.append(f"{count(len(rows) - len(shown))} more, with less time")
    return [line.replace(GAP, " ") for line in lines]


def _largest(rows: Sequence[ModuleRow]) -> list[int]:
    """Returns the places of the rows with most time, in the order of the tree. The module around a chosen row is also
    chosen, since it has at least as much time."""

    def time(at: int) -> tuple[int, int]:
        row = rows[at]
        on_device = row.device_total_ns is not None
        ns = (row.device_total_ns or 0) + (row.backward_device_ns or 0) if on_device else row.host_total_ns
        return -ns, at

    return sorted(sorted(range(len(rows)), key=time)[:TABLE_ROWS])


def _module_cells(row: ModuleRow) -> list[str]:
    backward = (row.backward_host_ns or None, row.backward_device_ns or None)
    in_graphs = not row.host_total_ns and bool(row.device_total_ns or row.backward_device_ns)
    on_host = (None, None) if in_graphs else (row.host_total_ns, row.host_self_ns)
    times = (*on_host, row.device_total_ns, row.device_self_ns, *backward)
    slowest = duration(row.slowest_ns) if row.instances > 1 else UNKNOWN
    allocated = (row.allocated_bytes, row.backward_allocated_bytes or None)
    shown = (*(maybe(duration, each) for each in times), *(maybe(nbytes, each) for each in allocated))
    return [count(row.occurrences), maybe(duration, each_ns(row)), slowest, *shown]


def _lines(names: Sequence[str], heads: list[str], cells: list[list[str]], width: int) -> list[str]:
    """Aligns the cells. The first name is the head of the column of names. Columns without any value are left out."""
    measured = [any(row[place] not in ("", UNKNOWN) for row in cells) for place in range(len(heads))]
    padded = [[cell for cell, keep in zip(row, measured, strict=True) if keep] for row in (heads, *cells)]
    left = width_of_names(padded, width)
    return aligned([(printable(cut_off(name, left)), *row) for name, row in zip(names, padded, strict=True)])


def _name(row: OperatorReportRow) -> str:
    second = (
        row.shape or row.module or row.phase or " < ".join(map(code_line, (row.line or row.stack or "").split(";")))
    )
    return f"{row.name}, {second}" if second else row.name


def _unknown(row: OperatorReportRow) -> set[str]:
    only_in_graphs = not (row.calls or row.host_total_ns) and bool(row.launches)
    return _ON_HOST if only_in_graphs else set()
