"""Where a new process continues a file: behind all that was written to it.

place      0 ... 8191 | 8192 ........ latest | ......... 32767
sequence   0 ... 8191 | this round, rising   | the round before
"""

from __future__ import annotations

import struct

from tb_steptime.record.file import format as layout

#: The sequence number of a row, in a row's length. Finding the greatest of a full file takes some milliseconds, and to
#: check every checksum ten times as long.
_NUMBER = struct.Struct(f"<8xI{layout.ROW.size - 12}x")


def next_sequence(rows: bytes) -> int:
    """The number of the next row, in a file with these bytes after its header.

    It is greater than that of any valid row, and its place is behind the end of a file that is not full: a row that was
    cut or damaged stays, so that losses can be counted.
    """
    size = layout.ROW.size
    numbers = [number for (number,) in _NUMBER.iter_unpack(rows[: len(rows) // size * size])]
    following = -(-len(rows) // size)
    while (latest := max(numbers, default=-1)) >= following:
        position = numbers.index(latest)
        if layout.sequence_of(rows[position * size : (position + 1) * size], position) is not None:
            return latest + 1
        numbers[position] = 0
    return following
