"""Events that are written as two: an end belongs to the last open begin of its thread."""

from __future__ import annotations

from array import array


class Pairs:
    """Rows of begins that wait for their ends, by thread, and the ends for which there was no begin.

    stray_thread, stray_time   of each end without a begin, in the order of the file; ns
    timeless_count             ends without a time

    >>> pairs = Pairs()
    >>> pairs.begin(0, 5)
    >>> pairs.end(0, 1000), pairs.end(0, 2000), pairs.stray_count
    (5, None, 1)
    """

    def __init__(self) -> None:
        self.open: dict[int, list[int]] = {}
        self.stray_thread, self.stray_time = array("i"), array("q")
        self.timeless_count = 0

    @property
    def stray_count(self) -> int:
        return len(self.stray_time) + self.timeless_count

    def begin(self, thread: int, row: int) -> None:
        self.open.setdefault(thread, []).append(row)

    def end(self, thread: int, time_ns: int | None) -> int | None:
        """Returns the row of the begin to which this end belongs, or None if there is none. An end without a time is
        ignored."""
        if time_ns is None:
            self.timeless_count += 1
            return None
        open_rows = self.open.get(thread)
        if open_rows:
            return open_rows.pop()
        self.stray_thread.append(thread)
        self.stray_time.append(time_ns)
        return None
