"""The rules for the tests themselves."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests import PROJECT
from tests.drawn import machine

#: Any import of a test module has this in its line; only then is a file parsed, which takes much longer.
OF_TEST = re.compile(r"\btests\.[\w.]*\btest_")


def imported(text: str) -> set[str]:
    tree = ast.parse(text)
    froms = {f"{node.module}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return froms | {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}


def test_no_test_module_is_imported():
    """Helpers that several test modules share belong in tests/drawn."""
    found = {
        f"{path.relative_to(PROJECT)} imports {module}"
        for path in (PROJECT / "tests").rglob("*.py")
        if OF_TEST.search(text := path.read_text(encoding="utf-8"))
        for module in imported(text)
        if module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")
    }
    assert found == set()


@pytest.mark.parametrize(("late_seconds", "outcome"), [(3600.0, AssertionError), (-1.0, pytest.skip.Exception)])
def test_a_failure_is_a_skip_only_where_the_machine_had_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_seconds: float, outcome: type[BaseException]
):
    """late_seconds: by how much the thread that sleeps during the recording may wake late."""
    monkeypatch.setattr(machine, "LATE_SECONDS", late_seconds)
    with pytest.raises(outcome), machine.skipped_if_busy():
        machine.in_peace(lambda folder: folder.name, tmp_path)
        raise AssertionError
    with machine.skipped_if_busy():  # nothing fails
        assert machine.in_peace(lambda folder: folder, tmp_path) == tmp_path
