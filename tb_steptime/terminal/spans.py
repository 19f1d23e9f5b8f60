"""The traces and log directories that a user names -> their spans, read one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tb_steptime.errors import TraceError
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.found import FoundSpan, spans_of_files
from tb_steptime.ingest.places import Place
from tb_steptime.ingest.states import Problem
from tb_steptime.terminal.progress_bar import ProgressBar
from tb_steptime.trace.kineto import ReadProgress, read_trace
from tb_steptime.trace.steps import as_one_step

if TYPE_CHECKING:
    from tb_steptime.ingest.measured import MeasuredSpan
    from tb_steptime.trace.model import Trace

T = TypeVar("T")

#: Views of which no command prints anything.
UNPRINTED = ("gpu", "timeline")

_RECORD_ONE = (
    "Traces are files named *.pt.trace.json[.gz]; torch.profiler.tensorboard_trace_handler(folder) writes them."
)


def read_each(
    paths: Sequence[Path],
    problems: list[Problem],
    read: Callable[[FoundSpan, Callable[[ReadProgress], None]], T],
    *,
    whole_recording: bool = False,
) -> Iterator[tuple[FoundSpan, T]]:
    """Every span that can be read, one at a time; those that cannot become problems, whose file is the path as the user
    named it or its folder."""
    found = [replace(span, whole_recording=whole_recording) for span in _found(paths, problems)]
    for number, span in enumerate(found, start=1):
        with ProgressBar(f"{number} of {len(found)}  " if len(found) > 1 else "") as bar:
            try:
                content = read(span, bar.show)
            except TraceError as error:
                problems.append(Problem(error.problem, span.path, error.hint))
                continue
        yield span, content


def measured_span(span: FoundSpan, on_progress: Callable[[ReadProgress], None]) -> MeasuredSpan:
    """From the summary file where it is of exactly this trace and release, else from the trace, without the views that
    no command prints. Raises TraceError."""
    from tb_steptime.ingest.measure import measure_file, measure_trace
    from tb_steptime.ingest.summaries import fresh_summary, read_summary, whole

    if span.whole_recording:
        return measure_trace(trace_of(span, on_progress), UNPRINTED)[1]
    if span.trace is None:
        assert span.summary is not None
        return whole(read_summary(span.summary), span.path)
    summary = fresh_summary(span.trace) if span.trace.is_file() else None
    return whole(summary, span.path) if summary else measure_file(span.trace, on_progress, UNPRINTED)


def measured_trace(span: FoundSpan, on_progress: Callable[[ReadProgress], None]) -> tuple[Trace, MeasuredSpan]:
    """The trace and what is measured of it, without the timeline. Raises TraceError."""
    from tb_steptime.ingest.measure import measure_trace

    return measure_trace(trace_of(span, on_progress), ("timeline",))


def trace_of(span: FoundSpan, on_progress: Callable[[ReadProgress], None]) -> Trace:
    """The trace itself, for what a summary does not hold. Raises TraceError."""
    if span.trace is None:
        hint = "Put the trace next to it: a summary does not hold single events."
        raise TraceError("The trace of this summary file is not there", span.path, hint)
    trace = read_trace(span.trace, on_progress)
    return as_one_step(trace) if span.whole_recording else trace


def _found(paths: Sequence[Path], problems: list[Problem]) -> Iterator[FoundSpan]:
    """The spans under log directories, then the files that were named."""
    for folder in (path for path in paths if path.is_dir()):
        found = Discovery([Place("", folder, str(folder))]).scan()
        problems += [Problem(each.problem, str(folder / each.file), each.hint) for each in found.problems]
        if not found.spans and not found.problems:
            problems.append(Problem("There are no traces in this folder", str(folder), _RECORD_ONE))
        yield from (span.under(folder) for span in found.spans)
    yield from spans_of_files([path for path in paths if not path.is_dir()])
