"""Where a new process continues a file: behind all that was written to it.

place      0 ... 8191 | 8192 ........ latest | ......... 32767
sequence   0 ... 8191 | this round, rising   | the round before

Bisection finds the latest row by some fifteen others. Checking all rows of a full file would take longer than many an
epoch.
"""

from __future__ import annotations

from collections.abc import Callable

from tb_steptime.record.file import format as layout

#: The bytes at a row's place; fewer where the file ends.
ReadRow = Callable[[int], bytes]


def next_sequence(read: ReadRow, rows_bytes: int) -> int:
    """The number of the next row, in a file with so many bytes after its header.

    It is greater than that of any valid row, and its place is behind the end of a file that is not full: a row that was
    cut or damaged stays, so that losses can be counted.
    """
    places = -(-max(0, rows_bytes) // layout.ROW.size)
    return max(places, _latest(read, places) + 1)


def _latest(read: ReadRow, places: int) -> int:
    """The highest number of the valid rows that overwrite each other; -1 where there are none."""
    first = _valid_row(read, layout.FIRST_ROWS, places)
    if first is None:
        return -1
    latest, end = first, places
    while latest[0] + 1 < end:
        middle = (latest[0] + end) // 2
        found = _valid_row(read, middle, end)
        if found is not None and found[1] - found[0] == first[1] - first[0]:  # of the same round
            latest = found
        else:
            end = middle
    return latest[1]


def _valid_row(read: ReadRow, begin: int, end: int) -> tuple[int, int] | None:
    """Place and number of the first valid row between two places."""
    for position in range(begin, end):
        sequence = layout.sequence_of(read(position), position)
        if sequence is not None:
            return position, sequence
    return None
