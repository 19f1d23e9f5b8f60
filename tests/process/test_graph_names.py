"""Names of what CUDA graphs run, as commands and the Python API give them:
from a log directory or from a named path."""

from __future__ import annotations

import json
import os

import pytest

import tb_steptime
from tb_steptime import cli
from tb_steptime.errors import TraceError
from tb_steptime.ingest.summaries import SUFFIX, fresh_summary
from tests.drawn.graph_job import write_captured, write_eager
from tests.drawn.stores import until

EAGER = "host_2.1700000000000.pt.trace.json"
CAPTURED = "host_1.1700000900000.pt.trace.json"
LAUNCHED = {"aten::addmm": 4, "aten::relu": 4, "aten::mm": 4}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def captured(logs):
    return write_captured(logs / "graphs" / CAPTURED)


@pytest.fixture
def apart(tmp_path):
    """An eager recording outside of the log directory."""
    return write_eager(tmp_path / "apart" / EAGER)


def told(capsys, command, *arguments):
    assert cli.main([command, *map(str, arguments), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def launched(spans):
    """The launches of the only span of the run, by op."""
    (span,) = [span for span in spans if span["run"] in ("graphs", ".")]
    return {row["name"]: row["launches"] for row in span["operators"] if row["launches"]}


def test_operators_of_a_log_directory_have_them(logs, captured, capsys):
    assert launched(told(capsys, "operators", logs)["spans"]) == {}
    write_eager(logs / "eager" / EAGER)
    assert launched(told(capsys, "operators", logs)["spans"]) == LAUNCHED


def test_operators_of_files_that_are_named_together_have_them(captured, apart, capsys):
    assert launched(told(capsys, "operators", captured, apart)["spans"][:1]) == LAUNCHED


def test_names_from_a_place_that_the_user_names(logs, captured, apart, capsys):
    assert launched(told(capsys, "operators", logs, "--names-from", apart)["spans"]) == LAUNCHED
    (span,) = told(capsys, "kernels", logs, "--by", "name,op", "--names-from", apart.parent)["spans"]
    assert {row["op"] for row in span["kernels"]} == set(LAUNCHED)
    (span,) = told(capsys, "summarize", logs, "--names-from", apart)["spans"]
    assert "graphs_named" in {note["id"] for note in span["notes"]}


def test_a_summary_does_not_keep_the_user_from_naming_a_place(logs, captured, apart, capsys):
    assert cli.main(["index", str(logs)]) == 0
    capsys.readouterr()
    (span,) = told(capsys, "summarize", logs)["spans"]
    assert "graphs_unnamed" in {note["id"] for note in span["notes"]}
    (span,) = told(capsys, "summarize", logs, "--names-from", apart)["spans"]
    assert "graphs_named" in {note["id"] for note in span["notes"]}


@pytest.mark.parametrize(
    ("place", "message"), [("nowhere", "is no file or folder"), ("s3://bucket/eager", "is not on this machine")]
)
def test_a_place_that_is_not_there_is_a_wrong_call(logs, captured, capsys, place, message):
    with pytest.raises(SystemExit) as end:
        cli.main(["operators", str(logs), "--names-from", place])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_index_reads_again_what_a_new_recording_may_name(logs, captured, capsys):
    def index():
        assert cli.main(["index", str(logs)]) == 0
        return capsys.readouterr().out.splitlines()

    assert index() == ["1 summary file written, 0 up to date, 0 failed"]
    assert index() == ["0 summary files written, 1 up to date, 0 failed"]
    write_eager(logs / "eager" / EAGER)
    assert index() == ["2 summary files written, 0 up to date, 0 failed"]
    assert index() == ["0 summary files written, 2 up to date, 0 failed"]
    summary = fresh_summary(captured)
    assert summary is not None
    assert [note.id for note in summary.facts.notes if note.id.startswith("graphs_")] == ["graphs_named"]
    assert "host_2" not in json.dumps([note.id + repr(note.values) for note in summary.facts.notes])
    assert captured.with_name(captured.name + SUFFIX).exists()


@pytest.mark.parametrize("run", ["a_graphs", "z_graphs"])  # read first, and read last
def test_the_order_of_reading_does_not_decide_what_is_named(logs, capsys, run):
    traces = [write_eager(logs / f"other_{each}" / EAGER, other_model=True) for each in range(4)]
    captured = write_captured(logs / run / CAPTURED)
    for each in [*traces, captured, write_eager(logs / "same_job" / EAGER)]:
        os.utime(each, (1, 1))

    def told_names(command):
        spans = told(capsys, command, logs)["spans"]
        return [note["id"] for span in spans for note in span["notes"] if note["id"].startswith("graphs_")]

    assert cli.main(["index", str(logs), "--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == ["6 summary files written, 0 up to date, 0 failed"]
    assert told_names("summarize") == ["graphs_named"]
    (span,) = [span for span in told(capsys, "operators", logs)["spans"] if span["run"] == run]
    assert {row["name"]: row["launches"] for row in span["operators"] if row["launches"]} == LAUNCHED
    assert cli.main(["index", str(logs), "--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == ["0 summary files written, 6 up to date, 0 failed"]


@pytest.mark.usefixtures("at_once")
def test_the_tab_names_them_when_all_others_are_read(logs, opened):
    traces = [write_eager(logs / f"other_{each}" / EAGER, other_model=True) for each in range(4)]
    captured = write_captured(logs / "a_graphs" / CAPTURED)
    for each in [*traces, captured, write_eager(logs / "same_job" / EAGER)]:
        os.utime(each, (1, 1))

    def is_named():
        return any(span.measured and span.measured.names.file for span in opened.directory.spans()[1])

    until(lambda: opened.index(work=True) and is_named())
    assert [note.id for note in fresh_summary(captured).facts.notes if note.id.startswith("graphs_")] == [
        "graphs_named"
    ]


def test_index_keeps_names_from_a_place_that_the_user_names(logs, captured, apart, capsys):
    def index(*more):
        assert cli.main(["index", str(logs), *map(str, more)]) == 0
        return capsys.readouterr().out.splitlines()

    def noted():
        return [note.id for note in fresh_summary(captured).facts.notes if note.id.startswith("graphs_")]

    assert index() == ["1 summary file written, 0 up to date, 0 failed"]
    assert noted() == ["graphs_unnamed"]
    assert index("--names-from", apart) == ["1 summary file written, 0 up to date, 0 failed"]
    assert noted() == ["graphs_named"]
    assert fresh_summary(captured).names.folder == ""  # the user's own folders are not shared
    assert index("--names-from", apart.parent) == index() == ["0 summary files written, 1 up to date, 0 failed"]
    write_eager(apart, op_us=7)
    assert index() == ["0 summary files written, 1 up to date, 0 failed"]
    assert index("--names-from", apart) == ["1 summary file written, 0 up to date, 0 failed"]


def test_index_takes_a_named_place_before_the_log_directory(logs, captured, capsys):
    eager = write_eager(logs / "eager" / EAGER)
    assert cli.main(["index", str(captured), "--names-from", str(eager)]) == 0
    assert [note.id for note in fresh_summary(captured).facts.notes if note.id.startswith("graphs_")] == [
        "graphs_named"
    ]


def test_eager_and_captured_steps_of_one_job_are_compared(logs, captured, capsys):
    write_eager(logs / "eager" / EAGER)
    found = told(capsys, "compare", logs / "eager", logs / "graphs")["candidates"][0]
    assert "other_kernels" not in {note["id"] for note in found["warnings"]}
    assert {(row["op"], row["matched_by"]) for row in found["kernels"]} <= {(op, "name") for op in LAUNCHED}


def test_steps_of_another_model_are_other_work(logs, captured, capsys):
    write_eager(logs / "eager" / EAGER, other_model=True)
    found = told(capsys, "compare", logs / "eager", logs / "graphs")["candidates"][0]
    assert "other_kernels" in {note["id"] for note in found["warnings"]}


def test_the_python_api_takes_the_place_too(captured, apart):
    without, with_names = (tb_steptime.open(captured, names_from=place)[0] for place in (None, apart))
    assert set(without.operators["name"]) & set(LAUNCHED) == set()
    assert set(with_names.operators["name"]) >= set(LAUNCHED)
    with pytest.raises(TraceError, match="no such file"):
        tb_steptime.open(captured, names_from=apart.with_name("gone.json"))
