"""A fact has the same value everywhere: in the tab's views, on the command line, in exported tables, in the Python API,
and in the answers to a coding agent, which have four digits."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tb_steptime
from tb_steptime import cli
from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.memory import MemoryResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.analyses.trends import TrendsResult
from tb_steptime.ingest.names import Place
from tb_steptime.insights.wording.card_text import as_one
from tb_steptime.notebook.span import Span
from tb_steptime.serve.store import Store
from tb_steptime.serve.wire import SpanPage
from tb_steptime.terminal.agent import answers
from tb_steptime.terminal.agent.contract import mb, ms
from tb_steptime.terminal.agent.logs import Logs, SpanChoice
from tb_steptime.text.printer import plain
from tests.drawn.real_traces import is_real_trace_there, real_trace
from tests.drawn.small_trace import small_trace, with_allocations
from tests.drawn.stores import all_read

#: Small recordings: of an AMD GPU with copies, with blocking calls, and with modules and allocations.
REAL = {
    "mi250": "hta_mi250_toy/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "event_sync": "hta_a100_event_sync/event_sync_trace.json.gz",
    "bert": "tracelens_h100_bert/bert-small.json.gz",
}
DRAWN = "drawn"
#: The only line of `bert` that launches something other than kernels.
WITH_A_COPY = "transformers/modeling_attn_mask_utils.py(429): _prepare_4d_attention_mask_for_sdpa"
ALL = 10_000


class Recording(NamedTuple):
    """A log directory with one summarized trace, and what programs get from it."""

    folder: Path
    span: Span
    csv: dict[str, list[dict[str, str]]]
    logs: Logs

    def json(self, capsys: pytest.CaptureFixture[str], command: str, *options: str) -> dict[str, Any]:
        capsys.readouterr()
        assert cli.main([command, str(self.folder), "--format", "json", *options]) == 0
        printed: dict[str, Any] = json.loads(capsys.readouterr().out)
        return printed


@pytest.fixture(scope="module")
def summarized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with one run for each of the recordings."""
    folder = tmp_path_factory.mktemp("one_fact")
    drawn = folder / DRAWN / "worker.1.pt.trace.json.gz"
    drawn.parent.mkdir()
    drawn.write_bytes(gzip.compress(json.dumps(with_allocations(small_trace(4, 5, None, 10.0))).encode(), mtime=0))
    for run in filter(_is_here, REAL):
        (folder / run).mkdir()
        shutil.copyfile(real_trace(REAL[run]), folder / run / "worker.1.pt.trace.json.gz")
    assert cli.main(["index", str(folder)]) == 0
    return folder


def _is_here(run: str) -> bool:
    return is_real_trace_there(REAL[run])


@pytest.fixture(scope="module", params=[DRAWN, *REAL])
def recording(request: pytest.FixtureRequest, summarized: Path) -> Recording:
    folder = summarized / request.param
    if request.param in REAL:
        real_trace(REAL[request.param])
    assert cli.main(["export", str(folder), "--csv", "-o", str(folder / "csv")]) == 0
    read = {file.stem: _rows(file) for file in (folder / "csv").iterdir()}
    return Recording(folder, tb_steptime.open(folder)[0], read, Logs(folder))


def _rows(file: Path) -> list[dict[str, str]]:
    with open(file, newline="") as opened:
        return list(csv.DictReader(opened))


def total(rows: list[dict[str, str]], column: str) -> int:
    return sum(int(row[column] or 0) for row in rows)


def test_kernel_time(recording: Recording, capsys: pytest.CaptureFixture[str]):
    gpu = recording.span.result("gpu", GpuResult)
    kernels = sum(device.split.kernel_ns for device in gpu.devices)
    grouped = {sum(row.total_ns for row in table.rows) + table.more_ns
               for device in gpu.devices[:1] for table in device.tables}  # fmt: skip
    assert grouped == {device.split.kernel_ns for device in gpu.devices[:1]}
    assert total(recording.csv["kernels"], "total_ns") == kernels
    assert int(recording.span.kernels["total_ns"].sum()) == kernels
    (printed,) = recording.json(capsys, "kernels")["spans"]
    assert sum(row["total_ns"] for row in printed["kernels"]) == kernels
    answer = answers.kernels(recording.logs, SpanChoice(), ALL)
    assert [row["total_ms"] for row in answer.kernels] == [ms(ns) for ns in recording.span.kernels["total_ns"].tolist()]


def test_what_lines_launch(recording: Recording, capsys: pytest.CaptureFixture[str]):
    """The work of the backward pass counts where its forward op was called. Ops launch copies and memsets, too."""
    tables = [table for device in recording.span.result("gpu", GpuResult).devices for table in device.tables]
    by_name = {row.name: row.total_ns for table in tables if table.by == "line" for row in table.rows}
    assert recording.span.kernels_by("line")["total_ns"].tolist() == list(by_name.values())
    if by_name:
        (printed,) = recording.json(capsys, "kernels", "--by", "line")["spans"]
        assert {row["name"]: row["total_ns"] for row in printed["kernels"]} == by_name
        of_ops = recording.json(capsys, "operators", "--by", "line", "--backward", "made")["spans"][0]["operators"]
        launched = Counter[str]()
        for row in of_ops:
            launched[row["line"]] += row["device_self_ns"]
        assert {line for line, ns in by_name.items() if launched[line] != ns} == {WITH_A_COPY}


def test_what_ops_launched(recording: Recording, capsys: pytest.CaptureFixture[str]):
    result = recording.span.result("operators", OperatorsResult)
    (table,) = [each for each in result.tables if (each.by, each.where) == ("name", "ran")]
    own = sum(row.device_self_ns or 0 for row in table.rows) + (table.rest.device_self_ns or 0)
    assert total(recording.csv["operators"], "device_self_ns") == own
    printed = recording.json(capsys, "operators")["spans"][0]
    assert printed["outside_ops"]["device_ns"] == result.outside.device_ns
    by_name = {row.name: row.device_self_ns for row in table.rows}
    answer = answers.operators(recording.logs, SpanChoice(), "name", ALL).operators
    assert {row["op"]: row.get("gpu_self_ms") for row in answer} == {
        name: None if ns is None else ms(ns) for name, ns in by_name.items()
    }
    allocated = {row.name: row.allocated_self_bytes for row in table.rows}
    assert {row["op"]: row.get("allocated_self_mb") for row in answer} == {
        name: None if count is None else mb(count) for name, count in allocated.items()
    }


def test_the_mean_step(recording: Recording, capsys: pytest.CaptureFixture[str]):
    overview = recording.span.result("overview", OverviewResult)
    (printed,) = recording.json(capsys, "summarize")["spans"]
    answer = answers.summary(recording.logs, SpanChoice())
    assert printed["mean"]["duration_ns"] == overview.mean_duration_ns
    assert answer.step_ms == ms(overview.mean_duration_ns)
    lengths = [row.duration_ns for row in overview.steps]
    assert recording.span.steps["duration_ns"].tolist() == lengths
    assert [int(row["duration_ns"]) for row in recording.csv["steps"]] == lengths
    assert [row["duration_ns"] for row in printed["steps"]] == lengths
    assert recording.span.figures["step_time"].value == pytest.approx(sum(lengths) / len(lengths), abs=1)
    assert answer.parts_ms == {part: ms(ns) for part, ns in printed["mean"]["parts_ns"].items() if ns}


def test_figures(recording: Recording):
    series = {each.metric: each.value for each in recording.span.result("trends", TrendsResult).series}
    assert {id: figure.value for id, figure in recording.span.figures.items()} == series
    of_span = [row for row in recording.csv["figures"] if row["step"] == ""]
    assert {row["metric"]: float(row["value"]) if row["value"] else None for row in of_span} == series


def test_idle_time_and_blocking_calls_and_copies(recording: Recording, capsys: pytest.CaptureFixture[str]):
    host, span = recording.span.result("host", HostResult), recording.span
    assert span.blocking_calls["bubble_ns"].tolist() == [row.bubble_ns for row in host.blocking]
    answer = answers.blocking_calls(recording.logs, SpanChoice(), ALL).blocking_calls
    assert [(row["call"], row["bubble_ms"], row["blocked_ms"]) for row in answer] == [
        (row.call, ms(row.bubble_ns), ms(row.blocked_ns)) for row in host.blocking
    ]
    assert span.copies["total_ns"].tolist() == [row.total_ns for row in host.copies]
    idle_ms = answers.summary(recording.logs, SpanChoice()).gpu_idle_ms
    (printed,) = recording.json(capsys, "summarize")["spans"]
    mine = [each["idle_ns"] for each in printed["mean"]["devices"] if each["device"] == host.device]
    assert ([] if idle_ms is None else [idle_ms]) == [
        {reason: ms(ns) for reason, ns in idle.items() if ns} for idle in mine
    ]
    for device in host.devices:
        rows = [row for row in range(len(span.idle)) if span.idle["device"][row] == device.device]
        assert [int(span.idle["busy_ns"][row]) for row in rows] == device.busy_ns


def test_the_peak_of_memory(recording: Recording):
    memory, figure = recording.span.result("memory", MemoryResult), recording.span.figures["peak_allocated"]
    answer = answers.memory(recording.logs, SpanChoice(), ALL).devices
    assert [device.peak_mb for device in answer] == [mb(device.peak.allocated_bytes) for device in memory.devices]
    whole = [device.peak.allocated_bytes for device in memory.devices if device.whole][:1]
    assert ([] if figure.value is None else [figure.value]) == whole
    for device in memory.devices:
        if device.categories is not None:
            assert sum(part.bytes for part in device.categories) == device.peak.allocated_bytes


def test_what_is_wrong_with_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A kernel in the second of four steps is recorded with a duration of 1.6 s."""
    document = small_trace(4)
    kernels = [event for event in document["traceEvents"] if event.get("cat") == "kernel"]
    kernels[1]["dur"] = 1_600_000
    recording = tmp_path / "job" / "worker.1.pt.trace.json"
    recording.parent.mkdir()
    recording.write_text(json.dumps(document))
    assert cli.main(["summarize", str(recording.parent), "--format", "json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["spans"][0]["quality"]
    assert (finding["id"], finding["count"], finding["repaired"]) == ("rows_overrun", 1, True)
    assert finding["affects"] == ["gpu_time", "launches", "steps"]
    lines = tb_steptime.open(recording.parent)[0].quality
    assert lines[0] == f"Repaired: {finding['text']}"
    store = Store([Place("job", recording.parent, "job")])
    try:
        (entry,) = all_read(store).values()
        page = store.page(entry.id, "overview", work=True)
    finally:
        store.close()
    assert isinstance(page, SpanPage)
    assert [plain(as_one(line)) for line in page.head.quality] == lines
    assert answers.summary(Logs(recording.parent), SpanChoice()).quality == lines
    assert cli.main(["summarize", str(recording.parent)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert all(line in printed for line in lines)
