"""Several runs: one line each, with the conclusions that their spans share."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_steptime import cli
from tb_steptime.files.paths import any_path
from tb_steptime.ingest.found import FoundSpan, spans_of_files
from tb_steptime.insights.run_advice import SpanAdvice, run_advice
from tb_steptime.terminal.agent import answers
from tb_steptime.terminal.agent.logs import Logs
from tb_steptime.terminal.run_lines import RunSpan, run_key, run_table
from tb_steptime.text.printer import GAP, UNKNOWN, duration
from tests.drawn.small_trace import write_trace
from tests.golden.compare import DEMO
from tests.unit.insights.cards import workers_card

FOUND = FoundSpan("id", "a", "w", 1, "a/w.json", Path("logs/a/w.json"), None)
FIRST = RunSpan("input-bound", replace(workers_card(4, 9_000_000), step_ns=30_000_000), False)
SLOWER = replace(FIRST, advice=replace(workers_card(8, 30_000_000), step_ns=50_000_000))
OTHER = RunSpan("host-bound", SpanAdvice(None, step_ns=20_000_000), False)


def run(name: str, *spans: RunSpan):
    return replace(FOUND, run=name), spans, run_advice([span.advice for span in spans])


def test_spans_that_disagree_are_counted():
    runs = [run("a", FIRST), run("long/name", FIRST, OTHER, SLOWER), run("a", OTHER, OTHER)]
    assert list(run_table(runs, None)) == [
        "Run        Spans     Step  Limited by                  First card",
        "a              1  30.0 ms  input-bound                 Major: Use 4 workers, up to 9.0 ms a step (30 %)",
        "long/name      3  30.0 ms  input-bound (2 of 3 spans)  Major: Use 4 workers, up to 9.0 ms a step (30 %) "
        "(2 of 3 spans: 4 to 8 workers, 9.0 ms to 30.0 ms)",
        "a              2  20.0 ms  host-bound                  no card",
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_line_is_no_longer_than_the_terminal(width: int):
    assert max(map(len, run_table([run("r" * 90, FIRST, OTHER, SLOWER)], width))) <= width


def test_a_name_is_whole_where_no_terminal_cuts_it():
    name = "r" * 90
    assert [f"{name} " in list(run_table([run(name, FIRST)], width))[1] for width in (None, 200)] == [True, False]


def test_a_simulated_run_says_so_and_one_without_steps_has_no_step_time():
    line = replace(OTHER, simulated=True, advice=SpanAdvice(None))
    lines = [list(run_table([run(name, line)], None))[1] for name in ("x", "x_simulated")]
    assert [each.split("  ")[0] for each in lines] == ["x (simulated)", "x_simulated"]
    assert [f" {UNKNOWN} " in each for each in lines] == [True, True]


def test_runs_of_one_name_in_two_log_directories_are_two():
    assert run_key(FOUND) != run_key(replace(FOUND, trace=Path("other/a/w.json")))
    assert run_key(FOUND) == run_key(replace(FOUND, file="a/w.2.json", trace=Path("logs/a/w.2.json")))
    first, second = spans_of_files([Path("logs/a/x.json"), Path("logs/a/y.json")])
    assert run_key(first) == run_key(second)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, the first with two spans."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("a/w.1", "a/w.2", "b/w.1"):
        write_trace(tmp_path / "logs" / f"{name}.pt.trace.json")
    return tmp_path / "logs"


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    assert cli.main(["summarize", *map(str, arguments)]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_log_directory_of_several_runs_is_a_line_for_each(logs, capsys):
    head, a, b, empty, hint = printed(capsys, logs)
    assert head.split() == ["Run", "Spans", "Step", "Limited", "by", "First", "card"]
    assert (a.split()[:4], b.split()[:4], empty) == (["a", "2", "100", "µs"], ["b", "1", "100", "µs"], "")
    assert (" a step (" in a, "spans)" in a, a.split()[4:]) == (True, False, b.split()[4:])
    assert "--details" in hint


def test_one_run_one_file_and_details_are_shown_in_full(logs, capsys):
    def in_full(lines: list[str]) -> int:
        return sum(line.startswith("Mean step") for line in lines)

    one = printed(capsys, logs / "b" / "w.1.pt.trace.json")
    everything = printed(capsys, logs, "--details")
    assert (in_full(printed(capsys, logs / "a")), in_full(one), in_full(everything)) == (2, 1, 3)
    assert everything[-len(one) + 1 :] == one[1:]


def test_what_cannot_be_read_is_in_no_line(logs, capsys):
    (logs / "c").mkdir()
    (logs / "c" / "w.1.pt.trace.json").write_text("no trace")
    assert cli.main(["summarize", str(logs)]) == 1
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines() if line][:3] == ["Run", "a", "b"]
    assert len(output.err.splitlines()) == 1


def test_spans_of_one_run_that_disagree_get_a_line_and_a_report(capsys):
    """Both spans wait for their loader, one of them for twice as long."""
    output = printed(capsys, DEMO / "cpu_baseline")[-1].removeprefix("First card of cpu_baseline: ")
    assert output.startswith("Warning: Produce batches faster, up to 2.4 ms a step")
    assert output.endswith(" (2 spans: 2.4 ms to 4.9 ms)")
    report = json.loads("".join(printed(capsys, DEMO / "cpu_baseline", "--format", "json")))
    least_ns, most_ns = sorted(span["insights"][0]["gain_ns"] for span in report["spans"])
    of_two = {"spans": 2, "saying": 2, "card": "input_bound", "least_workers": None, "most_workers": None}
    gains = {"least_gain_ns": least_ns, "most_gain_ns": most_ns}
    assert report["runs"] == [{"run": ".", "text": output, **of_two, **gains, "workers": []}]


@pytest.fixture
def one_folder(tmp_path: Path) -> Path:
    """Two trainings that wrote into one folder, the first of which was started again, and a run of one training."""
    copied = {
        "mixed/first": DEMO / "cpu_baseline",
        "mixed/second": DEMO / "cpu_resnet50_baseline",
        "mixed/started_again": DEMO / "cpu_transforms",
        "alone/w": DEMO / "cpu_baseline",
    }
    for name, run in copied.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        for number, trace in enumerate(sorted(run.glob("*.pt.trace.json.gz")), 1):
            for suffix in ("", ".steptime"):
                shutil.copyfile(f"{trace}{suffix}", tmp_path / f"{name}.{number}.pt.trace.json.gz{suffix}")
    return tmp_path


def test_jobs_in_one_folder_have_a_line_each_and_one_that_was_started_again_has_none_of_its_own(one_folder, capsys):
    spans = json.loads("".join(printed(capsys, one_folder, "--format", "json")))["spans"]
    steps: dict[str, set[str]] = {}
    for span in spans:
        name = span["worker"] if span["run"] == "mixed" else span["run"]
        steps.setdefault(name, set()).add(duration(span["mean"]["duration_ns"]).replace(GAP, " "))
    lines = [line.split("  ") for line in printed(capsys, one_folder)[1:] if "  " in line]
    shown = {cells[0]: [cell.strip() for cell in cells[1:] if cell.strip()][:2] for cells in lines}
    expected = {
        "alone": (2, steps["alone"]),
        "mixed, first and 1 more": (4, steps["first"] | steps["started_again"]),
        "mixed, second": (2, steps["second"]),
    }
    assert {name: int(many) for name, (many, _) in shown.items()} == {
        name: many for name, (many, _) in expected.items()
    }
    assert all(step in expected[name][1] for name, (_, step) in shown.items())


def test_ranks_of_one_job_are_a_line_and_other_jobs_in_their_folder_have_their_own(tmp_path, capsys):
    """Two of four ranks, a training on a GPU whose file names a rank, too, and one without a rank."""
    copied = {
        "jobs/rank0": ("cpu_late_rank", "rank0*.gz"),
        "jobs/rank1": ("cpu_late_rank", "rank1*.gz"),
        "jobs/rank7": ("gpu_baseline", "*.gz"),
        "jobs/training": ("cpu_resnet50_baseline", "*.gz"),
        "alone/w": ("cpu_baseline", "*.gz"),
    }
    for name, (run, pattern) in copied.items():
        trace = min((DEMO / run).glob(pattern))
        (tmp_path / name).parent.mkdir(exist_ok=True)
        for suffix in ("", ".steptime"):
            shutil.copyfile(f"{trace}{suffix}", tmp_path / f"{name}.pt.trace.json.gz{suffix}")
    lines = [line.split("  ")[0] for line in printed(capsys, tmp_path)[1:] if " ms  " in line]
    assert lines == ["alone", "jobs, rank0 and 1 more", "jobs, rank7", "jobs, training"]


def test_reports_and_the_agent_tell_jobs_of_one_folder_apart(one_folder, capsys):
    reports = json.loads("".join(printed(capsys, one_folder, "--format", "json")))["runs"]
    assert [(each["run"], each["spans"], each["workers"]) for each in reports] == [
        ("alone", 2, []),
        ("mixed", 4, ["first", "started_again"]),
        ("mixed", 2, ["second"]),
    ]
    names = ["alone", "mixed (first, started_again)", "mixed (second)"]
    assert answers.runs(Logs(any_path(str(one_folder)))).first_cards == {
        name: each["text"] for name, each in zip(names, reports, strict=True)
    }
    output = printed(capsys, one_folder / "mixed")
    assert [line for line in output if "different work" in line] == [
        "mixed holds jobs that do different work: first, started_again; second."
    ]


def test_the_ranks_of_a_job_are_no_spans_that_disagree(capsys):
    assert not [line for line in printed(capsys, DEMO / "cpu_late_rank") if line.startswith("First card of")]


def test_the_line_the_report_and_the_agent_s_list_of_a_job_have_the_first_card_of_the_job(capsys):
    """Each rank only knows that it waits for others; one of them loads its batches slowly."""
    line, *_ = (
        line for line in printed(capsys, DEMO / "cpu_late_rank", DEMO / "cpu_baseline") if "cpu_late_rank" in line
    )
    report = json.loads("".join(printed(capsys, DEMO / "cpu_late_rank", "--format", "json")))
    (of_run,), (job,) = report["runs"], report["ranks"]
    first = job["insights"][0]
    title = of_run["text"].removeprefix("Major: ").partition(",")[0]
    assert line.endswith(of_run["text"]) and first["text"].startswith(title)
    job_step = duration(first["gain_ns"] / first["gain_fraction"]).replace(GAP, " ")
    assert job_step in line  # the step is the job's, of which the gain is a share
    assert (of_run["card"], of_run["saying"], of_run["spans"]) == (first["id"], 4, 4) == ("straggler", 4, 4)
    assert of_run["least_gain_ns"] == of_run["most_gain_ns"] == first["gain_ns"]
    assert answers.runs(Logs(any_path(str(DEMO / "cpu_late_rank")))).first_cards == {of_run["run"]: of_run["text"]}
