"""Sentences are built where results are put into words, not where they are measured, so a new wording needs no new
summary."""

from __future__ import annotations

import ast
from pathlib import Path

from tests import PROJECT

PACKAGE = PROJECT / "tb_steptime"
ROOMS = ("metrics", "analyses", "comparison", "ranks")


def builds_sentences(path: Path) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in ("phrase", "Phrase") for called in calls)


def test_what_measures_builds_no_sentence():
    found = {room: list((PACKAGE / room).rglob("*.py")) for room in ROOMS}
    assert all(found.values())
    modules = [path for paths in found.values() for path in paths]
    building = {path.relative_to(PACKAGE).as_posix() for path in modules if builds_sentences(path)}
    assert building == set()
