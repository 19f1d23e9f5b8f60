"""The traces that are being read and those that wait, with their progress. There is a process for each core, and each
reads one trace after the other, since starting one takes as long as reading 50 MB. A trace that is read alone may start
more processes, as long as there are no more processes than cores, or than traces.

This module knows only files and ids; the caller handles a finished summary file in its `on_end`.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.files.temporary import OwnFolder
from tb_steptime.ingest import reader_process
from tb_steptime.ingest.cores import cores, share_of
from tb_steptime.ingest.read_one import Done, Refused
from tb_steptime.ingest.reader_process import REPORT, Job, ReaderProcess
from tb_steptime.ingest.states import Problem, Progress, SpanState
from tb_steptime.trace.kineto.source import likely_text_bytes

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def without_log() -> Iterator[None]:
    """Suppresses the log, for a command that prints a line for each file that cannot be read."""
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


#: A process that has read more bytes of JSON than this ends after the trace, and so frees all its memory.
_READS_MORE_BELOW_BYTES = 200_000_000


@dataclass(frozen=True)
class QueuePlace:
    """A job's state and place in the queue: file number of file count since the queue was last empty."""

    state: SpanState
    file_number: int
    file_count: int
    progress: Progress | None


@dataclass(eq=False)
class ReadingQueue:
    """Reads the requested traces, the latest urgent request first. All methods may be called from any thread.

    on_end(job, path of the file that was made, or a Problem) is called from a thread of the queue.
    """

    on_end: Callable[[Job, AnyPath | Problem], None]
    processes: int = 0
    waiting: OrderedDict[str, Job] = field(default_factory=OrderedDict)
    running: dict[str, Job] = field(default_factory=dict)
    ended: int = 0
    threads: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    fallback: OwnFolder | None = None
    closed: bool = False

    def want(self, job: Job, *, urgent: bool, events: Callable[[], Path] | None = None) -> None:
        """Adds a job to the queue, before all others if urgent. A repeated request moves it to the front if urgent, and
        otherwise changes nothing.

        events: makes the folder for an event file or a slice, if that is wanted instead of the summary. An OSError that
        it raises propagates.
        """
        with self.lock:
            if self.closed or job.id in self.running:
                return
            if job.id not in self.waiting:
                job.events = events() if events else None
                self.waiting[job.id] = job
            if urgent:
                self.waiting.move_to_end(job.id, last=False)
            if self.threads < self._most():
                self.threads += 1
                threading.Thread(target=self._work, daemon=True, name="tb_steptime reading").start()

    def places(self) -> dict[str, QueuePlace]:
        """Returns the jobs that are being read and those that wait, by id."""
        with self.lock:
            line = [*self.running.values(), *self.waiting.values()]
            end = self.ended + len(line)
            return {
                job.id: QueuePlace(SpanState.READING if job.started else SpanState.UNREAD, number, end, _progress(job))
                for number, job in enumerate(line, start=self.ended + 1)
            }

    def close(self) -> None:
        """Ends all processes and drops the waiting jobs. No file is left half written."""
        with self.lock:
            self.closed = True
            self.waiting.clear()
            running = [job.process for job in self.running.values() if job.process]
        for process in running:
            reader_process.ask_to_end(process)
        for process in running:
            reader_process.wait_or_end(process)
        if self.fallback:
            self.fallback.remove()

    def _work(self) -> None:
        reader = None
        try:
            while job := self._next():
                outcome, reader = self._outcome(job, reader)
                if not self.closed:
                    self.on_end(job, outcome)
                with self.lock:
                    del self.running[job.id]
                    self.ended += 1
        finally:
            if reader:
                reader.close()

    def _next(self) -> Job | None:
        with self.lock:
            if not self.waiting or self.closed:
                self.threads -= 1
                if not self.running:
                    self.ended = 0
                return None
            _, job = self.waiting.popitem(last=False)
            job.started = time.monotonic()
            used = sum(other.processes for other in self.running.values())
            job.processes = share_of(self._most(), used, len(self.waiting))
            self.running[job.id] = job
            return job

    def _most(self) -> int:
        return self.processes or cores()

    def _outcome(self, job: Job, reader: ReaderProcess | None) -> tuple[AnyPath | Problem, ReaderProcess | None]:
        """Returns the outcome, and the process if it can read another trace. reader: a process that has read traces
        before."""
        try:
            folder = job.events or self._fallback()
            if reader:
                outcome = self._read(job, reader, folder)
                if outcome or self.closed:
                    return self._ended(job, reader, outcome)
                reader.close()  # whatever ended it, a new process may succeed
                reader = None
            reader = ReaderProcess(job, folder)
            return self._ended(job, reader, self._read(job, reader, folder))
        except (OSError, msgspec.MsgspecError) as error:
            logger.exception("tb_steptime could not read %s", job.trace)
            if reader:
                reader_process.end(reader.process)
                reader.close()
            return Problem(f"The process that reads traces did not work: {error}", job.file, REPORT), None

    def _read(self, job: Job, reader: ReaderProcess, folder: Path) -> Done | Refused | None:
        job.process = reader.process
        if self.closed:  # the process was started while close() was ending the others
            reader_process.end(reader.process)
        return reader.read(job, folder)

    def _ended(
        self, job: Job, reader: ReaderProcess, outcome: Done | Refused | None
    ) -> tuple[AnyPath | Problem, ReaderProcess | None]:
        goes_on = outcome is not None and not self.closed and _is_small(job)
        code = None if goes_on else reader.end()
        output, next_reader = reader.last_words(), reader if goes_on else None
        if not next_reader:
            reader.close()
        if isinstance(outcome, Done):
            if output.strip():
                logger.warning("tb_steptime read %s, but not all of it worked:\n%s", job.trace, output.strip())
            return any_path(outcome.path), next_reader
        if isinstance(outcome, Refused):
            return Problem(outcome.problem, job.file, outcome.hint), next_reader
        assert code is not None
        if not self.closed:
            logger.error("tb_steptime could not read %s (exit code %s):\n%s", job.trace, code, output)
        return reader_process.failure(code, job.file), None

    def _fallback(self) -> Path:
        """Returns the folder for summaries that can be written neither next to the trace nor to the user's cache."""
        with self.lock:
            if self.fallback is None:
                self.fallback = OwnFolder("summaries")
                atexit.register(self.close)
            return self.fallback.path


def _is_small(job: Job) -> bool:
    try:
        return likely_text_bytes(job.trace) < _READS_MORE_BELOW_BYTES
    except OSError:
        return False


def _progress(job: Job) -> Progress | None:
    """Returns how far the reading is. How long the analyses take afterwards is not known."""
    so_far = job.progress
    if so_far is None or job.started is None:
        return None
    seconds = time.monotonic() - job.started
    rate = so_far.read_bytes / seconds if seconds > 0 and so_far.read_bytes else None
    rest = so_far.total_bytes - so_far.read_bytes
    return Progress(
        so_far.read_bytes, so_far.total_bytes, so_far.events, rate, rest / rate if rate and rest > 0 else None
    )
