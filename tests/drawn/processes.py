"""Processes of tests: whether they run, which children they have, and children that stop at their start."""

from __future__ import annotations

import contextlib
import os
import signal
import textwrap
from pathlib import Path

import pytest

#: Run in a process before it reads a file together with children: a forked child stops as soon as it has a session of
#: its own, so that it has not ended when a test looks.
STOP_FORKED = """
import os, signal
from tb_steptime.trace.kineto.parts import unpacking, worker

def _stopping(main):
    def stops(arguments):
        os.kill(os.getpid(), signal.SIGSTOP)
        main(arguments)
    return stops

for part in unpacking, worker:
    part.main = _stopping(part.main)
"""

#: Run by every Python that starts: a child that is a program of its own stops at its start.
_STOP_STARTED = """
import os, signal, sys
if sys.orig_argv[1] == "-m" and sys.orig_argv[2].startswith("tb_steptime.trace.kineto.parts."):
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def run_at_start(monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> Path:
    """Makes every Python that is started from now on run this source first. Returns the file that holds it, in a new
    folder."""
    folder.mkdir()
    file = folder / "sitecustomize.py"
    file.write_text(textwrap.dedent(source))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return file


def stop_started(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Makes each child that is started to read a part of a file stop at its start. folder: a new one."""
    run_at_start(monkeypatch, folder, _STOP_STARTED)


def children(pid: int) -> list[int]:
    """The child processes of all threads of a process; none where it has ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def runs(pid: int) -> bool:
    """Whether a process runs. Zombies do not count, because there may be no parent left to reap them."""
    return state(pid) not in ("Z", "X", "")


def stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal."""
    return state(pid) == "T"


def state(pid: int) -> str:
    """The letter by which the system names the state of a process; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def send(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process, which may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
