"""Several processes that read one file together leave nothing behind, however one of them ends."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")

#: Reads the file as if it were large, in three processes, and prints the number of its events. The process forks its
#: children while it has only one thread, and otherwise starts them as new programs.
_READ = """
import sys, threading, time
if sys.argv[2] == "started":
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.kineto.parts import whole
whole.LEAST_BYTES = whole.LEAST_PACKED_BYTES = 0
print(len(read_trace(sys.argv[1], processes=3).events))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The path of a file of events, and the path of the same file compressed."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "dur": 1}
    text = json.dumps({"traceEvents": [event | {"ts": number} for number in range(200_000)]}).encode()
    folder = tmp_path_factory.mktemp("large")
    plain, packed = folder / "trace.json", folder / "trace.json.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text, 1))
    return {"plain": plain, "packed": packed}


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Callable[[Path, str], subprocess.Popen[str]]]:
    """A function that starts a process which reads a file with children that are forked or started, as the second
    argument says. Any temporary files would lie in tmp_path."""
    started: list[subprocess.Popen[str]] = []

    def start(path: Path, way: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _READ, str(path), way],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        # A child that a failed test left stopped would keep the pipes open for ever.
        for child in _children(process.pid):
            _signal(child, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=20)


@pytest.mark.parametrize("way", ["started", "forked"])
@pytest.mark.parametrize("packing", ["plain", "packed"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_whoever_is_ended_takes_its_children_along(
    packing: str,
    way: str,
    ending: signal.Signals,
    large: dict[str, Path],
    reading: Callable[[Path, str], subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    process = reading(large[packing], way)
    children = _paused_children(process.pid, 2 if packing == "plain" else 3, way)
    os.killpg(process.pid, ending)
    assert process.wait(20) == -ending, process.stderr.read() if process.stderr else ""
    for child in children:
        _signal(child, signal.SIGCONT)
    _wait_until(lambda: not any(map(_runs, children)))
    errors = process.stderr.read() if process.stderr else ""
    assert [line for line in errors.splitlines() if "Error" in line or "resource_tracker" in line] == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("way", ["started", "forked"])
@pytest.mark.parametrize("packing", ["plain", "packed"])
def test_a_child_that_is_killed_costs_time_and_no_event(
    packing: str,
    way: str,
    large: dict[str, Path],
    reading: Callable[[Path, str], subprocess.Popen[str]],
    tmp_path: Path,
) -> None:
    process = reading(large[packing], way)
    for child in _paused_children(process.pid, 2 if packing == "plain" else 3, way):
        _signal(child, signal.SIGKILL)
    assert process.communicate(timeout=60) == ("200000\n", "")
    assert os.listdir(tmp_path) == []


def _paused_children(pid: int, count: int, way: str) -> list[int]:
    """Wait for `count` children of a process and stop each one: a forked child as soon as it exists, a started child
    once it runs its own program, because the process that starts it waits for that."""
    paused: list[int] = []

    def all_paused() -> bool:
        for child in _children(pid):
            itself = b"kineto.parts." in Path(f"/proc/{child}/cmdline").read_bytes()
            if child not in paused and itself == (way == "started"):
                _signal(child, signal.SIGSTOP)
                paused.append(child)
        return len(paused) == count

    _wait_until(all_paused)
    return paused


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _runs(pid: int) -> bool:
    """Whether a process runs. Zombies do not count, because there may be no parent left to reap them."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)
