"""`tb-steptime summarize PATH…` and `tb-steptime kernels PATH…`: the tab's figures for a terminal or a CI job.

Reads and prints; writes no file. Nothing heavy is imported before it is needed: for small traces, starting up is most
of the time.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tb_steptime import __version__

if TYPE_CHECKING:
    from tb_steptime.ingest.discovery import FoundSpan
    from tb_steptime.ingest.measure import Measured
    from tb_steptime.ingest.states import Problem
    from tb_steptime.metrics.kernels.table import By
    from tb_steptime.terminal.report import Judged, Named
    from tb_steptime.trace.kineto import ReadProgress
    from tb_steptime.trace.model import Trace

T = TypeVar("T")

#: Views of which `summarize` prints nothing.
UNPRINTED = ("gpu", "timeline")

_BAR_CELLS = 24
_SECONDS_BETWEEN_DRAWINGS = 0.05
_RECORD_ONE = (
    "Traces are files named *.pt.trace.json[.gz]; torch.profiler.tensorboard_trace_handler(folder) writes them."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 when anything could not be read, 2 for a wrong call, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more threads only reserve memory: no analysis multiplies
    try:
        if options.command == "kernels":
            return _kernels(options.paths, options.by, options.format)
        return _summarize(options.paths, options.format)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tb-steptime", description="Where the step time of a PyTorch job goes.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    summarize = commands.add_parser(
        "summarize",
        help="print the figures of traces",
        description="Print steps, breakdown, GPU figures, data loading, tensor cores and what to do, for each trace.",
    )
    summarize.add_argument("paths", nargs="+", metavar="PATH", type=Path, help="a trace file or a log directory")
    summarize.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    kernels = commands.add_parser(
        "kernels",
        help="print the GPU kernels of traces",
        description="Print the kernels that start within the steps of each trace: their time, tensor cores, blocks, "
        "waves and occupancy.",
    )
    kernels.add_argument("paths", nargs="+", metavar="PATH", type=Path, help="a trace file or a log directory")
    kernels.add_argument(
        "--by", choices=("name", "name,op", "op", "module"), default="name", help="what a row is; default: name"
    )
    kernels.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    return parser


def _summarize(paths: Sequence[Path], format: str) -> int:
    problems: list[Problem] = []
    spans = _judged(paths, problems)
    if format == "json":
        _write_json(spans, problems)
    else:
        _write_tables(spans)
    return _told(problems)


def _kernels(paths: Sequence[Path], by: By, format: str) -> int:
    from tb_steptime.serve.wire import encode
    from tb_steptime.terminal.kernel_report import KernelReport, csv_lines, kernel_text, span_kernels
    from tb_steptime.terminal.report import error_report

    problems: list[Problem] = []
    spans = (span_kernels(named, trace, by) for named, trace in _read_each(paths, problems, _trace))
    if format == "json":
        found = list(spans)  # first: reading them finds the problems
        print(encode(KernelReport(found, [error_report(problem) for problem in problems])).decode())
    elif format == "csv":
        for line in csv_lines(spans):
            print(line)
    else:
        for number, span in enumerate(spans):
            print(("\n\n" if number else "") + kernel_text(span, shutil.get_terminal_size().columns))
    return _told(problems)


def _told(problems: Sequence[Problem]) -> int:
    """The exit code, once the problems are told."""
    for problem in problems:
        print(f"{problem.file}: {problem.problem}. {problem.hint}", file=sys.stderr)
    return 1 if problems else 0


def _write_json(spans: Iterator[Judged], problems: list[Problem]) -> None:
    from tb_steptime.serve.wire import encode
    from tb_steptime.terminal.contract import Report
    from tb_steptime.terminal.report import error_report, span_report

    reports = [span_report(span) for span in spans]  # first: reading them finds the problems
    print(encode(Report(reports, [error_report(problem) for problem in problems])).decode())


def _judged(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Judged]:
    from tb_steptime.terminal.report import judged

    for named, measured in _read_each(paths, problems, _measured):
        yield judged(named, measured)


def _read_each(
    paths: Sequence[Path], problems: list[Problem], read: Callable[[FoundSpan, Callable[[ReadProgress], None]], T]
) -> Iterator[tuple[Named, T]]:
    """Every span that can be read, one at a time; those that cannot become problems."""
    from tb_steptime.errors import TraceError
    from tb_steptime.ingest.states import Problem
    from tb_steptime.terminal.report import Named

    found = list(_found(paths, problems))
    for number, span in enumerate(found, start=1):
        path = str(span.trace or span.summary)  # as the user named it, or its folder
        with _ProgressBar(f"{number} of {len(found)}  " if len(found) > 1 else "") as bar:
            try:
                content = read(span, bar.show)
            except TraceError as error:
                problems.append(Problem(error.problem, path, error.hint))
                continue
        yield Named(span.run, span.worker, span.number, path), content


def _found(paths: Sequence[Path], problems: list[Problem]) -> Iterator[FoundSpan]:
    """The spans under log directories, then the files that were named."""
    from tb_steptime.ingest.discovery import Discovery, Place, spans_of_files
    from tb_steptime.ingest.states import Problem

    for folder in (path for path in paths if path.is_dir()):
        found = Discovery([Place("", folder, str(folder))]).look()
        problems += [Problem(each.problem, str(folder / each.file), each.hint) for each in found.problems]
        if not found.spans and not found.problems:
            problems.append(Problem("There are no traces in this folder", str(folder), _RECORD_ONE))
        yield from (span.under(folder) for span in found.spans)
    yield from spans_of_files([path for path in paths if not path.is_dir()])


def _measured(span: FoundSpan, on_progress: Callable[[ReadProgress], None]) -> Measured:
    """From the summary file where it is of exactly this trace and release, else from the trace."""
    from tb_steptime.ingest.measure import measure_file
    from tb_steptime.ingest.summary import fresh_summary, measured_in, read_summary

    if span.trace is None:
        return measured_in(read_summary(span.summary) if span.summary else None, str(span.summary))
    summary = fresh_summary(span.trace) if span.trace.is_file() else None
    return measured_in(summary, str(span.trace)) if summary else measure_file(span.trace, on_progress, UNPRINTED)


def _trace(span: FoundSpan, on_progress: Callable[[ReadProgress], None]) -> Trace:
    from tb_steptime.errors import TraceError
    from tb_steptime.trace.kineto import read_trace

    if span.trace is None:
        hint = "Put the trace beside it: a summary holds the longest kernels only."
        raise TraceError("The trace of this summary file is not there", str(span.summary), hint)
    return read_trace(span.trace, on_progress)


def _write_tables(spans: Iterator[Judged]) -> None:
    from tb_steptime.terminal.summary_table import ANSI, PLAIN, span_table

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no "█" shows "?" rather than nothing
    for number, span in enumerate(spans):
        print(
            ("\n\n" if number else "") + span_table(span, shutil.get_terminal_size().columns, ANSI if colour else PLAIN)
        )


class _ProgressBar:
    """A line on stderr that is drawn over and goes away in the end; nothing where stderr is no terminal."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.shown = sys.stderr.isatty()
        self.began = time.monotonic()
        self.drawn = 0.0

    def __enter__(self) -> _ProgressBar:
        return self

    def show(self, progress: ReadProgress) -> None:
        now = time.monotonic()
        if not self.shown or now - self.drawn < _SECONDS_BETWEEN_DRAWINGS:
            return
        self.drawn = now
        print("\r" + self._line(progress, now - self.began) + "\033[K", end="", file=sys.stderr, flush=True)

    def _line(self, progress: ReadProgress, seconds: float) -> str:
        from tb_steptime.terminal.printer import counted, duration, nbytes

        share = min(1.0, progress.read_bytes / max(1, progress.total_bytes))
        bar = ("█" * round(share * _BAR_CELLS)).ljust(_BAR_CELLS, "░")
        read = f"{nbytes(progress.read_bytes)} of {nbytes(progress.total_bytes)}"
        left = f", {duration(1e9 * seconds * (1 - share) / share)} left" if share > 0 and seconds > 1 else ""
        return f"{self.prefix}{bar} {read}, {counted(progress.events, 'event')}{left}"

    def __exit__(self, *_: object) -> None:
        if self.shown and self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
