"""Starts a process that reads one trace (see `read_one`), follows it to its end, and ends it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

import tb_steptime
from tb_steptime.files.paths import AnyPath, address
from tb_steptime.ingest.read_one import (
    BY_COMMAND,
    KEEP_PATHS,
    MORE,
    NAMES,
    PROCESSES,
    RECORDING,
    STEPS,
    WITHIN,
    Done,
    Message,
    ReadSoFar,
    Refused,
)
from tb_steptime.ingest.states import Problem

#: A process that sends no message for this long hangs, for example on a network file system; for the largest traces,
#: messages are a minute apart.
SILENCE_SECONDS = 900.0
#: How long to wait for a process that was asked to end: it may be writing its file, for example to a slow disk.
_ENDING_SECONDS = 5.0
#: CREATE_NEW_PROCESS_GROUP, which `subprocess` has only on Windows.
_NEW_PROCESS_GROUP = 0x200
#: How many of the last bytes that a failed process wrote to stderr go to the log.
_LAST_WORDS_BYTES = 8_000

#: Made before any thread is started: see `files.decoders`.
_MESSAGES: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

REPORT = "Please report it with the message in TensorBoard's log; the other traces stay usable."


@dataclass(eq=False)
class Job:
    """One trace to read.

    file              the trace as shown to the user: its path relative to the log directory
    stamp             identifies the content of the file when the job was requested
    events            folder for its event file, or for a slice if steps are given; None if it is read for its summary
    steps             first and last step of the slice
    whole_recording   read it as one step
    keep_paths        keep the whole paths of source files in its summary
    by_command        the user requested its summary by a command (see `read_one`)
    processes         the maximum number of processes that read it together
    log_directory     the log directory that contains the trace, if known
    names_from        where to look for names of the kernels in its CUDA graphs, if the user named a place
    """

    id: str
    trace: AnyPath
    file: str
    stamp: object = None
    events: Path | None = None
    steps: tuple[int, int] | None = None
    snapshot: bool = False
    whole_recording: bool = False
    keep_paths: bool = False
    by_command: bool = False
    processes: int = 1
    log_directory: AnyPath | None = None
    names_from: AnyPath | None = None
    started: float | None = None
    progress: ReadSoFar | None = None
    process: subprocess.Popen[bytes] | None = None


class ReaderProcess:
    """A process that reads one trace after the other. Raises OSError where it cannot be started.

    folder: see `read_one`.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        with contextlib.ExitStack() as open_files:
            self._words = open_files.enter_context(tempfile.TemporaryFile())
            self.process = open_files.enter_context(start(job, folder, self._words))
            self._open_files = open_files.pop_all()
        self._known_words = 0
        self._begun = False

    def read(self, job: Job, folder: Path) -> Done | Refused | None:
        """Returns the outcome of a job, or None where the process has ended without reporting one. The first call is
        for the job that the process was started for. Its progress is stored in the job."""
        if self._begun:
            self._known_words = os.fstat(self._words.fileno()).st_size
            try:
                self._send([*_order(job, folder)])
            except (OSError, ValueError):  # the process has ended, or was asked to
                return None
        self._begun = True
        return listen(job, self.process)

    def _send(self, arguments: list[str]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(arguments) + b"\n")
        self.process.stdin.flush()

    def last_words(self) -> str:
        """Returns what the process has written to stderr for this job."""
        end = os.fstat(self._words.fileno()).st_size
        start = max(self._known_words, end - _LAST_WORDS_BYTES)
        if hasattr(os, "pread"):  # the process writes at the file's position, so do not move it
            return os.pread(self._words.fileno(), end - start, start).decode(errors="replace")
        self._words.seek(start)
        return self._words.read().decode(errors="replace")

    def end(self) -> int:
        """Ends the process, and returns its exit code."""
        ask_to_end(self.process)
        wait_or_end(self.process)
        return self.process.wait()

    def close(self) -> None:
        """Ends the process if that was not done, and closes its files."""
        self.end()
        self._open_files.close()


def _order(job: Job, folder: Path) -> Iterator[str]:
    yield address(job.trace.absolute())
    yield "slice" if job.steps else "snapshot" if job.snapshot else "events" if job.events else "summary"
    yield str(folder)
    options = {RECORDING: job.whole_recording, KEEP_PATHS: job.keep_paths, BY_COMMAND: job.by_command, MORE: True}
    yield from (option for option, is_set in options.items() if is_set)
    if job.steps:
        yield f"{STEPS}{job.steps[0]}-{job.steps[1]}"
    for option, path in ((WITHIN, job.log_directory), (NAMES, job.names_from)):
        if path is not None:
            yield f"{option}{address(path.absolute())}"
    yield f"{PROCESSES}{job.processes}"


def start(job: Job, folder: Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts a process. `-m` puts the working directory first on the module path. The working directory is the
    package's own folder, so that the package is found, and no file of the user's shadows the standard library. BLAS
    gets one thread, because more of them only reserve memory. A keyboard interrupt must only reach TensorBoard; the
    process ends when TensorBoard does."""
    command = [sys.executable, "-m", "tb_steptime.ingest.read_one", *_order(job, folder)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    home = Path(tb_steptime.__file__).parent.parent
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=output,
        cwd=home,
        env=environment,
        **apart_from_keyboard(os.name),
    )


def apart_from_keyboard(system: str) -> dict[str, Any]:
    """Returns the arguments of `subprocess.Popen` that keep a keyboard interrupt from reaching the process.

    system: a value of `os.name`. Windows has no sessions; Ctrl-C goes to a process group there.
    """
    return {"creationflags": _NEW_PROCESS_GROUP} if system == "nt" else {"start_new_session": True}


def listen(job: Job, process: subprocess.Popen[bytes]) -> Done | Refused | None:
    """Follows a process until it has reported the outcome of a job. Returns None where it ends before."""
    assert process.stdout is not None
    with _Watch(process) as watch:
        for line in process.stdout:
            watch.heard = time.monotonic()
            message = _MESSAGES.decode(line)
            if not isinstance(message, ReadSoFar):
                return message
            job.progress = message
    return None


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
                end(self.process)


def ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """Asks the process to end, by closing its stdin. It completes a summary that it is writing first."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()


def wait_or_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.kill()


def failure(code: int, file: str) -> Problem:
    """Returns the problem of a process that ended without a message. When memory runs out, the kernel kills it by
    SIGKILL."""
    if code == -getattr(signal, "SIGKILL", 9):
        hint = "Most likely there was not enough memory. Close other programs and try again, or record fewer steps."
        return Problem("The process that read the trace was killed", file, hint)
    return Problem("The analysis failed", file, REPORT)
