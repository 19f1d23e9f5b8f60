"""Real traces: only one module knows where they are, and the table of fetched files lists the files that tests use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import PROJECT
from tests.drawn import real_traces
from tests.drawn.real_traces import WAITS, how_to_get
from tools.real_traces import FETCHED, rows

#: Files that may name the place of real traces: the helper, what fetches them, the table, and the tests of these.
KNOWING = {
    "tests/drawn/real_traces.py",
    "tools/real_traces.py",
    "tools/real_traces.tsv",
    "tests/project/test_real_traces.py",
    "tests/process/test_fetching.py",
}
#: Other ways to a real file: the folder beside the checkout, the environment variable, or the names of the subfolders.
SPELLED = re.compile(
    r"""TB_STEPTIME_SHARED|\bSHARED\b|["'](\.\./)*shared/|/ ["']shared["']|\bshared\s*/\s*["']"""
    r"""|["'/](traces_world|pftrace|snapshots|flight_recorder)["'/]|\breference/\w+\.json|\blabelled\.tsv"""
    r"""|\breal_traces/|\bFETCHED\b"""
)
#: A call to which a line passes a name.
HELPER = re.compile(r"\b(needs|cases|real_path|is_there)\(")


def mentions(path: str, text: str) -> list[str]:
    """The lines of a Python file that name the place of real traces. Lines that
    pass a name to the helper do not count."""
    if path in KNOWING or not SPELLED.search(text):
        return []
    lines = [line for line in text.splitlines() if SPELLED.search(line)]
    return [f"{path}: {line.strip()}" for line in lines if not HELPER.search(line)]


def python_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=PROJECT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [PROJECT / line for line in listed.splitlines() if (PROJECT / line).exists()]


def test_one_module_knows_where_real_traces_lie():
    files = python_files()
    assert len(files) > 500
    found = [line for path in files for line in mentions(str(path.relative_to(PROJECT)), path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        'read_trace(SHARED / "traces" / name)',
        'Path(__file__).parents[2] / "shared" / "traces"',
        'TRACES = "../shared/traces"',
        'os.environ["TB_STEPTIME_SHARED"]',
        'shared / "traces" / name',
        'folder / "traces_world" / "a.json.gz"',
        'open("reference/operators.json")',
        'PROJECT / "real_traces/traces"',
    ],
)
def test_another_mention_is_found(line: str):
    assert mentions("tests/unit/test_any.py", f"import os\n{line}\n") == [f"tests/unit/test_any.py: {line}"]


def test_asking_the_helper_is_no_mention():
    assert mentions("a.py", 'path = real_path("kernels/labelled.tsv")\n@needs("reference/operators.json")') == []


def test_the_table_names_each_file_once_and_whole():
    table = rows()
    assert len({row.name for row in table}) == len(table) > 50
    for row in table:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", row.repository), row
        assert re.fullmatch(r"[0-9a-f]{10,40}", row.commit), row
        assert re.fullmatch(r"[0-9a-f]{64}", row.sha256), row
        assert row.bytes > 0 and row.licence, row
        assert not Path(row.name).is_absolute() and ".." not in Path(row.name).parts, row
        assert row.name.split("/")[0] in {"traces", "traces_world", "pftrace", "snapshots", "flight_recorder"}, row


def test_the_closing_line_says_what_brings_the_files(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(real_traces, "_FOLDER", FETCHED)
    public = f"('a.py', 3, 'Skipped: {WAITS}traces/kineto_v100_resnet50')"
    ours = f"('a.py', 4, 'Skipped: {WAITS}reference/operators.json')"
    assert how_to_get(["('a.py', 5, 'Skipped: torch is not installed')"]) is None
    assert how_to_get([public, "other"]) == (
        "1 test waits for real traces and was skipped: `make traces` brings what it needs"
    )
    assert how_to_get([public, public, ours]) == (
        "3 tests wait for real traces and were skipped: `make traces` brings what 2 of them need"
    )
    assert how_to_get([ours]) == "1 test waits for real traces and was skipped: their files are not public"
    monkeypatch.setattr(real_traces, "_FOLDER", Path("/nowhere"))
    assert how_to_get([public, public]) == (
        "2 tests wait for real traces and were skipped: looked for in /nowhere; "
        "without that folder `make traces` brings what they need"
    )
    assert how_to_get([ours]) == "1 test waits for real traces and was skipped: looked for in /nowhere"


@pytest.mark.parametrize(
    ("named", "beside", "used"),
    [
        ("/nowhere", "traces", "/nowhere"),
        ("", "traces", "shared"),
        ("", "of_another_project", "real_traces"),
        ("", "", "real_traces"),
    ],
)
def test_where_they_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, beside: str, used: str):
    monkeypatch.setenv("TB_STEPTIME_SHARED", named)
    monkeypatch.setattr(real_traces, "_BESIDE_THE_CHECKOUT", tmp_path / "shared")
    monkeypatch.setattr(real_traces, "FETCHED", tmp_path / "real_traces")
    if beside:
        (tmp_path / "shared" / beside).mkdir(parents=True)
    assert real_traces._folder() == tmp_path / used


def test_a_run_without_them_says_so_once():
    """As in a clone without real traces: the reasons of the single tests are not printed."""
    module = "tests/unit/insights/test_evidence_rows.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", module],
        env={**os.environ, "TB_STEPTIME_SHARED": str(PROJECT / "nowhere")},
        cwd=PROJECT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "real traces" in line or line.startswith("SKIPPED")]
    (line,) = lines
    assert re.match(r"\d+ tests? waits? for real traces and w\w+ skipped: ", line), line
    assert re.search(r"\d+ passed, \d+ skipped in ", done.stdout.splitlines()[-1])
