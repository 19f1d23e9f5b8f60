"""A process that reads one trace, as `read_one` says what it does: started, followed to its end, and ended."""

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
    ASKED,
    KEEP_PATHS,
    MORE,
    RECORDING,
    Done,
    Far,
    Message,
    Refused,
    names_option,
    processes_option,
    steps_option,
    within_option,
)
from tb_steptime.ingest.states import Problem

#: A process that says nothing for so long hangs, on a network file system say; the largest are silent for a minute.
SILENCE_SECONDS = 900.0
#: A process that was asked to end may be writing its file, to a slow disk say.
_ENDING_SECONDS = 5.0
#: CREATE_NEW_PROCESS_GROUP, which `subprocess` has on Windows alone.
_NEW_PROCESS_GROUP = 0x200
#: So much of a failed process's last words go to the log.
_LAST_WORDS_BYTES = 8_000

#: Made before there are threads: see `files.decoders`.
_MESSAGES: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

REPORT = "Please report it with the message in TensorBoard's log; the other traces stay usable."


@dataclass(eq=False)
class Job:
    """One trace to read. file is what the user reads, relative to the log directory. events: the folder to write its
    event file into, or a slice of it where steps says which; None where it is read for its summary. whole_recording: as
    one step. keep_paths: its summary has the whole paths of files. asked: the user asked for its summary by a command
    (see `read_one`). processes: how many may read it together. log_directory: which the trace lies in, if it is
    known. names_from: where the user says that the names of what its graphs run are."""

    id: str
    trace: AnyPath
    file: str
    events: Path | None = None
    steps: tuple[int, int] | None = None
    snapshot: bool = False
    whole_recording: bool = False
    keep_paths: bool = False
    asked: bool = False
    processes: int = 1
    log_directory: AnyPath | None = None
    names_from: AnyPath | None = None
    started: float | None = None
    far: Far | None = None
    process: subprocess.Popen[bytes] | None = None


class ReaderProcess:
    """A process that reads one trace after the other. Raises OSError where it cannot be started.

    folder: as `read_one` has it.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        with contextlib.ExitStack() as open_files:
            self._words = open_files.enter_context(tempfile.TemporaryFile())
            self.process = open_files.enter_context(start(job, folder, self._words))
            self._open_files = open_files.pop_all()
        self._known_words = 0
        self._begun = False

    def read(self, job: Job, folder: Path) -> Done | Refused | None:
        """What became of it, of the job that it was started for first; None where the process has ended without a word.
        What it says meanwhile is in the job."""
        self._known_words = os.fstat(self._words.fileno()).st_size
        if self._begun:
            try:
                self._order([*_order(job, folder)])
            except (OSError, ValueError):  # it has ended, or was asked to
                return None
        self._begun = True
        return listen(job, self.process)

    def _order(self, words: list[str]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(words) + b"\n")
        self.process.stdin.flush()

    def last_words(self) -> str:
        """What it has written to stderr for this job."""
        end = os.fstat(self._words.fileno()).st_size
        start = max(self._known_words, end - _LAST_WORDS_BYTES)
        if hasattr(os, "pread"):  # the process writes where the file's place is
            return os.pread(self._words.fileno(), end - start, start).decode(errors="replace")
        self._words.seek(start)
        return self._words.read().decode(errors="replace")

    def end(self) -> int:
        """Its exit code."""
        ask_to_end(self.process)
        wait_or_end(self.process)
        return self.process.wait()

    def close(self) -> None:
        """End it, if that was not done, and let its files go."""
        self.end()
        self._open_files.close()


def _order(job: Job, folder: Path) -> Iterator[str]:
    yield address(job.trace.absolute())
    yield "slice" if job.steps else "snapshot" if job.snapshot else "events" if job.events else "summary"
    yield str(folder)
    asked = {RECORDING: job.whole_recording, KEEP_PATHS: job.keep_paths, ASKED: job.asked, MORE: True}
    yield from (option for option, wanted in asked.items() if wanted)
    if job.steps:
        yield steps_option(*job.steps)
    if job.log_directory is not None:
        yield within_option(job.log_directory.absolute())
    if job.names_from is not None:
        yield names_option(job.names_from.absolute())
    yield processes_option(job.processes)


def start(job: Job, folder: Path, words: IO[bytes]) -> subprocess.Popen[bytes]:
    """`-m` puts the working directory first on the path: the package's own folder, so that it is found and nothing of
    the user's shadows the standard library. One BLAS thread, because more only reserve memory. An interrupt from the
    keyboard is for TensorBoard, whose end ends it."""
    command = [sys.executable, "-m", "tb_steptime.ingest.read_one", *_order(job, folder)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    home = Path(tb_steptime.__file__).parent.parent
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=words,
        cwd=home,
        env=environment,
        **apart_from_keyboard(os.name),
    )


def apart_from_keyboard(system: str) -> dict[str, Any]:
    """What `subprocess.Popen` is told so that an interrupt from the keyboard does not reach the process.

    system: as `os.name` has it; a process of Windows has no session, but a group that Ctrl-C is sent to.
    """
    return {"creationflags": _NEW_PROCESS_GROUP} if system == "nt" else {"start_new_session": True}


def listen(job: Job, process: subprocess.Popen[bytes]) -> Done | Refused | None:
    """Follow a process until it has said what became of a job; None where it ends before."""
    assert process.stdout is not None
    with _Watch(process) as watch:
        for line in process.stdout:
            watch.heard = time.monotonic()
            message = _MESSAGES.decode(line)
            if not isinstance(message, Far):
                return message
            job.far = message
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
    """It ends with its stdin, but for a summary that it is writing, which is whole before."""
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
    """A process that ended without a word. The kernel's answer to too little memory is SIGKILL."""
    if code == -getattr(signal, "SIGKILL", 9):
        hint = "Most likely there was not enough memory. Close other programs and try again, or record fewer steps."
        return Problem("The process that read the trace was killed", file, hint)
    return Problem("The analysis failed", file, REPORT)
