"""A process that unpacks a gzip file ahead of others: `python -m tb_steptime.trace.kineto.parts.unpacking PATH TEXT
ORDERS FREE`.

TEXT, ORDERS and FREE are numbers of open files: an unnamed file in which each part has a slot; the pipe that takes the
orders for parts; the pipe that supplies the numbers of free slots. The process writes pickled messages to stdout: after
each part how far it has read, and at the end what was wrong with the compression. It ends when nobody is left to read
parts.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

from tb_steptime.trace.allocator import give_back_large_blocks
from tb_steptime.trace.kineto import scanning
from tb_steptime.trace.kineto.document import opening_of
from tb_steptime.trace.kineto.parts import orders
from tb_steptime.trace.kineto.parts.orders import Filling, Order, Slots, Unpacking, seam_in
from tb_steptime.trace.kineto.source import Source

#: Length of a part, apart from the rest of its last chunk.
TEXT_BYTES = 2**22


def unpacked_parts(
    chunks: Iterator[bytes], slots: Slots, free: Iterator[int], part_bytes: int = TEXT_BYTES
) -> Iterator[Order]:
    """Puts a text into free slots, in parts. Each part but the last ends with the brace that opens the next. Ends
    before the text does if no slot will become free."""
    filling: Filling | None = None
    opening: int | None = None
    number, carried = 0, b""
    for chunk in chunks:
        opening = (opening_of(chunk) or b"\x00")[0] if opening is None else opening
        if filling is None and (filling := _fill_next(slots, free)) is None:
            return
        filling.add(carried + chunk)
        seam = seam_in(chunk) if filling.size >= part_bytes and len(chunk) >= scanning.TAIL_BYTES else None
        carried = b""
        if seam is not None:
            carried = chunk[seam:]
            filling.shorten(len(carried) - 1)
            yield filling.order(number, opening if number else 0, last=False)
            filling, number = None, number + 1
    filling = filling or _fill_next(slots, free)
    if filling:
        if carried:
            filling.add(carried)
        yield filling.order(number, (opening or 0) if number else 0, last=True)


def main(arguments: list[str]) -> None:
    path, (text, pipe, free) = Path(arguments[0]), map(int, arguments[1:])
    give_back_large_blocks()
    source = Source(path)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    for order in unpacked_parts(source.chunks(), Slots(text), orders.freed(free)):
        orders.put(pipe, order)
        pickle.dump(Unpacking(order.number, source.packed_bytes), out)
    pickle.dump(source.extent, out)


def _fill_next(slots: Slots, free: Iterator[int]) -> Filling | None:
    slot = next(free, None)
    return None if slot is None else Filling(slots, slot)


if __name__ == "__main__":
    main(sys.argv[1:])
