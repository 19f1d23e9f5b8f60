"""What a process must know to read a part of a file. Orders lie in one pipe: whichever process is free takes the
next."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from tb_steptime.trace.kineto import source

_ORDER = struct.Struct("<6qB?")


class Order(NamedTuple):
    """A part of the text: the bytes of a file from offset on.

    number      number of the part, from 0 on in the order of the file
    size        in bytes, with the brace that opens the next part
    first       bytes of its first chunk, as one process would read it; chunks of TEXT_BYTES follow
    chunks      number of chunks of unpacked text, whose lengths are stored in its slot
    slot        slot that holds the unpacked text, free after reading; -1 for a plain file
    behind      the character with which the file opens, 0 for the first part;  last  it ends with the file
    """

    number: int
    offset: int
    size: int
    first: int
    chunks: int
    slot: int
    behind: int
    last: bool


class Unpacking(NamedTuple):
    """Bytes on disk that were read up to the end of a part."""

    number: int
    packed_bytes: int


def put(pipe: int, order: Order) -> None:
    """Write an order atomically: it is shorter than what a pipe takes at once."""
    os.write(pipe, _ORDER.pack(*order))


def take(pipe: int) -> Order | None:
    """The next order, as soon as there is one; None when there will be no more."""
    packed = os.read(pipe, _ORDER.size)
    return Order(*_ORDER.unpack(packed)) if packed else None


def give_back(free: int, order: Order) -> None:
    """Return the order's slot, if it has one, to the process that unpacks, if that still runs."""
    if order.slot >= 0:
        with contextlib.suppress(BrokenPipeError):
            os.write(free, bytes([order.slot]))


def freed(free: int) -> Iterator[int]:
    """Each free slot, as soon as it is free; ends when no more slots will become free."""
    while slot := os.read(free, 1):
        yield slot[0]


def chunks_of(file: int, order: Order) -> Iterator[bytes]:
    """The text of a part of a plain file, in the chunks that one process would read. Raises EOFError if the file is
    shorter than it was."""
    offset = order.offset
    for size in _sizes(order):
        yield _read(file, size, offset)
        offset += size


def _sizes(order: Order) -> Iterator[int]:
    yield min(order.first, order.size)
    rest = order.size - order.first
    while rest > 0:
        yield min(source.TEXT_BYTES, rest)
        rest -= source.TEXT_BYTES


def _read(file: int, size: int, offset: int) -> bytes:
    text = os.pread(file, size, offset)
    while len(text) < size:
        more = os.pread(file, size - len(text), offset + len(text))
        if not more:
            raise EOFError("the file is shorter than it was")
        text += more
    return text
