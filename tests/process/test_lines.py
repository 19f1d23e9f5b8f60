"""The cost of source lines, as the command prints it and as the tab's server
serves it with the text around the lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
import time

import pytest

from tb_steptime import cli
from tb_steptime.ingest.sources import VARIABLE
from tests.drawn.small_trace import write_trace
from tests.process.boards import PREFIX, WORK, tensorboard

FRAMES = ["train.py(1): step", "/home/me/job/nets/net.py(2): forward"]
TRAIN = "def step(x):\n    return forward(x)\n"
NET = "import torch\ndef forward(x):\n    return x @ x\n"


@pytest.fixture
def logs(tmp_path):
    """A recording with the source of one of its files; the other file lies in a folder."""
    folder = tmp_path / "logs" / "a"
    write_trace(folder / "host_7.1600000000000000000.pt.trace.json.gz", frames=FRAMES)
    content = json.dumps({"sources": 1, "files": {"train.py": TRAIN}}).encode()
    (folder / "host_7.1500000000000000000.sources.gz").write_bytes(gzip.compress(content))
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "net.py").write_text(NET)
    (tmp_path / "job" / "secret.py").write_text("key = 1")
    return tmp_path / "logs"


def printed(capsys, *arguments):
    assert cli.main(["lines", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_table_has_each_line_with_its_text(logs, capsys):
    assert printed(capsys, logs, "--sources", logs.parent / "job").splitlines() == [
        "a · host_7 · span 1 · the steps, 300 µs on the main thread",
        "",
        "Line                                calls  GPU idle  device  launches  host self  host total  allocated",
        "/home/me/job/nets/net.py:2 forward      3     80 µs  120 µs         3      36 µs       36 µs          –"
        "  def forward(x):",
        "train.py:1 step                         3      0 ms    0 ms         0       6 µs       42 µs          –"
        "  def step(x):",
        "elsewhere                                      0 ms    0 ms         0     258 µs",
        "",
        "Each row is a function, named by its first line: its figures are those of the",
        "whole function. A function with 0 calls was already running when the recording",
        "began; its line is the one that it had reached then.",
    ]


def test_json_and_csv_hold_file_line_and_function(logs, capsys):
    (span,) = json.loads(printed(capsys, logs, "--format", "json"))["spans"]
    assert {key: value for key, value in span.items() if key not in ("trace", "lines")} == {
        "run": "a", "worker": "host_7", "span": 1, "line_of": "function", "backward": "ran", "host_ns": 300_000,
        "elsewhere": {
            "host_self_ns": 258_000, "device_ns": 0, "launches": 0, "idle_ns": 0, "allocated_bytes": None,
        },
    }  # fmt: skip
    assert span["lines"][1] == {
        "source": "train.py(1): step", "file": "train.py", "line": 1, "function": "step", "text": "def step(x):",
        "calls": 3, "host_self_ns": 6_000, "host_total_ns": 42_000, "device_ns": 0, "launches": 0, "idle_ns": 0,
        "allocated_bytes": None,
    }  # fmt: skip
    assert span["lines"][0]["text"] is None
    rows = list(csv.DictReader(io.StringIO(printed(capsys, logs, "--format", "csv"))))
    assert [(row["file"], row["line"], row["idle_ns"], row["text"]) for row in rows] == [
        ("/home/me/job/nets/net.py", "2", "80000", ""),
        ("train.py", "1", "0", "def step(x):"),
    ]


def test_without_stacks_it_says_what_adds_them_and_a_folder_has_to_be_there(tmp_path, capsys):
    write_trace(tmp_path / "w.pt.trace.json")
    assert printed(capsys, tmp_path).splitlines()[2].startswith("Lines and call stacks are not recorded.")
    with pytest.raises(SystemExit) as refused:
        cli.main(["lines", str(tmp_path), "--sources", str(tmp_path / "none")])
    assert refused.value.code == 2


@pytest.fixture
def source_of(logs, monkeypatch, at_once):
    """A function that asks the server for a file of the only span."""
    monkeypatch.setenv(VARIABLE, str(logs.parent / "job"))
    client = tensorboard("--logdir", str(logs))

    def ask(route):
        return client.get(PREFIX + route, headers=WORK)

    end = time.monotonic() + 300
    while True:
        (span,) = json.loads(ask("index").get_data())["runs"][0]["workers"][0]["spans"]
        if span["state"] == "ready":
            break
        assert time.monotonic() < end, span
        time.sleep(0.05)
    return lambda file: ask(f"source?span={span['id']}&file={file}")


def test_the_tab_gets_the_text_of_files_that_lines_name_and_of_no_other(source_of, logs):
    assert json.loads(source_of("train.py").get_data()) == {
        "file": "train.py",
        "origin": "recorded",
        "lines": TRAIN.split("\n"),
        "path": None,
        "marks": [{"source": "train.py(1): step", "meaning": "function", "first": 1, "last": 2}],
    }
    net = json.loads(source_of("net.py").get_data())
    assert (net["origin"], net["lines"], net["path"]) == ("folder", NET.split("\n"), str(logs.parent / "job/net.py"))
    for name in ("secret.py", "../job/secret.py", "%2e%2e/secret.py", str(logs.parent / "job/secret.py"), "", "nets"):
        assert source_of(name).status_code == 404


def test_where_no_text_is_at_hand_there_is_none(source_of, logs, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    assert json.loads(source_of("net.py").get_data()) == {
        "file": "net.py", "origin": None, "lines": [], "path": None, "marks": [],
    }  # fmt: skip
