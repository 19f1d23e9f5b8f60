"""A process that unpacks a gzip file ahead of others: `python -m tb_steptime.trace.kineto.parts.unpacking PATH TEXT
ORDERS FREE`.

TEXT, ORDERS and FREE are numbers of open files: a file without a name, in which each part has a slot; the pipe that
takes the orders for them; the pipe from which come the numbers of free slots. It writes to stdout, pickled, how far it
was after each part, and at the end what was wrong with the packing. It ends when nobody is left to read parts.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tb_steptime.trace.kineto import scanning
from tb_steptime.trace.kineto.document import opening_of
from tb_steptime.trace.kineto.parts import orders
from tb_steptime.trace.kineto.parts.orders import SLOT_SPAN, Order, Unpacking
from tb_steptime.trace.kineto.parts.seams import seam_in
from tb_steptime.trace.kineto.source import Source

#: So long is a part, but for what is left of its last chunk.
TEXT_BYTES = 2**23


class Unpacked(NamedTuple):
    """One part, in chunks as one process would read it."""

    chunks: list[bytes]
    last: bool


def unpacked_parts(chunks: Iterator[bytes], part_bytes: int = TEXT_BYTES) -> Iterator[Unpacked]:
    """Chunks of a text -> its parts, each of which but the last ends with the brace that opens the next."""
    part: list[bytes] = []
    size, carried = 0, b""
    for chunk in chunks:
        part.append(carried + chunk)
        size, carried = size + len(chunk), b""
        seam = seam_in(chunk) if size >= part_bytes and len(chunk) >= scanning.TAIL_BYTES else None
        if seam is not None:
            ending = part[-1]
            seam += len(ending) - len(chunk)
            part[-1], carried = ending[: seam + 1], ending[seam:]
            yield Unpacked(part, False)
            part, size = [], 0
    yield Unpacked([*part, carried] if carried else part, True)


def main(arguments: list[str]) -> None:
    path, (text, pipe, free) = Path(arguments[0]), map(int, arguments[1:])
    source = Source(path)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    behind = 0
    for number, part in enumerate(unpacked_parts(source.chunks())):
        if not number:
            opening = (opening_of(part.chunks[0]) if part.chunks else b"") or b"\x00"
        slot = os.read(free, 1)
        if not slot:
            return
        order = put_text(text, part, slot[0])
        orders.put(pipe, order._replace(number=number, behind=behind))
        behind = opening[0]
        pickle.dump(Unpacking(number, source.packed_bytes), out)
    pickle.dump(source.extent, out)


def put_text(text: int, part: Unpacked, slot: int) -> Order:
    """Into the slot of the file; the order for it, but for its number and what the file opened with."""
    lengths = [len(chunk) for chunk in part.chunks]
    offset, head = slot * SLOT_SPAN, struct.pack(f"<{len(lengths)}q", *lengths)
    place = offset
    for piece in (head, *part.chunks):
        place += _write(text, piece, place)
    return Order(0, offset, sum(lengths), 0, len(lengths), slot, 0, part.last)


def _write(text: int, piece: bytes, offset: int) -> int:
    rest = memoryview(piece)
    while rest:
        written = os.pwrite(text, rest, offset)
        rest, offset = rest[written:], offset + written
    return len(piece)


if __name__ == "__main__":
    main(sys.argv[1:])
