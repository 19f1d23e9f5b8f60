"""Slots in shared memory that pass unpacked text from the process that unpacks it to the processes that read it.

    slot 0  |chunk|chunk|chunk|lengths        slot 1  |chunk|chunk|chunk|chunk|lengths
            0                                         SLOT_SPAN

Each process maps the memory once and uses it again and again. Handing a gigabyte over by reads and writes of a file
took half a second of CPU time.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator

from tb_steptime.trace.kineto.parts.orders import Order

#: Distance between the beginnings of slots: more than any part needs. The file is sparse, so the gaps take no room.
SLOT_SPAN = 2**36
#: Bytes of a slot that are mapped at first: enough for most parts.
_USUAL_BYTES = 2**23
_LENGTH = struct.Struct("<q")


class Slots:
    """The slots of one file, as this process sees them."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._mapped: dict[int, mmap.mmap] = {}

    def text(self, slot: int, size: int) -> memoryview:
        """The first `size` bytes of a slot. Raises OSError if there is no room."""
        mapped = self._mapped.get(slot)
        if mapped is None or len(mapped) < size:
            room = max(_USUAL_BYTES, 2 * len(mapped or b""), size)
            mapped = self._mapped[slot] = self._map(slot * SLOT_SPAN, room)
        return memoryview(mapped)[:size]

    def chunks(self, order: Order) -> Iterator[memoryview]:
        """The text of a part, in the chunks that one process would read."""
        text = self.text(order.slot, order.size + order.chunks * _LENGTH.size)
        start = 0
        for (length,) in _LENGTH.iter_unpack(text[order.size :]):
            yield text[start : start + length]
            start += length

    def _map(self, offset: int, size: int) -> mmap.mmap:
        if os.fstat(self._file).st_size < offset + size:
            os.ftruncate(self._file, offset + size)
        return mmap.mmap(self._file, size, offset=offset)


class Filling:
    """A slot that takes the text of a part, chunk by chunk."""

    def __init__(self, slots: Slots, slot: int) -> None:
        self._slots, self._slot = slots, slot
        self._lengths: list[int] = []
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self._put(self.size, chunk)
        self._lengths.append(len(chunk))
        self.size += len(chunk)

    def shorten(self, size: int) -> None:
        """Remove `size` bytes at the end, all from the last chunk."""
        self._lengths[-1] -= size
        self.size -= size

    def order(self, number: int, behind: int, last: bool) -> Order:
        """The order for what is in the slot."""
        self._put(self.size, b"".join(map(_LENGTH.pack, self._lengths)))
        return Order(number, 0, self.size, 0, len(self._lengths), self._slot, behind, last)

    def _put(self, start: int, piece: bytes) -> None:
        end = start + len(piece)
        self._slots.text(self._slot, end)[start:] = piece
