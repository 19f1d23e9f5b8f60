"""`tb-steptime operators`: the JSON contract, CSV that reads back, the table, and the effect of each option."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import msgspec
import pytest

from tb_steptime import cli
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.metrics.operators.keys import By
from tb_steptime.metrics.operators.module_tree import ModuleRow
from tb_steptime.metrics.operators.modules import OutsideModules
from tb_steptime.terminal.operator_report import (
    OperatorChoice,
    SpanOperators,
    module_lines,
    operator_text,
    span_operators,
    span_text,
)
from tests.drawn.small_trace import write_trace
from tests.drawn.timeline import timeline

FOUND = FoundSpan("id", "run", "host", 1, "t.json", Path("t.json"), None)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code = cli.main(["operators", *map(str, arguments)])
    return code, capsys.readouterr().out


def spans(by: By = "name") -> SpanOperators:
    trace = timeline(
        """
        step          | 00000000000000000000.... |
        python        | mmmmmmmmmmmm............ |
        op            | .aaaaaaaa............cc. |
        op            | ..bbbb.................. |
        runtime       | ...x.................... |
        kernel 7      | .....xxxx............... |""",
        names={"m": "nn.Module: Net_0", "a": "aten::linear", "b": "aten::addmm", "c": "aten::mul"},
        inputs={"b": ("[[4,4]]",)},
    )
    return span_operators(FOUND, trace, OperatorChoice(by, "steps", "ran"))


def test_the_json_is_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = write_trace(tmp_path / "run" / "host.1.pt.trace.json.gz", steps=2)
    code, out = run(capsys, trace, "--format", "json")
    report = json.loads(out)
    (span,) = report["spans"]
    assert (code, report["errors"], span["run"], span["worker"], span["span"]) == (0, [], "run", "host", 1)
    (op,) = (each for each in span["operators"] if each["name"] == "aten::mm")
    assert op.keys() >= {"name", "shape", "calls", "host_total_ns", "host_self_ns", "device_total_ns",
                         "device_self_ns", "launches", "idle_ns"}  # fmt: skip
    assert (op["calls"], op["device_total_ns"], op["device_self_ns"], op["launches"]) == (2, 80_000, 80_000, 2)
    assert (span["window"], span["window_ns"] > 0, span["modules"]) == ("steps", True, [])


def test_what_no_device_did_is_null_in_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    events = [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 100, "pid": 1, "tid": 1},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 10, "dur": 20, "pid": 1, "tid": 1},
    ]
    trace = tmp_path / "host.1.pt.trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (span,) = json.loads(run(capsys, trace, "--format", "json")[1])["spans"]
    (op,) = span["operators"]
    measured = ("shape", "device_total_ns", "device_self_ns", "launches", "idle_ns")
    assert [op[field] for field in measured] == [None] * 5
    assert (op["calls"], op["host_total_ns"], op["host_self_ns"], span["window_ns"]) == (1, 20_000, 20_000, 100_000)


@pytest.mark.parametrize("metadata", [{}, {"Framework": "pytorch-lightning"}])
def test_modules_of_lightning_are_known_by_their_marks(
    metadata: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Lightning's key in the file adds nothing to the marks, and newer releases write the marks without it."""
    marks = [("user_annotation", "ProfilerStep#1", 0, 100), ("cpu_op", "aten::mm", 30, 10)]
    marks += [("user_annotation", f"[pl][module]{name}", *when) for name, *when in (
        ("my.Net: net", 10, 50), ("torch.nn.modules.linear.Linear: net.0", 20, 30))]  # fmt: skip
    events = [
        {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1} for cat, name, ts, dur in marks
    ]
    trace = tmp_path / "host.1.pt.trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, **metadata, "traceEvents": events}))
    (span,) = json.loads(run(capsys, trace, "--format", "json")[1])["spans"]
    (net,) = span["modules"]
    assert (net["name"], net["host_total_ns"], [each["name"] for each in net["children"]]) == ("net", 50_000, ["net.0"])


def test_modules_are_a_tree():
    (module,) = msgspec.to_builtins(spans().modules)
    assert module == {
        "name": "Net_0",
        "path": ["Net_0"],
        "occurrences": 1,
        "host_total_ns": 12_000,
        "host_self_ns": 12_000,
        "python_ns": 4_000,
        "backward_host_ns": 0,
        "device_total_ns": 4_000,
        "device_self_ns": 4_000,
        "backward_device_ns": 0,
        "launches": 1,
        "idle_ns": 5_000,
        "allocated_bytes": None,
        "allocated_self_bytes": None,
        "backward_allocated_bytes": None,
        "children": [],
    }
    assert spans().outside_modules == OutsideModules(device_ns=0)


def test_over_the_recording_idle_time_is_measured_in_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = write_trace(tmp_path / "host.1.pt.trace.json", steps=3)
    (span,) = json.loads(run(capsys, trace, "--window", "recording", "--format", "json")[1])["spans"]
    assert [op["idle_ns"] is None for op in span["operators"]] == [False] * len(span["operators"])
    (one,) = json.loads(run(capsys, trace, "--steps", "6", "--format", "json")[1])["spans"]
    calls = [[op["calls"] for op in each["operators"] if op["name"] == "aten::mm"] for each in (span, one)]
    assert calls == [[3], [1]]


def test_csv_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = write_trace(tmp_path / "host.1.pt.trace.json")
    rows = list(csv.DictReader(io.StringIO(run(capsys, trace, "--by", "phase", "--format", "csv")[1])))
    (row,) = (each for each in rows if each["name"] == "aten::mm")
    assert (row["phase"], row["module"], row["device_self_ns"]) == ("Model", "", "120000")


@pytest.mark.parametrize(
    ("by", "name"), [("name", "aten::addmm"), ("shape", "aten::addmm, [[4,4]]"), ("module", "aten::addmm, Net_0")]
)
def test_the_table(by: By, name: str):
    head, _, columns, first, second = operator_text(spans(by), 120).splitlines()
    assert head == "run · host · span 1 · the steps, 20 µs"
    assert columns.split()[:3] == ["Op", "calls", "host"]
    assert first.startswith(name)
    assert first.split()[-14:] == ["1", *(["3", "µs", "4", "µs", "1", "µs", "4", "µs", "4", "µs"]), "1", "5", "µs"]
    assert second.startswith("aten::linear")


NETS = """
    step          | 00000000000000000000000000000 |
    python        | nnnnnnnnnnnnnnnnnnnnn........ |
    python        | .bbbbb.ccccccccc............. |
    op            | ..aaa...aaaaaaa...d.......... |
    runtime       | ...x.....y................... |
    kernel 7      | ....xx.....yyyyyy............ |"""


def test_by_module_the_tree_comes_first_with_repeated_layers_as_one_line():
    names = {"n": "nn.Module: Net_0", "b": "nn.Module: Block_0", "c": "nn.Module: Block_1", "a": "aten::add"}
    trace = timeline(NETS, names=names)
    head, _, heads, net, block, gap, ops, *_ = span_text(
        FOUND, trace, OperatorChoice("module", "steps", "ran"), 140
    ).splitlines()
    assert head == "run · host · span 1 · the steps, 29 µs"
    assert re.split(r"  +", heads) == [
        "Module", "calls", "each", "slowest", "host total", "host self", "device total", "device self",
    ]  # fmt: skip
    assert re.split(r"  +", net) == ["Net", "1", "8 µs", "–", "21 µs", "7 µs", "8 µs", "0 ms"]
    assert re.split(r"  +", block) == ["", "2 x Block", "2", "4 µs", "6 µs", "14 µs", "14 µs", "8 µs", "8 µs"]
    assert (gap, ops.split()[:2]) == ("", ["Op", "calls"])


def test_what_is_not_measured_has_no_column():
    trace = timeline("step | 0000 |\nop | .aa. |")
    _, _, heads, op = span_text(FOUND, trace, OperatorChoice("name", "steps", "ran"), 100).splitlines()
    assert re.split(r"  +", heads) == ["Op", "calls", "host self", "host total", "runtime"]
    assert re.split(r"  +", op) == ["a", "1", "2 µs", "2 µs", "0 ms"]


def test_of_many_modules_those_with_most_time_are_shown_with_those_around_them():
    rows = [ModuleRow("Net", host_total_ns=100)]
    rows += [ModuleRow(f"M{each}", parent=0, host_total_ns=each) for each in range(60)]
    lines = module_lines(rows, 100)
    assert [line.split()[0] for line in lines[1:]] == ["Net", *(f"M{each}" for each in range(21, 60)), "21"]
    assert lines[-1] == "21 more, with less time"
