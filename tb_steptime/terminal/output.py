"""Prints texts, lines and JSON to stdout."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tb_steptime.files.paths import any_path
from tb_steptime.tables.base import Column, Surface, Table, Value
from tb_steptime.text import Quantity, Unit
from tb_steptime.text.printer import GAP, UNKNOWN, duration, maybe, percent_exact, printable, quantity

if TYPE_CHECKING:
    from tb_steptime.ingest.found import FoundSpan

R = TypeVar("R")


class OfSpan(msgspec.Struct, frozen=True):
    """The names of the span that a report is of. trace: its path."""

    run: str
    worker: str
    span: int
    trace: str


def span_names(span: FoundSpan) -> tuple[str, str, int, str]:
    """Returns the fields of `OfSpan`."""
    return span.run, span.worker, span.number, span.path


def print_texts(texts: Iterable[str]) -> None:
    """Prints texts with two empty lines between them, each as soon as it is available."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no "█" shows "?" rather than nothing
    for number, text in enumerate(texts):
        print(("\n\n" if number else "") + text)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def span_heading(span: OfSpan) -> str:
    """Returns the run, the worker and the number of a span. A run that is the log directory itself is named by its
    folder."""
    return _heading(span.run, span.worker, span.span, span.trace)


def span_heading_of(span: FoundSpan) -> str:
    """Returns the heading of a span that was found and has no report."""
    return _heading(*span_names(span))


def _heading(run: str, worker: str, number: int, trace: str) -> str:
    named = run if run != "." else any_path(trace).absolute().parent.name
    return printable(f"{named} · {worker} · span {number}")


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Returns the lines of a paragraph. Words, such as names, are not broken. indent: of all lines but the first."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def paragraphs(sections: Iterable[Iterable[str]]) -> str:
    """Returns the lines of each section that has any, with an empty line between two sections."""
    return "\n\n".join("\n".join(lines) for lines in map(list, sections) if lines).replace(GAP, " ")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns a line for each row, with the first column aligned left and the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]


def print_json(content: msgspec.Struct) -> None:
    print(msgspec.json.encode(content).decode())


def csv_table(table: Table[Any], field: str, spans: Iterable[Any]) -> Iterator[str]:
    """Yields a head, then a line for each row of each span, without newlines. Values that are not measurable are
    empty. field: that of a span which holds its rows."""
    yield csv_line(("run", "worker", "span", "trace", *table.kinds()))
    for span in spans:
        names = span.run, span.worker, span.span, span.trace
        yield from (csv_line((*names, *table.whole_row(row))) for row in getattr(span, field))


def csv_line(values: Sequence[Any]) -> str:
    import csv  # most output is no CSV

    line = io.StringIO()
    shown = (str(value).lower() if isinstance(value, bool) else value for value in values)
    csv.writer(line, lineterminator="").writerow(shown)
    return line.getvalue()


_BAR_CELLS = 30
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def row(label: str, length_ns: float | None, rest: str) -> str:
    return f"{label:<18}{maybe(duration, length_ns):>11}  {rest}".rstrip()


def share_row(label: str, length_ns: int, step_ns: int) -> str:
    share = length_ns / step_ns
    return row(label, length_ns, f"{percent_exact(share):>7}  {bar(share)}".rstrip())


def bar(share: float) -> str:
    """Returns a bar in eighths of a cell."""
    eighths = round(share * _BAR_CELLS * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def cut_off(name: str, width: int) -> str:
    """Returns the beginning of a name that is too long, with a mark behind it."""
    return name if len(name) <= width else f"{name[: width - 1]}…"


#: Maximum number of rows of a table of a trace. The other rows are summed up in one line.
TABLE_ROWS = 40
#: Minimum width of a name. Names are cut to the space that is left in a line, but not below this width.
MIN_NAME_WIDTH = 24


def width_of_names(cells: Sequence[Sequence[str]], width: int) -> int:
    """Returns the width that the other cells of each row leave for the name before them. width: of a line."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return max(MIN_NAME_WIDTH, width - sum(widths) - 2 * len(widths))


def table_cells(
    table: Table[R],
    rows: Iterable[R],
    *sums: Mapping[str, Value],
    unknown: Callable[[R], Container[str]] = lambda row: (),
) -> list[list[str]]:
    """Returns the heads, the cells of each row, and those of rows of sums, empty where there is none. unknown: columns
    whose value in a row says nothing."""
    columns = table.on(Surface.TEXT)
    return [
        [each.name(Surface.TEXT) for each in columns],
        *([text_cell(each, None if each.id in unknown(row) else each.value(row)) for each in columns] for row in rows),
        *([text_cell(each, row_of_sums.get(each.id), "") for each in columns] for row_of_sums in sums),
    ]


def text_cell(column: Column[Any], value: Value, missing: str = UNKNOWN) -> str:
    """Formats a value of a declared table for a terminal. missing: the text where there is no value."""
    if isinstance(value, (int, float)):
        return percent_exact(value) if column.unit is Unit.FRACTION else quantity(Quantity(value, column.unit))
    return missing if value is None else printable(value)
