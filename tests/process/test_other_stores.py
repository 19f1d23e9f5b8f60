"""What S3 gives, Google's and Azure's stores give as well, where their emulators are installed: `nox -s stores`."""

import json
import re
import subprocess
import sys
import time
import urllib.request

import pytest

from tb_steptime import cli
from tb_steptime.files.paths import any_path
from tb_steptime.ingest.summaries import fresh_summary
from tests.drawn.bucket import put
from tests.drawn.emulators import azure_store, google_store

pytestmark = pytest.mark.live


@pytest.fixture(params=[google_store, azure_store], ids=["google", "azure"])
def logs(request, tmp_path, monkeypatch):
    """A folder in an empty bucket or container."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with request.param(tmp_path / "store", monkeypatch) as bucket:
        yield any_path(f"{bucket}/logs")


def test_the_command_line_reads_and_writes_there(logs, tmp_path, capsys):
    trace = put(logs / "a" / "host.1.pt.trace.json.gz", tmp_path, rank=2)
    assert cli.main(["summarize", str(logs)]) == 0
    assert "rank 2" in capsys.readouterr().out
    assert cli.main(["index", str(logs)]) == 0
    assert "1 summary file written, 0 up to date, 0 failed\n" in capsys.readouterr().out
    assert trace.with_name(trace.name + ".steptime").is_file()
    assert fresh_summary(trace)
    assert cli.main(["index", str(logs)]) == 0
    assert "0 summary files written, 1 up to date, 0 failed\n" in capsys.readouterr().out
    assert not list((tmp_path / "cache").rglob("*.json*"))  # no copy stays here


def test_tensorboard_opens_it(logs, tmp_path):
    trace = put(logs / "a" / "host.1.pt.trace.json.gz", tmp_path)
    command = [sys.executable, "-m", "tests.browser.tensorboard_with_ours", "--logdir", str(logs), "--port", "0"]
    with subprocess.Popen([*command, "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True) as board:
        try:
            address = next(match[0] for line in board.stderr if (match := re.search(r"http://[\d.:]+/", line)))
            end = time.monotonic() + 60
            while not asked(address, "index")["spans_ready"]:
                assert time.monotonic() < end
                time.sleep(0.2)
        finally:
            board.terminate()
    assert trace.with_name(trace.name + ".steptime").is_file()


def asked(address, route):
    request = urllib.request.Request(f"{address}data/plugin/tb_steptime/{route}", headers={"X-Tb-Steptime": "1"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
