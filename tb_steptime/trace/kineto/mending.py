"""What producers write that is no JSON -> JSON: NaN and its kin, control characters, paths of Windows, bad UTF-8."""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING_OR_WORD = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"'
    rb"|(?<![\w.])(?:[-+]?(?:nan(?:\(\w*\))?|inf(?:inity)?|1\.#\w+)|n/a|none|undefined)(?![\w.])",
    re.DOTALL | re.IGNORECASE,
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_BAD_ESCAPE = re.compile(rb"\\")
_BACKSLASH = re.compile(rb'\\(?!")')


class Mended(NamedTuple):
    """Text made JSON, and how many values (NaN, N/A) and strings (control characters, bad escapes) it took."""

    text: bytes
    value_count: int
    string_count: int


def mend(text: bytes) -> Mended:
    """Write null for what is no number, and escape what a string may not hold."""
    valid = text.decode("utf-8", "replace").encode()
    counts = {"value": 0, "string": valid.count("\ufffd".encode()) - text.count("\ufffd".encode())}

    def replace(match: re.Match[bytes]) -> bytes:
        word = match.group()
        if not word.startswith(b'"'):
            counts["value"] += 1
            return b"null"
        mended = _mended_string(word)
        counts["string"] += mended != word
        return mended

    mended = _STRING_OR_WORD.sub(replace, valid)
    return Mended(mended, counts["value"], counts["string"])


def _mended_string(word: bytes) -> bytes:
    if b"\\" in word and _BAD_ESCAPE.search(_ESCAPE.sub(b"", word)):
        word = _BACKSLASH.sub(rb"\\\\", word)  # its writer does not escape: a path of Windows
    return _CONTROL.sub(lambda match: b"\\u%04x" % match.group()[0], word)
