"""What `tb-steptime export` writes: the spans of a log directory, measured, judged and named for passing on; the tables
of `--csv` and `--jsonl` with their rows.

The tables are a contract with other programs: columns may be added, never renamed. Rows are tidy: one observation
each, in long form.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import StepMark, TrendsResult
from tb_steptime.files.paths import AnyPath
from tb_steptime.files.temporary import atomic_file
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.found import EARLIEST_NS, FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.names import passed_on_workers
from tb_steptime.ingest.private_paths import without_private_paths
from tb_steptime.ingest.states import Problem
from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.catalogue import METRIC_BY_ID
from tb_steptime.metrics.operators.lines import sums_of
from tb_steptime.tables.base import Surface, Table, Value
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.operators import LINES, MODULES, OPERATORS, placed_modules
from tb_steptime.tables.recordings import FIGURES, RECORDING, SPANS, STEPS, FigureLine, SpanLine, step_lines
from tb_steptime.terminal.output import csv_line
from tb_steptime.terminal.spans import measured_span, read_found
from tb_steptime.text.printer import plain


@dataclass(frozen=True)
class ExportedSpan:
    """worker: its name that may be passed on. ends_ns: epoch time at which its last step ends; time_from: what says so:
    the trace itself, the name of its file, or when its file was written."""

    run: str
    worker: str
    span: int
    measured: MeasuredSpan
    judgement: Judgement
    ends_ns: int
    time_from: str

    @property
    def trends(self) -> TrendsResult:
        return self.measured.result("trends", TrendsResult)

    def wall_ns(self, step: StepMark) -> int:
        """Returns the epoch time at which a step ends."""
        return self.ends_ns + step.end_ns - self.trends.steps[-1].end_ns


def exported_spans(path: AnyPath, problems: list[Problem], *, keep_names: bool) -> Iterator[ExportedSpan]:
    """Yields the spans in the order of the pickers, one at a time. keep_names: workers are named like their files, and
    summaries with whole paths keep them. Spans that cannot be read are added to problems."""
    spans = list(find_spans([path], problems))
    names = passed_on_workers((span.run, span.worker) for span in spans)
    for span, measured in read_found(spans, problems, partial(measured_span, leave_out=("timeline",))):
        worker = span.worker if keep_names else names[span.worker]
        yield _exported(span, worker, measured if keep_names else without_private_paths(measured))


def _exported(span: FoundSpan, worker: str, measured: MeasuredSpan) -> ExportedSpan:
    steps: Sequence[StepMark] = measured.result("trends", TrendsResult).steps
    ends_ns, time_from = _end(span, measured.facts.origin_ns, steps[-1].end_ns if steps else 0)
    return ExportedSpan(
        span.run, worker, span.number, measured, judge(measured.results, measured.facts.gaps), ends_ns, time_from
    )


def _end(span: FoundSpan, origin_ns: int, last_ns: int) -> tuple[int, str]:
    """Returns the epoch time at which the last step ends, and where it comes from. Raises OSError."""
    if origin_ns >= EARLIEST_NS:
        return origin_ns + last_ns, "trace"
    if span.named_ns is not None:
        return span.named_ns, "file name"
    file = span.trace or span.summary
    return file.stat().st_mtime_ns if file else 0, "file date"


Row = tuple[Value, ...]


class ExportedTable(NamedTuple):
    """rows: of one span, a value for each exported column of the table, after those of every table."""

    table: Table[Any]
    rows: Callable[[ExportedSpan], Iterator[Row]]

    @property
    def column_names(self) -> list[str]:
        columns = (*RECORDING.on(Surface.EXPORT), *self.table.on(Surface.EXPORT))
        return [column.name(Surface.EXPORT) for column in columns]


def _spans(span: ExportedSpan) -> Iterator[Row]:
    line = SpanLine(span.ends_ns, span.time_from, span.measured.facts, _overview(span), span.judgement.verdict)
    yield SPANS.values(line, Surface.EXPORT)


def _figures(span: ExportedSpan) -> Iterator[Row]:
    """Yields the figures of the main device, as in Trends, each over the span and in each step."""
    names = [step.name for step in span.trends.steps]
    for series in span.trends.series:
        metric = METRIC_BY_ID.get(series.metric)
        if metric is None:
            continue  # of an earlier release
        reason = plain(explain(series.reason)) if series.reason else None
        of_steps = zip(names, series.steps, strict=True)
        lines = (FigureLine(metric, series.device, name, value, None) for name, value in of_steps)
        for line in (FigureLine(metric, series.device, None, series.value, reason), *lines):
            yield FIGURES.values(line, Surface.EXPORT)


def _steps(span: ExportedSpan) -> Iterator[Row]:
    lines = step_lines(_overview(span), span.measured.result("data_loading", DataLoadingResult))
    for line, mark in zip(lines, span.trends.steps, strict=True):
        yield STEPS.values(line._replace(ends_ns=span.wall_ns(mark)), Surface.EXPORT)


def _kernels(span: ExportedSpan) -> Iterator[Row]:
    devices = span.measured.result("gpu", GpuResult).devices
    for device, table in [(each, table) for each in devices for table in each.tables if table.by == "name"]:
        yield from (KERNELS.values(row, Surface.EXPORT) for row in table.rows)
        if table.more_rows:
            share = table.more_ns / device.split.kernel_ns if device.split.kernel_ns else None
            totals = {
                "device": device.device, "count": table.more_count, "total_ns": table.more_ns, "share": share,
            }  # fmt: skip
            yield KERNELS.some_values(totals, Surface.EXPORT)


def _operators(span: ExportedSpan) -> Iterator[Row]:
    tables = span.measured.result("operators", OperatorsResult).tables
    for table in (each for each in tables if each.by == "name" and each.where == "ran"):
        yield from (OPERATORS.values(row, Surface.EXPORT) for row in table.rows)
        if table.rest.rows:
            summed = ("calls", "host_self_ns", "runtime_ns", "device_self_ns", "allocated_self_bytes")
            yield OPERATORS.some_values({id: getattr(table.rest, id) for id in summed}, Surface.EXPORT)


def _modules(span: ExportedSpan) -> Iterator[Row]:
    for placed in placed_modules(span.measured.result("operators", OperatorsResult).modules):
        yield MODULES.values(placed, Surface.EXPORT)


def _lines(span: ExportedSpan) -> Iterator[Row]:
    """Yields the lines, and a row without a line, with which every column sums to the total over the steps."""
    table = span.measured.result("operators", OperatorsResult).lines
    if table is None:
        return
    yield from (LINES.values(row, Surface.EXPORT) for row in table.rows)
    others = sums_of([table.elsewhere, table.rest] if table.more else [table.elsewhere])
    yield LINES.some_values(msgspec.structs.asdict(others), Surface.EXPORT)


def _cards(span: ExportedSpan) -> Iterator[Row]:
    return (CARDS.values(card, Surface.EXPORT) for card in span.judgement.insights)


def _overview(span: ExportedSpan) -> OverviewResult:
    return span.measured.result("overview", OverviewResult)


TABLES: tuple[ExportedTable, ...] = (
    ExportedTable(SPANS, _spans),
    ExportedTable(FIGURES, _figures),
    ExportedTable(STEPS, _steps),
    ExportedTable(KERNELS, _kernels),
    ExportedTable(OPERATORS, _operators),
    ExportedTable(MODULES, _modules),
    ExportedTable(LINES, _lines),
    ExportedTable(CARDS, _cards),
)


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
        files = [stack.enter_context(atomic_file(place)) for place in places]
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


#: Values that are not measurable are empty in CSV, and null in JSON, which has no head.
_LINES: dict[str, _Line] = {
    "csv": lambda names, row: (csv_line(names if row is None else row) + "\n").encode(),
    "jsonl": lambda names, row: b"" if row is None else msgspec.json.encode(dict(zip(names, row, strict=True))) + b"\n",
}
