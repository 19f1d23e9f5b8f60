"""Which traces are read now, which wait, and how far each is. A process per trace, at most one per core; one that is
read alone may start more, so that all together are no more than cores, or one per trace.
Knows files and ids; what becomes of a summary file is the caller's business, whose `on_end` is called.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

import tb_steptime
from tb_steptime.files.own_folder import OwnFolder
from tb_steptime.files.paths import AnyPath, address, any_path
from tb_steptime.ingest.cores import cores, share_of
from tb_steptime.ingest.read_one import (
    KEEP_PATHS,
    RECORDING,
    Done,
    Far,
    Message,
    Refused,
    processes_option,
    steps_option,
)
from tb_steptime.ingest.states import Problem, Progress, SpanState

logger = logging.getLogger(__name__)

#: A process that says nothing for so long hangs, on a network file system say; the largest are silent for a minute.
SILENCE_SECONDS = 900.0
#: A process that was asked to end may be writing its file, to a slow disk say.
_ENDING_SECONDS = 5.0
#: So much of a failed process's last words go to the log.
_LAST_WORDS_BYTES = 8_000

REPORT = "Please report it with the message in TensorBoard's log; the other traces stay usable."


@dataclass(eq=False)
class Job:
    """One trace to read. file is what the user reads, relative to the log directory. events: the folder to write its
    event file into, or a slice of it where steps says which; None where it is read for its summary. whole_recording: as
    one step. keep_paths: its summary has the whole paths of files. processes: how many may read it together."""

    id: str
    trace: AnyPath
    file: str
    events: Path | None = None
    steps: tuple[int, int] | None = None
    whole_recording: bool = False
    keep_paths: bool = False
    processes: int = 1
    started: float | None = None
    far: Far | None = None
    process: subprocess.Popen[bytes] | None = None


@dataclass(frozen=True)
class QueuePlace:
    """A job's state and place in the queue: file number of file count since the queue was last empty."""

    state: SpanState
    file_number: int
    file_count: int
    progress: Progress | None


@dataclass(eq=False)
class ReadingQueue:
    """Reads what it is asked to, the latest urgent request first. All methods may be called from any thread.

    on_end(job, path of what was made or Problem) is called from a thread of the queue.
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
        """Read its trace, before all others if urgent. Asking again moves it to the front, or changes nothing.

        events: makes the folder for its event file or slice, where that is wanted and not the summary. Raises OSError
        from it.
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
        """By id, those that are being read and those that wait."""
        with self.lock:
            line = [*self.running.values(), *self.waiting.values()]
            end = self.ended + len(line)
            return {job.id: _place(job, number, end) for number, job in enumerate(line, start=self.ended + 1)}

    def close(self) -> None:
        """End all processes and forget what waits. No file is left half written."""
        with self.lock:
            self.closed = True
            self.waiting.clear()
            running = [job.process for job in self.running.values() if job.process]
        for process in running:
            _ask_to_end(process)
        for process in running:
            _wait_or_end(process)
        if self.fallback:
            self.fallback.remove()

    def _work(self) -> None:
        while job := self._next():
            outcome = self._outcome(job)
            if not self.closed:
                self.on_end(job, outcome)
            with self.lock:
                del self.running[job.id]
                self.ended += 1

    def _next(self) -> Job | None:
        with self.lock:
            if not self.waiting or self.closed:
                self.threads -= 1
                if not self.running:
                    self.ended = 0
                return None
            _, job = self.waiting.popitem(last=False)
            job.started = time.monotonic()
            taken = sum(other.processes for other in self.running.values())
            job.processes = share_of(self._most(), taken, len(self.waiting))
            self.running[job.id] = job
            return job

    def _most(self) -> int:
        return self.processes or cores()

    def _outcome(self, job: Job) -> AnyPath | Problem:
        try:
            return self._read(job)
        except (OSError, msgspec.MsgspecError) as error:
            logger.exception("tb_steptime could not read %s", job.trace)
            return Problem(f"The process that reads traces did not work: {error}", job.file, REPORT)

    def _read(self, job: Job) -> AnyPath | Problem:
        with tempfile.TemporaryFile() as words:
            with _start(job, job.events or self._fallback(), words) as process:
                job.process = process
                if self.closed:  # it began while close() went through the others
                    _end(process)
                last, code = _listen(job, process), process.wait()
            if isinstance(last, Done):
                if said := _last_words(words).strip():
                    logger.warning("tb_steptime read %s, but not all of it worked:\n%s", job.trace, said)
                return any_path(last.path)
            if isinstance(last, Refused):
                return Problem(last.problem, job.file, last.hint)
            if not self.closed:
                logger.error("tb_steptime could not read %s (exit code %s):\n%s", job.trace, code, _last_words(words))
            return _failure(code, job.file)

    def _fallback(self) -> Path:
        """A folder for the summaries that can be written neither next to the trace nor to the user's cache."""
        with self.lock:
            if self.fallback is None:
                self.fallback = OwnFolder("summaries")
                atexit.register(self.close)
            return self.fallback.path


def _start(job: Job, folder: Path, words: IO[bytes]) -> subprocess.Popen[bytes]:
    """`-m` puts the working directory first on the path: the package's own folder, so that it is found and nothing of
    the user's shadows the standard library. One BLAS thread, because more only reserve memory. A session of its own,
    because an interrupt from the keyboard is for TensorBoard, whose end ends it."""
    makes = "slice" if job.steps else "events" if job.events else "summary"
    asked = {RECORDING: job.whole_recording, KEEP_PATHS: job.keep_paths}
    options = [option for option, wanted in asked.items() if wanted] + ([steps_option(*job.steps)] if job.steps else [])
    options.append(processes_option(job.processes))
    module, trace = "tb_steptime.ingest.read_one", address(job.trace.absolute())
    command = [sys.executable, "-m", module, trace, makes, str(folder), *options]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    home = Path(tb_steptime.__file__).parent.parent
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=words,
        cwd=home,
        env=environment,
        start_new_session=True,
    )


def _listen(job: Job, process: subprocess.Popen[bytes]) -> Message | None:
    """Follow a process to the end of its messages and return the last."""
    assert process.stdout is not None
    message: Message | None = None
    with _Watch(process) as watch:
        for line in process.stdout:
            watch.heard = time.monotonic()
            message = msgspec.json.decode(line, type=Message)
            if isinstance(message, Far):
                job.far = message
    return message


class _Watch:
    """Ends a process that is silent for too long."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.heard = time.monotonic()
        self.over = threading.Event()

    def __enter__(self) -> _Watch:
        threading.Thread(target=self._watch, daemon=True, name="tb_steptime watch").start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()

    def _watch(self) -> None:
        while not self.over.wait(SILENCE_SECONDS / 10):
            if time.monotonic() - self.heard > SILENCE_SECONDS:
                _end(self.process)


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """It ends with its stdin, but for a summary that it is writing, which is whole before."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def _wait_or_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.kill()


def _last_words(words: IO[bytes]) -> str:
    end = words.seek(0, os.SEEK_END)
    words.seek(max(0, end - _LAST_WORDS_BYTES))
    return words.read().decode(errors="replace")


def _failure(code: int, file: str) -> Problem:
    """A process that ended without a word. The kernel's answer to too little memory is SIGKILL."""
    if code == -getattr(signal, "SIGKILL", 9):
        hint = "Most likely there was not enough memory. Close other programs and try again, or record fewer steps."
        return Problem("The process that read the trace was killed", file, hint)
    return Problem("The analysis failed", file, REPORT)


def _place(job: Job, number: int, count: int) -> QueuePlace:
    return QueuePlace(SpanState.READING if job.started else SpanState.UNREAD, number, count, _progress(job))


def _progress(job: Job) -> Progress | None:
    """How far the reading is; how long the analyses take after it is not known."""
    far = job.far
    if far is None or job.started is None:
        return None
    seconds = time.monotonic() - job.started
    rate = far.read_bytes / seconds if seconds > 0 and far.read_bytes else None
    rest = far.total_bytes - far.read_bytes
    return Progress(far.read_bytes, far.total_bytes, far.events, rate, rest / rate if rate and rest > 0 else None)
