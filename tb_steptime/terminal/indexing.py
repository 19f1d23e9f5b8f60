"""Traces -> their summary files, by the processes that read them for the tab: the same files at the same places."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, identity
from tb_steptime.ingest import pool
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.pool import REPORT, Job, QueuePlace, ReadingQueue
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries import fresh_summary, read_summary
from tb_steptime.ingest.summaries.writing import places_for
from tb_steptime.terminal.printer import counted, nbytes
from tb_steptime.terminal.progress_bar import StatusLine, bar, time_left

#: How often the bar is drawn.
_SECONDS_BETWEEN_LOOKS = 0.1
#: So much of a trace's time goes by while it is read; the rest is for the analyses, whose progress is not known.
_READING_SHARE = 0.5

Ended = tuple[Job, AnyPath | Problem]


@dataclass
class Indexed:
    """What became of the traces. to_write: those without a fresh summary; in_cache: of those written, how many are in
    the user's cache directory."""

    to_write: list[Job] = field(default_factory=list)
    fresh: int = 0
    written: int = 0
    in_cache: int = 0
    problems: list[Problem] = field(default_factory=list)

    def take(self, job: Job, outcome: AnyPath | Problem) -> None:
        if not isinstance(outcome, Problem) and outcome in places_for(job.trace):
            self.written += 1
            self.in_cache += outcome != places_for(job.trace)[0]
        else:
            self.problems.append(_reported(outcome) if isinstance(outcome, Problem) else _no_place(job))


def find_work(spans: Iterable[FoundSpan], *, keep_paths: bool = False) -> Indexed:
    """Whose summary is missing or stale, or has paths that are not wanted or the other way round; each trace once. A
    summary without its trace stays as it is, if it can be read."""
    found = Indexed()
    jobs: dict[str, Job] = {}
    for span in spans:
        try:
            if _is_fresh(span, keep_paths):
                found.fresh += 1
            elif span.trace:
                id = identity(span.trace)
                jobs.setdefault(id, _job(id, span.trace, keep_paths))
        except TraceError as error:
            found.problems.append(Problem(error.problem, span.path, error.hint))
        except OSError as error:
            found.problems.append(_unreadable(span.path, error))
    found.to_write = list(jobs.values())
    return found


def write_summaries(indexed: Indexed, processes: int) -> None:
    """Read the traces with so many processes at once, and show on stderr how far that is. Interrupted, it ends them and
    leaves whole files only."""
    ended: SimpleQueue[Ended] = SimpleQueue()
    queue = ReadingQueue(lambda job, outcome: ended.put((job, outcome)), processes)
    bytes_of = {job.id: _size(job.trace) for job in indexed.to_write}
    log = logging.getLogger(pool.__name__)
    log.disabled = True  # what failed is printed, a line each
    try:
        for job in indexed.to_write:
            queue.want(job, urgent=False)
        with _IndexBar(bytes_of) as status:
            for job, outcome in _each(ended, len(indexed.to_write), queue, status):
                indexed.take(job, outcome)
                status.ended(job, outcome)
    finally:
        queue.close()
        log.disabled = False


def _each(ended: SimpleQueue[Ended], count: int, queue: ReadingQueue, status: _IndexBar) -> Iterator[Ended]:
    while count:
        try:
            job_and_outcome = ended.get(timeout=_SECONDS_BETWEEN_LOOKS)
        except Empty:
            status.show(queue.places())
            continue
        count -= 1
        yield job_and_outcome


class _IndexBar(StatusLine):
    """Of many files; without a terminal a line for each that was written."""

    def __init__(self, bytes_of: Mapping[str, int]) -> None:
        super().__init__()
        self.left = dict(bytes_of)
        self.files, self.bytes = len(bytes_of), sum(bytes_of.values())

    def __enter__(self) -> _IndexBar:
        return self

    def ended(self, job: Job, outcome: AnyPath | Problem) -> None:
        self.left.pop(job.id)
        if not self.shown and not isinstance(outcome, Problem):
            print(f"{self.files - len(self.left)} of {self.files}  {outcome}", file=sys.stderr, flush=True)

    def show(self, places: Mapping[str, QueuePlace]) -> None:
        if not self.is_due():
            return
        read = {id: each.progress.read_bytes for id, each in places.items() if each.progress and id in self.left}
        ended = self.bytes - sum(self.left.values())
        work = (ended + _READING_SHARE * sum(read.values())) / max(1, self.bytes)
        files = f"{self.files - len(self.left)} of {counted(self.files, 'file')}"
        share = f"{nbytes(ended + sum(read.values()))} of {nbytes(self.bytes)}"
        self.draw(f"{bar(work)} {files}, {share}{time_left(time.monotonic() - self.began, work)}")


def outcome_lines(indexed: Indexed, *, interrupted: bool = False) -> Sequence[str]:
    """What a person reads in the end."""
    said = [f"{counted(indexed.written, 'summary file')} written", f"{indexed.fresh} up to date"]
    failed = len(indexed.problems)
    lines = [", ".join([*said, f"{failed} failed"])]
    if indexed.in_cache:
        lines.append(f"{indexed.in_cache} of them in the cache directory, because the trace's folder is read-only.")
    if interrupted:
        lines.append("Interrupted. Run it again for the rest.")
    return lines


def _job(id: str, trace: AnyPath, keep_paths: bool) -> Job:
    return Job(id, trace.absolute(), str(trace), keep_paths=keep_paths)


def _is_fresh(span: FoundSpan, keep_paths: bool) -> bool:
    """Raises OSError, and TraceError for a summary that cannot be read and has no trace."""
    if span.trace is None:
        assert span.summary is not None
        read_summary(span.summary)
        return True
    span.trace.stat()
    known = fresh_summary(span.trace)
    return known is not None and known.keeps_paths == keep_paths


def _size(trace: AnyPath) -> int:
    try:
        return trace.stat().st_size
    except OSError:
        return 0


def _reported(problem: Problem) -> Problem:
    """The tab's way to report a failure is TensorBoard's log, which is not here."""
    if problem.hint != REPORT:
        return problem
    return Problem(problem.problem, problem.file, "Please report it with what `tb-steptime summarize` prints for it.")


def _no_place(job: Job) -> Problem:
    hint = "Make one of them writable, or set XDG_CACHE_HOME to a folder that is."
    return Problem("Neither its folder nor the cache directory can be written to", job.file, hint)


def _unreadable(file: str, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem("There is no such file", file, "Check the path.")
    return Problem(f"The file cannot be read: {error.strerror}", file, "Check that it may be read.")
