"""Directories of a store, read over the network from a local server: S3 emulated by moto, plain HTTP, and the other
stores with their emulators, where these are installed."""

import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request

import pytest

from tb_steptime import cli
from tb_steptime.files import remote
from tb_steptime.files.paths import any_path
from tb_steptime.ingest.names import parse_places
from tb_steptime.ingest.summaries import fresh_summary
from tb_steptime.serve.store import Store
from tests.drawn.bucket import empty_bucket, put, s3_server
from tests.drawn.emulators import azure_store, google_store
from tests.drawn.small_trace import write_trace
from tests.drawn.stores import PATIENCE_SECONDS, until
from tests.drawn.webhdfs import web_hdfs_store

STORES = {"gs": google_store, "az": azure_store, "webhdfs": web_hdfs_store}


@pytest.fixture(scope="module")
def server():
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(server, tmp_path, monkeypatch):
    return empty_bucket(server, tmp_path, monkeypatch)


def test_the_tab_reads_a_bucket_and_writes_its_summaries_there(bucket, tmp_path, at_once, capsys):
    trace = put(bucket / "a" / "host.1.pt.trace.json.gz", tmp_path, rank=2)
    store = Store(parse_places(str(bucket), ""))
    try:
        index = until(lambda: (index := store.index(work=True)).spans_ready and index)
        ((run,),) = [index.runs]
        assert (run.name, run.workers[0].name, run.workers[0].rank) == ("a", "host", 2)
        assert store.page(run.workers[0].spans[0].id, "overview", work=False).head.file == "a/host.1.pt.trace.json.gz"
    finally:
        store.close()
    assert trace.with_name(trace.name + ".steptime").is_file()
    assert fresh_summary(trace)
    assert cli.main(["index", str(bucket)]) == 0
    assert capsys.readouterr().out == "0 summary files written, 1 up to date, 0 failed\n"


class Cut(http.server.BaseHTTPRequestHandler):
    """Serves one file in ranges. An answer that reaches beyond `whole` bytes is cut off in its middle."""

    content, whole = b"", 0

    def do_HEAD(self):
        self._head(200, len(self.content))

    def do_GET(self):
        range_header = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"] or "")
        start, end = (int(range_header[1]), int(range_header[2]) + 1) if range_header else (0, len(self.content))
        part = self.content[start:end]
        self._head(206 if range_header else 200, len(part))
        self.wfile.write(part if end <= self.whole else part[: len(part) // 2])

    def _head(self, status, length):
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_connection_that_is_cut_is_one_error_with_the_way_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(remote, "WAITS_SECONDS", (0.0, 0.0))
    monkeypatch.setattr(remote, "FIRST_BYTES", 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Cut.content = write_trace(tmp_path / "host.1.pt.trace.json").read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cut)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/host.1.pt.trace.json"
    try:
        Cut.whole = len(Cut.content)
        assert cli.main(["summarize", f"{address}?sig=secret"]) == 0
        assert "host · span 1" in capsys.readouterr().out
        Cut.whole = 1000
        assert cli.main(["summarize", f"{address}?sig=secret"]) == 1
    finally:
        server.shutdown()
    assert capsys.readouterr().err == (
        f"{address}?***: The connection to the store failed (ClientPayloadError). Check the network and try again; "
        "what was written until then stays.\n"
    )


@pytest.mark.live
def test_tensorboard_opens_a_bucket(bucket, tmp_path):
    trace = put(bucket / "a" / "host.1.pt.trace.json.gz", tmp_path)
    opened_by_tensorboard(bucket)
    assert trace.with_name(trace.name + ".steptime").is_file()


@pytest.mark.live
@pytest.mark.parametrize("kind", STORES)
def test_other_stores_are_read_and_written_as_folders_are(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    local = write_trace(tmp_path / "logs" / "a" / "host.1.pt.trace.json", steps=6_000, rank=2)
    (tmp_path / "store").mkdir()
    with STORES[kind](tmp_path / "store", monkeypatch) as store:
        logs = any_path(f"{store}/logs")
        trace = put(logs / "a" / local.name, tmp_path / "first", steps=3)
        assert cli.main(["index", str(logs)]) == 0
        trace.write_bytes(local.read_bytes())
        for place in (local.parent.parent, logs):
            assert cli.main(["index", str(place)]) == 0
        assert capsys.readouterr().out == "1 summary file written, 0 up to date, 0 failed\n" * 3
        assert trace.parent.names() == [local.name, f"{local.name}.steptime"]
        assert cli.main(["index", str(logs)]) == 0
        assert capsys.readouterr().out == "0 summary files written, 1 up to date, 0 failed\n"
        assert cli.main(["summarize", str(local.parent.parent)]) == cli.main(["summarize", str(logs)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]
        opened_by_tensorboard(logs)
    assert not [file for file in (tmp_path / "cache").rglob("*") if local.stat().st_size <= file.stat().st_size]


def opened_by_tensorboard(logs):
    """TensorBoard runs as a command of its own; it decides itself how to read scalars."""
    command = [sys.executable, "-m", "tools.tensorboard_with_ours", "--logdir", str(logs), "--port", "0"]
    with subprocess.Popen([*command, "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True) as board:
        try:
            address = next(match[0] for line in board.stderr if (match := re.search(r"http://[\d.:]+/", line)))
            index = until(lambda: (index := asked(address, "index"))["spans_ready"] and index)
            (span,) = index["runs"][0]["workers"][0]["spans"]
            file = asked(address, f"view?span={span['id']}&view=overview")["head"]["file"]
            assert re.fullmatch(r"a/host\.1\.pt\.trace\.json(\.gz)?", file)
            assert "very-secret" not in json.dumps(index)
        finally:
            board.terminate()


def asked(address, route):
    request = urllib.request.Request(f"{address}data/plugin/tb_steptime/{route}", headers={"X-Tb-Steptime": "1"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


@pytest.mark.live
@pytest.mark.parametrize("where", ["s3", "folder"])
def test_a_worker_that_dies_in_the_middle_of_a_file_loses_nothing(where, bucket, tmp_path, capsys):
    import psutil
    from distributed import LocalCluster

    logs = bucket if where == "s3" else tmp_path / "logs"
    traces = [logs / f"{run}" / "host.1.pt.trace.json.gz" for run in "abcd"]
    local = write_trace(tmp_path / "drawn.pt.trace.json.gz", steps=20_000)
    for trace in traces:
        if where == "folder":
            trace.parent.mkdir(parents=True)
        trace.write_bytes(local.read_bytes())
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50) as cluster:
        codes = []
        command = ["index", str(logs), "--dask", cluster.scheduler_address]
        running = threading.Thread(target=lambda: codes.append(cli.main(command)))
        running.start()
        workers = {nanny.pid for nanny in cluster.workers.values()}
        victim = until(lambda: [pid for pid in workers if reads(psutil.Process(pid))])[0]
        os.kill(victim, 9)
        running.join(PATIENCE_SECONDS)
        assert {nanny.pid for nanny in cluster.workers.values()} != workers
    assert codes == [0]
    assert capsys.readouterr().out == "4 summary files written, 0 up to date, 0 failed\n"
    assert all(map(fresh_summary, traces))


def reads(worker):
    """Whether a child process of this worker is reading a trace."""
    return any("tb_steptime.ingest.read_one" in child.cmdline() for child in worker.children())


@pytest.mark.live
def test_an_index_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    traces = [write_trace(tmp_path / "logs" / run / "host.1.pt.trace.json.gz", steps=4_000) for run in "abcdef"]
    command = [sys.executable, "-m", "tb_steptime.cli", "index", str(tmp_path / "logs"), "--dask", "local", "--jobs"]
    with subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as index:
        assert "1 of 6" in index.stderr.readline()
        index.send_signal(2)
        output, _ = index.communicate(timeout=PATIENCE_SECONDS)
    assert (index.returncode, output.splitlines()[1:]) == (130, ["Interrupted. Run it again for the rest."])
    written = sum(bool(fresh_summary(trace)) for trace in traces)
    assert 1 <= written < 6
    again = subprocess.run([*command, "1"], capture_output=True, text=True, check=True).stdout
    assert again == f"{6 - written} summary files written, {written} up to date, 0 failed\n"
