"""What producers write that is no JSON -> JSON: NaN and its kin, control characters, paths of Windows, bad UTF-8.

Halves of UTF-16 pairs too: a name that was cut in the middle of a character has one, and no text can hold it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_WORD = re.compile(
    rb"(?<![\w.])(?:[-+]?(?:nan(?:\(\w*\))?|inf(?:inity)?|1\.#\w+)|n/a|none|undefined)(?![\w.])", re.IGNORECASE
)
_CONTROL = re.compile(rb"[\x00-\x1f]")
#: Bytes that UTF-8 does not have replace escaped backslashes and quotes, so that each quote left is one of JSON's.
_BACKSLASH, _QUOTE = b"\xff\xff", b"\xff\xfe"
_BAD_ESCAPE = re.compile(rb"\\(?![/bfnrt]|u[0-9a-fA-F]{4})")
_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


class Repaired(NamedTuple):
    """Text that is JSON, and how many values (NaN, N/A) and strings (control characters, bad escapes) it took."""

    text: bytes
    value_count: int
    string_count: int


def repair(text: bytes) -> Repaired:
    """Write null for what is no number, and escape what a string may not hold."""
    valid = text.decode("utf-8", "replace").encode()
    replaced_count = valid.count("\ufffd".encode()) - text.count("\ufffd".encode())
    parts = valid.replace(rb"\\", _BACKSLASH).replace(rb"\"", _QUOTE).split(b'"')
    outside, value_count = _WORD.subn(b"null", b'"'.join(parts[0::2]))
    strings = _repaired_strings(parts[1::2])
    if strings != parts[1::2]:
        replaced_count += sum(new != old for new, old in zip(strings, parts[1::2], strict=True))
    parts[0::2], parts[1::2] = outside.split(b'"'), strings
    return Repaired(
        b'"'.join(parts).replace(_QUOTE, rb"\"").replace(_BACKSLASH, rb"\\"), value_count, max(0, replaced_count)
    )


def _repaired_strings(strings: list[bytes]) -> list[bytes]:
    together = b" ".join(strings)
    if any(wrong.search(together) for wrong in (_CONTROL, _BAD_ESCAPE, _HALF)):
        return [_repaired_string(string) for string in strings]
    return strings


def _repaired_string(string: bytes) -> bytes:
    if _BAD_ESCAPE.search(string):  # its writer does not escape: a path of Windows
        string = string.replace(_BACKSLASH, _BACKSLASH * 2).replace(b"\\", _BACKSLASH)
    string = _HALF.sub(rb"\\ufffd", string)
    return _CONTROL.sub(lambda match: b"\\u%04x" % match.group()[0], string)
