"""Each room of the package says what it is for, and no module covers several topics."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests import PROJECT
from tools.rooms import PACKAGE, Room, rooms

#: A module covers one topic, whatever its length. A module that is longer than this covers several.
MOST_LINES = 500
#: The two entry points, and the only error.
LOOSE = {"__main__", "cli", "errors", "plugin"}

NAMES = sorted({str(path.parent.relative_to(PACKAGE.parent)) for path in PACKAGE.rglob("*.py")})


@cache
def found() -> dict[str, Room]:
    """The rooms by name, as folders of the project. They are read once, when a test needs them."""
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
    """What concerns only one room belongs in the docstring of that room."""
    assert (PROJECT / "docs" / "design.md").read_text().count("\n") <= 250


def test_the_design_notes_show_every_room() -> None:
    """The page about rooms is generated, because counts change with every commit. The list of rooms does not change so
    often."""
    structure = (PROJECT / "docs" / "design.md").read_text().partition("## Structure")[2].partition("\n## ")[0]
    names = {room.name.rpartition("/")[2] for room in found().values()} - {""}
    assert {name for name in names if not re.search(rf"\b{name}\b", structure)} == set()
