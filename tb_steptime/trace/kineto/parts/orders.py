"""What a process must know to read a part of a file. Orders lie in one pipe: whichever process is free takes the
next.

Slots in shared memory pass unpacked text from the process that unpacks it to the processes that read it.

    slot 0  |chunk|chunk|chunk|lengths        slot 1  |chunk|chunk|chunk|chunk|lengths
            0                                         SLOT_SPAN

Each process maps the memory once and uses it again and again. Handing a gigabyte over by reads and writes of a file
took half a second of CPU time.

A file is cut into parts at a cut that one process makes as well, so that both read the same blocks of events.

Whenever one process has read a chunk, it looks for the last `}, {` in the last kilobytes of its text. So the cut at the
end of a chunk is known without the text before it:

    chunks   |----------------|----------------|----------------|
    cuts                  ^ "}, {"          ^                ^
    parts    |==============| part n        |== part n + 1, whose first chunk reaches to the end of the next ==
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from tb_steptime.trace.kineto import scanning, source
from tb_steptime.trace.kineto.document import opening_of
from tb_steptime.trace.kineto.scanning import last_cut

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


class Unpacking(msgspec.Struct, frozen=True):
    """Bytes on disk that were read up to the end of a part."""

    number: int
    packed_bytes: int


def put(pipe: int, order: Order) -> None:
    """Writes an order atomically: it is shorter than what a pipe takes at once."""
    os.write(pipe, _ORDER.pack(*order))


def take(pipe: int) -> Order | None:
    """Returns the next order, as soon as there is one, or None when there will be no more."""
    packed = os.read(pipe, _ORDER.size)
    return Order(*_ORDER.unpack(packed)) if packed else None


def give_back(free: int, order: Order) -> None:
    """Returns the order's slot, if it has one, to the process that unpacks, if that still runs."""
    if order.slot >= 0:
        with contextlib.suppress(BrokenPipeError):
            os.write(free, bytes([order.slot]))


def freed(free: int) -> Iterator[int]:
    """Yields each free slot, as soon as it is free, and ends when no more slots will become free."""
    while slot := os.read(free, 1):
        yield slot[0]


def chunks_of(file: int, order: Order) -> Iterator[bytes]:
    """Yields the text of a part of a plain file, in the chunks that one process would read. Raises EOFError if the file
    is shorter than it was."""
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
        """Returns the first `size` bytes of a slot. Raises OSError if there is no room."""
        mapped = self._mapped.get(slot)
        if mapped is None or len(mapped) < size:
            room = max(_USUAL_BYTES, 2 * len(mapped or b""), size)
            mapped = self._mapped[slot] = self._map(slot * SLOT_SPAN, room)
        return memoryview(mapped)[:size]

    def chunks(self, order: Order) -> Iterator[memoryview]:
        """Yields the text of a part, in the chunks that one process would read."""
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
        """Removes `size` bytes at the end, all from the last chunk."""
        self._lengths[-1] -= size
        self.size -= size

    def order(self, number: int, behind: int, last: bool) -> Order:
        """Returns the order for what is in the slot."""
        self._put(self.size, b"".join(map(_LENGTH.pack, self._lengths)))
        return Order(number, 0, self.size, 0, len(self._lengths), self._slot, behind, last)

    def _put(self, start: int, text: bytes) -> None:
        end = start + len(text)
        self._slots.text(self._slot, end)[start:] = text


#: Maximum number of parts. The orders for them fit into a pipe, which takes at least 16 KB.
MOST_PARTS = 256
_LEAST_BYTES, _MOST_BYTES = 2**22, 2**25
#: Parts per process. With fewer, the wait for the last one is long; with more, the fixed cost of each part adds up.
_PARTS_EACH = 8


def part_bytes(size: int, processes: int) -> int:
    """Returns a suitable length in bytes for the parts of a text of this size."""
    wished = min(max(size // (processes * _PARTS_EACH), _LEAST_BYTES), _MOST_BYTES)
    return max(wished, size // MOST_PARTS + source.TEXT_BYTES)


def seam_in(tail: bytes) -> int | None:
    """Returns where in the tail of the text one process would cut: the offset of the next event's brace."""
    near = tail[-scanning.TAIL_BYTES :]
    cut = last_cut(near)
    return None if cut is None else len(tail) - len(near) + cut[1]


def plain_orders(file: int, size: int, processes: int) -> Iterator[Order]:
    """Yields the parts of a plain file, in their order."""
    behind = (opening_of(os.pread(file, source.PACKED_BYTES, 0)) or b"\x00")[0]
    start, number, first, step = 0, 0, source.PACKED_BYTES, part_bytes(size, processes)
    for end in _chunk_ends(size, step):
        seam = _seam(file, end)
        if seam is not None:
            yield Order(number, start, seam + 1 - start, first, 0, -1, behind if number else 0, False)
            start = seam
            number = number + 1
            first = end + source.TEXT_BYTES - seam
    yield Order(number, start, size - start, first, 0, -1, behind if number else 0, True)


def _chunk_ends(size: int, step: int) -> Iterator[int]:
    """Yields the ends of chunks near the end of each part. The first chunk is as long as a packed one."""
    end = source.PACKED_BYTES
    while end < size:
        end += -(-step // source.TEXT_BYTES) * source.TEXT_BYTES
        if end < size:
            yield end


def _seam(file: int, end: int) -> int | None:
    seam = seam_in(os.pread(file, scanning.TAIL_BYTES, end - scanning.TAIL_BYTES))
    return None if seam is None else end - scanning.TAIL_BYTES + seam
