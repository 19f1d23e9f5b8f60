"""Each room of the package says what it is for, and no module has grown into several topics."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests import PROJECT
from tools.rooms import PACKAGE, Room, rooms

#: A module is one topic, however many lines that takes. One beyond this mark holds several.
MOST_LINES = 500
#: The two entrances, and the one error.
LOOSE = {"cli", "errors", "plugin"}

NAMES = sorted({str(path.parent.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*.py")})


@cache
def found() -> dict[str, Room]:
    """By name, as a folder of the project. Read once, when a test asks for them."""
    return {f"{PACKAGE.name}/{room.name}".rstrip("/"): room for room in rooms(PACKAGE)}


@pytest.mark.parametrize("name", NAMES)
def test_a_room_says_what_it_is_for(name: str) -> None:
    assert re.fullmatch(r"[A-Z].*", found()[name].purpose, re.DOTALL), f"{name}/__init__.py has no docstring"


def test_nothing_else_lies_loose_at_the_root() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"} == LOOSE


def test_no_module_is_long() -> None:
    lines = {str(path.relative_to(PACKAGE)): path.read_text().count("\n") for path in PACKAGE.rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_the_design_notes_are_a_guide() -> None:
    """What concerns one room alone stands in its docstring."""
    assert (PROJECT / "docs" / "design.md").read_text().count("\n") <= 250


def test_the_design_notes_show_every_room() -> None:
    """Counts change with every commit, so the page about rooms is made of the rooms; which there are does not."""
    structure = (PROJECT / "docs" / "design.md").read_text().partition("## Structure")[2].partition("\n## ")[0]
    names = {room.name.rpartition("/")[2] for room in found().values()} - {""}
    assert {name for name in names if not re.search(rf"\b{name}\b", structure)} == set()
