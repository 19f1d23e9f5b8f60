"""The steps of CONTRIBUTING for adding a metric, a view, a rule and a command are done, word for word, in a copy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import PROJECT
from tests.drawn.bytecode import carry_bytecode
from tests.drawn.small_trace import write_trace

#: The parts of the project that the steps change or run.
CARRIED = ("tb_steptime", "tests", "tools", "frontend/src", "setup.cfg", "ruff.toml")
MYPY_CACHE = PROJECT / ".mypy_cache"
NODE_MODULES = PROJECT / "frontend" / "node_modules"

_BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """A code block of the page: a new file, or lines to be added to an existing one."""

    language: str
    path: str
    text: str


PRINTED = """
import contextlib, io, json, sys
from tb_steptime.cli import main

printed = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as lines:
        assert main(arguments) == 0
    printed.append(lines.getvalue())
print(json.dumps(printed))
"""


class Copy:
    """A copy of the project, in which the steps are done."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ignore = shutil.ignore_patterns("__pycache__", "static", "golden", "browser")
        for name in CARRIED:
            source, target = PROJECT / name, root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target, ignore=ignore) if source.is_dir() else shutil.copy(source, target)
        carry_bytecode(PROJECT / "tb_steptime", root / "tb_steptime")
        if MYPY_CACHE.is_dir():  # so that mypy checks only what is added
            shutil.copytree(MYPY_CACHE, root / MYPY_CACHE.name)

    def do(self, step: Step) -> None:
        path = self.root / step.path
        if step.language != "diff":
            assert not path.exists(), f"{step.path} is no new file"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
            return
        lines = step.text.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        content = path.read_text()
        assert content.count(before) == 1, f"{step.path} does not hold once:\n{before}"
        path.write_text(content.replace(before, after))

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(self.root), "XDG_CACHE_HOME": str(self.root / "cache")}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )

    def prints(self, *commands: Sequence[object]) -> list[str]:
        """The output of each command. They run one after the other in one process."""
        done = self.python("-c", PRINTED, json.dumps([list(map(str, command)) for command in commands]))
        assert (done.returncode, done.stderr) == (0, "")
        return list(json.loads(done.stdout))

    def makes(self, name: str) -> None:
        """Run `make gen` as the Makefile does."""
        made = self.python("-m", "tb_steptime.serve.api")
        assert made.returncode == 0, made.stderr
        (self.root / "frontend" / "src" / name).write_text(made.stdout)

    def compiles(self) -> subprocess.CompletedProcess[str]:
        frontend = self.root / "frontend"
        if not (frontend / "node_modules").exists():
            (frontend / "node_modules").symlink_to(NODE_MODULES)
            settings = json.loads((PROJECT / "frontend" / "tsconfig.json").read_text())
            (frontend / "tsconfig.json").write_text(json.dumps(settings | {"include": ["src"]}))
        # the second run checks only what has changed
        options = ["--incremental", "--tsBuildInfoFile", "checked.tsbuildinfo"]
        program = [str(NODE_MODULES / ".bin" / "tsc"), "--noEmit", *options, "-p", "."]
        return subprocess.run(program, cwd=frontend, capture_output=True, text=True, check=False)


def steps() -> list[Step]:
    return [Step(*match.groups()) for match in _BLOCK.finditer((PROJECT / "CONTRIBUTING.md").read_text())]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The copy after all steps except those of the front end."""
    copy = Copy(tmp_path_factory.mktemp("adding"))
    for step in steps():
        if not step.path.startswith("frontend/"):
            copy.do(step)
    return copy


def test_the_page_has_a_file_and_a_line_for_each() -> None:
    found = steps()
    assert len({step.path for step in found if step.language != "diff"}) == 8
    for room in ("metrics", "analyses", "insights", "terminal", "tables"):
        assert any(step.path.startswith(f"tb_steptime/{room}/") and step.language == "diff" for step in found), room


def test_the_tests_that_the_page_asks_for_pass(grown: Copy) -> None:
    drawn = [step.path for step in steps() if step.path.startswith("tests/")]
    assert len(drawn) == 3
    tried = grown.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *drawn)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "4 passed" in tried.stdout


SERVED = """
import json, sys, time
from pathlib import Path
from tb_steptime.ingest.names import Place
from tb_steptime.serve import reading
from tb_steptime.serve.served import SpanNames
from tb_steptime.serve.store import Store
from tb_steptime.serve.catalogue import catalogue
from tb_steptime.serve.wire import SpanPage, encode

reading.SETTLE_SECONDS = 0.0
store = Store([Place("", Path(sys.argv[1]), "logs")])
(entry,) = [span for run in store.index(work=True).runs for worker in run.workers for span in worker.spans]
while not isinstance(page := store.page(entry.id, "longest_op", work=True), SpanPage):
    time.sleep(0.02)
overview = json.loads(encode(store.page(entry.id, "overview", work=True)))
(trends,) = store.trends(SpanNames(), work=True).spans
store.close()
print(json.dumps({
    "page": json.loads(encode(page)),
    "cards": [card["id"] for card in overview["insights"]],
    "trend": next(each.steps for each in trends.result.series if each.metric == "longest_op"),
    "catalogue": json.loads(encode(catalogue())),
}))
"""


def test_the_view_is_served_the_rule_fires_and_the_metric_has_its_trend(grown: Copy, tmp_path: Path) -> None:
    write_trace(tmp_path / "logs" / "host.1.pt.trace.json", op_us=30)
    output = grown.python("-c", SERVED, str(tmp_path / "logs"))
    assert output.returncode == 0, output.stderr
    answer = json.loads(output.stdout)
    assert answer["page"]["result"] == {"longest_ns": [30_000] * 3}
    assert answer["page"]["headline"]["verdict"]["template"]
    assert "long_op" in answer["cards"]
    assert answer["trend"] == [30_000] * 3
    assert answer["catalogue"]["views"][-1]["title"] == "Longest op"
    assert "Longest CPU op" in [metric["label"] for metric in answer["catalogue"]["metrics"]]


def test_the_command_runs(grown: Copy, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "r" / "host.1.pt.trace.json", op_us=30)
    output = grown.python("-m", "tb_steptime.cli", "longest-op", str(trace))
    assert (output.returncode, output.stderr) == (0, "")
    assert output.stdout.split() == [str(trace), *("30", "µs") * 3]
    assert "print the longest CPU op of each step" in grown.python("-m", "tb_steptime.cli", "--help").stdout


SHOWN = """
import json, sys
from pathlib import Path
import tb_steptime
from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.files.paths import any_path
from tb_steptime.serve.api import api
from tb_steptime.serve.catalogue import catalogue
from tb_steptime.serve.wire import encode
from tb_steptime.tables.base import with_derived
from tb_steptime.tables.heads import TABLES
from tb_steptime.terminal.agent import answers
from tb_steptime.terminal.agent.logs import Logs, SpanChoice

(span,) = tb_steptime.open(sys.argv[1])
result = span.result("gpu", GpuResult)
agent = answers.kernels(Logs(any_path(sys.argv[1])), SpanChoice(None, None, None), 5)
print(json.dumps({
    "tab": json.loads(encode(with_derived(result, *TABLES)))["devices"][0]["tables"][0]["rows"][0],
    "head": [(each.label, each.unit.value) for each in catalogue().figures if each.id == "spread_ns"],
    "type": api(),
    "notebook": span.kernels.to_dict(),
    "agent": agent.kernels[0],
}))
"""


def test_the_column_is_on_every_surface(grown: Copy, tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "logs" / "run" / "host.1.pt.trace.json")
    output = grown.python("-c", SHOWN, str(tmp_path / "logs"))
    assert output.returncode == 0, output.stderr
    answer = json.loads(output.stdout)
    assert answer["tab"]["spread_ns"] == answer["tab"]["max_ns"] - answer["tab"]["min_ns"]
    assert answer["head"] == [["Spread", "ns"]]
    assert re.search(r"interface KernelGroup \{[^}]*  spread_ns: number \| null;", answer["type"])
    assert answer["notebook"]["spread_ns"] == [answer["tab"]["spread_ns"]]
    assert answer["agent"]["spread_ms"] == answer["tab"]["spread_ns"] / 1e6

    exports = (("export", tmp_path / "logs", f"--{kind}", "-o", tmp_path / kind) for kind in ("csv", "jsonl"))
    table, as_json, as_csv, *_ = grown.prints(
        *(("kernels", trace, "--format", format) for format in ("table", "json", "csv")), *exports
    )
    assert "spread" in table.splitlines()[3]
    assert json.loads(as_json)["spans"][0]["kernels"][0]["spread_ns"] == 0
    assert "spread_ns" in as_csv.splitlines()[0].split(",")
    assert "spread_ns" in (tmp_path / "csv" / "kernels.csv").read_text().splitlines()[0].split(",")
    assert json.loads((tmp_path / "jsonl" / "kernels.jsonl").read_text().splitlines()[0])["spread_ns"] == 0


@pytest.mark.parametrize("program", [("ruff", "check", "--fix"), ("ruff", "format", "--check"), ("mypy", "--strict")])
def test_what_was_added_passes_the_checks(grown: Copy, program: tuple[str, ...]) -> None:
    if shutil.which(program[0]) is None and grown.python("-m", program[0], "--version").returncode:
        pytest.skip(f"{program[0]} is not installed")
    paths = [step.path for step in steps() if step.path.startswith("tb_steptime/")]
    output = grown.python("-m", *program, *dict.fromkeys(paths))
    assert output.returncode == 0, output.stdout + output.stderr


@pytest.mark.skipif(not (NODE_MODULES / ".bin" / "tsc").exists(), reason="the front end's packages are not installed")
def test_the_front_end_does_not_compile_before_it_has_the_view(grown: Copy) -> None:
    grown.makes("api.gen.ts")
    refused = grown.compiles()
    assert refused.returncode != 0
    assert "'longest_op' is missing" in refused.stdout
    for step in steps():
        if step.path.startswith("frontend/"):
            grown.do(step)
    compiled = grown.compiles()
    assert compiled.returncode == 0, compiled.stdout
