"""Every promise of SECURITY.md has its test. What no test can observe is checked in the source code."""

from __future__ import annotations

import ast
import re

import pytest

from tests import PROJECT

PAGE = (PROJECT / "SECURITY.md").read_text()
#: A row of a table: the promise, and its tests.
PROMISES = re.findall(r"^\| (?!what |---)(.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
NAMED = re.compile(r"`((?:tests|frontend/test)/[\w/]+\.\w+(?:\.tsx)?)(?:::(\w+))?`")

#: Modules that execute the content of a file, or load it as objects.
DANGEROUS = {"pickle", "marshal", "shelve", "dill", "joblib", "yaml", "code", "codeop"}
#: What a file has in it that does any of this; only then is it parsed, which takes much longer.
SUSPECT = re.compile(rf"\b({'|'.join(DANGEROUS)})\b|\b(eval|exec|compile|__import__)\s*\(|allow_pickle|shell")
#: Files that may use them for messages: of a process to the one that started it, over a pipe or in an unnamed file of
#: their own, or to a worker of the user's cluster.
MESSAGES = {
    *(f"tb_steptime/trace/kineto/parts/{name}.py" for name in ("team", "worker", "unpacking")),
    *(f"tb_steptime/ingest/{name}.py" for name in ("analysing", "exchange")),
    "tb_steptime/terminal/cluster.py",
}


@pytest.mark.parametrize(("promise", "tests"), PROMISES, ids=[each[0][:40] for each in PROMISES])
def test_every_promise_names_a_test_that_exists(promise: str, tests: str) -> None:
    named = NAMED.findall(tests)
    assert named, f"{promise} has no test"
    for file, name in named:
        assert (PROJECT / file).is_file(), file
        assert not name or re.search(rf"^def {name}\(", (PROJECT / file).read_text(), re.MULTILINE), (file, name)


def test_the_page_is_one_page() -> None:
    assert len(PROMISES) >= 15
    assert len(PAGE.splitlines()) <= 80


def test_nothing_that_is_read_is_unpickled_or_evaluated() -> None:
    found = set()
    for path in sorted((PROJECT / "tb_steptime").rglob("*.py")):
        if SUSPECT.search(text := path.read_text()) and any(map(dangerous, ast.walk(ast.parse(text)))):
            found.add(str(path.relative_to(PROJECT)))
    assert found - MESSAGES == set()


def dangerous(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(each.name.split(".")[0] in DANGEROUS for each in names)
        case ast.ImportFrom(module=str(module)):
            return module.split(".")[0] in DANGEROUS
        case ast.Call(func=ast.Name(id="eval" | "exec" | "compile" | "__import__")):
            return True
        case ast.keyword(arg="allow_pickle" | "shell", value=ast.Constant(value=True)):
            return True
    return False


def test_the_front_end_writes_text_and_no_html() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:")
    sources = [path for path in (PROJECT / "frontend" / "src").rglob("*.ts*") if path.is_file()]
    assert len(sources) > 50
    assert [path.name for path in sources if forbidden.search(path.read_text())] == []
