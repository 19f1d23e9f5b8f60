"""`tb-steptime kernels`: the JSON contract, CSV that reads back, the table, and files that cannot be read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tb_steptime import cli
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.terminal.kernel_report import TABLE_ROWS, kernel_text, span_kernels
from tests.drawn.op_rows import checkpointed
from tests.drawn.small_trace import write_trace
from tests.drawn.timeline import V100, timeline

CONTRACT = {
    "name", "device", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "share", "tensor_core", "tensor_core_reason",
    "eligible", "why_not", "gain_ns", "op", "blocks_per_sm", "waves", "slot_efficiency", "est_achieved_occupancy",
    "kineto_achieved_occupancy", "short", "source", "source_count",
}  # fmt: skip


def found(number):
    return FoundSpan("id", "run", "host", number, "t.json", Path("t.json"), None)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, list[str]]:
    code = cli.main(["kernels", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err.splitlines()


def test_the_json_is_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = write_trace(tmp_path / "run" / "host.1.pt.trace.json.gz", steps=2)
    code, out, lines = run(capsys, trace, "--format", "json")
    report = json.loads(out)
    assert (code, lines, report["errors"]) == (0, [], [])
    (span,) = report["spans"]
    (kernel,) = span.pop("kernels")
    assert span == {"run": "run", "worker": "host", "span": 1, "trace": str(trace), "by": "name"}
    assert kernel.keys() >= CONTRACT
    assert {name: kernel[name] for name in CONTRACT - {"tensor_core_reason"}} == {
        "name": "volta_sgemm_64x64_nt",
        "device": 0,
        "count": 2,
        "total_ns": 80_000,
        "mean_ns": 40_000,
        "min_ns": 40_000,
        "max_ns": 40_000,
        "share": 1.0,
        "tensor_core": "no",
        "eligible": True,
        "why_not": "fp32",
        "gain_ns": int(2 * 40_000 * (1 - 15.7 / 125)),
        "op": "aten::mm",
        "blocks_per_sm": 2.0,
        "waves": None,
        "slot_efficiency": None,
        "est_achieved_occupancy": None,
        "kineto_achieved_occupancy": 0.25,
        "short": "gemm f32 64x64",
        "source": None,
        "source_count": 0,
    }


@pytest.mark.parametrize(
    ("by", "name"),
    [("name", "volta_sgemm_64x64_nt"), ("name,op", "volta_sgemm_64x64_nt"), ("op", "aten::mm"),
     ("module", "outside any module"), ("line", "no recorded line"), ("name,line", "volta_sgemm_64x64_nt")],
)  # fmt: skip
def test_groupings(by: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = write_trace(tmp_path / "host.1.pt.trace.json")
    _, out, _ = run(capsys, trace, "--by", by, "--format", "json")
    (span,) = json.loads(out)["spans"]
    assert [(each["name"], each["count"]) for each in span["kernels"]] == [(name, 3)]


def test_by_line_the_table_says_what_records_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    trace = write_trace(tmp_path / "host.1.pt.trace.json")
    assert "with_stack=True" in run(capsys, trace, "--by", "line")[1]
    assert "with_stack" not in run(capsys, trace, "--by", "op")[1]
    text = kernel_text(span_kernels(found(1), checkpointed(), "name,line"), 200)
    assert "net.py:4 forward" in text
    assert "with_stack" not in text


def test_csv_reads_back_and_leaves_empty_what_cannot_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for number in (1, 2):
        write_trace(tmp_path / "a, b" / f"host.{number}.pt.trace.json")
    code, out, _ = run(capsys, tmp_path, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [(each["run"], each["span"], each["name"]) for each in rows] == [
        ("a, b", "1", "volta_sgemm_64x64_nt"),
        ("a, b", "2", "volta_sgemm_64x64_nt"),
    ]
    assert (rows[0]["total_ns"], rows[0]["waves"], rows[0]["eligible"]) == ("120000", "", "true")


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    good, bad = write_trace(tmp_path / "good.1.pt.trace.json"), tmp_path / "bad.json"
    bad.write_text("{}")
    code, out, lines = run(capsys, bad, good, "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert len(report["spans"]) == 1
    assert [error["path"] for error in report["errors"]] == [str(bad)]
    assert len(lines) == 1


def test_the_table():
    trace = timeline(
        """
        step          | 0000000000 |
        op            | aaaaaaaa.. |
        runtime       | x..y...... |
        kernel 7      | .xxxx..... |
        kernel 7 gpu1 | ....yyyyyy |""",
        devices={0: V100, 1: V100},
        names={"x": "void " + "long_name" * 20 + "<float>(int)", "y": "short"},
        kernels={"x": {"grid": (160, 1, 1), "block": (1024, 1, 1), "registers": 16, "shared_memory": 0}},
    )
    text = kernel_text(span_kernels(found(3), trace, "name"), 120)
    head, *_ = text.splitlines()
    assert head == "run · host · span 3"
    lines = [line.split() for line in text.splitlines() if line and not line.startswith(("run", "GPU", "Kernel"))]
    assert lines[0][0].startswith("long_name")
    assert lines[0][0].endswith("<float>")
    assert "…" in lines[0][0]
    assert lines[0][1:] == ["1", "4", "µs", "4", "µs", "100.0", "%", "unknown", "2", "1", "100.0", "%", "100.0", "%"]
    assert lines[1] == ["short", "1", "6", "µs", "6", "µs", "100.0", "%", "unknown", "–", "–", "–", "–"]
    assert max(map(len, text.splitlines())) <= 120


def test_the_table_shows_short_names_that_differ():
    name = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_{}_align8>(Params)"
    trace = timeline(
        """
        step     | 000000 |
        runtime  | x.y... |
        kernel 7 | .xxy.. |""",
        names={"x": name.format("tn"), "y": name.format("nn")},
    )
    lines = kernel_text(span_kernels(found(0), trace, "name"), 150).splitlines()
    assert [line.split("  ")[0] for line in lines[4:]] == ["gemm bf16 128x256 (tn)", "gemm bf16 128x256 (nn)"]


def test_what_the_table_leaves_out_is_one_line():
    names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    trace = timeline(f"step | {'0' * len(names)} |\nop | {'_' * len(names)} |\nkernel 7 | {names} |")
    *_, last = kernel_text(span_kernels(found(1), trace, "name"), 120).splitlines()
    left = len(names) - TABLE_ROWS
    assert last.split()[:4] == [str(left), "more", str(left), str(left)]


def test_a_trace_without_kernels(tmp_path: Path):
    trace = timeline("step | 0000 |\nop | aaaa |")
    text = kernel_text(span_kernels(found(1), trace, "op"), 120)
    assert text.splitlines()[0] == "run · host · span 1"
    assert "No kernel starts" in text and "tb-steptime operators" in text, "it says what to ask instead"


@pytest.mark.parametrize("command", ["summarize", "kernels"])
def test_a_device_without_a_number_is_shown_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 0, "dur": 95}]))
    assert cli.main([command, str(path)]) == 0
    shown = capsys.readouterr().out
    assert "GPU" in shown
    assert "-1" not in shown
