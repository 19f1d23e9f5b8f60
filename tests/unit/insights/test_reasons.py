"""The table of reasons has a text for every code that is returned, and for no other code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import tb_steptime
from tb_steptime.insights.wording.reasons import REASONS, explain
from tb_steptime.text import Reason, count
from tb_steptime.text.printer import plain

PACKAGE = Path(tb_steptime.__file__).parent


@cache
def reasons_in_code() -> list[tuple[str, set[str]]]:
    """(code, names of its values) of each `Reason(...)` of the package."""
    found = []
    for source in (path.read_text() for path in PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(source)) if "Reason(" in source else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                code, *values = [ast.literal_eval(node.args[0]), *node.args[1:]]
                found.append((code, {ast.literal_eval(key) for each in values for key in each.keys}))
    return found


def test_every_code_has_words_and_all_words_have_a_code():
    assert {code for code, _ in reasons_in_code()} == set(REASONS)


def test_every_place_of_a_template_has_a_value():
    for code, values in reasons_in_code():
        assert set(re.findall(r"\{(\w+)\}", REASONS[code])) == values, code


def test_words_are_whole_sentences():
    for template in REASONS.values():
        assert re.fullmatch(r"[A-Z].*[^.]\.", template), template


def test_a_reason_fills_the_places_of_its_template(monkeypatch):
    monkeypatch.setitem(REASONS, "few", "Only {steps} steps.")
    assert plain(explain(Reason("few", {"steps": count(2)}))) == "Only 2 steps."
