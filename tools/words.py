"""python -m tools.words: every sentence that a user can see, grouped by where it is shown.

With --check only those in words that the field does not use, and those that do not begin with their subject.

Meanings come from the catalogue; all other sentences are read out of the source, where `{...}` stands for a value.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import tb_steptime
from tb_steptime.serve.catalogue import catalogue
from tb_steptime.terminal.commands import COMMANDS
from tb_steptime.terminal.commands.base import Command

PACKAGE = Path(tb_steptime.__file__).parent
WIDTH = 110
MEANINGS = "Labels and meanings"
TABLES = "Tables"
OF_TAB = "Said by the tab itself"
#: What the tab itself says, beside the sentences of results: buttons, axes, hints.
TAB = Path(__file__).resolve().parent.parent / "frontend" / "src"
#: In TypeScript: a string, a template, or text between tags, from its first letter on.
_TYPESCRIPT = re.compile(r'"([A-Z][^"\n]*)"|`([A-Z][^`]*)`|>\s*([A-Z][^<>{}=;]*)\s*<')


class Section(NamedTuple):
    """Where sentences are shown, and the modules that build them: everything written there, or the arguments of some
    calls.
    """

    title: str
    modules: tuple[str, ...]
    calls: tuple[str, ...] = ()


#: Words of the past, and words that no field uses.
AVOIDED = re.compile(
    r"\b(deeds?|anew|held up|holds? (the|a) \w+ up|told (of|by|from)|untold|looks?|looked|taking turns|take turns|"
    r"in turns|rhythm|in store|the making|stretch(es)?|pieces of work|stands? still|waits left out|surer|riddles?|"
    r"crowds?|by as much|no known use|hardly any more|to the bit|once more)\b",
    re.IGNORECASE,
)
#: The beginning of a sentence that has no subject, or has it after its object.
FRAGMENT = re.compile(
    r"(?:^|[.!?] )(Of (?!course\b)|As (far|predicted|much|many)\b|By the|So there|And |But )[^?]*?\.(?: |$)"
)

#: Two words of a sentence: SVG paths and code between angle brackets have none.
_IN_ENGLISH = re.compile(r"[a-z]{2,} [a-z{]|[A-Z]{2,} [a-z]")
_PHRASES = ("phrase", "Phrase")
_ERRORS = ("TraceError", "Problem", "FormatError", "UnbegunError", "OSError", "warning")
SECTIONS = (
    Section(TABLES, ("tables/**/*.py",)),
    Section("Verdicts and headlines", ("insights/*.py",)),
    Section("Cards: data loading", ("insights/rules/data_loading/*.py",)),
    Section("Cards: host", ("insights/rules/host/*.py",)),
    Section("Cards: GPU", ("insights/rules/gpu/*.py",)),
    Section("Cards: communication", ("insights/rules/communication/*.py", "insights/rules/ranks/*.py")),
    Section("Cards: steps", ("insights/rules/steps/*.py",)),
    Section("Cards: memory", ("insights/rules/memory/*.py",)),
    Section("Notes about a trace", ("insights/wording/notes/*.py",)),
    Section("Titles, remarks and reasons", ("insights/wording/*.py",)),
    Section("Other sentences of results", ("timeline/*.py",), _PHRASES),
    Section("Errors and warnings", ("**/*.py",), _ERRORS),
    Section("Printed by the command line", ("terminal/**/*.py",)),
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.words", description=__doc__)
    parser.add_argument("--find", default="", metavar="TEXT", help="print only sentences with this text in them")
    parser.add_argument(
        "--check", action="store_true", help="print only what is to be rewritten, and fail if it is any"
    )
    asked = parser.parse_args(arguments)
    if asked.check:
        odd = list(to_rewrite())
        print("\n".join(f"{title}: {sentence}" for title, sentence in odd), end="\n" if odd else "")
        return int(bool(odd))
    wanted = asked.find.lower()
    for title, sentences in words():
        found = [each for each in sentences if wanted in each.lower()]
        if found:
            print(f"\n== {title}\n" + "\n".join(map(_folded, found)))
    return 0


@functools.cache
def words() -> tuple[tuple[str, list[str]], ...]:
    """Every section with its sentences, each once; a module read as a whole belongs to the first section only."""
    return tuple(_words())


def _words() -> Iterator[tuple[str, list[str]]]:
    yield MEANINGS, list(_meanings())
    yield "What cards rest on", list(_answers())
    whole: set[Path] = set()
    for title, modules, calls in SECTIONS:
        paths = sorted({path for pattern in modules for path in PACKAGE.glob(pattern)} - (set() if calls else whole))
        whole |= set() if calls else set(paths)
        yield title, list(dict.fromkeys(each for path in paths for each in _sentences(path, calls)))
    yield "Help of the command line", [_help(command) for command in COMMANDS]
    paths = sorted(path for path in TAB.rglob("*.ts*") if not path.name.endswith(".gen.ts"))
    yield OF_TAB, list(dict.fromkeys(each for path in paths for each in _tab_sentences(path)))


def to_rewrite() -> Iterator[tuple[str, str]]:
    """Yields section and sentence. Fragments are not judged where a label and its meaning are one entry, nor in hints
    of labels."""
    for title, sentences in words():
        for sentence in sentences:
            fragment = title not in (MEANINGS, TABLES, OF_TAB) and FRAGMENT.search(sentence)
            if AVOIDED.search(sentence) or fragment:
                yield title, sentence


def _meanings() -> Iterator[str]:
    shown = catalogue()
    parts = (*shown.parts, *shown.idle_reasons, *shown.kernel_bins, *shown.production_parts, *shown.memory_parts)
    for each in (*shown.metrics, *shown.figures, *parts):
        yield f"{each.label}: {each.meaning}"
    for table in (shown.bounds, shown.causes, shown.phases, shown.limits, shown.roles):
        yield ", ".join(table.values())


def _answers() -> Iterator[str]:
    """When each rule fires, and its answers, which the tab and the documentation show with its card."""
    for card in catalogue().cards:
        yield card.fires
        yield from (f"{question}: {answer}" for question, answer in card.answers.items())


def _help(command: Command) -> str:
    parser = argparse.ArgumentParser(prog=f"tb-steptime {command.name}", description=command.description)
    command.add_arguments(parser)
    return parser.format_help()


def _sentences(path: Path, calls: tuple[str, ...]) -> Iterator[str]:
    """In their order; from the whole module, or from the arguments of calls of these names."""
    text = path.read_text("utf-8")
    if calls and not any(call in text for call in calls):
        return
    tree = ast.parse(text)
    nodes = [node for node in ast.walk(tree) if _is_call(node, calls)] if calls else [_without_docstrings(tree)]
    for node in nodes:
        yield from (text for text in _texts(node) if _is_sentence(text))


def _tab_sentences(path: Path) -> Iterator[str]:
    for found in _TYPESCRIPT.finditer(path.read_text("utf-8")):
        text = " ".join(re.sub(r"\$\{[^}]*\}", "{}", "".join(filter(None, found.groups()))).split())
        if _IN_ENGLISH.search(text):
            yield text


def _is_call(node: ast.AST, names: Iterable[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")) in names


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            del body[0]
    return tree


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _texts(node: ast.AST) -> Iterator[str]:
    """The strings below a node; a string with values in it counts as one."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _is_sentence(text: str) -> bool:
    """Whether it is several words, and not the name of a field, pattern or module."""
    letters = [word for word in text.split() if any(sign.isalpha() for sign in word)]
    return len(letters) > 1 and "(?" not in text and "\033" not in text


def _folded(sentence: str) -> str:
    lines = sentence.splitlines() or [""]
    folded = [textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ") for line in lines]
    return "\n".join(folded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
