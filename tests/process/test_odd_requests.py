"""Odd parameters: every route and every tool answers with a message, and none with an internal failure."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tb_steptime
from tb_steptime import cli
from tb_steptime.errors import TraceError
from tests.drawn.demo import measure_all
from tests.drawn.small_trace import small_trace, with_allocations, write_trace
from tests.process.boards import PREFIX, WORK, tensorboard

ROUTES = (
    "index", "catalogue", "opening", "view", "trends", "series", "ranks", "rank_map", "job_timeline", "compare",
    "scalars", "timeline", "busy", "memory", "flame", "event", "search", "slice", "nothing",
)  # fmt: skip
KEYS = (
    "span", "view", "run", "worker", "number", "step", "steps", "focus", "metric", "strips", "tag", "from", "to",
    "detail", "bins", "device", "at", "by", "where", "event", "frames", "words", "first", "last", "track",
    "base", "candidate",
)  # fmt: skip
#: Values that are valid for some parameter, and values that are valid for none.
VALUES = (
    st.sampled_from(["", "0", "1", "2", "-1", "7", "300000", "1" * 18, "-" + "9" * 18, "9" * 30, "1e9", "0.5", "nan"])
    | st.sampled_from(["a", "b", "memory", "operators", "gpu", "stack", "module", "made", "own", "recording", "mfu"])
    | st.sampled_from(["%", "(", "[", "\\", "\x00", "../..", "<script>", "\u0661", "\U0001f600", "a" * 3000])
    | st.text(max_size=8)
)
QUERIES = st.lists(st.tuples(st.sampled_from(KEYS), VALUES), max_size=7)
FEW = settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=10 * settings().max_examples)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    write_trace(logs / "a" / "w.1.pt.trace.json")
    (logs / "b").mkdir()
    (logs / "b" / "w.1.pt.trace.json").write_text(json.dumps(with_allocations(small_trace())))
    measure_all(logs)
    return logs


@pytest.fixture
def client(logs, at_once):
    return tensorboard("--logdir", str(logs))


def check_routes(client: Any, chosen: settings) -> None:
    index = json.loads(client.get(PREFIX + "index", headers=WORK).get_data())
    ids = [span["id"] for run in index["runs"] for worker in run["workers"] for span in worker["spans"]]
    assert len(ids) == 2
    spans = st.sampled_from([[], *([("span", each)] for each in ids)])

    @chosen
    @given(st.sampled_from(ROUTES), spans, QUERIES, st.sampled_from([WORK, {}]))
    def answered(route: str, span: list[tuple[str, str]], query: list[tuple[str, str]], headers: dict[str, str]):
        address = f"{PREFIX}{route}?{urlencode(span + query, errors='replace')}"
        answer = client.get(address, headers=headers)
        assert answer.status_code in (200, 202, 400, 403, 404, 422), (address, answer.get_data(as_text=True))
        if answer.headers["Content-Type"].startswith("application/json"):
            content = json.loads(answer.get_data(), parse_constant=pytest.fail)
            assert answer.status_code < 400 or "Traceback" not in content["problem"]

    answered()


def test_odd_requests_are_answered(client):
    check_routes(client, FEW)


@pytest.mark.live
def test_many_odd_requests_are_answered(client):
    check_routes(client, MANY)


ODD = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "b", "1", "", "shape", "x" * 3000])
)
TOOLS = (
    "list_runs",
    "summarize",
    "kernels",
    "operators",
    "blocking_calls",
    "memory",
    "timeline",
    "compare",
    "ranks",
    "definitions",
)
NAMED = ("run", "worker", "span", "limit", "by", "step", "start_ms", "end_ms", "base", "candidate", "metrics")
ARGUMENTS = st.dictionaries(st.sampled_from(NAMED), ODD | st.lists(ODD, max_size=2), max_size=5)


def check_tools(logs: Any, chosen: settings) -> None:
    mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed: pip install 'tb-steptime[mcp]'")
    from tb_steptime.terminal.agent.server import server

    questions: list[tuple[str, dict[str, Any]]] = []

    @chosen
    @given(st.sampled_from(TOOLS), ARGUMENTS)
    def drawn(tool: str, arguments: dict[str, Any]):
        questions.append((tool, arguments))

    async def ask():
        async with mcp.Client(server(logs)) as agent:
            return [await agent.call_tool(*each) for each in questions]

    drawn()
    with ThreadPoolExecutor(1) as alone:  # a browser test may have left an event loop in this thread
        answers = alone.submit(asyncio.run, ask()).result()
    for question, answer in zip(questions, answers, strict=True):
        text = answer.content[0].text
        assert "Traceback" not in text, (question, text)
        assert answer.is_error or json.loads(text, parse_constant=pytest.fail), (question, text)


def test_odd_questions_of_an_agent_are_answered(logs):
    check_tools(logs, FEW)


@pytest.mark.live
def test_many_odd_questions_of_an_agent_are_answered(logs):
    check_tools(logs, MANY)


@FEW
@given(st.sampled_from(["kernels_by", "operators_by", "getitem", "open"]), ODD)
def test_odd_arguments_of_the_python_api_are_refused_in_words(logs, requested: str, value: Any):
    spans = tb_steptime.open(logs)
    calls = {
        "kernels_by": lambda: spans[0].kernels_by(value),
        "operators_by": lambda: spans[0].operators_by(value),
        "getitem": lambda: spans[value],
        "open": lambda: tb_steptime.open(value) if isinstance(value, str) else None,
    }
    try:
        calls[requested]()
    except (TraceError, ValueError, KeyError, IndexError, TypeError) as error:
        assert str(error)


def test_a_path_that_no_file_can_have_is_refused_in_words(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["summarize", "x" * 3000]) != 0
    assert len(capsys.readouterr().err.splitlines()) == 1
