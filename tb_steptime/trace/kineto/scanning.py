"""Where things begin and end in JSON text, found by its quotes and brackets alone, so that bad values do no harm.

The functions work on the text read so far, so an answer may be "not yet".
"""

from __future__ import annotations

import re
import sys

import msgspec

#: Number of bytes at the end of the text in which cuts are searched first.
TAIL_BYTES = 16 * 1024
#: When searching for an event, text that begins like one and does not end within this length is skipped.
_EVENT_BYTES = 64 * 1024

_CLOSES = {b"{": b"}", b"[": b"]"}
_CLOSING = frozenset(_CLOSES.values())
_SPACE = re.compile(rb"[\s,\x00]*")  # zeros are at the end of a file that is still being written
_CUT = re.compile(rb"\}\s*,\s*(?=\{)")
#: A cut before the brace at which the searched text ends.
_CUT_BEFORE = re.compile(rb"\}\s*,\s*\Z")
#: Bytes before a brace in which such a cut is searched first: more lie between two events only where space fills them.
_BETWEEN_BYTES = 64
_BETWEEN = b" \t\n\r\f\v,"
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|ts|pid|tid|dur|args|id|bp|s)"\s*:')
_EVENT_OR_END = re.compile(rb"[{\]]")
_SCALAR = re.compile(rb"[^\s,\]}\"{\[]+")


class ScannedEvents(msgspec.Struct, frozen=True):
    """The events with which a text begins.

    spans       (start, end) of each;  rest  where the first incomplete entry begins
    closed      their list has ended;  junk_count  entries between events that are not events
    """

    spans: list[tuple[int, int]]
    rest: int
    closed: bool
    junk_count: int


def skip_space(text: bytes, start: int = 0) -> int:
    """Returns the first place that is neither space, comma nor zero."""
    match = _SPACE.match(text, start)
    assert match
    return match.end()


def scalar_end(text: bytes, start: int = 0) -> int:
    """Returns where the number or word that begins here ends, or `start` if none begins here."""
    match = _SCALAR.match(text, start)
    return match.end() if match else start


def closing(text: bytes, start: int, limit: int = sys.maxsize) -> int | None:
    """Returns where the string, object or list that opens at `start` ends, or None if the text ends first.

    If its brackets do not match, it returns the position of the first one that cannot belong to it.
    """
    opened: list[bytes] = []
    for match in _STRUCTURE.finditer(text, start, limit):
        sign = match.group()
        if sign == b'"':
            return None  # a string without an end
        if sign in _CLOSES:
            opened.append(_CLOSES[sign])
        elif sign in _CLOSING and opened.pop() != sign:
            return match.start()
        if not opened:
            return match.end()
    return None


def last_cut(text: bytes) -> tuple[int, int] | None:
    """Returns the end of one event and the start of the next, if the last `}, {` is between events, which the caller
    must check."""
    first, brace = max(0, len(text) - TAIL_BYTES), len(text)
    while (brace := text.rfind(b"{", first, brace)) >= 0:
        near = max(first, brace - _BETWEEN_BYTES)
        if cut := _CUT_BEFORE.search(text, near if text[near:brace].strip(_BETWEEN) else first, brace):
            return cut.start() + 1, brace
    cuts = list(_CUT.finditer(text))
    return (cuts[-1].start() + 1, cuts[-1].end()) if cuts else None


def whole_events(text: bytes) -> ScannedEvents:
    spans: list[tuple[int, int]] = []
    position = junk_count = 0
    while True:
        position = skip_space(text, position)
        sign = text[position : position + 1]
        if sign == b"]":
            return ScannedEvents(spans, position + 1, True, junk_count)
        end = closing(text, position) if sign == b"{" else _junk_end(text, position)
        if end is None:
            return ScannedEvents(spans, position, False, junk_count)
        if sign == b"{":
            spans.append((position, end))
        else:
            junk_count += 1
        position = end


def _junk_end(text: bytes, start: int) -> int | None:
    match = _EVENT_OR_END.search(text, start)
    return match.start() if match else None


def next_start(text: bytes, start: int = 0) -> int | None:
    """Returns where an event seems to begin, or None: an object whose first key is one of an event's, and that holds a
    phase."""
    for match in _EVENT_START.finditer(text, start):
        end = closing(text, match.start(), match.start() + _EVENT_BYTES)
        if end is not None and b'"ph"' in text[match.start() : end]:
            return match.start()
    return None
