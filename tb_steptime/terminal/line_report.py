"""What `tb-steptime lines` prints of each span: what each line of the user's code costs, as a table, JSON or CSV.

The JSON is a contract with other programs: fields may be added, never renamed. It and the CSV hold every row; the table
holds those with most time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec
from msgspec.structs import replace

from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.sources import source_text, text_at
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.metrics.operators.lines import CodeLine, CodeLineSums, LineOf, Lines, find_lines, sums_of
from tb_steptime.metrics.operators.op_tree import Where
from tb_steptime.tables.base import Table, report_of
from tb_steptime.tables.notes import ErrorReport
from tb_steptime.tables.operators import LINES
from tb_steptime.terminal.output import (
    TABLE_ROWS,
    OfSpan,
    aligned,
    cut_off,
    span_heading,
    span_names,
    table_cells,
    wrapped,
)
from tb_steptime.text.frames import source_line
from tb_steptime.text.printer import GAP, counted, duration, plain, printable
from tb_steptime.trace.model import Trace

#: Maximum length of the printed source text of a line.
CODE_WIDTH = 48


class LineReportRow(msgspec.Struct, frozen=True):
    """A line; sums over the steps, see `CodeLine`. text: the line in its file, null where that is not at hand, or holds
    something else."""

    source: str
    file: str
    line: int
    function: str
    text: str | None
    calls: int | None
    host_self_ns: int
    host_total_ns: int
    device_ns: int | None
    launches: int | None
    idle_ns: int | None
    allocated_bytes: int | None


#: The table of lines with the rows of this report.
REPORT_LINES = cast(Table[LineReportRow], replace(LINES, row=LineReportRow))


class SpanLines(OfSpan, frozen=True):
    """One span. line_of: whether a line is that where a function begins, or one that ran; backward: for which line work
    of the backward pass counts; both null where no line is recorded. host_ns: the steps on the main thread;
    elsewhere: what no line is around: with the lines it sums to the whole."""

    line_of: LineOf | None
    backward: Where | None
    host_ns: int
    lines: list[LineReportRow]
    elsewhere: CodeLineSums


class LineReport(msgspec.Struct, frozen=True):
    spans: list[SpanLines]
    errors: list[ErrorReport]


def span_lines(span: FoundSpan, trace: Trace, folders: Sequence[Path]) -> SpanLines:
    """folders: with the sources of the job; the recorder's file beside the trace comes before them."""
    lines = find_lines(trace)
    if lines is None:
        return SpanLines(*span_names(span), None, None, 0, [], CodeLineSums())
    texts = _texts(span, trace, lines, folders)
    return SpanLines(
        *span_names(span),
        line_of=lines.line_of,
        backward=lines.where,
        host_ns=lines.host_ns,
        lines=[_row(row, texts.get(row.source)) for row in lines.rows],
        elsewhere=lines.elsewhere,
    )


def _texts(span: FoundSpan, trace: Trace, lines: Lines, folders: Sequence[Path]) -> dict[str, str]:
    """Returns the text of each line for which it is known."""
    named = [row.source for row in lines.rows]
    beside = (span.trace, trace.origin_ns) if span.trace else None
    texts = {}
    for file in {line.file for line in map(source_line, named) if line}:
        text = source_text(file, named, lines.line_of, beside, folders)
        texts.update({mark.source: text_at(text.lines, mark) for mark in text.marks if mark.first})
    return texts


def _row(row: CodeLine, text: str | None) -> LineReportRow:
    location = source_line(row.source)
    file, line, function = location or (row.source, 0, "")
    return report_of(LineReportRow, row, file=file, line=line, function=function, text=text)


def line_text(span: SpanLines, width: int) -> str:
    """Returns the table for a terminal, without a trailing newline. width: of a line of text."""
    head = span_heading(span)
    if span.line_of is None:
        return "\n".join([head, "", *wrapped(plain(MISSING["no_stacks"]), width)])
    shown, more = span.lines[:TABLE_ROWS], span.lines[TABLE_ROWS:]
    sums = [*([sums_of([report_of(CodeLine, row) for row in more])] if more else []), span.elsewhere]
    names = ["Line", *map(_name, shown), *([counted(len(more), "more line")] if more else []), "elsewhere"]
    cells = table_cells(REPORT_LINES, shown, *map(msgspec.structs.asdict, sums))
    rows = [(name, *row) for name, row in zip(names, cells, strict=True)]
    codes = ["", *(cut_off(printable(row.text or ""), CODE_WIDTH) for row in shown)]
    lines = [f"{line}  {code}".rstrip() for line, code in zip(aligned(rows), codes, strict=False)]
    lines += aligned(rows)[len(codes) :]
    head += f" · the steps, {duration(span.host_ns)} on the main thread"
    return "\n".join([head, "", *lines, "", *wrapped(_MEANS[span.line_of], width)]).replace(GAP, " ")


_MEANS: dict[LineOf, str] = {
    "function": "Each row is a function, named by its first line: its figures are those of the whole function. A "
    "function with 0 calls was already running when the recording began; its line is the one that it had reached then.",
    "call": "Each row is a line that ran.",
}


def _name(row: LineReportRow) -> str:
    return printable(f"{row.file}:{row.line} {row.function}")
