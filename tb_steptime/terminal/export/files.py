"""Writes each table into a file, as CSV or with one JSON object per line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from tb_steptime.files.whole_file import whole_file
from tb_steptime.tables.base import Value
from tb_steptime.terminal.export.spans import ExportedSpan
from tb_steptime.terminal.export.tables import TABLES, Row
from tb_steptime.terminal.output import csv_line

#: Formats a row of a table as a line, or the head of the table where the row is None.
_Line = Callable[[Sequence[str], Row | None], bytes]


def write_tables(spans: Iterable[ExportedSpan], folder: Path, ending: str) -> list[tuple[Path, int]]:
    """Writes each table into a file of a folder, which is created if needed. Returns the files with their numbers of
    rows. ending: csv or jsonl. The files of an earlier export are replaced, all or none. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    line = _LINES[ending]
    places = [folder / f"{each.table.id}.{ending}" for each in TABLES]
    counts = [0] * len(TABLES)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(whole_file(place)) for place in places]
        for each, file in zip(TABLES, files, strict=True):
            file.write(line(each.column_names, None))
        for span in spans:
            for number, (each, file) in enumerate(zip(TABLES, files, strict=True)):
                for row in each.rows(span):
                    values = (span.run, span.worker, span.span, *map(_as_written, row))
                    file.write(line(each.column_names, values))
                    counts[number] += 1
    return list(zip(places, counts, strict=True))


def _as_written(value: Value) -> Value:
    """Writes whole numbers as int. A summary does not tell 1 from 1.0, and values read from it must look the same as
    values measured just now."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _csv(names: Sequence[str], row: Row | None) -> bytes:
    """Formats a line of CSV. Values that are not measurable are empty."""
    return (csv_line(names if row is None else row) + "\n").encode()


def _json_line(names: Sequence[str], row: Row | None) -> bytes:
    """Formats a line of JSON. Values that are not measurable are null."""
    return b"" if row is None else msgspec.json.encode(dict(zip(names, row, strict=True))) + b"\n"


_LINES: dict[str, _Line] = {"csv": _csv, "jsonl": _json_line}
