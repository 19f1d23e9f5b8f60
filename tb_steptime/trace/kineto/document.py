"""The outer shape of a trace file, read as a stream: keys and values, and the list of events cut into blocks.

A cut is guessed at the last `}, {` of the text read so far. The guess is confirmed when the block before it decodes,
since neither half a string nor an open brace would decode. Only if it fails is the text scanned brace by brace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from tb_steptime.trace.kineto.scanning import closing, last_cut, next_start, scalar_end, skip_space, whole_events

_EVENTS_KEY = b'"traceEvents"'

#: An event longer than this is taken to be damaged if another event begins within it.
_LONG_EVENT_BYTES = 4 * 1024 * 1024
#: A value longer than this is taken to be damaged. Lists of ranks and memory snapshots are far shorter.
_LONG_VALUE_BYTES = 64 * 1024 * 1024
#: How much text is searched again with the next chunk, because a match may begin in one chunk and end in the next.
_OVERLAP_BYTES = 16 * 1024

_EVENTS_LIST = re.compile(_EVENTS_KEY + rb"\s*:\s*\[")
_VALUE_BEHIND = re.compile(rb'("baseTimeNanoseconds")\s*:\s*')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Sink(Protocol):
    """Receives what is found, in the order of the file."""

    def events(self, text: bytes) -> bool:
        """Takes comma-separated events. Returns False if they do not decode; then nothing was taken."""

    def event(self, text: bytes) -> bool:
        """Takes one event that did not decode together with others. Returns False if it cannot be read at all."""

    def lost(self) -> None:
        """Counts an event that is damaged beyond reading."""

    def value(self, key: str, text: bytes) -> None:
        """Takes a value other than events."""


class Outline:
    """The shape of a file.

    is_json  it opens as an object or a list;  has_events  it has a list of events;  whole  it ends properly
    damaged_entry_count  values other than events that had to be skipped
    searched  events had to be searched for, because the text before them is not a valid entry
    """

    def __init__(self) -> None:
        self.damaged_entry_count = 0
        self.searched = False
        self.is_json = False
        self.has_events = False
        self.whole = False


class _PartEnds(Exception):
    """Raised where the text of a part ends within the list of events. seamless: the last cut is where one process would
    have made it."""

    def __init__(self, seamless: bool) -> None:
        super().__init__()
        self.seamless = seamless


def walk(chunks: Iterator[bytes], sink: Sink, outline: Outline) -> None:
    """Reads a whole file into a sink, and its shape into the outline."""
    _walk_file(Feed(chunks), sink, outline)


def walk_part(
    chunks: Iterator[bytes] | Iterator[memoryview], sink: Sink, outline: Outline, behind: bytes, last: bool
) -> bool:
    """Reads one part of a file, making the same calls of the sink as `walk` makes for it. Returns False if they differ.

    behind   for a part that begins with an event, what the file opens with, "{" or "["; empty for the first part
    last     the chunks end with the end of the file, not with the brace of the event with which the next part begins
    """
    feed = Feed(chunks, goes_on=not last)
    try:
        if behind:
            _walk_on(feed, sink, outline, behind)
        else:
            _walk_file(feed, sink, outline)
    except _PartEnds as end:
        return end.seamless and not outline.searched
    return last


def opening_of(head: bytes) -> bytes:
    """Returns the first character of a file other than space: "{" or "[" for a trace."""
    text = head.removeprefix(_BYTE_ORDER_MARK)
    start = skip_space(text)
    return text[start : start + 1]


def _walk_file(feed: Feed, sink: Sink, outline: Outline) -> None:
    while len(feed.text) < len(_BYTE_ORDER_MARK) and feed.more():
        pass
    if feed.text.startswith(_BYTE_ORDER_MARK):
        feed.drop(len(_BYTE_ORDER_MARK))
    opening = feed.next_sign()
    outline.is_json = opening in (b"{", b"[")
    feed.drop(1)
    if opening == b"[":
        outline.has_events = True
        outline.whole = _walk_events(feed, sink)
    elif opening == b"{":
        outline.whole = _walk_object(feed, sink, outline)
    _read_to_the_end(feed)


def _walk_on(feed: Feed, sink: Sink, outline: Outline, opening: bytes) -> None:
    """Continues from within the list of events."""
    outline.is_json = outline.has_events = True
    closed = _walk_events(feed, sink)
    outline.whole = _walk_object(feed, sink, outline, entered=closed) if opening == b"{" else closed
    _read_to_the_end(feed)


def _read_to_the_end(feed: Feed) -> None:
    """Reads the rest, so that sizes and the checksum of a compressed file are known."""
    feed.text = b""
    while feed.more():
        feed.text = b""


def _walk_object(feed: Feed, sink: Sink, outline: Outline, entered: bool | None = None) -> bool:
    """Reads entries up to the closing brace. Where the text is not a valid entry, events are searched for, and reading
    continues with them.

    entered: if the feed is already within or behind the list of events, whether the list was read to its end.
    """
    while True:
        sign = feed.next_sign() if entered is None else b'"'
        if sign == b'"' and (_walk_entry(feed, sink, outline) if entered is None else entered):
            entered = None
            continue
        entered = None
        closed = sign == b"}"
        if closed:
            feed.drop(1)
        if not feed.next_sign() or not _find_events(feed):
            return closed
        outline.damaged_entry_count += not outline.has_events
        outline.has_events = outline.searched = True
        if not _walk_events(feed, sink):
            return False


def _walk_entry(feed: Feed, sink: Sink, outline: Outline) -> bool:
    """Reads one key and its value. Returns False if the text is not a valid entry; the feed is then just before the
    error."""
    key = _take_value(feed)
    if key is None or feed.next_sign() != b":":
        return False
    feed.drop(1)
    if feed.next_sign() == b"[" and key == _EVENTS_KEY:
        outline.has_events = True
        feed.drop(1)
        return _walk_events(feed, sink)
    value = _take_value(feed)
    if value is not None:
        sink.value(key[1:-1].decode("utf-8", "replace"), value)
    return value is not None


def _take_value(feed: Feed) -> bytes | None:
    """Returns the text of the next value of any type, or None if the file ends within it."""
    if feed.next_sign() in (b'"', b"{", b"["):
        while (end := closing(feed.text, 0)) is None:
            if len(feed.text) > _LONG_VALUE_BYTES or not feed.double():
                return None
        return feed.take(end)
    while (size := scalar_end(feed.text)) == len(feed.text):
        if not feed.more():
            return None
    return feed.take(size) or None


def _find_events(feed: Feed) -> bool:
    """Moves to just before the next event, wherever it is. Returns False if there is none."""
    while True:
        match = _EVENTS_LIST.search(feed.text)
        start = match.end() if match else next_start(feed.text)
        if start is not None:
            feed.drop(start)
            return True
        feed.drop(max(0, len(feed.text) - _OVERLAP_BYTES))
        if not feed.more():
            return False


def _walk_events(feed: Feed, sink: Sink) -> bool:
    """Reads events to the end of their list. Returns False if the file ends first."""
    while True:
        cut = last_cut(feed.text)
        accepted = cut is not None and sink.events(feed.text[: cut[0]])
        if cut is not None and accepted:
            feed.drop(cut[1])
        elif _scan_events(feed, sink, final=False):
            return True
        if not feed.more():
            if feed.goes_on:
                raise _PartEnds(accepted and feed.end_count == 1 and feed.text == b"{")
            return _scan_events(feed, sink, final=True)


def _scan_events(feed: Feed, sink: Sink, final: bool) -> bool:
    """Takes the events of the text brace by brace. Returns True if their list was closed. final: no more text will
    follow."""
    while True:
        scan = whole_events(feed.text)
        _give(feed.text, scan.spans, sink)
        for _ in range(scan.junk_count):
            sink.lost()
        feed.drop(scan.rest)
        if scan.closed:
            return True
        if not feed.text or not (final or len(feed.text) > _LONG_EVENT_BYTES):
            return False
        sink.lost()
        start = next_start(feed.text, 1)
        if start is None:
            _skip(feed, sink)
            return False
        feed.drop(start)


def _give(text: bytes, spans: list[tuple[int, int]], sink: Sink) -> None:
    """Passes the events on all at once. If that fails, it does the same with each half of them, so that a damaged event
    costs a few calls and not one per event."""
    if not spans or sink.events(text[spans[0][0] : spans[-1][1]]):
        return
    if len(spans) == 1:
        _give_one(text[spans[0][0] : spans[0][1]], sink)
        return
    half = len(spans) // 2
    _give(text, spans[:half], sink)
    _give(text, spans[half:], sink)


def _give_one(event: bytes, sink: Sink) -> None:
    """Passes on one event. If it is damaged, it counts as lost, and the events that it seems to contain, because it
    lacks a quote or a brace, are passed on."""
    if sink.event(event):
        return
    sink.lost()
    start = next_start(event, 1)
    if start is not None:
        inner = event[start:]
        _give(inner, whole_events(inner).spans, sink)


def _skip(feed: Feed, sink: Sink) -> None:
    """Skips an event that is broken off, or so damaged that all text after it seems to be part of it. The base time is
    still read if it is in that text."""
    match = _VALUE_BEHIND.search(feed.text)
    if match:
        sink.value(match[1][1:-1].decode(), feed.text[match.end() : scalar_end(feed.text, match.end())])
    feed.drop(max(0, len(feed.text) - _OVERLAP_BYTES))


class Feed:
    """Text that grows by chunks at its end and is consumed from its beginning.

    goes_on     the chunks are a part of a file, and end with the brace that opens the next part
    end_count   how often more text was requested after the last chunk
    """

    def __init__(self, chunks: Iterator[bytes] | Iterator[memoryview], goes_on: bool = False) -> None:
        self.text = b""
        self.goes_on = goes_on
        self.end_count = 0
        self._chunks = chunks

    def more(self) -> bool:
        """Adds the next chunk. Returns False at the end of the file, or of the part."""
        chunk = next(self._chunks, None)
        self.text += chunk or b""
        self.end_count += chunk is None
        return chunk is not None

    def double(self) -> bool:
        """Reads until the text is twice as long, so that rescanning after each doubling costs no more than twice the
        length. Returns False at the end of the file."""
        size = len(self.text)
        while len(self.text) < 2 * size and self.more():
            pass
        return len(self.text) > size

    def take(self, size: int) -> bytes:
        head, self.text = self.text[:size], self.text[size:]
        return head

    def drop(self, size: int) -> None:
        """Drops this much text from the beginning, without the copy that `take` makes of it."""
        self.text = self.text[size:]

    def next_sign(self) -> bytes:
        """Returns the next byte that is not a space, comma or zero. It is empty at the end of the file."""
        while True:
            self.drop(skip_space(self.text))
            if self.text or not self.more():
                return self.text[:1]
