"""Where a file is cut into parts: at a cut that one process makes as well, so that both read the same blocks of events.

Whenever one process has read a chunk, it looks for the last `}, {` in the last kilobytes of its text. So the cut at the
end of a chunk is known without the text before it:

    chunks   |----------------|----------------|----------------|
    cuts                  ^ "}, {"          ^                ^
    parts    |==============| part n        |== part n + 1, whose first chunk reaches to the end of the next ==
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from tb_steptime.trace.kineto import scanning, source
from tb_steptime.trace.kineto.document import opening_of
from tb_steptime.trace.kineto.parts.orders import Order
from tb_steptime.trace.kineto.scanning import last_cut

#: Maximum number of parts. The orders for them fit into a pipe, which takes at least 16 KB.
MOST_PARTS = 256
_LEAST_BYTES, _MOST_BYTES = 2**22, 2**25
#: Parts per process. With fewer, the wait for the last one is long; with more, the fixed cost of each part adds up.
_PARTS_EACH = 8


def part_bytes(size: int, processes: int) -> int:
    """Suitable length in bytes for the parts of a text of this size."""
    wished = min(max(size // (processes * _PARTS_EACH), _LEAST_BYTES), _MOST_BYTES)
    return max(wished, size // MOST_PARTS + source.TEXT_BYTES)


def seam_in(tail: bytes) -> int | None:
    """Where in the tail of the text one process would cut: the offset of the next event's brace."""
    near = tail[-scanning.TAIL_BYTES :]
    cut = last_cut(near)
    return None if cut is None else len(tail) - len(near) + cut[1]


def plain_orders(file: int, size: int, processes: int) -> Iterator[Order]:
    """The parts of a plain file, in their order."""
    behind = (opening_of(os.pread(file, source.PACKED_BYTES, 0)) or b"\x00")[0]
    start, number, first, step = 0, 0, source.PACKED_BYTES, part_bytes(size, processes)
    for end in _chunk_ends(size, step):
        seam = _seam(file, end)
        if seam is not None:
            yield Order(number, start, seam + 1 - start, first, 0, -1, behind if number else 0, False)
            start, number, first = seam, number + 1, end + source.TEXT_BYTES - seam
    yield Order(number, start, size - start, first, 0, -1, behind if number else 0, True)


def _chunk_ends(size: int, step: int) -> Iterator[int]:
    """Ends of chunks near the end of each part. The first chunk is as long as a packed one."""
    end = source.PACKED_BYTES
    while end < size:
        end += -(-step // source.TEXT_BYTES) * source.TEXT_BYTES
        if end < size:
            yield end


def _seam(file: int, end: int) -> int | None:
    seam = seam_in(os.pread(file, scanning.TAIL_BYTES, end - scanning.TAIL_BYTES))
    return None if seam is None else end - scanning.TAIL_BYTES + seam
