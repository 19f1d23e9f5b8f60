"""Tells from the first bytes of a file whether it looks like a Perfetto trace, and like one of PyTorch's profiler."""

from __future__ import annotations

import re

from tb_steptime.text.patterns import expression

#: Excludes Kineto's JSON. A line break has the value of the tag, and an opening brace may be a length: Kineto's JSON
#: begins with both.
_JSON = re.compile(rb"\s*[\[{]\s*(?:[\"\[\]{}]|\Z)")
#: Maximum number of a packet's first field; most fields have numbers below 120.
_MOST_FIELD = 1000
#: Categories and stages that PyTorch's profilers write, and other programs do not.
_PYTORCH = expression(
    rb"cpu_op|user_annotation|python_function|cuda_runtime|cuda_driver|gpu_memcpy|gpu_memset|hip_runtime|xpu_runtime"
    rb"|mtia_runtime|privateuse1_runtime|cpu_instant_event"
)


def is_perfetto(head: bytes) -> bool:
    """Returns whether these bytes open a file of packets: a tag, a length, and a field's tag."""
    if head[:1] != bytes([PACKET_TAG]) or _JSON.match(head):
        return False
    try:
        size, start = varint(head, 1)
        key, _ = varint(head, start)
    except (IndexError, ValueError):
        return False
    return size > 1 and key & 7 in (0, 1, 2, 5) and 1 <= key >> 3 <= _MOST_FIELD


def is_pytorch(head: bytes) -> bool:
    """Returns whether the first part of such a file has words of PyTorch's profiler."""
    return _PYTORCH.search(head) is not None


#: Tag of a packet: it opens a trace, and precedes each packet.
PACKET_TAG = 0x0A
#: Maximum length of a 64-bit varint.
_MOST_VARINT_BYTES = 10


def varint(text: bytes, at: int) -> tuple[int, int]:
    """Returns the number that begins here and where it ends. Raises IndexError if the text ends within it, and
    ValueError if it has no end.

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
