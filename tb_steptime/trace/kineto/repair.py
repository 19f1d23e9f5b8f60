"""Repairs invalid JSON that producers write: NaN and the like, control characters, Windows paths, bad UTF-8.

Also half surrogate pairs of UTF-16: a name that was cut in the middle of a character has one, and no string can hold
it.
"""

from __future__ import annotations

import re

import msgspec

from tb_steptime.text.patterns import expression

_WORD = expression(
    rb"(?<![\w.])(?:[-+]?(?:nan(?:\(\w*\))?|inf(?:inity)?|1\.#\w+)|n/a|none|undefined)(?![\w.])", re.IGNORECASE
)
_CONTROL = expression(rb"[\x00-\x1f]")
#: Stand-ins for escaped backslashes and quotes, so that each remaining quote delimits a string. UTF-8 never has these
#: bytes.
_BACKSLASH, _QUOTE = b"\xff\xff", b"\xff\xfe"
_BAD_ESCAPE = expression(rb"\\(?![/bfnrt]|u[0-9a-fA-F]{4})")
_HALF = expression(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


class RepairedText(msgspec.Struct, frozen=True):
    """Text that is valid JSON, and how many values (NaN, N/A) and strings (control characters, bad escapes) were
    repaired."""

    text: bytes
    value_count: int
    string_count: int


def repair(text: bytes) -> RepairedText:
    """Replaces non-numbers by null, and escapes what a string may not contain."""
    valid = text.decode("utf-8", "replace").encode()
    replaced_count = valid.count("\ufffd".encode()) - text.count("\ufffd".encode())
    parts = valid.replace(rb"\\", _BACKSLASH).replace(rb"\"", _QUOTE).split(b'"')
    outside, value_count = _WORD.subn(b"null", b'"'.join(parts[0::2]))
    strings = _repaired_strings(parts[1::2])
    if strings != parts[1::2]:
        replaced_count += sum(new != old for new, old in zip(strings, parts[1::2], strict=True))
    parts[0::2], parts[1::2] = outside.split(b'"'), strings
    return RepairedText(
        b'"'.join(parts).replace(_QUOTE, rb"\"").replace(_BACKSLASH, rb"\\"), value_count, max(0, replaced_count)
    )


def _repaired_strings(strings: list[bytes]) -> list[bytes]:
    together = b" ".join(strings)
    if any(wrong.search(together) for wrong in (_CONTROL, _BAD_ESCAPE, _HALF)):
        return [_repaired_string(string) for string in strings]
    return strings


def _repaired_string(string: bytes) -> bytes:
    if _BAD_ESCAPE.search(string):  # its writer does not escape: a Windows path
        string = string.replace(_BACKSLASH, _BACKSLASH * 2).replace(b"\\", _BACKSLASH)
    string = _HALF.sub(rb"\\ufffd", string)
    return _CONTROL.sub(lambda match: b"\\u%04x" % match.group()[0], string)
