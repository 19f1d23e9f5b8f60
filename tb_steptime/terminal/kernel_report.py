"""What `tb-steptime kernels` prints: the kernel table of each span as a table, as JSON or as CSV.

The JSON is a contract with other programs: fields may be added, never renamed. It and the CSV hold every row; the table
holds those with most time.
"""

from __future__ import annotations

import msgspec

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.metrics.kernels.table import NO_LINE_WORDS, NO_MODULE_WORDS, By, KernelGroup, kernel_table
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.terminal.output import (
    MIN_NAME_WIDTH,
    TABLE_ROWS,
    OfSpan,
    aligned,
    span_heading,
    span_names,
    table_cells,
    width_of_names,
)
from tb_steptime.text.frames import code_line
from tb_steptime.text.printer import GAP, count, plain, printable
from tb_steptime.trace.model import Trace

#: Minimum width of a kernel's name beside that of an op, module or line.
MIN_WIDTH_BESIDE_OP = 16


class SpanKernels(OfSpan, frozen=True):
    """One span; kernels are the groups of launches that start within its steps, those with most time first."""

    by: By
    kernels: list[KernelGroup]


class KernelReport(msgspec.Struct, frozen=True):
    spans: list[SpanKernels]
    errors: list[ErrorReport]


def span_kernels(span: FoundSpan, trace: Trace, by: By) -> SpanKernels:
    return SpanKernels(*span_names(span), by, kernel_table(trace, by))


def kernel_text(span: SpanKernels, width: int) -> str:
    """Returns the table for a terminal of that width, without a trailing newline."""
    devices = sorted({row.device for row in span.kernels})
    lines = [span_heading(span)]
    for device in devices:
        heading = f"GPU {device}" if device >= 0 else "GPU"
        lines += ["", heading, *_table([row for row in span.kernels if row.device == device], span.by, width)]
    if not devices:
        lines.append("No kernel starts within the steps. tb-steptime operators shows what the CPU computes.")
    elif "line" in span.by and all(row.source is None for row in span.kernels):
        lines += ["", plain(MISSING["no_stacks"])]
    return "\n".join(lines).replace(GAP, " ")


def _table(rows: list[KernelGroup], by: By, width: int) -> list[str]:
    shown, more = rows[:TABLE_ROWS], rows[TABLE_ROWS:]
    sums = {id: sum(getattr(row, id) for row in more) for id in ("count", "total_ns", "share")}
    cells = table_cells(KERNELS, shown, *([sums | {"mean_ns": sums["total_ns"] / sums["count"]}] if more else []))
    left = width_of_names(cells, width)
    names = [_FIRST[by], *(_name(row, by, left) for row in shown), *([f"{count(len(more))} more"] if more else [])]
    return aligned([(name, *line) for name, line in zip(names, cells, strict=True)])


_FIRST: dict[By, str] = {
    "name": "Kernel", "name,op": "Kernel, op", "name,module": "Kernel, module", "name,line": "Kernel, line", "op": "Op",
    "module": "Module", "line": "Line",
}  # fmt: skip


def _name(row: KernelGroup, by: By, width: int) -> str:
    beside = {
        "name,op": f", {row.op or row.no_op}",
        "name,module": f", {row.module or NO_MODULE_WORDS}",
        "name,line": f", {code_line(row.source or NO_LINE_WORDS)}",
    }.get(by, "")
    least = MIN_WIDTH_BESIDE_OP if beside else MIN_NAME_WIDTH
    return printable(_shortened(code_line(row.short), max(least, width - len(beside))) + beside)


def _shortened(name: str, width: int) -> str:
    """Cuts a name in the middle, since its beginning tells the library of the kernel, and its end the variant."""
    if len(name) <= width:
        return name
    tail = width // 3
    return f"{name[: width - tail - 1]}…{name[-tail:]}"
