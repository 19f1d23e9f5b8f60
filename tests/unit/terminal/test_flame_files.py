"""`tb-steptime operators --format folded` and `speedscope`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_steptime import cli
from tests.drawn.small_trace import write_trace


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["operators", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out, output.err


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run" / "host.1.pt.trace.json.gz", steps=2)


def test_folded_stacks_sum_to_device_time(trace: Path, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, trace, "--format", "folded")
    stacks = dict(line.rsplit(" ", 1) for line in out.splitlines())
    assert code == 0
    (op,) = json.loads(run(capsys, trace, "--format", "json")[1])["spans"]
    assert sum(map(int, stacks.values())) == op["outside_ops"]["device_ns"] + sum(
        each["device_self_ns"] for each in op["operators"]
    )
    assert any(stack.startswith("aten::mm;") for stack in stacks)


def test_several_spans_are_frames_of_their_own(trace: Path, capsys: pytest.CaptureFixture[str]):
    other = write_trace(trace.parent.parent / "other" / "host.1.pt.trace.json.gz", steps=2)
    _, out, _ = run(capsys, trace.parent.parent, "--format", "folded", "--measure", "host")
    assert {line.split(";")[0] for line in out.splitlines()} == {"other host span 1", "run host span 1"}
    assert other.is_file()


def test_a_run_that_is_the_log_directory_is_named_by_its_folder(trace: Path, capsys: pytest.CaptureFixture[str]):
    write_trace(trace.parent / "other.1.pt.trace.json.gz", steps=2)
    _, out, _ = run(capsys, trace.parent, "--format", "folded", "--measure", "host")
    assert {line.split(";")[0] for line in out.splitlines()} == {"run host span 1", "run other span 1"}


def test_speedscope_has_what_its_schema_asks_for(trace: Path, capsys: pytest.CaptureFixture[str]):
    _, out, _ = run(capsys, trace, "--format", "speedscope", "--measure", "host")
    file = json.loads(out)
    assert file.keys() == {"$schema", "shared", "profiles", "name", "exporter", "activeProfileIndex"}
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    (profile,) = file["profiles"]
    assert profile.keys() == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "nanoseconds", 0)
    assert profile["endValue"] == sum(profile["weights"]) > 0
    assert len(profile["samples"]) == len(profile["weights"])
    used = {frame for sample in profile["samples"] for frame in sample}
    assert used == set(range(len(file["shared"]["frames"])))


def test_what_the_trace_does_not_tell_is_said(trace: Path, capsys: pytest.CaptureFixture[str]):
    code, out, err = run(capsys, trace, "--format", "folded", "--measure", "bytes")
    assert err.startswith(f"{trace}: The trace does not hold what is needed for --measure bytes. ")
    assert (code, out, "profile_memory=True" in err) == (1, "", True)


def test_call_paths_have_groupings_of_their_own(trace: Path, capsys: pytest.CaptureFixture[str]):
    code, _, err = run(capsys, trace, "--format", "speedscope", "--by", "shape")
    assert (code, "name, stack, module" in err) == (2, True)
