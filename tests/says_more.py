"""Which tests may check more where torch or real traces are available, although they pass without them.

Other tests are skipped if they need torch or a trace. The names that a test uses are followed through its module, its
fixtures and the other modules of the tests; what a name of another package does is not looked at.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

#: What a test that may check more, or something that it uses, contains.
MAY_SAY_MORE = re.compile(
    r"\b(?:REAL|EVERY|SNAPSHOTS|PFTRACES|reference|is_there|is_real_trace_there|find_spec)\b"
    r"|^ *(?:import|from) torch\b|\btb_steptime import record\b|/ \"examples\"",
    re.MULTILINE,
)
#: Packages of the tests that are also run as programs: `-m tests.fuzz`.
_MENTIONED = re.compile(r"\btests\.(?:fuzz|judged|truth)[\w.]*")
#: Its own names say more, and nothing else in it.
_REAL_TRACES = ROOT / "tests" / "drawn" / "real_traces.py"

#: In place of a name: everything in the module.
_ALL = "*"


class Name(NamedTuple):
    """A name where it is used."""

    module: Path
    name: str


class Definition(NamedTuple):
    """A statement that binds a name, and the names that it uses."""

    text: str
    uses: frozenset[Name]


#: Names that say nothing more, and neither does anything that they use.
_silent: set[Name] = set()


@cache
def may_say_more(module: Path, test: str, fixtures: frozenset[str]) -> bool:
    """test: the name of the function, or of its class. fixtures: all, also those that others request."""
    left = [Name(module, name) for name in (test, *fixtures)]
    seen = set(left)
    if not _definitions_of(left[0]):  # it was made in a way that is not known here
        return True
    while left:
        for each in _definitions_of(left.pop()):
            if MAY_SAY_MORE.search(each.text):
                return True
            new = each.uses - seen - _silent
            seen |= new
            left += new
    _silent.update(seen)
    return False


def _definitions_of(name: Name) -> Iterable[Definition]:
    """Fixtures may be defined in a conftest.py in one of the folders around the module."""
    if name.module == _REAL_TRACES:
        return ()
    if name.name == _ALL:
        return [each for some in _definitions(name.module).values() for each in some]
    places = (name.module, *_conftests(name.module.parent))
    return next((found for place in places if (found := _definitions(place).get(name.name))), ())


@cache
def _conftests(folder: Path) -> list[Path]:
    around = [each / "conftest.py" for each in (folder, *folder.parents)]
    return [file for file in around if file.is_file()]


@cache
def _definitions(module: Path) -> dict[str, list[Definition]]:
    source = module.read_text("utf-8")
    lines = source.splitlines()
    found = defaultdict[str, list[Definition]](list)
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for name, definition in _imported(statement):
                found[name].append(definition)
        else:
            definition = _defined(statement, lines, module)
            for name in _bound(statement):
                found[name].append(definition)
    return dict(found)


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Definition]]:
    for alias in statement.names:
        bound = alias.asname or alias.name
        if isinstance(statement, ast.Import):
            yield bound.partition(".")[0], Definition(f"import {alias.name}", frozenset(_whole(alias.name)))
        else:
            text = f"from {statement.module} import {alias.name}"
            yield bound, Definition(text, frozenset(_from(f"{statement.module}", alias.name)))


def _from(package: str, name: str) -> Iterator[Name]:
    yield from list(_whole(f"{package}.{name}")) or (Name(file, name) for file in _files(package))


def _whole(module: str) -> Iterator[Name]:
    return (Name(file, _ALL) for file in _files(module))


def _files(module: str) -> list[Path]:
    if module.partition(".")[0] != "tests":
        return []
    path = ROOT.joinpath(*module.split("."))
    return [file for file in (path.with_suffix(".py"), path / "__init__.py", path / "__main__.py") if file.is_file()]


def _defined(statement: ast.stmt, lines: list[str], module: Path) -> Definition:
    first = min((each.lineno for each in getattr(statement, "decorator_list", ())), default=statement.lineno)
    text = "\n".join(lines[first - 1 : statement.end_lineno])
    uses = {name for mentioned in _MENTIONED.findall(text) for name in _whole(mentioned)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            uses.add(Name(module, node.id))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            uses |= {name for _, definition in _imported(node) for name in definition.uses}
    return Definition(text, frozenset(uses))


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module binds there."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    nodes = list(ast.walk(statement))
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return stored | defined | {name for each in imports for name, _ in _imported(each)}
