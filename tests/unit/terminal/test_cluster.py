"""Workers of a cluster: messages about their releases, and what happens to their results."""

import subprocess
import sys

import pytest

from tb_steptime import __version__, cli
from tb_steptime.files.paths import any_path
from tb_steptime.ingest.reader_process import Job
from tb_steptime.ingest.states import Problem
from tb_steptime.terminal import cluster
from tb_steptime.terminal.cluster import Outcome, Release, Task, measure_there, release_there, release_warnings
from tests.drawn.small_trace import write_trace


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tb_steptime"


def test_workers_of_another_release_are_named():
    here = release_there()
    assert release_warnings({"a": here, "b": here}) == ([], False)
    assert release_warnings({"a": here, "b": here._replace(version="99.0.0")}) == ([], False)
    assert release_warnings({"a": here, "b": Release("0.1.0", "x"), "c": ModuleNotFoundError("tb_steptime")}) == (
        [
            f"1 of 3 workers cannot run tb-steptime: pip install 'tb-steptime=={__version__}' there.",
            f"1 of 3 workers measure with another build of tb-steptime (0.1.0; here {__version__}), or with other peak "
            "rates: what they write is measured again when it is opened here. Install the same release on all.",
        ],
        False,
    )
    assert release_warnings({"a": ImportError()})[1]


def test_a_summary_that_no_worker_could_put_beside_its_trace_is_written_here(tmp_path, cache):
    job = Job("a", tmp_path / "a.pt.trace.json", "a.pt.trace.json")
    assert cluster._summary_place(job, Outcome(content=b"x")) == tmp_path / "a.pt.trace.json.steptime"
    (tmp_path / "b.pt.trace.json.steptime").mkdir()
    folder = cluster._summary_place(Job("b", tmp_path / "b.pt.trace.json", "b"), Outcome(content=b"x"))
    assert (folder.parent, folder.read_bytes()) == (cache, b"x")
    problem = Problem("It is no trace", "a", "")
    assert cluster._summary_place(job, Outcome(problem=problem)) is problem


def test_a_file_that_the_worker_does_not_have(tmp_path):
    problem = measure_there(Task(Job("a", tmp_path / "none.json", "none.json"), "topic")).problem
    assert problem.problem.endswith("has no such file")


def test_what_a_scheduler_may_log_holds_no_secret():
    trace = any_path("hdfs://me:secret@host/a.json")
    assert "secret" not in repr(Task(Job("a", trace, str(trace)), "topic"))


def test_without_the_extra(tmp_path, capsys, monkeypatch):
    write_trace(tmp_path / "host.1.pt.trace.json")
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.main(["index", str(tmp_path), "--dask", "local"]) == 2
    assert capsys.readouterr().err == "Dask is not installed: pip install 'tb-steptime[dask]'\n"


def test_a_scheduler_that_lacks_the_package_can_read_what_it_passes_on():
    cloudpickle = pytest.importorskip("cloudpickle")
    read = "import sys, pickle; sys.modules['tb_steptime'] = None; print(pickle.load(sys.stdin.buffer).__name__)"
    task = cloudpickle.dumps(cluster._by_name())
    assert subprocess.run([sys.executable, "-c", read], input=task, capture_output=True).stdout == b"measure\n"
