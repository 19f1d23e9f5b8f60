"""`tb-steptime compare`: what it prints, and its exit codes."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tb_steptime import cli
from tests import PROJECT
from tests.drawn.demo import copy_demo
from tests.drawn.real_traces import real_path

DEMO = PROJECT / "demo_logs"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def compare(*arguments: object) -> Done:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        code = cli.main(["compare", *map(str, arguments)])
    return Done(code, out.getvalue(), errors.getvalue())


def asked_wrongly(*arguments: object) -> str:
    done = compare(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line


BASE, WORKERS = DEMO / "baseline_simulated", DEMO / "num_dataloaders_simulated"


def test_the_report_holds_what_changed():
    done = compare(BASE, WORKERS, "--format", "json", "--fail-if", "step_time>+5%")
    report = json.loads(done.stdout)
    (candidate,) = report["candidates"]
    assert (done.returncode, done.stderr, report["errors"]) == (0, "", [])
    assert candidate["text"].startswith("num_dataloaders_simulated is 3.01x faster than baseline_simulated: ")
    assert candidate["text"].endswith("Data loading accounts for -11.7 ms of it.")
    step = candidate["step_ns"]
    assert step["low"] < step["change"] < step["high"] < 0
    assert step["distinguishable"]
    assert sum(part["change_ns"] for part in candidate["parts"].values()) == step["change"]
    assert sum(part["base_ns"] for part in candidate["idle"].values()) == step["base"] == report["base"]["step_ns"]
    assert candidate["changes"] == ["workers"], "one worker of the candidate is as fast as the base's batches come"
    (promise,) = candidate["predictions"]
    assert (promise["insight"], promise["change"], promise["of"]) == ("input_bound", "workers", None)
    assert promise["measured_ns"] == -step["change"]
    assert sum(part["ns"] for part in promise["residual"]) == promise["predicted_ns"] - promise["measured_ns"]
    assert promise["residual"][0]["part"] == "data_loader"
    assert {row["status"] for kind in ("kernels", "ops", "copies") for row in candidate[kind]} == {"alike"}
    (gate,) = report["gates"]
    assert (gate["run"], gate["rule"], gate["limit"], gate["passed"]) == (candidate["run"], "step_time>+5%", 0.05, True)
    assert gate["value"] == pytest.approx(step["change"] / step["base"], rel=1e-6)


def test_a_gate_that_fails_ends_with_1():
    done = compare(WORKERS, BASE, "--fail-if", "step_time>+5%", "--fail-if", "data_loading_exposed>+1ms")
    assert done.returncode == 1
    assert [line[:8] for line in done.stdout.splitlines()[-2:]] == ["FAILED  ", "FAILED  "]


def test_strict_fails_by_the_mean_alone():
    """The mean is above the limit, but its interval contains the limit."""
    pair = DEMO / "cpu_baseline", DEMO / "cpu_num_dataloaders", "--fail-if", "step_time>+0.1%"
    assert (compare(*pair).returncode, compare(*pair, "--strict").returncode) == (0, 1)


def test_what_cannot_be_read_ends_with_2():
    done = compare(BASE, PROJECT / "tests/traces/not_a_trace.json", "--fail-if", "step_time>+5%")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not_a_trace.json" in done.stderr
    report = json.loads(compare(BASE, PROJECT / "tests/traces/not_a_trace.json", "--format", "json").stdout)
    assert (report["base"], report["candidates"], len(report["errors"])) == (None, [], 1)


def test_what_cannot_be_measured_ends_with_2():
    cpu = DEMO / "cpu_baseline", DEMO / "cpu_transforms"
    done = compare(*cpu, "--fail-if", "gpu_utilization<80%")
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == "UNKNOWN cpu_transforms: gpu_utilization<80%: not measurable"


def test_what_is_asked_wrongly_is_one_line():
    assert asked_wrongly(BASE, WORKERS, "--fail-if", "speed>3").startswith('"speed" in "speed>3" is no metric')
    assert '"steptime" in "steptime>+5%" is no metric. Did you mean step_time?' in asked_wrongly(
        BASE, WORKERS, "--fail-if", "steptime>+5%"
    )
    assert asked_wrongly(BASE).endswith("holds one run: name a second path to compare it with.")
    assert "runs: name the folder of one of them" in asked_wrongly(BASE, DEMO)
    assert asked_wrongly(BASE, DEMO / "nowhere").endswith("There is no such file. Check the path.")


def test_a_log_directory_is_a_chain_of_runs(tmp_path: Path):
    copy_demo(tmp_path, [WORKERS.name, BASE.name])
    report = json.loads(compare(tmp_path, "--format", "json").stdout)
    assert report["base"]["run"] == WORKERS.name, "the one that was recorded first"
    assert [each["run"] for each in report["candidates"]] == [BASE.name]


def test_chosen_steps_alone():
    report = json.loads(compare(BASE, WORKERS, "--steps", "6-8", "--format", "json").stdout)
    assert report["base"]["steps"] == 3
    done = compare(BASE, WORKERS, "--steps", "900-910")
    assert done.returncode == 2
    assert "It has no steps 900 to 910. Its steps are " in done.stderr


def test_markdown_for_a_pull_request():
    lines = compare(BASE, WORKERS, "--format", "markdown", "--fail-if", "step_time>+5%").stdout.splitlines()
    assert lines[0].startswith("**num_dataloaders_simulated is 3.01x faster than baseline_simulated: ")
    assert lines[2:4] == ["|  | base | candidate | change | 95 % interval |", "| --- | ---: | ---: | ---: | ---: |"]
    assert lines.count("</details>") == 3, "idle time, figures, and what cards promised: no kernel changed"
    assert "Changed, as the traces show: More workers load the data." in lines
    assert any(line.startswith("input_bound: The step is 3.7 ms longer than predicted: Data loading") for line in lines)
    assert lines[-1].endswith("| passed |")


@pytest.mark.live
def test_a_real_pair_of_recordings():
    """The expected steps were counted by hand: the mean is over steps 6-10 and 17-21 without workers, and over
    steps 6-10 and 17-20 with four workers."""
    pair = real_path("traces/kineto_v100_resnet50")
    report = json.loads(compare(pair / "workers0", pair / "workers4", "--format", "json").stdout)
    (candidate,) = report["candidates"]
    assert (report["base"]["steps"], candidate["steps"]) == (11, 9)
    assert {note["id"] for note in candidate["warnings"]} == {"steps_left_out"}
    assert candidate["parts"]["data_loader"]["change_ns"] < -37e6
    assert [each["insight"] for each in candidate["predictions"]] == ["no_workers"]


def test_several_recordings_a_side_stand_apart_by_two_dashes():
    done = compare(BASE, BASE, "--format", "json", "--fail-if", "step_time<-5%", "--", WORKERS, WORKERS)
    report = json.loads(done.stdout)
    assert (done.returncode, report["errors"]) == (1, [])
    (candidate,) = report["candidates"]
    assert (report["base"]["run"], candidate["run"]) == ("demo_logs, 2 runs", "demo_logs, 2 runs")
    once = json.loads(compare(BASE, WORKERS, "--format", "json").stdout)
    assert report["base"]["steps"] == 2 * once["base"]["steps"]
    assert candidate["step_ns"]["change"] == once["candidates"][0]["step_ns"]["change"]


def test_a_side_without_paths_is_asked_wrongly():
    assert "before -- and behind it" in asked_wrongly(BASE, "--")
