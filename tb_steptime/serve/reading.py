"""Has other processes read traces: for their summaries, ahead of time or when a page is requested, and for their single
events, when a timeline is opened."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.found import FoundSnapshot, FoundSpan
from tb_steptime.ingest.names import NamePlaces
from tb_steptime.ingest.pool import QueuePlace, ReadingQueue
from tb_steptime.ingest.reader_process import REPORT, Job
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.ingest.summaries import DamagedSummary, summary_of
from tb_steptime.serve.directory import LogDirectory
from tb_steptime.serve.served import ServedSpan, SpanFailed
from tb_steptime.serve.slices import StepSlice, WrittenFiles, slice_job, slice_name, whole_file
from tb_steptime.serve.snapshots import snapshot_job
from tb_steptime.serve.wire import Waiting
from tb_steptime.timeline.event_file import EventFile, EventFiles

logger = logging.getLogger(__name__)

#: A file whose last write is more recent than this may be incomplete.
SETTLE_SECONDS = 1.0
#: A file that cannot be read counts as failed only when it is older than this: a job may pause while it writes, and
#: leave an incomplete file meanwhile.
WHOLE_SECONDS = 10.0
#: Limits on the spans that are read ahead, so that the pickers and trends fill by themselves. Other spans are read when
#: they are opened.
READ_AHEAD_SPANS = 200
READ_AHEAD_BYTES = 2_000_000_000


class Reader:
    """All methods may be called from any thread and return at once. Nothing is begun where `work` is false."""

    def __init__(self, directory: LogDirectory, processes: int = 0) -> None:
        self.directory = directory
        self.queue = ReadingQueue(self._on_end, processes)
        directory.is_being_read = lambda id: id in self.queue.running
        self.events = EventFiles()
        self.slices, self.snapshots = WrittenFiles("slices"), WrittenFiles("columns")
        self._may_name_graphs = threading.Event()  # a trace without CUDA graphs was read since the last search

    def close(self) -> None:
        self.queue.close()
        self.events.close()
        self.slices.close()
        self.snapshots.close()

    def places(self) -> Mapping[str, QueuePlace]:
        """Returns the places in the queue by job id, which is the span's id where its summary or events are read."""
        return self.queue.places()

    def want(self, spans: Iterable[ServedSpan]) -> None:
        """Queues these spans for reading, without urgency."""
        for span in spans:
            self._want(span, urgent=False)

    def read_ahead(self, spans: Iterable[ServedSpan]) -> None:
        """Queues the first of the spans that are not read yet, up to the limits on reading ahead. When none is queued
        any more, those whose CUDA graphs could not be named before all others were read."""
        spans = list(spans)
        if self._may_name_graphs.is_set() and not self.queue.places():
            self._may_name_graphs.clear()
            threading.Thread(target=self._read_unnamed, args=(spans,), daemon=True, name="tb_steptime names").start()
        count = size = 0
        for span in spans:
            if span.measured or span.problem:
                continue
            count, size = count + 1, size + span.found.bytes
            if count > READ_AHEAD_SPANS or size > READ_AHEAD_BYTES:
                return
            self._want(span, urgent=False)

    def _read_unnamed(self, spans: Iterable[ServedSpan]) -> None:
        from tb_steptime.ingest.graph_names import may_be_named_now

        wanted = [each for each in spans if each.measured and each.measured.names.wanted]
        for span in wanted[:READ_AHEAD_SPANS]:
            found, measured = span.found, span.measured
            if not isinstance(found.trace, Path) or measured is None:
                continue
            with contextlib.suppress(OSError, DamagedSummary, KeyError):
                if may_be_named_now(found.trace, NamePlaces(log_directory=found.log_directory), measured):
                    self.queue.want(_wanted(found, found.trace), urgent=False)

    def wait(self, span: ServedSpan, *, work: bool) -> Waiting:
        """Has this span read before all others. Raises SpanFailed."""
        if span.problem:
            raise SpanFailed(span.problem)
        if work:
            self._want(span, urgent=True)
        return self.waiting(span)

    def again(self, span: ServedSpan, why: Exception, *, work: bool) -> Waiting:
        """Has a span read again whose summary is gone or damaged. Raises SpanFailed where its trace is gone, too."""
        if span.found.trace is None:
            raise SpanFailed(_damaged(span.found)) from why
        logger.warning("tb_steptime reads %s again: %s", span.found.file, why)
        span.forget()
        if span.is_given_up:
            span.problem = Problem("The analysis failed", span.found.file, REPORT)
        return self.wait(span, work=work)

    def waiting(self, span: ServedSpan, job: str = "") -> Waiting:
        """job: the id of the job to wait for, where that is not the reading of the summary or the events."""
        return self._place(job or span.found.id, span.found.file)

    def _place(self, id: str, file: str) -> Waiting:
        place = self.queue.places().get(id)
        if place is None:
            return Waiting(SpanState.UNREAD, file, 1, 1, None)
        return Waiting(place.state, file, place.file_number, place.file_count, place.progress)

    def event_file(self, span: ServedSpan, *, work: bool) -> EventFile | Waiting:
        """Returns the event file of a span, made on the first request, after the summary. Raises SpanFailed."""
        if span.found.trace is None:
            problem = "Only the summary of this trace is here. Its single events are in the trace file"
            hint = "Put the trace back next to its summary. All other views work without it."
            raise SpanFailed(span.problem or Problem(problem, span.found.file, hint))
        if span.measured is None:
            return self.wait(span, work=work)
        events = self.events.get(_state_of(span))
        if events is not None:
            return events
        if span.events_problem:
            raise SpanFailed(span.events_problem)
        if work:
            job = _wanted(span.found, span.found.trace)
            self._want_folder(job, lambda: self.events.new_folder(_state_of(span)))
        return self.waiting(span)

    def step_slice(self, span: ServedSpan, steps: tuple[int, int], *, work: bool) -> StepSlice | Waiting:
        """Returns the steps from the first to the last as a trace of their own, made on the first request, or the whole
        file where its format cannot be cut. Raises SpanFailed."""
        if whole := whole_file(span.found):
            return whole
        job = slice_job(span.found, steps)
        file = self.slices.open(job.id)
        if file is not None:
            return StepSlice(file, slice_name(span.found, steps))
        if work:
            self._want_folder(job, self.slices.new_folder)
        return self.waiting(span, job.id)

    def snapshot(self, snapshot: FoundSnapshot, *, work: bool) -> Path | Waiting:
        """Returns the folder of a memory snapshot's columns, which are made on the first request. Raises SpanFailed."""
        job = snapshot_job(snapshot)
        folder = self.snapshots.path(job.id)
        if folder is not None:
            return folder
        if work:
            self._want_folder(job, self.snapshots.new_folder)
        return self._place(job.id, snapshot.file)

    def _want(self, span: ServedSpan, *, urgent: bool) -> None:
        found = span.found
        if span.measured or span.problem or found.trace is None:
            return
        if 0 <= time.time() - found.mtime_ns / 1e9 < SETTLE_SECONDS:
            return
        if span.waits_until is not None and time.monotonic() < span.waits_until:
            return
        self.queue.want(_wanted(found, found.trace), urgent=urgent)

    def _want_folder(self, job: Job, new_folder: Callable[[], Path]) -> None:
        """Queues a job that writes into a folder of its own. Raises SpanFailed where the folder cannot be made."""
        try:
            self.queue.want(job, urgent=True, events=new_folder)
        except OSError as error:
            hint = "Free some space, or set TMPDIR to a folder with room, and start TensorBoard again."
            problem = f"There is no room for single events in the temporary folder: {error.strerror}"
            raise SpanFailed(Problem(problem, job.file, hint)) from error

    def _on_end(self, job: Job, outcome: AnyPath | Problem) -> None:
        """Handles the end of a job, successful or not. A file that changed meanwhile is read again on request."""
        span = self.directory.get(job.id)
        if job.steps:
            self.slices.ended(job, outcome)
        elif job.snapshot:
            self.snapshots.ended(job, outcome)
        elif job.events:
            self._on_events(job, job.events, span, outcome)
        elif span and isinstance(outcome, Problem):
            if span.found.stamp == job.stamp:
                self._on_problem(span, outcome)
        elif span and not isinstance(outcome, Problem) and span.found.trace:
            with contextlib.suppress(OSError):
                span.measured = summary_of(span.found.trace, outcome) or span.measured
                if span.measured and not span.measured.names.graphs:
                    self._may_name_graphs.set()

    def _on_problem(self, span: ServedSpan, problem: Problem) -> None:
        """Records a failure. A file that was written only a moment ago may be incomplete, so it is read again first."""
        rest = span.found.mtime_ns / 1e9 + WHOLE_SECONDS - time.time()
        if span.waits_until is None and 0 <= rest <= WHOLE_SECONDS:
            span.waits_until = time.monotonic() + rest  # the wall clock may be set meanwhile
        else:
            span.problem = problem

    def _on_events(self, job: Job, folder: Path, span: ServedSpan | None, outcome: AnyPath | Problem) -> None:
        problem: Problem | None = None
        if isinstance(outcome, Problem):
            problem = outcome
            self.events.give_up(folder)
        elif not self.events.add(folder):
            problem = Problem("The events could not be kept", job.file, REPORT)
        if span and (problem is None or span.found.stamp == job.stamp):
            span.events_problem = problem


def _wanted(span: FoundSpan, trace: AnyPath) -> Job:
    return Job(
        span.id, trace, span.file, span.stamp, whole_recording=span.whole_recording, log_directory=span.log_directory
    )


def _state_of(span: ServedSpan) -> str:
    """Identifies a trace. Changes when its file changes, or the recording that names the kernels of its CUDA graphs."""
    named_by = span.measured.names.digest if span.measured else ""
    return f"{span.found.id} {span.found.stamp} {named_by}"


def _damaged(span: FoundSpan) -> Problem:
    hint = "Put the trace next to it, or copy the summary file again."
    return Problem("The summary file is damaged, and its trace is not here", span.file, hint)
