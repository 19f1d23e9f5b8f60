"""One process reads several traces in turn. A process that has ended between two traces is replaced."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from tb_steptime.ingest import pool, reader_process
from tb_steptime.ingest.pool import ReadingQueue
from tb_steptime.ingest.reader_process import Job
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries import fresh_summary
from tests.drawn.small_trace import write_trace
from tests.drawn.stores import replace_program

PATIENCE_SECONDS = 300

#: Refuses each trace, and exits after the second one.
_ENDS_EARLY = """
import json, os, sys
path = sys.argv[1]
while True:
    print('{"type":"refused","problem":"It was ' + os.path.basename(path) + '","hint":"On."}', flush=True)
    if "b.1" in path:
        break
    path = json.loads(sys.stdin.readline())[0]
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes in the order in which they are started."""
    found: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments, **options):
        found.append(popen(*arguments, **options))
        return found[-1]

    monkeypatch.setattr(reader_process.subprocess, "Popen", start)
    return found


def outcomes(traces: list[Path]) -> dict[str, object]:
    """By file, the outcome when one process at a time reads the traces."""
    ended: dict[str, object] = {}
    all_ended = threading.Event()

    def on_end(job: Job, outcome: object) -> None:
        ended[job.file] = outcome
        if len(ended) == len(traces):
            all_ended.set()

    queue = ReadingQueue(on_end, processes=1)
    for trace in traces:
        queue.want(Job(trace.name, trace, trace.name), urgent=False)
    assert all_ended.wait(PATIENCE_SECONDS)
    queue.close()
    return ended


def test_small_traces_are_read_by_one_process(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    traces = [write_trace(tmp_path / f"{name}.1.pt.trace.json") for name in "abc"]
    damaged = tmp_path / "d.1.pt.trace.json"
    damaged.write_text("no trace")
    last = write_trace(tmp_path / "e.1.pt.trace.json.gz")
    ended = outcomes([*traces, damaged, last])
    assert len(started) == 1
    assert all(fresh_summary(trace) for trace in (*traces, last))
    assert isinstance(ended[damaged.name], Problem)
    assert started[0].wait(PATIENCE_SECONDS) is not None


def test_a_process_ends_after_a_large_trace(
    tmp_path: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_READS_MORE_BELOW_BYTES", 1)
    traces = [write_trace(tmp_path / f"{name}.1.pt.trace.json") for name in "ab"]
    outcomes(traces)
    assert len(started) == 2
    assert all(fresh_summary(trace) for trace in traces)


def test_one_that_ended_between_two_traces_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [write_trace(tmp_path / f"{name}.1.pt.trace.json") for name in "abcd"]
    replace_program(monkeypatch, _ENDS_EARLY)
    ended = outcomes(traces)
    assert {name: each.problem for name, each in ended.items() if isinstance(each, Problem)} == {
        trace.name: f"It was {trace.name}" for trace in traces
    }
