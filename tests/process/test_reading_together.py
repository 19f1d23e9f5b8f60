"""Several processes that read one file together leave nothing behind, however one of them ends."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.drawn.processes import STOP_FORKED, children, runs, send, stop_started, stopped
from tests.drawn.stores import PATIENCE_SECONDS, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")

#: Reads the file as if it were large, in three processes, and prints the number of its events. The process forks its
#: children while it has only one thread, and otherwise starts them as new programs. The children stop at their start.
_READ = f"""
import sys, threading
if sys.argv[2] == "started":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
{STOP_FORKED}
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
def own_tmp(tmp_path: Path) -> Path:
    """The folder in which any temporary files of the processes would lie."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    return folder


@pytest.fixture
def reading(
    tmp_path: Path, own_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Path, str], subprocess.Popen[str]]]:
    """A function that starts a process which reads a file with children that are forked or started, as the second
    argument says."""
    started: list[subprocess.Popen[str]] = []
    stop_started(monkeypatch, tmp_path / "at_start")

    def start(path: Path, way: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _READ, str(path), way],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(own_tmp), "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        # A child that a failed test left stopped would keep the pipes open for ever.
        for child in children(process.pid):
            send(child, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("way", ["started", "forked"])
@pytest.mark.parametrize("packing", ["plain", "packed"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_whoever_is_ended_takes_its_children_along(
    packing: str,
    way: str,
    ending: signal.Signals,
    large: dict[str, Path],
    reading: Callable[[Path, str], subprocess.Popen[str]],
    own_tmp: Path,
) -> None:
    process = reading(large[packing], way)
    paused = _paused_children(process.pid, 2 if packing == "plain" else 3)
    os.killpg(process.pid, ending)
    assert process.wait(PATIENCE_SECONDS) == -ending, process.stderr.read() if process.stderr else ""
    for child in paused:
        send(child, signal.SIGCONT)
    until(lambda: not any(map(runs, paused)))
    errors = process.stderr.read() if process.stderr else ""
    assert [line for line in errors.splitlines() if "Error" in line or "resource_tracker" in line] == []
    assert os.listdir(own_tmp) == []


@pytest.mark.parametrize("way", ["started", "forked"])
@pytest.mark.parametrize("packing", ["plain", "packed"])
def test_a_child_that_is_killed_costs_time_and_no_event(
    packing: str,
    way: str,
    large: dict[str, Path],
    reading: Callable[[Path, str], subprocess.Popen[str]],
    own_tmp: Path,
) -> None:
    process = reading(large[packing], way)
    for child in _paused_children(process.pid, 2 if packing == "plain" else 3):
        send(child, signal.SIGKILL)
    assert process.communicate(timeout=PATIENCE_SECONDS) == ("200000\n", "")
    assert os.listdir(own_tmp) == []


def _paused_children(pid: int, count: int) -> list[int]:
    """Wait until `count` children of a process have stopped, and return them."""

    def paused() -> list[int]:
        found = [child for child in children(pid) if stopped(child)]
        return found if len(found) == count else []

    return until(paused)
