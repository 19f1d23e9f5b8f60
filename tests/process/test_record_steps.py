"""Real loops in which every step is timed: what is written, what starts a span, and what can go wrong."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is needed only to record; it is not installed")

from tb_steptime.ingest.measure import measure_file  # noqa: E402
from tb_steptime.ingest.recorder_files.steps import TimedSteps, read_steps  # noqa: E402
from tb_steptime.record import profile_steps, profiling  # noqa: E402
from tb_steptime.record import steps as timing  # noqa: E402
from tb_steptime.record.file import journal  # noqa: E402
from tb_steptime.record.file.steps import AFTER_SPAN, RECORDED, UNKNOWN, WARMING_UP, StepFile  # noqa: E402
from tb_steptime.trace.kineto import read_trace  # noqa: E402
from tb_steptime.trace.steps import find_steps  # noqa: E402
from tests.drawn.recorded import Stamped  # noqa: E402

SHORT = {"skip_first": 1, "wait": 1, "warmup": 1, "active": 3, "repeat": 1}
SPAN = 1 + 1 + 1 + 3


class Clock:
    """A clock that moves only as a test says, so that a busy machine makes no step longer. cpu_ns: the CPU time of the
    thread, which computes only while it collects garbage."""

    def __init__(self) -> None:
        self.ns = time.perf_counter_ns()
        self.cpu_ns = self.collection_ns = 0

    def work(self, seconds: float) -> None:
        torch.ones(4).sum()
        self.ns += round(seconds * 1e9)

    def collect(self, seconds: float) -> None:
        """Collects garbage, for this time."""
        self.collection_ns = round(seconds * 1e9)
        gc.collect()
        self.collection_ns = 0

    def collected(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "stop":
            self.ns += self.collection_ns
            self.cpu_ns += self.collection_ns


@pytest.fixture
def clock(monkeypatch):
    """The clock by which steps are timed. Rows are written after every step, and not only once a second."""
    made = Clock()
    for module in (timing, journal):
        monkeypatch.setattr(module, "now_ns", lambda: made.ns)
    monkeypatch.setattr(timing, "thread_time_ns", lambda: made.cpu_ns)
    monkeypatch.setattr(StepFile, "rest_ns", 1)
    monkeypatch.setattr(journal, "REST", 0)
    gc.callbacks.insert(0, made.collected)
    yield made
    gc.callbacks.remove(made.collected)


def timed(folder: Path) -> TimedSteps:
    (path,) = folder.glob("*.steps")
    return read_steps(path)


def spans(folder: Path) -> list[list[int | None]]:
    """The step numbers of each span, in the order in which the spans were written."""
    found = sorted(folder.glob("*.pt.trace.json.gz"), key=lambda path: path.stat().st_mtime_ns)
    return [[step.number for step in find_steps(read_trace(path)).steps] for path in found]


def work(seconds: float = 0.002) -> None:
    torch.ones(4).sum()
    time.sleep(seconds)


def test_steps_are_timed_by_what_the_profiler_does(tmp_path):
    with profile_steps(tmp_path, **SHORT) as prof:
        for _ in range(SPAN + 100):
            work()
            prof.step()
    rows = timed(tmp_path).rows
    flags = [0, 0, WARMING_UP, *[RECORDED] * 3, AFTER_SPAN]
    assert rows["flags"].tolist() == [*flags, *[0] * (profiling.STEPS_AFTER - 1)]
    assert rows["step"].tolist() == list(range(SPAN + profiling.STEPS_AFTER)), "then the clock is off"
    assert rows["duration_ns"].min() >= 2_000_000
    assert (rows["wait_ns"] == UNKNOWN).all()


def test_waits_of_an_earlier_recording_say_nothing_about_a_later_one(tmp_path):
    with profile_steps(tmp_path / "first", **SHORT) as prof:
        for _ in prof.watch(torch.utils.data.DataLoader(Stamped(SPAN + 1, 3.0))):
            prof.step()
    with profile_steps(tmp_path / "second", **SHORT) as prof:
        for _ in range(SPAN + 1):
            work()
            prof.step()
    assert timed(tmp_path / "first").rows["wait_ns"].min() >= 3_000_000
    assert (timed(tmp_path / "second").rows["wait_ns"] == UNKNOWN).all()


def test_a_watched_job_is_timed_to_its_end_with_its_waits(tmp_path):
    steps = SPAN + profiling.STEPS_AFTER + 20
    with profile_steps(tmp_path, **SHORT, watch=True) as prof:
        for _ in prof.watch(torch.utils.data.DataLoader(Stamped(steps, 3.0), 1)):
            prof.step()
    rows = timed(tmp_path).rows
    assert len(rows) == steps
    assert rows["wait_ns"].min() >= 3_000_000
    assert (rows["wait_ns"] <= rows["duration_ns"] + 1_000_000).all()
    assert rows["rss_bytes"].max() > 1_000_000 or not Path("/proc/self/statm").exists()


def test_what_profiling_costs_is_known_of_the_run(tmp_path, clock):
    """A recorded step takes 20 ms here, and any other step 5 ms."""
    with profile_steps(tmp_path, **{**SHORT, "active": 10}) as prof:
        for step in range(13 + profiling.STEPS_AFTER):
            clock.work(0.020 if 3 <= step < 13 else 0.005)
            prof.step()
    (path,) = tmp_path.glob("*.pt.trace.json.gz")
    measured = measure_file(path)
    pace = measured.results["overview"].pace
    assert (pace.recorded, pace.plain) == (10, profiling.STEPS_AFTER - 1)
    assert pace.times == pytest.approx(4)
    assert [note.id for note in measured.facts.notes if note.id.startswith("profiling")] == ["profiling_timed"]


def test_a_slow_step_begins_a_span_with_one_line(tmp_path, caplog, clock):
    with profile_steps(tmp_path, **SHORT, watch=True) as prof:
        for step in range(60):
            clock.work(0.4 if step in (40, 41) else 0.001)
            prof.step()
    assert timed(tmp_path).slow["step"].tolist() == [40]
    assert spans(tmp_path) == [[3, 4, 5], [42, 43, 44]]
    assert [record.message for record in caplog.records] == [
        "step 40 took 400 ms (usually 1.0 ms): otherwise off the CPU 400 ms.",
        "Step 40 was slow: a span of 3 steps is recorded from step 42 on.",
    ]


def test_collections_are_the_reason(tmp_path, caplog, clock):
    with profile_steps(tmp_path, **SHORT, watch=True) as prof:
        for step in range(45):
            clock.work(0.001)
            for _ in range(4 if step == 40 else 0):
                clock.collect(0.1)
            prof.step()
    rows = timed(tmp_path).rows
    assert rows["collecting_ns"].tolist() == [400_000_000 if step == 40 else 0 for step in range(45)]
    assert caplog.records[0].message == "step 40 took 401 ms (usually 1.0 ms): GC 400 ms."


def test_collections_of_python_are_timed(tmp_path):
    with profile_steps(tmp_path, **SHORT, watch=True) as prof:
        for step in range(10):
            work(0.001)
            if step == 7:
                gc.collect()
            prof.step()
    rows = timed(tmp_path).rows
    assert 0 < rows["collecting_ns"][7] < rows["duration_ns"][7]


def test_a_signal_begins_a_span(tmp_path):
    before = signal.getsignal(signal.SIGUSR1)
    with profile_steps(tmp_path, **SHORT, trigger=signal.SIGUSR1) as prof:
        for step in range(20):
            work(0.001)
            if step == 9:
                os.kill(os.getpid(), signal.SIGUSR1)
            prof.step()
    assert spans(tmp_path)[0] == [3, 4, 5]
    (requested,) = spans(tmp_path)[1:]
    assert requested == list(range(requested[0], requested[0] + 3))
    assert signal.getsignal(signal.SIGUSR1) == before


def test_touching_a_file_begins_a_span(tmp_path):
    asks = tmp_path / "record"
    with profile_steps(tmp_path / "logs", **SHORT, trigger=asks) as prof:
        for step in range(100):
            work(0.03)
            if step == 20:
                asks.touch()
            prof.step()
    assert len(spans(tmp_path / "logs")) == 2


def test_an_error_in_the_loop_is_passed_on_with_what_was_timed(tmp_path):
    with pytest.raises(LookupError), profile_steps(tmp_path, **SHORT, watch=True) as prof:
        for step in range(30):
            work(0.001)
            prof.step()
            if step == 25:
                raise LookupError
    assert len(timed(tmp_path).rows) == 26


def test_a_deleted_folder_is_one_warning(tmp_path, caplog):
    with profile_steps(tmp_path / "logs", **SHORT, watch=True) as prof:
        for step in range(30):
            work(0.001)
            prof.step()
            if step == 10:
                shutil.rmtree(tmp_path / "logs")
    messages = [record.message for record in caplog.records if "not timed" in record.message]
    assert messages == [
        f"Steps are not timed in {tmp_path / 'logs'}: its files were deleted or moved. Training continues."
    ]


def run(script: str) -> Any:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)


LOOP = """
    import os, resource, signal, sys, time
    from tb_steptime.record import profile_steps
    from tb_steptime.record.file import journal
    journal.REST = 0  # however slow the machine's disk is just now
    options = {{"skip_first": 1, "wait": 1, "warmup": 1, "active": 3, "repeat": 1, "watch": True}}
    with profile_steps({folder!r}, **options) as prof:
        for step in range(300):
            time.sleep(0.01)
            prof.step()
            {fault}
    print("done", step)
"""


def test_a_killed_job_leaves_its_steps(tmp_path):
    done = run(LOOP.format(folder=str(tmp_path), fault="step == 250 and os.kill(os.getpid(), signal.SIGKILL)"))
    assert done.returncode == -signal.SIGKILL
    assert len(timed(tmp_path).rows) >= 40


def test_a_full_disk_is_one_warning_and_keeps_what_was_written(tmp_path):
    """From step 20 on no file may grow beyond 12 KB, as if the disk were full then."""
    fault = "step == 20 and resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))"
    done = run(LOOP.format(folder=str(tmp_path), fault=fault))
    assert done.stdout.split() == ["done", "299"]
    assert done.stderr.count("Steps are not timed") == 1
    assert 20 <= len(timed(tmp_path).rows) < 300


@pytest.mark.live
def test_two_processes_have_a_file_each_and_a_forked_one_none(tmp_path):
    fault = "step == 100 and os.fork() == 0 and os._exit(0 if prof.step() is None else 1)"
    for _ in range(2):
        assert run(LOOP.format(folder=str(tmp_path), fault=fault)).stdout.split() == ["done", "299"]
    assert [len(read_steps(path).rows) for path in tmp_path.glob("*.steps")] == [300, 300]


def test_stacks_that_cost_too_much_end(tmp_path, caplog, monkeypatch, clock):
    """Recorded steps take 400 ms instead of 1 ms. A warning appears at once, and stacks end after their time budget."""
    monkeypatch.setattr(profiling, "STACKS_NS", 700_000_000)
    options = {"skip_first": 21, "wait": 3, "warmup": 1, "active": 3, "repeat": 2, "stack": True}
    with profile_steps(tmp_path, **options) as prof:
        for _ in range(45):
            recording = prof.profiler is not None and prof.profiler.current_action.name.startswith("RECORD")
            clock.work(0.4 if recording and prof.profiler.with_stack else 0.001)
            prof.step()
    messages = [record.message for record in caplog.records]
    assert [line.split(",")[0].split(" has")[0].split(" takes")[0] for line in messages] == [
        "A recorded step", "Recording stacks",
    ]  # fmt: skip
    assert messages[0].endswith("as stacks are recorded.")
    first, second = sorted(tmp_path.glob("*.pt.trace.json.gz"))  # by the time in their names: both are packed at once
    assert [read_trace(path).job.with_stack for path in (first, second)] == [True, False]
    assert spans(tmp_path) == [[25, 26], [31, 32, 33]]


def test_a_long_stop_for_writing_is_said(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(profiling, "LONG_STOP_SECONDS", 0.0)
    with profile_steps(tmp_path, **SHORT) as prof:
        for _ in range(SPAN + 3):
            work()
            prof.step()
    (message,) = [record.message for record in caplog.records]
    assert message.startswith("Writing a span of ")
    assert "0 events" not in message
