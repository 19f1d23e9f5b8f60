"""The outer shape of a trace file, read as a stream: keys and values, and the list of events cut into stretches.

A cut is guessed at the last `}, {` of what has been read; that it was right is known when the stretch before it decodes,
since neither half of a string nor an unclosed brace would. Only where that fails is the text scanned brace by brace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

EVENTS_KEY = "traceEvents"

#: An event longer than this is taken for a damaged one when another can be seen to begin within it.
_LONG_EVENT_BYTES = 4 * 1024 * 1024
#: Where cuts are looked for first, counted from the end of the text.
_TAIL_BYTES = 16 * 1024

_SPACE = re.compile(rb"[\s,]*")
_CUT = re.compile(rb"\}\s*,\s*(?=\{)")
_STRUCTURE = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_EVENT_START = re.compile(rb'\{\s*"(?:ph|name|cat|ts|pid|tid|dur|args|id|bp|s)"\s*:')
_SCALAR = re.compile(rb"[^\s,\]}\"{\[]+")
_OUT_OF_EVENTS = re.compile(rb'"(?:baseTimeNanoseconds|displayTimeUnit|schemaVersion)"\s*:')


class Sink(Protocol):
    """Takes what is found. Each method is called in the order of the file."""

    def events(self, text: bytes) -> bool:
        """Comma-separated events; False when they do not decode, and then nothing has been taken."""

    def event(self, text: bytes) -> bool:
        """One event that would not decode with others; False when it cannot be read at all."""

    def lost(self) -> None:
        """An event is damaged beyond reading."""

    def value(self, key: str, text: bytes) -> None:
        """A value beside the events."""


class Feed:
    """The text that has been read and not yet been taken."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.text = b""
        self.ended = False
        self._pieces = pieces

    def more(self) -> bool:
        """Add the next piece; False at the end of the file."""
        piece = next(self._pieces, None)
        self.ended = piece is None
        self.text += piece or b""
        return not self.ended

    def take(self, size: int) -> bytes:
        taken, self.text = self.text[:size], self.text[size:]
        return taken

    def next_sign(self) -> bytes:
        """The next byte that is neither space nor comma, or nothing at the end of the file."""
        while True:
            self.take(_length(_SPACE, self.text))
            if self.text or not self.more():
                return self.text[:1]


def _length(pattern: re.Pattern[bytes], text: bytes) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


class Outline:
    """What the walk found of the file's shape.

    is_json  it opens as an object or a list;  has_events  a list of events was found;  whole  it ends as it should
    """

    def __init__(self) -> None:
        self.is_json = False
        self.has_events = False
        self.whole = False


def walk(pieces: Iterator[bytes], sink: Sink) -> Outline:
    """Read a whole file into a sink."""
    feed, outline = Feed(pieces), Outline()
    feed.more()
    if feed.text.startswith(b"\xef\xbb\xbf"):
        feed.take(3)
    opening = feed.next_sign()
    outline.is_json = opening in (b"{", b"[") and len(opening) == 1
    if opening == b"[":
        outline.has_events = True
        outline.whole = _walk_events(feed, sink)
    elif opening == b"{":
        feed.take(1)
        outline.whole = _walk_object(feed, sink, outline)
    for _ in _rest(feed):
        pass
    return outline


def _rest(feed: Feed) -> Iterator[None]:
    """Read on to the end, so that sizes and the packing's checksum are known."""
    feed.text = b""
    while feed.more():
        feed.text = b""
        yield


def _walk_object(feed: Feed, sink: Sink, outline: Outline) -> bool:
    while (sign := feed.next_sign()) == b'"':
        key = _take_value(feed)
        if key is None or feed.next_sign() != b":":
            return False
        feed.take(1)
        name = key.strip(b'"').decode("utf-8", "replace")
        if feed.next_sign() == b"[" and name == EVENTS_KEY:
            outline.has_events = True
            if not _walk_events(feed, sink):
                return False
        elif (value := _take_value(feed)) is not None:
            sink.value(name, value)
        else:
            return False
    return sign == b"}"


def _take_value(feed: Feed) -> bytes | None:
    """The next value's text, whatever it is; None when the file ends within it."""
    if feed.next_sign() in (b'"', b"{", b"["):
        while (end := _closing(feed.text, 0)) is None:
            if not _double(feed):
                return None
        return feed.take(end)
    while (size := _length(_SCALAR, feed.text)) == len(feed.text):
        if not feed.more():
            return None
    return feed.take(size) or None


def _double(feed: Feed) -> bool:
    """Read as much again as there is, so that what is scanned anew each time costs no more than twice its length."""
    goal = 2 * len(feed.text)
    while len(feed.text) < goal:
        if not feed.more():
            return False
    return True


def _closing(text: bytes, start: int) -> int | None:
    """Where the string, object or list that opens at `start` has ended; None when the text ends before."""
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        sign = match.group()
        if sign == b'"':
            return None  # a string without an end
        if sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
        if depth <= 0:
            return match.end()
    return None


def _walk_events(feed: Feed, sink: Sink) -> bool:
    """Take events to the end of their list, the opening bracket first; False when the file ends before."""
    feed.take(1)
    while True:
        cut = _last_cut(feed.text)
        if cut is not None and sink.events(feed.text[: cut[0]]):
            feed.take(cut[1])
            feed.more()
            continue
        closed = _scan_events(feed, sink)
        if closed:
            return True
        if not feed.more():
            return _scan_events(feed, sink, final=True)


def _last_cut(text: bytes) -> tuple[int, int] | None:
    """The end of an event and the start of the next, if this is where the last one seen to begin begins."""
    for start in (max(0, len(text) - _TAIL_BYTES), 0):
        found = None
        for found in _CUT.finditer(text, start):
            pass
        if found:
            return found.start() + 1, found.end()
    return None


def _scan_events(feed: Feed, sink: Sink, final: bool = False) -> bool:
    """Take the events of this text one brace at a time; True when their list was closed."""
    while True:
        ends, position, closed = _complete_events(feed.text)
        if ends:
            _give(feed.text, ends, sink)
        feed.take(position)
        if closed:
            return True
        if not feed.text or not (final or len(feed.text) > _LONG_EVENT_BYTES):
            return False
        start = _next_start(feed.text, 1)
        if start is None:
            if final:
                _end_of_file(feed, sink)
            return False
        sink.lost()
        feed.take(start)


def _complete_events(text: bytes) -> tuple[list[tuple[int, int]], int, bool]:
    """Spans of the whole events that the text begins with, where the first unfinished one starts, list closed."""
    spans: list[tuple[int, int]] = []
    position = 0
    while True:
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
        sign = text[position : position + 1]
        if sign == b"]":
            return spans, position + 1, True
        end = _closing(text, position) if sign == b"{" else _junk_end(text, position)
        if end is None or end == position:
            return spans, position, False
        if sign == b"{":
            spans.append((position, end))
        position = end


def _junk_end(text: bytes, position: int) -> int | None:
    """What stands between events and is none of them is passed over up to the next brace or bracket."""
    match = re.compile(rb"[{\]]").search(text, position)
    return match.start() if match else len(text)


def _give(text: bytes, spans: list[tuple[int, int]], sink: Sink) -> None:
    if sink.events(text[spans[0][0] : spans[-1][1]]):
        return
    for start, end in spans:
        _give_one(text[start:end], sink)


def _give_one(event: bytes, sink: Sink) -> None:
    """One event, or those that a damaged one has swallowed because a quote or brace of it is missing."""
    if sink.events(event) or sink.event(event):
        return
    sink.lost()
    start = _next_start(event, 1)
    if start is None:
        return
    spans, _, _ = _complete_events(event[start:])
    for begin, end in spans:
        _give_one(event[start + begin : start + end], sink)


def _next_start(text: bytes, position: int) -> int | None:
    """Where an event seems to begin: an object whose first key is one of an event's, and that holds a phase."""
    for match in _EVENT_START.finditer(text, position):
        end = _closing(text, match.start())
        if end is not None and b'"ph"' in text[match.start() : end]:
            return match.start()
    return None


def _end_of_file(feed: Feed, sink: Sink) -> None:
    """The file ends within an event. Values behind the events may still be seen, if a quote was lost in between."""
    sink.lost()
    for match in _OUT_OF_EVENTS.finditer(feed.text):
        value = _SCALAR.match(feed.text, _SPACE.match(feed.text, match.end()).end())  # type: ignore[union-attr]
        if value:
            sink.value(match.group().split(b'"')[1].decode(), value.group())
