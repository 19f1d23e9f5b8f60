"""Markdown of tables and definitions, as the generated parts of the documentation need it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: Quoted code, or one character that Markdown would take for its own.
_SPECIAL = re.compile(r"(`[^`]*`)|[\\*_<>\[\]#|]")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table. Cells hold Markdown of one line.

    >>> print(table(("id", "unit"), [("a|b", "ns")]))
    | id | unit |
    |---|---|
    | a\\|b | ns |
    """
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    head, rule, *rest = lines
    return "\n".join([_line(head), "|" + "|".join(rule) + "|", *map(_line, rest)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def code(text: str) -> str:
    return f"`{text}`"


def plain(text: str) -> str:
    """Text in which nothing but quoted code has a meaning in Markdown.

    >>> plain("set `num_workers`; <b> is *bold*")
    'set `num_workers`; \\\\<b\\\\> is \\\\*bold\\\\*'
    """
    return _SPECIAL.sub(lambda found: found[0] if found[1] else "\\" + found[0], text)


def paragraphs(docstring: str) -> list[str]:
    """The paragraphs of a docstring, each on one line; drawings (indented, or with runs of spaces) are left out."""
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", docstring.strip())]
    return [" ".join(block.split()) for block in blocks if not _is_drawing(block)]


def _is_drawing(block: str) -> bool:
    return any(re.search(r"\S {3,}\S", line) or line.startswith("    ") for line in block.splitlines())
