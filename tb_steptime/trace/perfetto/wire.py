"""The wire format of protobuf as far as it is read by hand: what tells a trace, and cuts it into packets."""

from __future__ import annotations

#: Of a packet: what opens a trace, and stands before each of its packets.
PACKET_TAG = 0x0A
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
