"""Sentences are built where results become words, not where they are measured: better words need no new summary."""

from __future__ import annotations

import ast
from pathlib import Path

from tests import PROJECT

PACKAGE = PROJECT / "tb_steptime"
ROOMS = ("metrics", "analyses", "compare")


def builds_sentences(path: Path) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in ("phrase", "Phrase") for called in calls)


def test_what_measures_builds_no_sentence():
    modules = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    building = {path.relative_to(PACKAGE).as_posix() for path in modules if builds_sentences(path)}
    assert building == set()
