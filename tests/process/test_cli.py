"""`tb-steptime summarize`: the JSON contract, the table, exit codes, and one line for each file that cannot be read."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_steptime import cli
from tb_steptime.ingest.found import spans_of_files
from tb_steptime.ingest.measure import measure_file
from tb_steptime.ingest.summaries.layout import SUFFIX, stamp
from tb_steptime.ingest.summaries.writing import encode_summary, places_for, write_summary
from tb_steptime.insights import judge
from tb_steptime.terminal.progress_bar import ProgressBar
from tb_steptime.terminal.report import span_report
from tb_steptime.terminal.summary_table import ANSI, PLAIN, span_table
from tb_steptime.text import Note, ns, phrase, text
from tests.drawn.small_trace import write_trace

PARTS = ["kernel", "communication", "memcpy", "memset", "data_loader", "runtime", "cpu_exec", "other"]
STEP_PARTS_NS = dict.fromkeys(PARTS, 0) | {
    "kernel": 40_000, "data_loader": 30_000, "runtime": 5_000, "cpu_exec": 5_000, "other": 20_000,
}  # fmt: skip
IDLE_NS = {
    "data_loading": 30_000, "blocking_call": 0, "allocator": 0, "cpu_work": 3_000, "nothing_recorded": 15_000,
    "launch_latency": 12_000, "queued": 0, "collective_wait": 0, "dependency": 0, "unrecorded_work": 0, "unknown": 0,
    "tail": 0, "before_recording": 0, "once": 0, "after_recording": 0, "profiler": 0,
}  # fmt: skip
#: The last step ends with the recording, so it is unknown what the device waits for.
LAST_IDLE_NS = IDLE_NS | {"nothing_recorded": 5_000, "tail": 10_000}
MEAN_IDLE_NS = IDLE_NS | {"nothing_recorded": 10_000, "tail": 5_000}

pytestmark = pytest.mark.usefixtures("drawn_in_microseconds")


def phase(name, host_ns, device_ns, idle_ns, run_ahead_ns, starved, bound):
    return {
        "phase": name, "host_ns": host_ns, "device_ns": device_ns, "idle_ns": idle_ns,
        "run_ahead_p50_ns": run_ahead_ns, "starved_share": starved, "bound": bound,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(capsys, *arguments):
    """Exit code, what stdout holds as JSON or text, lines of stderr."""
    code = cli.main(["summarize", *map(str, arguments)])
    output = capsys.readouterr()
    return code, json.loads(output.out) if "json" in arguments else output.out, output.err.splitlines()


def step(name, start_ns, slow=False, idle_ns=IDLE_NS):
    return {
        "name": name,
        "start_ns": start_ns,
        "duration_ns": 100_000,
        "host_ns": 100_000,
        "parts_ns": STEP_PARTS_NS,
        "data_loading_ns": {"wait": 30_000, "exposed": 30_000, "hidden": 0},
        "gpu_busy_ns": 40_000,
        "slow": slow,
        "before_recording_ns": 0,
        "once_ns": 0,
        "after_recording_ns": 0,
        "profiler_ns": 0,
        "steady_ns": 100_000,
        "excess_ns": dict.fromkeys(("once", "interrupted", "periodic", "profiler", "edge", "unknown"), 0),
        "devices": [{"device": 0, "gpu_busy_ns": 40_000, "idle_ns": idle_ns}],
    }


def test_the_json_is_the_contract(tmp_path, capsys):
    trace = write_trace(tmp_path / "run" / "host.1.pt.trace.json.gz", steps=2, rank=4)
    code, report, lines = run(capsys, trace, "--format", "json")
    assert (code, lines, report["errors"]) == (0, [], [])
    (span,) = report["spans"]
    insights, verdict = span.pop("insights"), span.pop("verdict")
    assert span == {
        "run": "run",
        "worker": "host",
        "span": 1,
        "trace": str(trace),
        "events": 11,
        "trace_bytes": trace.stat().st_size,
        "json_bytes": span["json_bytes"],
        "origin_ns": 1_600_000_000_000_000_000,
        "rank": 4,
        "simulated": None,
        "job": {
            "purpose": "unknown",
            "execution": "eager",
            "compiled_share": 0.0,
            "graph_share": 0.0,
            "device": "gpu",
            "vendor": "nvidia",
            "ranks": "many",
            "rank": 4,
            "world_size": 8,
            "text": "eager · Tesla V100-SXM2-16GB · rank 4 of 8",
            "evidence": [
                "GPU: 2 kernels, copies and sets run on it.",
                "Ranks: the recording says 8.",
            ],
        },
        "quality": [],
        "steps_by": "marks",
        "not_recorded_ns": 0,
        "unprofiled_step_ns": None,
        "profiled_times": None,
        "steady_step_ns": 100_000,
        "excess": [],
        "steps": [step("5", 0), step("6", 100_000, idle_ns=LAST_IDLE_NS)],
        "mean": step(None, None, None, MEAN_IDLE_NS),
        "devices": [
            {
                "device": 0,
                "name": "Tesla V100-SXM2-16GB",
                "utilization": 0.4,
                "est_sm_efficiency": 0.4,
                "est_achieved_occupancy": span["devices"][0]["est_achieved_occupancy"],
                "kineto_achieved_occupancy": 0.25,
                "tensor_core": {
                    "share_low": 0.0,
                    "share_high": 0.0,
                    "kernel_ns": 80_000,
                    "tensor_core_ns": 0,
                    "matmul_like_ns": 80_000,
                    "unknown_ns": 0,
                    "other_ns": 0,
                },
            }
        ],
        "phases": [
            phase("data_loading", 30_000, 0, 30_000, None, None, "input"),
            phase("forward", 70_000, 40_000, 25_000, 12_000, 1.0, "host"),
            phase("unknown", 0, 0, 5_000, None, None, "unknown"),
        ],
        "blocking_calls": [],
        "queue_depth": {"mean": 0.12, "max": 1},
        "data_loading": {
            "iterator": "_SingleProcessDataLoaderIter",
            "workers": 0,
            "wait_ns_mean": 30_000,
            "exposed_ns_mean": 30_000,
            "hidden_ns_mean": 0,
            "period": None,
            "production_ns": 30_000,
            "consumer_ns": 70_000,
            "needed_workers": 2,
            "predicted_step_ns": {str(workers): 70_000 for workers in range(1, 9)},
            "why_unknown": None,
            "recorded": None,
        },
        "cpu_ops": [],
        "memory": None,
        "notes": [
            {
                "id": "profiling_estimated",
                "text": "The profiler slows the CPU: est. 870 ns to 2 µs of each step. Without it the GPU is idle "
                "for less. A step has 3 recorded ops, calls and allocations; the cost of each was measured on CPU ops. "
                "Calls of the GPU's runtime come on top.",
            }
        ],
    }
    assert verdict == {
        "bound": "host",
        "text": "The CPU sets the pace: an instant GPU would leave a step of est. 100 µs.",
        "confidence": "low",
    }
    assert "no_workers" in [insight["id"] for insight in insights]
    loading = next(insight for insight in insights if insight["id"] == "no_workers")
    assert {key: loading[key] for key in loading if key != "text"} == {
        "id": "no_workers",
        "severity": "minor",
        "gain_ns": 30_000,
        "confidence": "low",
        "gain_fraction": 0.3,
        "later_ns": None,
        "why_confidence": "Batches are short: it may take as long to receive them from a worker.",
        "lowered_from": "major",
        "why_lowered": "Lowered from Major because the confidence is low: Batches are short: it may take as long to "
        "receive them from a worker.",
    }
    assert all(set(each) == set(loading) for each in insights)


def test_what_is_not_measurable_is_null(tmp_path, capsys):
    trace = tmp_path / "cpu.json"
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]
    trace.write_text(json.dumps({"traceEvents": events}))
    _, report, _ = run(capsys, trace, "--format", "json")
    (span,) = report["spans"]
    assert span["devices"] == []
    assert (span["mean"]["gpu_busy_ns"], span["mean"]["devices"]) == (None, [])
    assert (span["verdict"]["bound"], span["verdict"]["confidence"]) == ("cpu", "low")
    assert span["queue_depth"] == {"mean": None, "max": None}
    assert [(row["phase"], row["host_ns"], row["bound"]) for row in span["phases"]] == [("forward", 50_000, "unknown")]
    assert span["mean"]["data_loading_ns"] == {"wait": None, "exposed": None, "hidden": None}
    assert "no_steps" in [note["id"] for note in span["notes"]]


def test_log_directories_and_files_may_be_mixed(tmp_path, capsys):
    for name in ("a/x.1.pt.trace.json", "a/x.2.pt.trace.json", "b/y.1.pt.trace.json.gz"):
        write_trace(tmp_path / "logs" / name)
    lone = write_trace(tmp_path / "lone" / "z.json")
    code, report, _ = run(capsys, tmp_path / "logs", lone, "--format", "json")
    assert code == 0
    assert [(span["run"], span["worker"], span["span"]) for span in report["spans"]] == [
        ("a", "x", 1),
        ("a", "x", 2),
        ("b", "y", 1),
        ("lone", "z", 1),
    ]


def test_paths_are_told_as_the_user_wrote_them(tmp_path, capsys, monkeypatch):
    write_trace(tmp_path / "logs" / "a" / "x.1.pt.trace.json")
    (tmp_path / "logs" / "a" / "x.2.pt.trace.json").write_text("this is no trace")
    monkeypatch.chdir(tmp_path)
    _, report, (line,) = run(capsys, "logs", "--format", "json")
    assert [span["trace"] for span in report["spans"]] == [str(Path("logs/a/x.1.pt.trace.json"))]
    assert line.startswith(str(Path("logs/a/x.2.pt.trace.json: ")))


@pytest.mark.parametrize("format", ["table", "json"])
def test_each_unreadable_file_is_one_line_and_the_others_are_printed(tmp_path, capsys, format):
    (tmp_path / "bad.json").write_text("this is no trace")
    good = write_trace(tmp_path / "good.json")
    (tmp_path / "empty").mkdir()
    paths = [tmp_path / "bad.json", good, tmp_path / "absent.json", tmp_path / "empty"]
    code, printed, lines = run(capsys, *paths, "--format", format)
    assert code == 1
    assert [line.partition(": ")[0] for line in lines] == [
        str(tmp_path / name) for name in ("empty", "bad.json", "absent.json")
    ]
    if format == "json":
        assert [span["trace"] for span in printed["spans"]] == [str(good)]
        assert [error["path"] for error in printed["errors"]] == [line.partition(": ")[0] for line in lines]
        assert all(error["problem"] and error["hint"] for error in printed["errors"])
    else:
        assert printed.count("Mean step") == 1


def test_the_table_is_the_summary_of_a_span(tmp_path, capsys):
    trace = write_trace(tmp_path / "resnet" / "host.1.pt.trace.json", steps=2)
    printed = run(capsys, trace)[1]
    assert printed.startswith(
        "resnet · host · span 1                                  2 steps, 11 events, 2 kB\n"
        "eager · Tesla V100-SXM2-16GB\n"
        "The CPU sets the pace: an instant GPU would leave a step of est. 100 µs.\n"
    )
    assert (
        "\n\nMean step              100 µs  from 100 µs to 100 µs, median 100 µs\n"
        "  Kernel                40 µs   40.0 %  ████████████\n"
        "  Data loading          30 µs   30.0 %  █████████\n"
        "  Runtime                5 µs    5.0 %  █▌\n"
        "  CPU exec               5 µs    5.0 %  █▌\n"
        "  Other                 20 µs   20.0 %  ██████\n"
        "\nWaits for batches       30 µs  30 µs exposed, 0 ms hidden behind the GPU's work\n"
        "\nGPU idle                60 µs   60.0 %  ██████████████████\n"
        "  Data loading          30 µs   30.0 %  █████████\n"
        "  CPU work               3 µs    3.0 %  ▉\n"
        "  Outside ops           10 µs   10.0 %  ███\n"
        "  Launch latency        12 µs   12.0 %  ███▋\n"
        "  Tail                   5 µs    5.0 %  █▌\n" in printed
    )
    assert "\x1b" not in printed


def unmarked_trace(path):
    """Three steps without marks, 100 us each: an op, then the optimizer."""

    def event(cat, name, ts, dur):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}

    events = [event("cpu_op", "aten::mm", 100 * step, 50) for step in range(3)]
    events += [event("user_annotation", "Optimizer.step#SGD.step", 100 * step + 80, 20) for step in range(3)]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_steps_without_marks_are_inferred_or_the_recording_is_one(tmp_path, capsys):
    trace = unmarked_trace(tmp_path / "cpu.json")
    (span,) = run(capsys, trace, "--format", "json")[1]["spans"]
    assert (span["steps_by"], [row["name"] for row in span["steps"]]) == ("inferred", ["1", "2", "3"])
    assert {row["duration_ns"] for row in span["steps"]} == {100_000}
    assert "Steps are inferred from 3 calls of Optimizer.step#SGD.step." in span["notes"][-1]["text"]
    (whole,) = run(capsys, trace, "--steps", "recording", "--format", "json")[1]["spans"]
    assert (whole["steps_by"], [row["duration_ns"] for row in whole["steps"]]) == ("recording", [300_000])
    assert "3 inferred steps" in run(capsys, trace)[1]


def waiting_trace(path):
    """A step of 1 ms: the GPU works for 300 us; the host waits for it, then launches again 400 us later."""

    def event(cat, name, ts, dur, tid=1, **args):
        pid = 0 if cat in ("kernel", "gpu_memcpy") else 1
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}

    on_gpu = {"device": 0, "stream": 7, "tid": 7}
    events = [
        event("user_annotation", "ProfilerStep#1", 0, 1000),
        event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=1),
        event("kernel", "k", 10, 300, correlation=1, **on_gpu),
        event("cpu_op", "aten::_local_scalar_dense", 20, 500),
        event("cuda_runtime", "cudaMemcpyAsync", 30, 10, correlation=2),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 310, 10, correlation=2, bytes=4, **on_gpu),
        event("cuda_runtime", "cudaStreamSynchronize", 45, 475, correlation=3),
        event("cuda_runtime", "cudaLaunchKernel", 700, 5, correlation=4),
        event("kernel", "k", 720, 280, correlation=4, **on_gpu),
    ]
    path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "A100"}], "traceEvents": events}))
    return path


def test_calls_beside_a_larger_one_are_told_with_their_direction(tmp_path, capsys):
    """Each copy blocks for less than a hundredth of the step; the calls together take more."""
    trace = waiting_trace(tmp_path / "waiting.json")
    document = json.loads(trace.read_text())
    document["traceEvents"][0]["dur"], document["traceEvents"][-1]["dur"] = 6_000, 5_280
    ways = ("HtoD (Pageable -> Device)", 540), ("DtoH (Device -> Pageable)", 600)
    for number, (direction, start_us) in enumerate(ways, 10):
        document["traceEvents"] += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::copy_", "pid": 1, "tid": 1, "ts": start_us, "dur": 50},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": start_us + 1,
             "dur": 8, "args": {"correlation": number}},
            {"ph": "X", "cat": "gpu_memcpy", "name": f"Memcpy {direction}", "pid": 0, "tid": 7,
             "ts": start_us + 2, "dur": 1, "args": {"correlation": number, "bytes": 4, "device": 0, "stream": 7}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1,
             "ts": start_us + 9, "dur": 40, "args": {"correlation": number + 10}},
        ]  # fmt: skip
    trace.write_text(json.dumps(document))
    table = run(capsys, trace)[1].split("\nBlocking calls")[1].split("\n\n")[0]
    rows = [line.split()[:2] for line in table.splitlines()[2:]]
    assert rows == [["aten::_local_scalar_dense", "model"], ["aten::copy_", "HtoD"], ["aten::copy_", "DtoH"]]


def test_calls_that_cost_gpu_time_are_told(tmp_path, capsys):
    trace = waiting_trace(tmp_path / "waiting.json")
    assert (
        "\nBlocking calls         400 µs  a step with the GPU idle\n"
        "  op                         phase  calls  blocked  GPU idle\n"
        "  aten::_local_scalar_dense  model      1   485 µs    400 µs\n" in run(capsys, trace)[1]
    )
    (span,) = run(capsys, trace, "--format", "json")[1]["spans"]
    assert span["blocking_calls"] == [{
        "op": "aten::_local_scalar_dense", "outer_op": "aten::_local_scalar_dense", "phase": "forward",
        "call": "cudaMemcpyAsync + cudaStreamSynchronize", "source": None, "count": 1.0,
        "blocked_ns": 485_000, "bubble_ns": 400_000,
    }]  # fmt: skip
    assert (
        span["verdict"]["text"]
        == "The GPU is idle for 40 % of the step because blocking calls make the CPU wait for it."
    )


@pytest.mark.parametrize("width", [20, 80, 100, 300])
def test_lines_fit_the_terminal(tmp_path, width):
    trace = write_trace(tmp_path / ("a long name of a run " * 4).strip() / "host.1.pt.trace.json")
    span = judged(trace)
    lines = span_table(*span, width).splitlines()
    assert max(map(len, lines[2:])) <= max(80, min(width, 100))
    assert span_table(*span, width, ANSI).count("\033[0m") == span_table(*span, width, ANSI).count("\033[") / 2
    assert span_table(*span, width, PLAIN) == span_table(*span, width)


ONCE = phrase("2.0 ms of the recorded step is one-time work.")


@pytest.mark.parametrize("by", ["a note", "the undisturbed step", "a card", "the headline"])
def test_what_comes_once_is_said_once(tmp_path, by):
    found, measured, judgement = judged(write_trace(tmp_path / "host.1.pt.trace.json"))
    note = Note("once", {"time": ns(2_000_000), "name": text("the first aten::mm"), "longest": ns(1_000_000)})
    measured = replace(measured, facts=replace(measured.facts, notes=[note]))
    if by != "a note":
        judgement = replace(judgement, excess={"once": ONCE})
    if by == "a card":
        judgement = replace(judgement, insights=[replace(judgement.insights[0], id="one_time", why=ONCE)])
    if by == "the headline":
        headline = replace(judgement.headlines["overview"], verdict=ONCE)
        judgement = replace(judgement, headlines={"overview": headline}, notes_in_verdict=frozenset({"once"}))
    assert span_table(found, measured, judgement, 100).count("2.0 ms of") == 1


def test_what_slows_the_host_in_two_ways_is_one_note(tmp_path):
    found, measured, judgement = judged(write_trace(tmp_path / "host.1.pt.trace.json"))
    facts = replace(measured.facts, notes=[Note("with_stack"), Note("with_memory")])
    shown = span_table(found, replace(measured, facts=facts), judgement, 100)
    assert shown.count("Times of the host are upper bounds") == 1


def judged(trace):
    """The arguments of `span_report` and `span_table`."""
    (found,) = spans_of_files([trace])
    measured = measure_file(trace)
    return found, measured, judge(measured.results)


def test_a_name_from_a_trace_cannot_steer_the_terminal(tmp_path, capsys):
    printed = run(capsys, write_trace(tmp_path / "r" / "a\x1b[31m.json"))[1]
    assert "\x1b" not in printed
    assert "\n".join(line for line in printed.splitlines()) + "\n" == printed


def test_a_directory_of_summaries_only_is_summarized(tmp_path, capsys):
    trace = write_trace(tmp_path / "r" / "host.1.pt.trace.json")
    measured = measure_file(trace)
    summary = write_summary(encode_summary(stamp(trace), measured), places_for(trace))
    from_trace = run(capsys, tmp_path, "--format", "json")[1]
    trace.unlink()
    code, from_summary, _ = run(capsys, tmp_path, "--format", "json")
    assert code == 0
    assert from_summary["spans"][0].pop("trace") == from_trace["spans"][0].pop("trace") + SUFFIX == str(summary)
    assert from_summary == from_trace
    summary.write_bytes(b"damaged")
    code, _, (line,) = run(capsys, tmp_path)
    assert code == 1
    assert "damaged" in line


def test_no_file_is_written(tmp_path, capsys):
    write_trace(tmp_path / "r" / "host.1.pt.trace.json")
    before = sorted(tmp_path.rglob("*"))
    run(capsys, tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_terminal_sees_progress_and_then_nothing_of_it(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    from tb_steptime.trace.kineto import ReadProgress

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressBar("1 of 2  ") as bar:
        bar.show(ReadProgress(25_000_000, 100_000_000, 12_345))
        bar.drawn = 0.0
        bar.show(ReadProgress(50_000_000, 100_000_000, 23_456))
    first, second, wiped = terminal.getvalue().split("\r")[1:]
    assert first == "1 of 2  ██████░░░░░░░░░░░░░░░░░░ 25.0 MB of 100 MB, 12 345 events\033[K".replace(
        " 345", "\u00a0345"
    ).replace("25.0 MB", "25.0\u00a0MB").replace("100 MB", "100\u00a0MB")
    assert second.startswith("1 of 2  ████████████░")
    assert wiped == "\033[K"


def test_a_closed_pipe_is_no_error(tmp_path):
    for number in range(30):
        write_trace(tmp_path / f"{number}" / "host.1.pt.trace.json")
    command = f"{sys.executable} -m tb_steptime.cli summarize {tmp_path} | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_is_the_command(tmp_path):
    command = [sys.executable, "-m", "tb_steptime", "summarize", str(write_trace(tmp_path / "host.1.pt.trace.json"))]
    assert b"Mean step" in subprocess.run(command, capture_output=True, check=True).stdout


def test_an_old_terminal_gets_what_it_can_show(tmp_path):
    trace = write_trace(tmp_path / "host.1.pt.trace.json")
    command = [sys.executable, "-m", "tb_steptime.cli", "summarize", str(trace)]
    done = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)
    assert b"Mean step" in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"]])
def test_help_needs_no_package_that_is_slow_to_import(arguments):
    """numpy and msgspec alone take twice as long to import as everything that the help needs."""
    slow = {"numpy", "msgspec", "torch", "tensorboard", "isal", "fsspec", "distributed", "concurrent"}
    source = (
        f"import sys; from tb_steptime.cli import main\ntry: main({arguments})\n"
        f"except SystemExit: print(*sorted({slow} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True).stdout
    assert output.splitlines()[-1] == "", output


def test_it_starts_without_tensorboard(tmp_path):
    """Nor does it load the modules that start processes, which numpy and uuid load with Python 3.10."""
    trace = write_trace(tmp_path / "host.1.pt.trace.json")
    source = (
        "import sys, numpy, uuid; theirs = set(sys.modules); "
        "from tb_steptime.cli import main; main(['summarize', sys.argv[1]]); "
        "unneeded = {'tensorboard', 'werkzeug', 'subprocess', 'fsspec'}; "
        "print(sorted(unneeded & (set(sys.modules) - theirs)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", source, str(trace)], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("arguments", [[], ["summarize"], ["summarize", "x", "--format", "xml"], ["unknown"]])
def test_a_wrong_call_says_how_it_is_called(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == 2
    assert "usage: tb-steptime" in capsys.readouterr().err


def test_without_a_command_the_help_lists_them_all(capsys):
    with pytest.raises(SystemExit):
        cli.main([])
    assert "print the figures of traces" in capsys.readouterr().err


def test_a_misspelt_command_names_the_nearest_one(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["summarise", "logs"])
    assert left.value.code == 2
    assert "There is no command summarise. Did you mean summarize? The commands are: " in capsys.readouterr().err


def test_the_report_of_a_span_is_that_of_the_command(tmp_path, capsys):
    trace = write_trace(tmp_path / "run" / "host.1.pt.trace.json")
    import msgspec

    direct = msgspec.to_builtins(span_report(*judged(trace)))
    assert run(capsys, trace, "--format", "json")[1]["spans"] == [json.loads(msgspec.json.encode(direct))]
    assert Path(direct["trace"]) == trace
