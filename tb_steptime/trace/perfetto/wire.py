"""The part of protobuf's wire format that is parsed by hand: what identifies a trace, and divides it into packets."""

from __future__ import annotations

#: Tag of a packet: it opens a trace, and precedes each packet.
PACKET_TAG = 0x0A
#: Maximum length of a 64-bit varint.
_MOST_VARINT_BYTES = 10


def varint(text: bytes, at: int) -> tuple[int, int]:
    """The number that begins here and where it ends. Raises IndexError if the text ends within it, ValueError if it has
    no end.

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
