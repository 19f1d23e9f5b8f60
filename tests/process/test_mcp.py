"""`tb-steptime mcp` as a coding agent meets it: queried by the client of the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tb_steptime import cli
from tb_steptime.insights.wording.operators import MISSING
from tb_steptime.insights.wording.reasons import explain
from tb_steptime.metrics.memory.curves import NOT_RECORDED
from tb_steptime.terminal.agent.answers import memory_fit, window
from tb_steptime.terminal.agent.logs import Logs, SpanChoice
from tb_steptime.terminal.memory_report import NOT_RECORDED as NO_ALLOCATIONS
from tb_steptime.terminal.ranks.jobs import NO_JOB
from tb_steptime.text.printer import plain
from tests.drawn.module_training import training
from tests.drawn.small_trace import write_trace
from tests.drawn.snapshots import Allocator


def test_without_the_sdk_a_line_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    for name in ("mcp", *(name for name in sys.modules if name.startswith("mcp."))):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tb_steptime.terminal.agent.server", raising=False)
    monkeypatch.delattr("tb_steptime.terminal.agent.server", raising=False)
    assert cli.main(["mcp", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "The MCP SDK is not installed: pip install 'tb-steptime[mcp]'\n"
    assert cli.main(["mcp", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: This is no folder. Name a log directory.\n"


#: The questions, in the order in which the agent asks them.
QUESTIONS = (
    ("list_runs", {}),
    ("summarize", {"run": "a"}),
    ("kernels", {"run": "a"}),
    ("operators", {"run": "a"}),
    ("operators", {"run": "a", "by": "module"}),
    ("blocking_calls", {"run": "a"}),
    ("memory", {"run": "a"}),
    ("timeline", {"run": "a", "step": "6", "limit": 2}),
    ("timeline", {"run": "a", "start_ms": 0.05, "end_ms": 0.06}),
    ("compare", {"base": "a", "candidate": "b"}),
    ("definitions", {"metrics": ["step_time"]}),
    ("summarize", {}),
    ("kernels", {"run": "a", "span": 2}),
    ("timeline", {"run": "a", "step": "99"}),
    ("definitions", {"metrics": ["speed"]}),
    ("definitions", {"metrics": ["steptime"]}),
    ("kernels", {"run": "A"}),
    ("memory_snapshot", {"since": "a/one.pickle", "file": "b/two.pickle"}),
    ("memory_snapshot", {}),
    ("ranks", {"run": "a"}),
    ("source_lines", {"run": "b", "limit": 1}),
    ("source_lines", {"run": "a"}),
    ("memory_fit", {"run": "a", "memory": "24GB"}),
    ("memory_fit", {"run": "a", "batches": [0]}),
    ("memory_fit", {"run": "a", "memory": "much"}),
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    write_trace(logs / "a" / "w.pt.trace.json")
    write_trace(logs / "b" / "w.pt.trace.json", op_us=12, frames=["train.py(9): step", "net.py(4): forward"])
    made = Allocator()
    for folder, name in (("a", "one"), ("b", "two")):
        made.alloc(3_000_000, "/home/user/train.py", 7)
        (logs / folder / f"{name}.pickle").write_bytes(pickle.dumps(made.state()))
    return logs


@pytest.fixture(scope="module")
def mcp():
    return pytest.importorskip("mcp", reason="the MCP SDK is not installed: pip install 'tb-steptime[mcp]'")


@pytest.fixture(scope="module")
def answers(mcp, logs):
    from tb_steptime.terminal.agent.server import server

    return asked(mcp.Client(server(logs)))


def asked(client):
    """The server's answer to each question: whether it is an error, and its text."""

    async def ask():
        async with client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {name for name, _ in QUESTIONS}
            assert all(tool.description for tool in tools.values())
            return [await client.call_tool(name, arguments) for name, arguments in QUESTIONS]

    # Use a thread of its own: if a browser test ran before, this thread already has an event loop.
    with ThreadPoolExecutor(1) as alone:
        answer = alone.submit(asyncio.run, ask()).result()
    return [(each.is_error, each.content[0].text) for each in answer]


@pytest.mark.live
def test_the_command_answers_over_stdio(mcp, logs, answers):
    command = ["-m", "tb_steptime.cli", "mcp", str(logs)]
    program = mcp.StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    over_stdio = asked(mcp.Client(program))
    assert over_stdio[1:] == answers[1:]  # the first answer lists what is already read


def test_each_tool_answers_in_few_words_with_units(answers):
    assert [error for error, _ in answers] == [False] * 11 + [True] * 6 + [False, True] + [False] * 4 + [True] * 2
    assert max(len(text) for _, text in answers) < 6_000
    runs, summary, kernels, ops, modules, blocking, memory, step, window, comparison, definitions = (
        json.loads(text) for _, text in answers[:11]
    )
    assert [(each["run"], each["span"], each["read"]) for each in runs["recordings"]] == [
        ("a", 1, False),
        ("b", 1, False),
    ]
    assert (summary["step_ms"], summary["steps"]) == (0.1, 3)
    assert sum(summary["parts_ms"].values()) == pytest.approx(0.1)
    figures = {each["metric"]: each for each in summary["figures"]}
    assert figures["gpu_utilization"] == {"metric": "gpu_utilization", "value": 0.4, "unit": "share, 0 to 1"}
    assert all((each["value"] is None) == ("why_none" in each) for each in figures.values())
    assert kernels == {
        "kernels": [
            {
                "device": 0, "kernel": "gemm f32 64x64", "launches": 3, "total_ms": 0.12, "share": 1.0,
                "tensor_core": "no", "op": "aten::mm", "module": None, "line": None, "est_occupancy": None,
            }
        ]
    }  # fmt: skip
    assert ops == {
        "operators": [
            {
                "op": "aten::mm", "calls": 3, "host_self_ms": 0.015, "host_total_ms": 0.03, "gpu_self_ms": 0.12,
                "gpu_total_ms": 0.12, "launches": 3, "idle_ms": 0.08,
            }
        ]
    }  # fmt: skip
    assert modules == {
        "operators": [],
        "why_none": plain(MISSING["no_modules"]),
    }
    assert blocking == {"blocking_calls": []}
    assert memory == {"devices": [], "why_none": plain(explain(NOT_RECORDED))}
    assert (step["start_ms"], step["end_ms"], step["more"]) == (0.1, 0.2, 2)
    assert [each["name"] for each in step["events"]][1:] == ["volta_sgemm_64x64_nt"]
    assert window["events"] == [
        {"kind": "kernel", "name": "volta_sgemm_64x64_nt", "track": "GPU 0, stream 7", "start_ms": 0.05,
         "duration_ms": 0.04}
    ]  # fmt: skip
    assert comparison["step"]["change_ms"] == 0.0
    assert json.loads(answers[19][1]) == {"jobs": [], "why_none": NO_JOB}
    assert comparison["headline"].startswith("b is not distinguishable from a with 3 steps: ")
    assert definitions["definitions"][0]["unit"] == "ms"


def test_lines_say_what_they_cost_and_where_their_functions_begin(answers):
    assert json.loads(answers[20][1]) == {
        "lines": [
            {
                "line": "net.py(4): forward", "calls": 3, "idle_ms": 0.08, "gpu_ms": 0.12, "launches": 3,
                "host_self_ms": 0.042, "host_total_ms": 0.042,
            }
        ],
        "line_of": "function",
        "more": 1,
    }  # fmt: skip
    assert json.loads(answers[21][1]) == {"lines": [], "why_none": plain(MISSING["no_stacks"])}


def test_a_memory_snapshot_says_what_each_line_holds_and_what_has_grown(answers):
    (device,) = json.loads(answers[17][1])["devices"]
    assert device["said"] == "At most 6.0 MB is in use and 6.0 MB reserved: train.py:7 holds 6.0 MB at the peak."
    assert device["lines"] == [{"line": "train.py:7", "peak_mb": 6.0, "end_mb": 6.0, "more_mb": 3.0}]
    parts = ("in_use_mb", "rounding_mb", "kept_mb", "releasable_mb")
    assert sum(device[part] for part in parts) == pytest.approx(device["reserved_mb"], rel=1e-3)
    assert answers[18][1].endswith("Name a snapshot. The snapshots are: a/one.pickle, b/two.pickle.")


def test_without_allocations_nobody_knows_what_fits(answers):
    assert json.loads(answers[22][1]) == {"devices": [], "margin": 0.05, "why_none": NO_ALLOCATIONS}
    assert answers[23][1].endswith("A batch has at least one sample, and 0 was asked for.")
    assert answers[24][1].endswith('"much" is no size such as 24GB or 80GiB')


def test_which_batch_fits_is_said_with_what_fills_the_peak_and_what_changes_it():
    """The peak of the training is 1 kB plus 2.5 kB for each sample."""

    class OneRecording:
        def find(self, which):
            return which

        def trace(self, found):
            return training()

    fit = memory_fit(OneRecording(), SpanChoice(None, None, None), [8], "20 kB")
    (device,) = fit.devices
    checkpointed = device.settings[1]
    assert (device.batch, device.limit_mb, [each.batch for each in device.peaks]) == (4, 0.02, [4, 8])
    assert device.largest_batch_range[0] <= device.largest_batch <= device.largest_batch_range[1]
    assert sum(each.mb for each in device.filled_by) == pytest.approx(device.peaks[0].peak_mb, rel=0.01)
    assert (checkpointed.setting, checkpointed.best) == ("Checkpoint every Block", True)
    assert checkpointed.peak_mb < device.settings[0].peak_mb
    assert "checkpoint" in (checkpointed.code or "")


def test_a_wrong_question_is_an_error_that_says_what_to_ask(answers):
    begin = "Error executing tool "
    assert [text.removeprefix(begin) for _, text in answers[11:14]] == [
        "summarize: Name a run. The runs are: a, b.",
        'kernels: There is no span "2". The spans are: 1.',
        'timeline: There is no step "99". The steps are: 5, 6, 7.',
    ]
    assert "There is no metric steptime. Did you mean step_time? They are: " in answers[15][1]
    assert answers[16][1].endswith('There is no run "A". Did you mean a? The runs are: a, b.')
    assert answers[14][1].startswith(f"{begin}definitions: There is no metric speed. They are: step_time, ")


def test_a_range_on_the_gpu_names_its_stream_and_the_marks_of_steps_are_left_out(tmp_path):
    path = write_trace(tmp_path / "w.pt.trace.json")
    trace = json.loads(path.read_text())
    on_gpu = {"ph": "X", "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}
    trace["traceEvents"] += [
        on_gpu | {"name": "ProfilerStep#5", "ts": 5, "dur": 85},
        on_gpu | {"name": "forward", "ts": 45, "dur": 45},
    ]
    path.write_text(json.dumps(trace))
    events = window(Logs(tmp_path), SpanChoice(), "5", (None, None), 40).events
    assert [each.track for each in events if each.kind == "gpu_user"] == ["GPU 0, stream 7"]
