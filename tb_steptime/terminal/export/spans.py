"""The spans of a log directory as they are exported: measured, judged, and under names that may be passed on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tb_steptime.analyses.trends import StepMark, TrendsResult
from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.names import passed_on_workers
from tb_steptime.ingest.private_paths import without_private_paths
from tb_steptime.ingest.states import Problem
from tb_steptime.insights import judge
from tb_steptime.insights.base import Judgement
from tb_steptime.terminal.spans import measured_span, read_found

#: A trace whose times begin earlier than this (2001) counts them from the start of the machine, not from the epoch.
_EPOCH_NS = 10**18
#: A number in a file's name is a time in ms if it is at least this, and a time in ns if it is at least _EPOCH_NS.
_EPOCH_MS = 10**12


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
        """Epoch time at which a step ends."""
        return self.ends_ns + step.end_ns - self.trends.steps[-1].end_ns


def exported_spans(path: AnyPath, problems: list[Problem], *, keep_names: bool) -> Iterator[ExportedSpan]:
    """Yields the spans in the order of the pickers, one at a time. keep_names: workers are named like their files, and
    summaries with whole paths keep them. Spans that cannot be read are added to problems."""
    found = list(find_spans([path], problems))
    names = passed_on_workers((span.run, span.worker) for span in found)
    for span, measured in read_found(found, problems, partial(measured_span, leave_out=("timeline",))):
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
    if origin_ns >= _EPOCH_NS:
        return origin_ns + last_ns, "trace"
    if span.time >= _EPOCH_MS:
        return span.time if span.time >= _EPOCH_NS else span.time * 1_000_000, "file name"
    there = span.trace or span.summary
    return there.stat().st_mtime_ns if there else 0, "file date"
