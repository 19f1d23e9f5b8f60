"""A recording has the same worker name in every view, and the same one in all shared files, which names no machine."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import tb_steptime
from tb_steptime import cli
from tb_steptime.files.paths import any_path
from tb_steptime.serve.report.included import included_answers
from tb_steptime.serve.report.page import without_machine
from tb_steptime.terminal.agent import answers
from tb_steptime.terminal.agent.logs import Logs
from tb_steptime.terminal.report_file import opened_store
from tests.drawn.packed import in_rows
from tests.drawn.small_trace import write_trace

#: By run and worker, as named in the file names: the name in shared files.
PASSED_ON = {
    ("a", "gpubox_4711"): "worker_4711",
    ("a", "gpubox_4712"): "worker_4712",
    ("a", "rank_3"): "rank_3",
    ("b", "gpubox_4712"): "worker_4712",
    ("b", "other-box_4712"): "worker_4712-2",
}
SHOWN = sorted(PASSED_ON)
WRITTEN = sorted((run, name) for (run, _), name in PASSED_ON.items())


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for run, worker in PASSED_ON:
        write_trace(tmp_path / "logs" / run / f"{worker}.1600000000000.pt.trace.json")
    return tmp_path / "logs"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli.main(list(map(str, arguments))) == 0
    return capsys.readouterr().out


def test_everything_that_is_shown_here_calls_a_worker_as_its_files_are(logs, capsys):
    found = {
        command: sorted((span["run"], span["worker"]) for span in json.loads(
            printed(capsys, command, logs, "--format", "json"))["spans"])
        for command in ("summarize", "kernels", "operators")
    }  # fmt: skip
    found["agent"] = sorted((line.run, line.worker) for line in answers.runs(Logs(any_path(str(logs)))).recordings)
    found["notebook"] = sorted((span.run, span.worker) for span in tb_steptime.open(logs))
    with opened_store(logs, []) as store:
        index = store.index(work=False)
    found["tab"] = sorted((run.name, worker.name) for run in index.runs for worker in run.workers)
    assert found == dict.fromkeys(found, SHOWN)
    table = printed(capsys, "summarize", logs, "--details")
    assert [f" · {worker} · span 1" in table for _, worker in PASSED_ON] == [True] * len(PASSED_ON)


def of_rows(rows) -> list[tuple[str, str]]:
    return sorted((row["run"], row["worker"]) for row in rows)


def test_everything_that_is_passed_on_calls_a_worker_alike_and_names_no_machine(logs, capsys, tmp_path):
    found = {}
    for kind in ("csv", "jsonl", "scalars"):
        printed(capsys, "export", logs, f"--{kind}", "-o", tmp_path / kind)
    found["csv"] = of_rows(csv.DictReader((tmp_path / "csv" / "spans.csv").open()))
    found["jsonl"] = of_rows(map(json.loads, (tmp_path / "jsonl" / "spans.jsonl").read_text().splitlines()))
    found["scalars"] = sorted((path.parts[-4], path.parts[-2]) for path in (tmp_path / "scalars").rglob("*tfevents*"))
    with opened_store(logs, []) as store:
        text = without_machine(included_answers(store))
    report = in_rows(json.loads(text))
    found["report"] = sorted(
        (run["name"], worker["name"]) for run in report["index"]["runs"] for worker in run["workers"]
    )
    found["its trends"] = of_rows(report["trends"]["rows"])
    assert found == dict.fromkeys(found, WRITTEN)
    folders = [tmp_path / kind for kind in ("csv", "jsonl", "scalars")]
    written = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert [path.name for path in written if b"box" in path.read_bytes()] == []
    assert b"box" not in text


def test_a_name_does_not_depend_on_what_else_is_exported(logs, capsys, tmp_path):
    for number, path in enumerate((logs / "a", logs / "a" / "gpubox_4712.1600000000000.pt.trace.json")):
        printed(capsys, "export", path, "--csv", "-o", tmp_path / str(number))
        rows = list(csv.DictReader((tmp_path / str(number) / "spans.csv").open()))
        assert "worker_4712" in [row["worker"] for row in rows]
    folder = tmp_path / "kept"
    printed(capsys, "export", logs, "--csv", "--keep-paths", "-o", folder)
    assert of_rows(csv.DictReader((folder / "spans.csv").open())) == SHOWN
