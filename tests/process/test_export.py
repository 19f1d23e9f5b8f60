"""`tb-steptime export`: scalars as TensorBoard reads them back, tables, exit codes, and names that may be shared."""

from __future__ import annotations

import csv
import json
import os
from types import SimpleNamespace

import pytest
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.data.provider import RunTagFilter

from tb_steptime import cli
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.ingest.discovery import Discovery
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.names import Place
from tb_steptime.metrics.catalogue import METRICS
from tb_steptime.metrics.operators.module_tree import ModuleRow
from tb_steptime.serve.scalars import JobScalars
from tb_steptime.tables.base import Surface
from tb_steptime.terminal.export.event_files import tag_of
from tb_steptime.terminal.export.tables import TABLES
from tests.browser.logs import write_scalars
from tests.drawn.small_trace import write_trace

#: The end of the first step of a small trace.
FIRST_END_NS = 1_600_000_000_000_100_000


@pytest.fixture
def logs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_trace(tmp_path / "logs" / "a" / "gpubox_4711.1600000000000.pt.trace.json.gz", rank=2)
    write_trace(tmp_path / "logs" / "a" / "gpubox_4711.1600000000001.pt.trace.json.gz", rank=2, first_step=20)
    return tmp_path / "logs"


def export(*arguments):
    return cli.main(["export", *map(str, arguments)])


def provider(logs):
    events = EventMultiplexer()
    events.AddRunsFromDirectory(str(logs)).Reload()
    return MultiplexerDataProvider(events, str(logs))


def scalars(logs, run, tag):
    """The (step, wall time, value) tuples of a tag as TensorBoard serves them."""
    run_tag_filter = RunTagFilter(runs=[run], tags=[tag])
    found = provider(logs).read_scalars(
        RequestContext(), experiment_id="", plugin_name="scalars", downsample=1000, run_tag_filter=run_tag_filter
    )
    return [(point.step, point.wall_time, point.value) for point in found[run][tag]]


def listed(logs):
    return provider(logs).list_scalars(RequestContext(), experiment_id="", plugin_name="scalars")


def test_tensorboard_reads_the_figures_of_each_step(logs):
    assert export(logs, "--scalars") == 0
    steps = [5, 6, 7, 20, 21, 22]
    run = "a/step_insights/worker_4711"
    times = [FIRST_END_NS + 100_000 * (step % 5 if step < 20 else step - 20) for step in steps]
    assert scalars(logs, run, "step_insights/step_time_ms") == [
        (step, pytest.approx(at / 1e9, abs=1e-6), pytest.approx(0.1)) for step, at in zip(steps, times, strict=True)
    ]
    assert [value for _, _, value in scalars(logs, run, "step_insights/gpu_utilization")] == [pytest.approx(0.4)] * 6
    (meaning,) = {metric.meaning for metric in METRICS if metric.id == "step_time"}
    tags = listed(logs)[run]
    assert tags["step_insights/step_time_ms"].description == f"{meaning} Unit: ms."
    assert "step_insights/kineto_achieved_occupancy" in tags
    # one point for each recording
    assert [step for step, _, _ in scalars(logs, run, "step_insights/needed_workers")] == [7, 22]
    assert "step_insights/bubble_time_ms" in tags
    tags_of_metrics = {tag_of(metric) for metric in METRICS}
    assert set(tags) < tags_of_metrics  # a metric that cannot be measured has no point


def test_a_second_export_replaces_the_first(logs):
    export(logs, "--scalars")
    (first,) = logs.rglob("*tfevents*")
    written, run = first.read_bytes(), "a/step_insights/worker_4711"
    read = scalars(logs, run, "step_insights/step_time_ms")
    for number in (1, 2):
        export(logs, "--scalars")
        before, now = (first.with_name(f"events.out.tfevents.{each}.step_insights") for each in (number - 1, number))
        assert sorted(each.name for each in first.parent.iterdir()) == [before.name, now.name]
        assert now.read_bytes() == written
        assert before.stat().st_size < 50
    assert scalars(logs, run, "step_insights/step_time_ms") == read


def test_a_running_tensorboard_sees_a_second_export(logs):
    export(logs, "--scalars")
    running, run, tag = EventMultiplexer(), "a/step_insights/worker_4711", "step_insights/step_time_ms"
    running.AddRunsFromDirectory(str(logs)).Reload()
    assert [event.step for event in running.Tensors(run, tag)] == [5, 6, 7, 20, 21, 22]
    next(logs.rglob("*0001.pt.trace.json.gz")).unlink()
    for again in ([5, 6, 7], [5, 6, 7, 40, 41, 42]):
        if len(again) > 3:
            write_trace(logs / "a" / "gpubox_4711.1600000000002.pt.trace.json.gz", rank=2, first_step=40)
        export(logs, "--scalars")
        running.Reload()
        assert [event.step for event in running.Tensors(run, tag)] == again


def test_neither_our_own_search_nor_the_scalars_of_the_job_see_it(logs):
    write_scalars(logs / "a" / "train", "loss", [1.0])
    before = Discovery([Place("", logs, "logs")]).scan().spans
    export(logs, "--scalars")
    assert Discovery([Place("", logs, "logs")]).scan().spans == before
    assert JobScalars(provider(logs), {}).read("a", ["a"], None).tags == ["loss"]


def test_steps_that_begin_again_are_a_run_of_their_own(logs, capsys):
    write_trace(logs / "a" / "gpubox_4711.1600000000002.pt.trace.json.gz", first_step=5)
    export(logs, "--scalars")
    runs = listed(logs)
    assert sorted(runs) == ["a/step_insights/worker_4711", "a/step_insights/worker_4711_2"]
    assert [step for step, _, _ in scalars(logs, "a/step_insights/worker_4711_2", "step_insights/step_time_ms")] == [
        5,
        6,
        7,
    ]


def test_without_a_time_of_day_the_files_time_counts_and_it_says_so(tmp_path, capsys):
    path = write_trace(tmp_path / "logs" / "a" / "w.pt.trace.json.gz", baseTimeNanoseconds=0)
    os.utime(path, (1_500_000_000, 1_500_000_000))
    export(path, "--scalars")
    ends = [at for _, at, _ in scalars(tmp_path / "logs", "a/step_insights/w", "step_insights/step_time_ms")]
    assert ends == [pytest.approx(1_500_000_000 - 0.0001 * left, abs=1e-6) for left in (2, 1, 0)]
    assert "  The recording has no time of day: times are by the file date.\n" in capsys.readouterr().out


def test_a_module_is_a_row_with_its_path():
    result = OperatorsResult(modules=[ModuleRow("Net", occurrences=2), ModuleRow("Linear_0", 0, device_total_ns=8)])
    span = SimpleNamespace(measured=SimpleNamespace(result=lambda view, kind: result))
    columns = ["path", "calls", "host_total_ns", "device_total_ns", "allocated_bytes"]
    (exported,) = (each for each in TABLES if each.table.id == "modules")
    names = [column.name(Surface.EXPORT) for column in exported.table.on(Surface.EXPORT)]
    rows = [dict(zip(names, row, strict=True)) for row in exported.rows(span)]
    assert [[row[name] for name in columns] for row in rows] == [
        ["Net", 2, 0, None, None],
        ["Net / Linear_0", 0, 0, 8, None],
    ]


def test_source_lines_and_the_row_without_one_sum_to_the_steps(tmp_path):
    frames = ["train.py(1): step", "net.py(2): forward"]
    write_trace(tmp_path / "logs" / "a" / "host_7.1600000000000.pt.trace.json.gz", frames=frames)
    export(tmp_path / "logs", "--csv", "-o", tmp_path / "csv")
    with open(tmp_path / "csv" / "source_lines.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ["source", "calls", "idle_ns", "device_ns", "launches", "host_self_ns", "host_total_ns"]
    assert [[row[name] for name in columns] for row in rows] == [
        ["net.py(2): forward", "3", "80000", "120000", "3", "36000", "36000"],
        ["train.py(1): step", "3", "0", "0", "0", "6000", "42000"],
        ["", "", "0", "0", "0", "258000", ""],
    ]


def test_tables_hold_what_was_measured(logs, tmp_path):
    assert export(logs, "--csv", "-o", tmp_path / "csv") == export(logs, "--jsonl", "-o", tmp_path / "jsonl") == 0
    assert sorted(each.name for each in (tmp_path / "csv").iterdir()) == sorted(
        f"{each.table.id}.csv" for each in TABLES
    )
    measured = measure_file(logs / "a" / "gpubox_4711.1600000000000.pt.trace.json.gz")
    for exported in TABLES:
        name = exported.table.id
        lines = (tmp_path / "jsonl" / f"{name}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        with open(tmp_path / "csv" / f"{name}.csv", newline="") as file:
            read = list(csv.DictReader(file))
        assert [list(row) for row in rows] == [exported.column_names] * len(rows)
        assert read == [{name: _as_csv(value) for name, value in row.items()} for row in rows]
        # neither modules nor source lines are recorded
        expected = set() if name in ("modules", "source_lines") else {("a", "worker_4711")}
        assert {(row["run"], row["worker"]) for row in rows} == expected
    steps = [json.loads(line) for line in (tmp_path / "jsonl" / "steps.jsonl").read_text().splitlines()]
    assert [row["duration_ns"] for row in steps[:3]] == [row.duration_ns for row in measured.results["overview"].steps]
    assert all(sum(row[name] for name in _part_columns()) == row["duration_ns"] for row in steps)
    kernels = [json.loads(line) for line in (tmp_path / "jsonl" / "kernels.jsonl").read_text().splitlines()]
    assert [(row["span"], row["name"], row["launches"], row["total_ns"]) for row in kernels] == [
        (1, "volta_sgemm_64x64_nt", 3, 120_000),
        (2, "volta_sgemm_64x64_nt", 3, 120_000),
    ]


def _as_csv(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _part_columns():
    names = next(each.column_names for each in TABLES if each.table.id == "steps")
    return names[names.index("kernel_ns") :]


def test_summaries_are_enough(logs, tmp_path):
    export(logs, "--csv", "-o", tmp_path / "before")
    cli.main(["index", str(logs)])
    for trace in logs.rglob("*.json.gz"):
        trace.unlink()
    assert export(logs, "--csv", "-o", tmp_path / "after") == 0
    for exported in TABLES:
        texts = [(tmp_path / folder / f"{exported.table.id}.csv").read_text() for folder in ("before", "after")]
        assert texts[0] == texts[1]


def test_what_cannot_be_done_is_said_in_a_line(logs, tmp_path, capsys):
    assert export(logs, "--csv") == 2
    assert capsys.readouterr().err == "Name a folder for the tables: -o DIR.\n"
    (logs / "file").write_text("")
    assert export(logs, "--scalars", "-o", logs / "file") == 1
    assert "Name another folder with -o.\n" in capsys.readouterr().err
    (logs / "bad").mkdir()
    (logs / "bad" / "w.pt.trace.json").write_text("this is no trace")
    assert export(logs, "--jsonl", "-o", tmp_path / "tables") == 1
    assert "w.pt.trace.json: " in capsys.readouterr().err
    assert len((tmp_path / "tables" / "spans.jsonl").read_text().splitlines()) == 2


def test_a_worker_keeps_its_own_name_where_that_is_asked_for(logs, tmp_path):
    export(logs, "--jsonl", "-o", tmp_path, "--keep-paths")
    assert json.loads((tmp_path / "spans.jsonl").read_text().splitlines()[0])["worker"] == "gpubox_4711"


def test_the_help_names_every_table(capsys):
    with pytest.raises(SystemExit):
        cli.main(["export", "--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    assert f"tables as CSV: {', '.join(each.table.id for each in TABLES)}" in help_text
