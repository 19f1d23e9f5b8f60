"""A child process that runs `main` of a module of the package, with some open files, and answers on its stdout.

this process has one thread     it is forked: all is imported already, and it starts within milliseconds
it has more, or cannot say      a program of its own is started: of a fork a lock that another thread holds would
                                never be free, and a library's threads would be missing

A thread that does nothing but wait for a file holds no lock, and says so: it does not count.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NoReturn, Protocol

import tb_steptime

_STDIN, _STDOUT, _STDERR = range(3)
#: Folder with a file for each thread, including those of libraries. Only Linux has it; elsewhere a fork is never
#: considered safe.
_THREADS = Path("/proc/self/task")
_OPEN_FILES = Path("/proc/self/fd")
#: Threads of this process that hold no lock, by the system's thread IDs.
_WAITING: set[str] = set()


class Child(Protocol):
    """Runs until its `main` ends, or is killed."""

    @property
    def stdout(self) -> IO[bytes] | None: ...
    def kill(self) -> None: ...
    def wait(self) -> int: ...


def start_child(module: str, arguments: Sequence[object], passed: Sequence[int]) -> Child:
    """Starts a child. module: its full name; passed: the numbers of the open files that it keeps. The child is in a
    session of its own, because a keyboard interrupt is for this process, whose end also ends the child. Raises
    OSError."""
    texts = [str(argument) for argument in arguments]
    return _forked(module, texts, passed) if _has_one_thread() else _started(module, texts, passed)


def fork_child(main: Callable[[], None], passed: Sequence[int] = ()) -> Child | None:
    """Forks a child that runs a function of this process and answers on its stdout; returns None where it cannot be
    forked. passed: see `start_child`."""
    with contextlib.suppress(OSError):
        return _fork(main, passed) if _has_one_thread() else None
    return None


def only_waits() -> None:
    """Called by a thread that from now on only waits for a file until it ends the process: such a thread does not
    prevent a fork."""
    _WAITING.add(str(threading.get_native_id()))


def _has_one_thread() -> bool:
    try:
        return len({*os.listdir(_THREADS)} - _WAITING) == 1
    except OSError:
        return False


def _started(module: str, arguments: list[str], passed: Sequence[int]) -> Child:
    """Starts a new program. `-m` puts the working directory first on the module path, so that is the package's own
    folder, and no file of the user's shadows the standard library."""
    import subprocess  # slow to import

    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(tb_steptime.__file__).parent.parent,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        pass_fds=passed,
        start_new_session=True,
    )


class _Forked:
    """A forked child with the methods of subprocess.Popen that are needed."""

    def __init__(self, pid: int, stdout: IO[bytes]) -> None:
        self.stdout = stdout
        self._pid = pid
        self._status: int | None = None

    def kill(self) -> None:
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._status


def _forked(module: str, arguments: list[str], passed: Sequence[int]) -> Child:
    main = importlib.import_module(module).main
    return _fork(lambda: main(arguments), passed)


def _fork(main: Callable[[], None], passed: Sequence[int]) -> Child:
    answer, says = os.pipe()
    if _WAITING:
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, raised for any thread
    # Held back, because Python would ignore a KeyboardInterrupt raised in a function that runs after each fork.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        pid = os.fork()
        if not pid:
            _run(main, says, passed, mask)
        os.close(says)
        child = _Forked(pid, os.fdopen(answer, "rb"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return child


def _run(main: Callable[[], None], says: int, passed: Sequence[int], mask: set[int | signal.Signals]) -> NoReturn:
    """Runs the child from the fork to its end; it never returns to its caller. mask: the signals that it blocks, once
    it has a session of its own, which keyboard interrupts do not reach."""
    status = 1
    try:
        gc.freeze()  # inherited objects then close no files here, and their memory pages stay shared
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        nothing = os.open(os.devnull, os.O_RDWR)
        for own, place in ((nothing, _STDIN), (says, _STDOUT), (nothing, _STDERR)):
            os.dup2(own, place)
        _close_all_but({_STDIN, _STDOUT, _STDERR, *passed})
        main()
        status = 0
    finally:
        os._exit(status)


def _close_all_but(open_files: set[int]) -> None:
    for number in {int(name) for name in os.listdir(_OPEN_FILES)} - open_files:
        with contextlib.suppress(OSError):  # the listing itself opened a file
            os.close(number)
