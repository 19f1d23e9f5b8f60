"""The rules for the tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

from tests import PROJECT


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    froms = {f"{node.module}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return froms | {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}


def test_no_test_module_is_imported():
    """Helpers that several test modules share belong in tests/drawn."""
    found = {
        f"{path.relative_to(PROJECT)} imports {module}"
        for path in (PROJECT / "tests").rglob("*.py")
        for module in imported(path)
        if module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")
    }
    assert found == set()
