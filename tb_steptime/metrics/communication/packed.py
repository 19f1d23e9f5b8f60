"""Columns of integers as bytes, which a summary stores in little space and reads fast.

A column is stored as its differences, each in as many bytes as the largest one needs, with one plane per byte.

    values       1000 1010 1025 1036
    differences       10   15   11        in this order, with the sign in the last bit
    planes       (low bytes) (high bytes) and the summary's compression removes nearly all of the zeros

Numbers as text need the same space, but reading them takes ten times as long, and a job has millions of them.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.trace.table import Int64

#: Maximum number of collectives of one recording. No trace that a profiler could write has more.
MOST_VALUES = 10_000_000
_INT64_BYTES = 8


class PackedColumn(msgspec.Struct, frozen=True):
    """A column of whole numbers as bytes.

    count    number of values
    width    bytes of each value
    planes   a zero, then the bytes of the values: first the low byte of each, then the next one, and so on. The zero
             makes the Base64 text begin with a letter, because text that begins with a slash would be taken for a path
             (`ingest.private_paths`)
    """

    count: int = 0
    width: int = 0
    planes: bytes = b""


def packed(values: Int64) -> PackedColumn:
    """Packs integers of at most 62 bits.

    >>> packed(np.array([1000, 1010, 1025]))
    PackedColumn(count=3, width=2, planes=b'\\x00\\xd0\\x14\\x1e\\x07\\x00\\x00')
    """
    if not len(values):
        return PackedColumn()
    change: Int64 = values - np.append(0, values[:-1])
    signed = (change << 1) ^ (change >> 63)
    width = (int(signed.max(initial=0)).bit_length() + 7) // 8
    planes = signed.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].T
    return PackedColumn(len(values), width, b"\0" + planes.tobytes())


def unpacked(column: PackedColumn) -> Int64:
    """Returns the values of a column. Raises ValueError if the number of bytes is wrong, or if there are more values
    than any recording has. A summary may come from anywhere, and a few bytes could claim any number of zeros."""
    if not 0 <= column.count <= MOST_VALUES or not 0 <= column.width <= _INT64_BYTES:
        raise ValueError(f"no column has {column.count} values of {column.width} bytes")
    planes = np.frombuffer(column.planes, np.uint8)[1:].reshape(column.width, column.count)
    signed = np.zeros((column.count, 8), np.uint8)
    signed[:, : column.width] = planes.T
    whole = signed.view("<i8").ravel()
    change = (whole >> 1) ^ -(whole & 1)
    return np.cumsum(change, dtype=np.int64)
