"""A second process measures half of the views: the results are the same, and no process is left, however one ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from tb_steptime.ingest.measure import measure_file
from tests.drawn.processes import runs, send
from tests.drawn.small_trace import small_trace
from tests.drawn.stores import PATIENCE_SECONDS, until

#: After so long a user presses Ctrl+C again.
AGAIN_SECONDS = 15

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are forked on Linux alone")

#: Measures a trace as if it were large, and writes the result to stdout. The second process reports in a file that
#: it has started, and may do something else than measure. Analyses that are made to fail do so in both processes.
_MEASURE = """
import os, signal, sys, threading, time
import msgspec
from msgspec.structs import replace
from itertools import chain, islice
from pathlib import Path
from tb_steptime import analyses
from tb_steptime.ingest import analysing, exchange
from tb_steptime.ingest.measure import measure_file
from tb_steptime.processes import children

path, told, deed, left_out = sys.argv[1:]
say, all_of = analysing._run_second, analysing._all_of

def all_said(answer):
    Path(told + ".waited_for").touch()
    return all_of(answer)

def said(trace, views, give_first):
    first = list(islice(views, 2))
    Path(told).write_text(f"{os.getpid()} {','.join(each.id for each in first)}\\n")
    if deed == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "says half":
        os.write(1, b"\\x82\\xa4")
        os._exit(0)
    if deed.startswith("waits"):
        analysing._analysed_here = lambda *_: time.sleep(3600)
    say(trace, chain(first, views), give_first)

def fails(trace):
    raise OverflowError

def waits(only_waits=lambda: None):
    only_waits()
    ready.set()
    os.read(os.pipe()[0], 1)

analysing.LEAST_ROWS, analysing._run_second, analysing._all_of = 0, said, all_said
exchange.LEAST_SECONDS = 0
if deed.startswith("beside"):
    ready = threading.Event()
    told_of = [children.only_waits] if deed == "beside a thread that only waits" else []
    threading.Thread(target=waits, args=told_of, daemon=True).start()
    ready.wait()
if deed == "waits, interrupted by the fork":
    os.register_at_fork(after_in_parent=lambda: signal.raise_signal(signal.SIGINT))
if deed == "fails":
    analyses.ANALYSES = tuple(
        replace(each, analyse=fails) if each.id in ("compare", "host") else each for each in analyses.ANALYSES
    )
measured = measure_file(path, leave_out=left_out.split(","), processes=2)
sys.stdout.buffer.write(msgspec.json.encode((measured.facts, dict(measured.results))))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "host.1.pt.trace.json"
    path.write_text(json.dumps(small_trace(rank=3)))
    return path


class Measuring:
    """A process that measures a trace with a second one."""

    def __init__(self, path: Path, deed: str = "", left_out: str = "") -> None:
        self._told = path.parent / "told"
        self.process = subprocess.Popen(
            [sys.executable, "-c", _MEASURE, str(path), str(self._told), deed, left_out],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def second(self) -> tuple[int, str]:
        """The ID of the second process, and the views that it measures first."""
        until(lambda: self._told.exists() and self._told.read_text().endswith("\n"))
        pid, views = self._told.read_text().split()
        return int(pid), views

    def wait_until_it_waits(self) -> None:
        """Wait until the first process has nothing to do but to read what the second one answers."""
        until(self._told.with_name("told.waited_for").exists)

    def end_by(self, ending: signal.Signals) -> None:
        """Sends the signal until the first process ends.

        Python ignores whatever is raised in some places, such as the end of an object: an interrupt in a hundred is
        lost there, and a user presses Ctrl+C again.
        """
        for _ in range(int(PATIENCE_SECONDS / AGAIN_SECONDS)):
            self.process.send_signal(ending)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(AGAIN_SECONDS)
                return
        pytest.fail(f"the process goes on after {ending.name}")


@pytest.fixture
def measuring(path: Path) -> Iterator[Callable[..., Measuring]]:
    started: list[Measuring] = []

    def start(*arguments: str) -> Measuring:
        started.append(Measuring(path, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("left_out", "apart"),
    [("", "operators,gpu"), ("gpu,operators,timeline", "compare,data_loading")],
)
def test_two_processes_find_what_one_finds(
    left_out: str, apart: str, path: Path, measuring: Callable[..., Measuring]
) -> None:
    together = measuring("", left_out)
    assert together.second()[1] == apart
    found, errors = together.process.communicate(timeout=PATIENCE_SECONDS)
    assert json.loads(found) == by_one(path, left_out)
    assert errors == b""


def test_the_thread_that_waits_for_the_end_of_a_server_is_no_hindrance(path: Path, measuring: Callable[..., Measuring]):
    together = measuring("beside a thread that only waits")
    assert together.second()[1] == "operators,gpu"
    found, errors = together.process.communicate(timeout=PATIENCE_SECONDS)
    assert (json.loads(found), errors) == (by_one(path), b"")


def test_beside_any_other_thread_one_process_measures_all(path: Path, measuring: Callable[..., Measuring]) -> None:
    alone = measuring("beside a thread")
    found, errors = alone.process.communicate(timeout=PATIENCE_SECONDS)
    assert (json.loads(found), errors) == (by_one(path), b"")
    assert not (path.parent / "told").exists()


@pytest.mark.parametrize("deed", ["killed", "says half"])
def test_what_the_second_process_does_not_say_is_measured_by_the_first(
    deed: str, path: Path, measuring: Callable[..., Measuring]
) -> None:
    together = measuring(deed)
    pid, _ = together.second()
    found, errors = together.process.communicate(timeout=PATIENCE_SECONDS)
    assert json.loads(found) == by_one(path)
    assert errors == b""
    assert not runs(pid)


def test_a_view_that_fails_in_either_process_is_told_once(measuring: Callable[..., Measuring]) -> None:
    found, errors = measuring("fails").process.communicate(timeout=PATIENCE_SECONDS)
    assert json.loads(found)[0]["gaps"] == {"host": "OverflowError", "compare": "OverflowError"}
    assert [errors.decode().count(f"the view {view} of") for view in ("host", "compare")] == [1, 1]


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_second_process_ends_with_the_first(ending: signal.Signals, measuring: Callable[..., Measuring]) -> None:
    together = measuring("waits")
    pid, _ = together.second()
    together.wait_until_it_waits()
    together.end_by(ending)
    try:
        until(lambda: not runs(pid))
    finally:
        send(pid, signal.SIGKILL)


def test_an_interrupt_while_the_second_process_is_started_is_not_lost(measuring: Callable[..., Measuring]) -> None:
    together = measuring("waits, interrupted by the fork")
    assert together.process.wait(PATIENCE_SECONDS) == -signal.SIGINT


def by_one(path: Path, left_out: str = "") -> object:
    measured = measure_file(path, leave_out=left_out.split(","))
    return json.loads(msgspec.json.encode((measured.facts, dict(measured.results))))
