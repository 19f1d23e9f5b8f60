"""Reader processes for tests of what happens around reading: forked from a process that has imported all that a reader
needs, which is four fifths of a reader's time on a small trace.

    this process      asks for a reader, over a socket, and hands it the reader's open files
    the prepared one  has one thread, so that it can fork; forks a process that waits for the reader and reports its end
    the reader        runs `read_one.main` as the command does, in a session of its own

What starts the command itself, as TensorBoard does: the tests of reused readers, of `index`, and those in a browser.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import tb_steptime
from tb_steptime.ingest import read_one, reader_process
from tb_steptime.ingest.reader_process import Job

#: How `reader_process` starts readers by itself.
START = reader_process.start

_MOST_BYTES = 1 << 20


def start(job: Job, folder: Path, output: IO[bytes]) -> Any:
    """As `reader_process.start`."""
    return Reader([*reader_process._order(job, folder)], output)


class Reader:
    """A forked reader, with what the package uses of `subprocess.Popen`."""

    def __init__(self, arguments: list[str], output: IO[bytes]) -> None:
        self.args = arguments
        self.returncode: int | None = None
        self._lock = threading.Lock()
        reads, self._stdin = os.pipe()
        self._stdout, writes = os.pipe()
        self._ends, reports = os.pipe()
        self.stdin, self.stdout = os.fdopen(self._stdin, "wb"), os.fdopen(self._stdout, "rb")
        self._reports = os.fdopen(self._ends, "rb")
        order = {"arguments": arguments, "environment": dict(os.environ)}
        prepared().fork(order, [reads, writes, output.fileno(), reports])
        for passed in (reads, writes, reports):
            os.close(passed)
        self.pid = int(self._reports.readline())

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not select.select([self._ends], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        with self._lock:
            if self.returncode is None:
                self.returncode = os.waitstatus_to_exitcode(int(self._reports.readline()))
                self._reports.close()
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        with contextlib.suppress(OSError):
            self.stdin.close()
        self.wait()


class Prepared:
    """The process that readers are forked from. It ends with this one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.orders, end = socket.socketpair()
        command = [sys.executable, "-m", __name__, str(end.fileno())]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            cwd=Path(__file__).parents[2],
            env=environment,
            pass_fds=[end.fileno()],
            start_new_session=True,
        )
        end.close()
        atexit.register(self.end)

    def end(self) -> None:
        self.orders.close()
        self.process.wait()

    def fork(self, order: dict[str, Any], files: list[int]) -> None:
        content = json.dumps(order).encode()
        assert len(content) <= _MOST_BYTES
        with self.lock:
            socket.send_fds(self.orders, [len(content).to_bytes(4, "big")], files)
            self.orders.sendall(content)


@functools.cache
def _prepared() -> Prepared:
    return Prepared()


_STARTING = threading.Lock()


def prepared() -> Prepared:
    with _STARTING:  # the threads of a store ask at the same time
        return _prepared()


def _reader_to_be(orders: socket.socket) -> list[str]:
    """In each forked reader, returns its arguments. In the prepared process it does not return."""
    while True:
        head, files, *_ = socket.recv_fds(orders, 4, 4)
        if not head:
            os._exit(0)
        order = json.loads(orders.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL))
        waits = os.fork()
        if not waits:
            orders.close()
            return _forked(order, files)
        for passed in files:
            os.close(passed)
        with contextlib.suppress(ChildProcessError):  # those that have ended
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _forked(order: dict[str, Any], files: list[int]) -> list[str]:
    """Returns in a further process, whose end this one reports."""
    *standard, reports = files
    reader = os.fork()
    if reader:
        os.write(reports, b"%d\n" % reader)
        for number in (0, 1, 2):  # else the reader's files stay open
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        for passed in standard:
            os.close(passed)
        os.write(reports, b"%d\n" % os.waitpid(reader, 0)[1])
        os._exit(0)
    os.setsid()
    for number, passed in enumerate(standard):
        os.dup2(passed, number)
    for passed in files:
        os.close(passed)
    os.chdir(Path(tb_steptime.__file__).parent.parent)
    os.environ.clear()
    os.environ.update(order["environment"])
    arguments: list[str] = order["arguments"]
    return arguments


def _main(orders: int) -> None:
    import tb_steptime.analyses
    import tb_steptime.ingest.measure
    import tb_steptime.ingest.summaries.reading
    import tb_steptime.ingest.summaries.writing
    import tb_steptime.processes.children
    import tb_steptime.timeline.build  # noqa: F401

    gc.freeze()  # no reader copies what was imported, to search it for garbage
    read_one.main(_reader_to_be(socket.socket(fileno=orders)))


if __name__ == "__main__":
    _main(int(sys.argv[1]))
