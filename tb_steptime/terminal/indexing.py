"""Writes the summary files of traces. The processes that read traces for the tab do it, so the files and their places
are the same."""

from __future__ import annotations

import contextlib
import functools
import posixpath
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, answers, identity
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.ingest.found import FoundSpan, file_of
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.names import NamePlaces
from tb_steptime.ingest.pool import ReadingQueue, without_log
from tb_steptime.ingest.reader_process import REPORT, Job
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries import SUFFIX, DamagedSummary, fresh_summary, read_summary
from tb_steptime.ingest.summaries.writing import cache_directory, places_for
from tb_steptime.terminal.progress_bar import StatusLine, time_left
from tb_steptime.text.printer import counted, nbytes, printable

#: Time between two updates of the progress bar.
_SECONDS_BETWEEN_LOOKS = 0.1
#: The share of the time of a trace that is spent on reading it. The analyses take the rest; their progress is unknown.
_READING_SHARE = 0.5

Ended = tuple[Job, AnyPath | Problem]


@dataclass
class IndexingOutcome:
    """The outcome for all traces. to_write: the jobs for traces without a fresh summary. written: the places of the
    written summaries, by the id of the job."""

    to_write: list[Job] = field(default_factory=list)
    fresh: int = 0
    written: dict[str, AnyPath] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def take(self, job: Job, outcome: AnyPath | Problem) -> None:
        if not isinstance(outcome, Problem) and outcome in places_for(job.trace):
            self.written[job.id] = outcome
        else:
            self.problems.append(_reported(outcome) if isinstance(outcome, Problem) else _no_place(job))


def find_work(spans: Sequence[FoundSpan], *, keep_paths: bool, names_from: AnyPath | None) -> IndexingOutcome:
    """Finds the traces whose summary must be written, each once. The summary is missing or stale, its paths are whole
    or shortened unlike what is wanted, or the kernels of its CUDA graphs are not named from the place that the user
    named. A readable summary without its trace stays as it is."""
    outcome = IndexingOutcome()
    jobs: dict[str, Job] = {}
    new_job = functools.partial(_job, keep_paths=keep_paths, names_from=names_from)
    freshness = answers(functools.partial(_freshness, keep_paths=keep_paths, names_from=names_from), spans, file_of)
    for span, fresh in zip(spans, freshness, strict=True):
        if isinstance(fresh, Problem):
            outcome.problems.append(fresh)
        elif fresh:
            outcome.fresh += 1
        elif span.trace:
            job = new_job(span, span.trace)
            jobs.setdefault(job.id, job)
    outcome.to_write = list(jobs.values())
    return outcome


def find_unnamed(indexed: IndexingOutcome, spans: Sequence[FoundSpan], *, keep_paths: bool) -> IndexingOutcome:
    """Finds the traces to read once more when all have summaries: those whose CUDA graphs are unnamed, although a
    recording of which the search did not know, or not by its summary, has such kernels. The outcome goes on from the
    one of the first reading."""
    known = {job.id for job in indexed.to_write}
    jobs: dict[str, Job] = {}
    outcome = replace(indexed, to_write=[])
    for span, may_be in zip(spans, answers(_may_be_named_now, spans, file_of), strict=True):
        if may_be and span.trace:
            job = _job(span, span.trace, keep_paths=keep_paths, names_from=None)
            outcome.fresh -= job.id not in known
            jobs.setdefault(job.id, job)
    outcome.to_write = list(jobs.values())
    return outcome


def _job(span: FoundSpan, trace: AnyPath, *, keep_paths: bool, names_from: AnyPath | None) -> Job:
    return Job(identity(trace), trace.absolute(), str(trace), keep_paths=keep_paths, by_command=True,
               log_directory=span.log_directory, names_from=names_from)  # fmt: skip


class Readers(Protocol):
    """An interface to read traces for their summaries: by processes of this machine, or by workers of a cluster."""

    def begin(self, jobs: Sequence[Job], on_end: Callable[[Job, AnyPath | Problem], None]) -> None:
        """Starts to read all traces. Other threads call on_end with the place of each summary, or a problem."""

    def read_bytes(self) -> Mapping[str, int]:
        """Returns how many bytes are read so far, by the id of the job, for each job that is being read."""

    def close(self) -> None:
        """Stops or cancels the jobs that have not ended. No file is left half written."""


class LocalReaders:
    """Reads traces on this machine. processes: the number of processes at once; 0: one for each core."""

    def __init__(self, processes: int = 0) -> None:
        self.processes = processes
        self.queue: ReadingQueue | None = None

    def begin(self, jobs: Sequence[Job], on_end: Callable[[Job, AnyPath | Problem], None]) -> None:
        self.queue = ReadingQueue(on_end, self.processes)
        for job in jobs:
            self.queue.want(job, urgent=False)

    def read_bytes(self) -> Mapping[str, int]:
        places = self.queue.places() if self.queue else {}
        return {id: each.progress.read_bytes for id, each in places.items() if each.progress}

    def close(self) -> None:
        if self.queue:
            self.queue.close()


def write_summaries(indexed: IndexingOutcome, readers: Readers) -> None:
    """Has the traces read, and shows the progress on stderr. An interrupt leaves only complete files."""
    ended: SimpleQueue[Ended] = SimpleQueue()
    bytes_of = {job.id: _size(job.trace) for job in indexed.to_write}
    with without_log():
        try:
            readers.begin(indexed.to_write, lambda job, outcome: ended.put((job, outcome)))
            with _IndexBar(bytes_of) as status:
                for job, outcome in _each(ended, len(indexed.to_write), readers, status):
                    indexed.take(job, outcome)
                    status.ended(job, outcome)
        finally:
            readers.close()


def _each(ended: SimpleQueue[Ended], count: int, readers: Readers, status: _IndexBar) -> Iterator[Ended]:
    while count:
        try:
            job_and_outcome = ended.get(timeout=_SECONDS_BETWEEN_LOOKS)
        except Empty:
            status.show(readers.read_bytes())
            continue
        count -= 1
        yield job_and_outcome


class _IndexBar(StatusLine):
    """Shows the progress of many files. Without a terminal it prints a line for each file that was written."""

    def __init__(self, bytes_of: Mapping[str, int]) -> None:
        super().__init__()
        self.left = dict(bytes_of)
        self.files, self.bytes = len(bytes_of), sum(bytes_of.values())

    def ended(self, job: Job, outcome: AnyPath | Problem) -> None:
        self.left.pop(job.id)
        if not self.shown and not isinstance(outcome, Problem):
            print(f"{self.files - len(self.left)} of {self.files}  {outcome}", file=sys.stderr, flush=True)

    def show(self, read_bytes: Mapping[str, int]) -> None:
        """read_bytes: of each job that is being read."""
        if not self.is_due():
            return
        read = {id: count for id, count in read_bytes.items() if id in self.left}
        ended = self.bytes - sum(self.left.values())
        seconds = time.monotonic() - self.began
        done = ended + sum(read.values())
        work = (ended + _READING_SHARE * sum(read.values())) / max(1, self.bytes)
        files = f"{self.files - len(self.left)} of {counted(self.files, 'file')}"
        share = f"{nbytes(done)} of {nbytes(self.bytes)}"
        speed = f"{nbytes(round(done / max(seconds, 1e-3)))}/s"
        present = [printable(posixpath.basename(next(iter(read))))] if read else []
        self.draw(work, "", [files, share, *time_left(seconds, work), speed, *present])


def outcome_lines(indexed: IndexingOutcome, *, interrupted: bool = False) -> Sequence[str]:
    """Returns the lines printed at the end."""
    counts = [f"{counted(len(indexed.written), 'summary file')} written", f"{indexed.fresh} up to date"]
    failed = len(indexed.problems)
    lines = [", ".join([*counts, f"{failed} failed"])]
    in_cache = sum(place.parent == cache_directory() for place in indexed.written.values())
    if in_cache:
        lines.append(f"{in_cache} of them in the cache directory, because the trace's folder is read-only.")
    if interrupted:
        lines.append("Interrupted. Run it again for the rest.")
    return lines


def _freshness(span: FoundSpan, *, keep_paths: bool, names_from: AnyPath | None) -> bool | Problem:
    try:
        return _is_fresh(span, keep_paths, names_from)
    except TraceError as error:
        return Problem.of(error, span.path)
    except OSError as error:
        return _unreadable(span.path, error)


def _is_fresh(span: FoundSpan, keep_paths: bool, names_from: AnyPath | None) -> bool:
    """Raises OSError, and TraceError for a summary that cannot be read and has no trace."""
    if span.trace is None:
        assert span.summary is not None
        read_summary(span.summary)
        return True
    span.trace.stat()
    summary = fresh_summary(span.trace, span.summary)
    if summary is None or summary.keeps_paths != keep_paths:
        return False
    return names_from is None or not _lacks_names(span.trace, summary, names_from)


def _lacks_names(trace: AnyPath, summary: MeasuredSpan, names_from: AnyPath) -> bool:
    """Returns whether the kernels of CUDA graphs are not yet named from the place that the user gave. If that place
    could not name them earlier, it is tried again."""
    if not summary.names.graphs or not isinstance(trace, Path):
        return False
    from tb_steptime.ingest.graph_names import is_named_from

    return not is_named_from(trace, NamePlaces((names_from,)), summary.names)


def _may_be_named_now(span: FoundSpan) -> bool:
    """A trace whose summary cannot be read is not read once more: the first reading has reported the problem."""
    if not isinstance(span.trace, Path):
        return False
    with contextlib.suppress(OSError, DamagedSummary, KeyError):
        summary = fresh_summary(span.trace, span.trace.with_name(span.trace.name + SUFFIX))
        if summary is not None and summary.names.wanted:
            from tb_steptime.ingest.graph_names import may_be_named_now

            return may_be_named_now(span.trace, NamePlaces(log_directory=span.log_directory), summary)
    return False


def _size(trace: AnyPath) -> int:
    try:
        return trace.stat().st_size
    except OSError:
        return 0


def _reported(problem: Problem) -> Problem:
    """Replaces the tab's hint for reporting a failure, which refers to TensorBoard's log, since there is none here."""
    if problem.hint != REPORT:
        return problem
    return Problem(problem.problem, problem.file, "Please report it with what `tb-steptime summarize` prints for it.")


def _no_place(job: Job) -> Problem:
    hint = "Make one of them writable, or set XDG_CACHE_HOME to a folder that is."
    return Problem("Neither its folder nor the cache directory can be written to", job.file, hint)


def _unreadable(file: str, error: OSError) -> Problem:
    if isinstance(error, RemoteProblem):
        return Problem(error.fact, file, error.hint)
    if isinstance(error, FileNotFoundError):
        return Problem("There is no such file", file, "Check the path.")
    return Problem(f"The file cannot be read: {error.strerror}", file, "Check that it may be read.")
