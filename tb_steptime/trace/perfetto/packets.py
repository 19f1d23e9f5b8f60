"""Chunks of a file -> packets. A trace is nothing but packets, each behind its tag and its length.

    0a <length> <packet> 0a <length> <packet> ...

If something else stands there, the next packet is searched for: one that decodes and is followed by another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from tb_steptime.trace.perfetto.messages import packet_of, packets_of
from tb_steptime.trace.perfetto.recognition import PACKET_TAG, varint

#: A packet longer than this is taken to be damaged; the largest valid one holds all names of a trace.
_LONG_PACKET_BYTES = 64 * 1024 * 1024
#: Maximum number of places in a file at which reading a packet is tried. If more are needed, it is not a damaged trace
#: but another kind of file.
_MOST_TRIES = 200_000
#: Bytes of packets that are decoded together: as messages they take some ten times as much.
_TOGETHER_BYTES = 256 * 1024


class Packets:
    """Reads packets from chunks. ends_at_damage: stop at the first damaged one.

    lost_count: damaged ones so far; cut_short: the file ends within one, known at the end.
    """

    def __init__(self, chunks: Iterator[bytes], ends_at_damage: bool = False) -> None:
        self._chunks = chunks
        self._ends_at_damage = ends_at_damage
        self._text = b""
        self._ended = False
        self._tries = 0
        self.lost_count = 0
        self.cut_short = False

    def blocks(self) -> Iterator[list[Any]]:
        """The packets in the order of the file, some at a time."""
        while self._text or not self._ended:
            whole, damaged = _whole(self._text)
            if whole:
                text, self._text = self._text[:whole], self._text[whole:]
                yield self._decoded(text)
            if self._ends_at_damage and (damaged or self.lost_count):
                return
            if damaged or (self._ended and self._text):
                self._resume(damaged)
            elif not self._ended:
                self._more()

    def _more(self) -> bool:
        """Read on until the text is twice as long, so that rescanning costs no more than twice the length."""
        size = len(self._text)
        wanted = max(_TOGETHER_BYTES, 2 * size)
        pieces = [self._text]
        while size < wanted:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
                break
            pieces.append(chunk)
            size += len(chunk)
        self._text = b"".join(pieces)
        return not self._ended

    def _decoded(self, text: bytes) -> list[Any]:
        try:
            return list(packets_of(text))
        except DecodeError:
            pass
        packets = []
        at = 0
        while at < len(text):
            size, start = varint(text, at + 1)
            at = start + size
            try:
                packets.append(packet_of(text[start:at]))
            except DecodeError:
                self.lost_count += 1
                if self._ends_at_damage:
                    break
        return packets

    def _resume(self, damaged: bool) -> None:
        """Go on before the next packet. damaged: the text does not begin with one; otherwise the file ends within it,
        or its length is damaged."""
        start = 1
        while True:
            found = self._next_packet(start)
            if found is not None:
                self.lost_count += 1
                self._text = self._text[found:]
                return
            if self._ended or self._tries > _MOST_TRIES:
                self._ended = True
                self.lost_count += damaged
                self.cut_short = True
                self._text = b""
                return
            kept = max(0, len(self._text) - _TOGETHER_BYTES)
            self._text, start = self._text[kept:], 0
            self._more()

    def _next_packet(self, start: int) -> int | None:
        """Where a packet begins that decodes, has a time or a known type, and is followed by another or by the end."""
        text = self._text
        at = text.find(PACKET_TAG, start)
        while at >= 0 and self._tries <= _MOST_TRIES:
            self._tries += 1
            try:
                size, begin = varint(text, at + 1)
                end = begin + size
                follows = text[end] == PACKET_TAG if end < len(text) else self._ended and end == len(text)
                if size and follows and _is_packet(text[begin:end]):
                    return at
            except (IndexError, ValueError):
                pass
            at = text.find(PACKET_TAG, at + 1)
        return None


def _whole(text: bytes) -> tuple[int, bool]:
    """How much of the text is whole packets, and whether what follows cannot be one."""
    at, end = 0, len(text)
    while at < end:
        if text[at] != PACKET_TAG:
            return at, True
        try:
            size, start = varint(text, at + 1)
        except IndexError:
            return at, False
        except ValueError:
            return at, True
        if size > _LONG_PACKET_BYTES:
            return at, True
        if start + size > end:
            return at, False
        at = start + size
    return at, False


def _is_packet(text: bytes) -> bool:
    try:
        packet = packet_of(text)
    except DecodeError:
        return False
    return bool(packet.timestamp) or any(packet.HasField(name) for name in ("track", "interned", "clocks"))
