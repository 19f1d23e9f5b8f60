"""Which tests may say more where torch or real traces are: those whose source speaks of one of them, or the source of
what they use.

A test uses what its source names: functions, classes and constants of its module, fixtures, and what other modules of
the project define. What is only mentioned counts as used, so that no test is left out that needs to run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests import PROJECT

#: Modules that are followed. The package itself imports torch only in its recorder.
FOLLOWED = ("tests", "benchmarks", "tools", "tb_steptime.record")

_TORCH = r"torch|torchdata|lightning|pytorch_lightning|transformers|accelerate"
#: What a source mentions that may act differently there: an import of torch or of what needs it, a question for a
#: package, the recorder as a whole, whose parts are imported when asked for, a script that trains, the only module that
#: knows where real traces are. A test that skips where something is missing is run again in any case.
SPEAKS = re.compile(
    rf"\b(?:import|from) +(?:{_TORCH})\b|\bfind_spec\b"
    r"|\btb_steptime import record\b|\btb_steptime\.record\b(?!\.\w)"
    r"|/ *[\"']examples\b|\breal_traces\b"
)
#: Modules that a source mentions other than by an import: `-m tests.fuzz`, `benchmarks/loading_truth.py`.
MENTIONED = re.compile(rf"\b(?:{'|'.join(FOLLOWED)})(?:[./]\w+)+")

#: A top-level name of a module; "" for what the module does when it is imported.
Part = tuple[Path, str]


def may_say_more(item: pytest.Item) -> bool:
    """Whether a test may say more where torch or real traces are."""
    names = {getattr(item, "originalname", item.name), *getattr(item, "fixturenames", ())}
    if (of_class := getattr(item, "cls", None)) is not None:
        names.add(of_class.__qualname__.partition(".")[0])
    fixtures = [(conftest, name) for conftest in _conftests(item.path.parent) for name in names]
    return _speak([(item.path, ""), *((item.path, name) for name in names), *fixtures])


#: Parts of which it is known whether they, or what they use, speak of torch or real traces.
_KNOWN: dict[Part, bool] = {}


def _speak(first: Iterable[Part]) -> bool:
    """Whether one of these parts, or what they use, speaks of torch or real traces."""
    user: dict[Part, Part | None] = dict.fromkeys(part for part in first if _KNOWN.get(part) is not False)
    left = list(user)
    while left:
        part: Part | None = left.pop()
        assert part is not None
        if _KNOWN.get(part) or _speaks(part):
            while part is not None:
                _KNOWN[part], part = True, user[part]
            return True
        new = {each for each in _used(part) - user.keys() if _KNOWN.get(each) is not False}
        user.update(dict.fromkeys(new, part))
        left += new
    _KNOWN.update(dict.fromkeys(user, False))
    return False


def _speaks(part: Part) -> bool:
    imports = [f"from {module} import {name}" for module, name in _imported(part)]
    return SPEAKS.search("\n".join([_text(part), *imports])) is not None


def _used(part: Part) -> set[Part]:
    path, text = part[0], _text(part)
    words = _words(part)
    used = {(path, word) for word in words & _source(path).named.keys()}
    for module, name in _imported(part):
        used |= {(file, each) for file in _files(module) for each in ("", name)}
        for file in _files(f"{module}.{name}"):
            used |= {(file, each) for each in ("", *words & _source(file).named.keys())}
    for mentioned in MENTIONED.findall(text):
        for file in _files(mentioned.removesuffix(".py").replace("/", ".")):
            used |= {(file, each) for each in ("", *_source(file).named)}
    return used


def _text(part: Part) -> str:
    source = _source(part[0])
    return source.named.get(part[1], "") if part[1] else source.always


@cache
def _words(part: Part) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", _text(part)))


def _imported(part: Part) -> list[tuple[str, str]]:
    """The imported names that a part uses: the module, and the name there."""
    imported = _source(part[0]).imported
    return [imported[word] for word in _words(part) & imported.keys()]


@cache
def _conftests(folder: Path) -> list[Path]:
    """Where the fixtures of a folder's tests may be, besides their modules."""
    around = [each for each in (folder, *folder.parents) if each.is_relative_to(PROJECT / "tests")]
    return [each / "conftest.py" for each in around if (each / "conftest.py").is_file()]


@cache
def _files(module: str) -> tuple[Path, ...]:
    """The files of a module that is followed; of a package also what `python -m` runs."""
    if not module.startswith(tuple(f"{each}." for each in FOLLOWED)):
        return ()
    path = PROJECT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py", path / "__main__.py")
    return tuple(file for file in files if file.is_file())


@dataclass
class _Source:
    """named: the source of each top-level name. always: the source of all other statements. imported: the module of
    each imported name, and its name there."""

    named: dict[str, str] = field(default_factory=dict)
    always: str = ""
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)


@cache
def _source(path: Path) -> _Source:
    text = path.read_text("utf-8")
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    found = _Source()
    for node in tree.body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        part = "".join(lines[first - 1 : node.end_lineno])
        names = _defined(node)
        for name in names:
            found.named[name] = found.named.get(name, "") + part
        if "pytestmark" in names or not (names or _does_nothing(node)):
            found.always += part
    for node in _statements(tree.body):
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                found.imported[each.asname or each.name] = (node.module, each.name)
        elif isinstance(node, ast.Import):
            for each in node.names:
                found.imported[(each.asname or each.name).partition(".")[0]] = (each.name, "")
    return found


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those within others too."""
    for node in nodes:
        yield node
        for within in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, within, ()))


def _does_nothing(node: ast.stmt) -> bool:
    """Imports are followed where their names are used. A docstring may speak of anything."""
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _defined(node: ast.stmt) -> list[str]:
    """The names that a top-level statement defines."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []
