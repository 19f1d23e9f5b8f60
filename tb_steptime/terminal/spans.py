"""Reads the spans of the traces and log directories that a user names, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, is_file
from tb_steptime.ingest.cores import cores
from tb_steptime.ingest.discovery import find_spans, name_places
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.terminal.progress_bar import ProgressBar
from tb_steptime.text import no_such_steps
from tb_steptime.trace.reading import OnProgress
from tb_steptime.trace.steps import only_steps

if TYPE_CHECKING:
    from tb_steptime.ingest.measured import MeasuredSpan
    from tb_steptime.trace.model import Trace

T = TypeVar("T")

#: The steps as the trace shows them, the recording as one step, or the numbers of the first and the last wanted step.
StepChoice = Literal["found", "recording"] | tuple[int, int]

#: Views that are left out by default. Commands that need their results override the default.
UNPRINTED = ("gpu", "operators", "timeline")


class NoSuchStepsError(TraceError):
    """None of the steps that were asked for is in the trace."""


def read_each(
    paths: Sequence[AnyPath],
    problems: list[Problem],
    read: Callable[[FoundSpan, OnProgress], T],
    steps: StepChoice = "found",
    names_from: AnyPath | None = None,
) -> Iterator[tuple[FoundSpan, T]]:
    """Yields every span that can be read, one at a time; those that cannot become problems, whose file is the path as
    the user named it or its folder."""
    yield from read_found(list(find_spans(paths, problems)), problems, read, steps, names_from)


def read_found(
    spans: Sequence[FoundSpan],
    problems: list[Problem],
    read: Callable[[FoundSpan, OnProgress], T],
    steps: StepChoice = "found",
    names_from: AnyPath | None = None,
) -> Iterator[tuple[FoundSpan, T]]:
    """Reads spans that were found, as `read_each` does."""
    spans = [replace(of_steps(span, steps), names_from=names_from) for span in spans]
    for number, span in enumerate(spans, start=1):
        with ProgressBar(f"{number} of {len(spans)}  " if len(spans) > 1 else "") as bar:
            try:
                content = read(span, bar.show)
            except TraceError as error:
                problems.append(Problem.of(error, span.path))
                continue
        yield span, content


def of_steps(span: FoundSpan, steps: StepChoice) -> FoundSpan:
    """Returns the span with the choice of steps."""
    if isinstance(steps, tuple):
        return replace(span, only_steps=steps)
    return replace(span, whole_recording=steps == "recording")


def measured_span(
    span: FoundSpan,
    on_progress: OnProgress,
    leave_out: Collection[str] = UNPRINTED,
    needed_then: Sequence[str] = (),
) -> MeasuredSpan:
    """Returns the span, from the summary file where it is of exactly this trace and release, else from the trace;
    either way without the views to leave out. needed_then: see `measure_file`. Raises TraceError."""
    from tb_steptime.ingest.measure import measure_file, measure_trace
    from tb_steptime.ingest.summaries import fresh_summary, read_summary, whole

    if span.whole_recording or span.only_steps:
        return measure_trace(trace_of(span, on_progress), leave_out, processes=cores())[1]
    if span.trace is None:
        assert span.summary is not None
        return whole(read_summary(span.summary), span.path, leave_out)
    summary = fresh_summary(span.trace, span.summary) if is_file(span.trace) and not span.names_from else None
    if summary is not None and not (summary.names.wanted and span.beside):
        return whole(summary, span.path, leave_out)
    names = name_places(span)
    return measure_file(span.trace, on_progress, leave_out, processes=cores(), needed_then=needed_then, names=names)


def measured_trace(span: FoundSpan, on_progress: OnProgress) -> tuple[Trace, MeasuredSpan]:
    """Returns the trace and what is measured of it, without the timeline. Raises TraceError."""
    from tb_steptime.ingest.measure import measure_trace

    return measure_trace(trace_of(span, on_progress), ("timeline",), processes=cores())


def trace_of(span: FoundSpan, on_progress: OnProgress) -> Trace:
    """Returns the trace itself, for what a summary does not hold. Raises TraceError."""
    from tb_steptime.ingest.measure import read_file

    trace = read_file(
        span.trace_itself(),
        on_progress,
        whole_recording=span.whole_recording,
        processes=cores(),
        names=name_places(span),
    )
    if not span.only_steps:
        return trace
    first, last = span.only_steps
    try:
        return only_steps(trace, first, last)
    except ValueError as steps:
        raise NoSuchStepsError(no_such_steps(first, last), span.path, f"Its steps are {steps}.") from None
