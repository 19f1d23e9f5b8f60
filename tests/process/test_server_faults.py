"""TensorBoard is ended, or a log directory changes while it runs: nothing is
left behind, and nothing wrong is shown."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load import measured
from benchmarks.polling import copies, polled, slope_bytes
from tb_steptime.ingest.names import Place
from tb_steptime.ingest.states import Problem, SpanState
from tb_steptime.ingest.summaries import SUFFIX
from tb_steptime.serve.served import SpanFailed
from tb_steptime.serve.store import Store
from tb_steptime.timeline.answers import TimelinePage
from tests.drawn.processes import STOP_FORKED, children, run_at_start, runs, send, stopped
from tests.drawn.small_trace import small_trace, write_trace
from tests.drawn.stores import PATIENCE_SECONDS, all_read, entries, until
from tools.serve import TensorBoard

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")


@pytest.fixture
def start(tmp_path, monkeypatch) -> Iterator[Callable[[Path], TensorBoard]]:
    """Starts TensorBoard on a directory; its temporary files lie in tmp_path / "tmp"."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    started: list[TensorBoard] = []

    def start(logs: Path) -> TensorBoard:
        started.append(TensorBoard(logs, module="tools.tensorboard_with_ours"))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def get(server: TensorBoard, route: str, **query: Any) -> Any:
    query_string = "&".join(f"{key}={value}" for key, value in query.items())
    address = f"{server.url}data/plugin/tb_steptime/{route}?{query_string}"
    request = urllib.request.Request(address, headers={"X-Tb-Steptime": "1"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


def spans(server: TensorBoard) -> dict[str, dict[str, Any]]:
    index = get(server, "index")
    return {span["file"]: span for run in index["runs"] for worker in run["workers"] for span in worker["spans"]}


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if "tb_steptime" in path.name or path.name.endswith(".tmp")]


#: Run by every Python that starts: a reader never gets to the end of the trace of the run "b", and says so.
_READS_FOR_EVER = """
import sys
if "tb_steptime.ingest.read_one" in sys.orig_argv:
    import os, time
    from pathlib import Path
    from tb_steptime.ingest import measure

    whole = measure.measure_file

    def reads_for_ever(trace, *given, **named):
        if trace.parent.name == "b":
            Path({said!r}).write_text(f"{{os.getpid()}}\\n")
            time.sleep(3600)
        return whole(trace, *given, **named)

    measure.measure_file = reads_for_ever
"""


@needs_proc
@pytest.mark.live
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whoever_ends_tensorboard_ends_its_readers(ending, start, tmp_path, monkeypatch):
    logs, said = tmp_path / "logs", tmp_path / "reading"
    at_start = run_at_start(monkeypatch, tmp_path / "at_start", _READS_FOR_EVER.format(said=str(said)))
    write_trace(logs / "a" / "w.1.pt.trace.json")
    server = start(logs)
    file = until(lambda: [span for span in spans(server).values() if span["state"] == "ready"])[0]
    until(lambda: "tracks" in get(server, "timeline", span=file["id"], **{"from": 0, "to": 1000, "detail": 1}))
    write_trace(logs / "b" / "w.1.pt.trace.json")
    os.utime(logs / "b" / "w.1.pt.trace.json", times=(0, 0))  # the file looks as if nobody is writing it any more
    reader = int(
        until(lambda: spans(server) and said.exists() and said.read_text().endswith("\n") and said.read_text())
    )
    assert runs(reader)
    os.killpg(server.process.pid, ending)  # as a terminal does
    try:
        server.process.wait(PATIENCE_SECONDS)
        until(lambda: not runs(reader))
    finally:
        send(reader, signal.SIGKILL)
    words = server.said()
    assert [word for word in ("Traceback", "resource_tracker", "multiprocessing", "Exception") if word in words] == []
    assert not (logs / "b" / f"w.1.pt.trace.json{SUFFIX}").exists()
    if ending == signal.SIGKILL:
        at_start.unlink()
        killed = left_in(tmp_path / "tmp")
        assert killed != []
        again = start(logs)
        until(lambda: all(span["state"] == "ready" for span in spans(again).values()))
        until(lambda: not set(killed) & set(left_in(tmp_path / "tmp")))
        again.process.terminate()
        again.process.wait(PATIENCE_SECONDS)
    assert left_in(tmp_path / "tmp") == []
    assert left_in(logs) == []


#: The tab's reader, which here uses helper processes for a file of any size. They stop at their start.
_READER = f"""
import sys
{STOP_FORKED}
from tb_steptime.ingest import read_one
from tb_steptime.trace.kineto.parts import whole
whole.LEAST_BYTES = whole.LEAST_PACKED_BYTES = 0
read_one.main([sys.argv[1], "summary", sys.argv[2], "processes=3"])
"""


@needs_proc
@pytest.mark.live
@pytest.mark.parametrize("ending", ["stdin", signal.SIGKILL, signal.SIGTERM])
def test_a_reader_that_ends_leaves_none_of_its_helpers(ending, tmp_path, monkeypatch):
    """The reader ends when its stdin is closed, which happens when TensorBoard ends; or it alone is killed, for
    example by the kernel when memory runs out."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    trace = tmp_path / "w.1.pt.trace.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "dur": 1}
    trace.write_text(json.dumps({"traceEvents": [event | {"ts": number} for number in range(20_000)]}))
    command = [sys.executable, "-c", _READER, str(trace), str(tmp_path)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # as the tab starts it: only one thread may fork
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
    helpers = until(lambda: len(found := [each for each in children(reader.pid) if stopped(each)]) == 2 and found)
    if ending == "stdin":
        reader.stdin.close()
    else:
        reader.send_signal(ending)
    try:
        assert reader.wait(PATIENCE_SECONDS) != 0
        for helper in helpers:
            send(helper, signal.SIGCONT)
        until(lambda: not any(map(runs, helpers)))
    finally:
        for each in (reader.pid, *helpers):
            send(each, signal.SIGKILL)
    assert os.listdir(tmp_path) == [trace.name]


@pytest.mark.live
def test_every_client_is_told_what_one_alone_is_told():
    """Traces arrive meanwhile. `benchmarks.load` does more."""
    load = measured(clients=8, seconds=5)
    assert load.wrong == []
    assert {status for _, status in load.answered} <= {200, 202}
    assert {route for route, status in load.answered if status == 200} == {"index", "view", "timeline"}


@pytest.mark.live
def test_two_tensorboards_on_one_directory_say_the_same(start, tmp_path):
    logs = tmp_path / "logs"
    for number in range(6):
        write_trace(logs / f"run{number}" / "w.1.pt.trace.json", op_us=10 + number)
    servers = [start(logs), start(logs)]
    for server in servers:
        until(lambda each=server: all(span["state"] == "ready" for span in spans(each).values()))
    pages = [
        [get(server, "view", span=span["id"], view="overview") for span in spans(server).values()] for server in servers
    ]
    assert pages[0] == pages[1]
    assert len(pages[0]) == 6
    assert sorted(path.name for path in logs.rglob("*") if path.is_file()) == sorted(
        ["w.1.pt.trace.json", f"w.1.pt.trace.json{SUFFIX}"] * 6
    )


@pytest.mark.usefixtures("at_once")
def test_two_stores_that_read_one_directory_at_the_same_time_agree(logs):
    for number in range(3):
        write_trace(logs / f"run{number}" / "w.1.pt.trace.json", op_us=10 + number)
    stores = [Store([Place("", logs, "logs")]) for _ in range(2)]
    for store in stores:
        entries(store)
    pages = [[store.page(each.id, "host", work=False) for each in all_read(store).values()] for store in stores]
    for store in stores:
        store.close()
    assert pages[0] == pages[1]
    assert len(list(logs.rglob("*"))) == 3 * 3


@needs_proc
@pytest.mark.live
@pytest.mark.usefixtures("at_once")
def test_days_of_polling_cost_no_memory(tmp_path):
    """A megabyte for each thousand polls would be forty megabytes a day: five kilobytes for each span that is opened,
    which is less than an answer about a small trace. `benchmarks.polling` does more."""
    readings = list(polled(copies(tmp_path, 5, trace_bytes=100_000), polls=800, spans=5))
    assert 1000 * slope_bytes(readings) < 1e6


@pytest.mark.usefixtures("at_once")
def test_a_directory_that_goes_and_comes_back_shows_what_is_there(logs, opened):
    trace = write_trace(logs / "a" / "w.1.pt.trace.json")
    (entry,) = all_read(opened).values()
    page = opened.page(entry.id, "overview", work=False)
    away = logs.with_name("away")
    logs.rename(away)
    until(lambda: not entries(opened))
    shutil.copytree(away, logs)
    (again,) = until(lambda: entries(opened)).values()
    assert all_read(opened)[again.file].state is SpanState.READY
    assert opened.page(again.id, "overview", work=False).result == page.result
    assert trace.exists()


@pytest.mark.usefixtures("at_once")
def test_a_file_that_grows_while_it_is_read_is_read_again(logs, opened, monkeypatch):
    """The first summary is older than the file and therefore not valid."""
    trace = logs / "w.1.pt.trace.json"
    whole = json.dumps(small_trace(steps=4))
    cut = whole.rindex('{"ph"', 0, len(whole) // 2)
    trace.write_text(whole[:cut].rstrip(", ") + "]}")
    (entry,) = all_read(opened).values()
    with open(trace, "r+") as file:
        file.write(whole)
    until(lambda: entries(opened)[entry.file].last_step == "8")
    assert opened.page(entry.id, "overview", work=False).head.step_count == 4


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of one megabyte. The test is skipped where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True)
    if done.returncode:
        pytest.skip("nothing may be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.usefixtures("at_once")
def test_a_read_only_directory_is_read_into_the_cache(small_disk, tmp_path):
    trace = write_trace(small_disk / "w.1.pt.trace.json")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    store = Store([Place("", small_disk, "logs")])
    (entry,) = all_read(store).values()
    assert store.page(entry.id, "overview", work=False).head.step_count == 3
    store.close()
    assert len(list((tmp_path / "cache").rglob(f"*{SUFFIX}"))) == 1
    assert list(small_disk.iterdir()) == [trace]


@pytest.mark.live
@pytest.mark.usefixtures("at_once")
def test_a_disk_that_is_full_is_said_and_works_when_it_has_room(small_disk, tmp_path, monkeypatch):
    """Neither the summary fits beside its trace, nor the events into the temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    write_trace(small_disk / "logs" / "w.1.pt.trace.json")
    fill = small_disk / "fill"
    with contextlib.suppress(OSError), open(fill, "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    store = Store([Place("", small_disk / "logs", "logs")])
    (entry,) = until(lambda: entries(store)).values()
    problem = until(lambda: failure_of(lambda: store.timeline(entry.id, (0, 1000), 1, work=True)))
    assert "No space left" in problem.problem
    fill.unlink()
    store.retry(entry.id)
    page = until(lambda: isinstance(page := store.timeline(entry.id, (0, 1000), 1, work=True), TimelinePage) and page)
    assert page.tracks
    assert store.page(entry.id, "overview", work=False).head.step_count == 3
    store.close()
    assert [path.name for path in small_disk.rglob("*") if "tmp" in path.name or "tb_steptime" in path.name] == []


def failure_of(ask: Callable[[], object]) -> Problem | None:
    try:
        ask()
    except SpanFailed as failure:
        return failure.problem
    return None
