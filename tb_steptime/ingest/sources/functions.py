"""Finds where functions begin and end in a source file, from its tokens: the code is neither run nor compiled.

1   @torch.no_grad()     function "evaluate", lines 1 to 4: a frame names the line of its first decorator
2   def evaluate(net):
3       for x in data:
4           net(x)
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from typing import NamedTuple


class Function(NamedTuple):
    """A function in a source file. first: the line of its first decorator, or of `def`; last: its last line. Both count
    from 1."""

    name: str
    first: int
    last: int


def functions_of(text: str) -> list[Function]:
    """Returns the functions in the order in which they begin, up to where the text is no longer Python."""
    return sorted(_functions(text), key=lambda function: function.first)


def _functions(text: str) -> Iterator[Function]:
    opened: list[tuple[str, int] | None] = []  # name and first line of the enclosing blocks; None: not a function
    head: tuple[str, int] | None = None
    line: list[tokenize.TokenInfo] = []
    decorated = last = 0
    for token in _tokens(text):
        if token.type == tokenize.INDENT:
            opened.append(head)
        elif token.type == tokenize.DEDENT:
            ended = opened.pop()
            if ended:
                yield Function(*ended, last)
        elif token.type != tokenize.NEWLINE:
            line.append(token)
        elif line:
            words = [each.string for each in line]
            first, last = decorated or line[0].start[0], line[-1].end[0]
            decorated = first if words[0] == "@" else 0
            head = _head(words, first)
            if head and words[-1] != ":":  # its body is on the same line
                yield Function(*head, last)
            line = []
    for cut in filter(None, opened):
        yield Function(*cut, last)


def _head(words: list[str], first: int) -> tuple[str, int] | None:
    """Returns the name and first line if these words begin a function."""
    words = words[1:] if words[0] == "async" else words
    return (words[1], first) if words[0] == "def" and len(words) > 1 else None


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yields tokens up to where the text is no longer Python."""
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in skipped:
                yield token
    except (tokenize.TokenError, SyntaxError):
        return
