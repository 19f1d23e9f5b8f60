"""The wire format of protobuf as far as it is read by hand: varints, and the fields of small messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator

#: Of a packet: what opens a trace, and stands before each of its packets.
PACKET_TAG = 0x0A
VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
#: Of a varint of 64 bits.
_MOST_VARINT_BYTES = 10


def varint(text: bytes, at: int) -> tuple[int, int]:
    """The number that begins here and where it ends. Raises IndexError where the text ends within it, ValueError where
    it does not end.

    >>> varint(bytes([0xAC, 0x02]), 0)
    (300, 2)
    """
    value = shift = 0
    for place in range(at, at + _MOST_VARINT_BYTES):
        byte = text[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    raise ValueError("a varint of more than ten bytes")


def fields(text: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Numbers and values of a message's fields; eight bytes as a float. Raises ValueError or IndexError where it is
    damaged."""
    at = 0
    while at < len(text):
        key, at = varint(text, at)
        kind = key & 7
        if kind == VARINT:
            number, at = varint(text, at)
            yield key >> 3, number
            continue
        if kind == BYTES:
            size, at = varint(text, at)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        else:
            raise ValueError("a field of no known kind")
        if at + size > len(text):
            raise IndexError("the message ends within a field")
        value = text[at : at + size]
        at += size
        yield key >> 3, struct.unpack("<d", value)[0] if kind == EIGHT_BYTES else value
