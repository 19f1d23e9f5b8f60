"""Which end of a slice belongs to which begin.

PyTorch writes slices in groups, all begins and then all ends, both in the order of its rows. A slice may begin and end
at the same times as another, so times do not show the pairs:

    file     a begins, b begins, c begins | a ends, b ends, c ends      k-th begin and k-th end
    time     a 0..9, b 1..4, c 5..8

Other writers put begins and ends in the order of time, and an end is that of the last open begin on its track:

    file     a begins, b begins | b ends | c begins | c ends, a ends

A run is a sequence of begins and the ends behind them. It is a group if its begins and ends are on the same tracks one
by one, no k-th end is before its begin, and the times of the run are not ascending. A file with one such run is written
that way throughout.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.table import Int64

#: Row of a begin that is in no column, because its category is left out.
NO_ROW = -1


class Slices:
    """Begins and ends, in the order of the file.

    rows, ends_ns   what was paired: rows of begins and the ends' times, for `paired`
    stray_count     ends without a begin
    """

    def __init__(self) -> None:
        self.rows, self.ends_ns = array("q"), array("q")
        self.stray_count = 0
        self._grouped = False
        self._open: dict[int, list[int]] = defaultdict(list)
        self._start()

    def _start(self) -> None:
        self._begun, self._begun_on, self._begun_ns = array("q"), array("Q"), array("q")
        self._ended_on, self._ended_ns = array("Q"), array("q")

    def begin(self, row: int, track: int, time_ns: int) -> None:
        if self._ended_on:
            self._close_run()
        self._begun.append(row)
        self._begun_on.append(track)
        self._begun_ns.append(time_ns)

    def end(self, track: int, time_ns: int) -> None:
        self._ended_on.append(track)
        self._ended_ns.append(time_ns)

    def close(self) -> None:
        """Process what is left at the end of the file."""
        self._close_run()

    def _close_run(self) -> None:
        ends = len(self._ended_on)
        if ends and self._is_group(ends):
            self._pair(self._begun[:ends], self._ended_ns)
            begun, begun_on = self._begun[ends:], self._begun_on[ends:]  # of a file that was cut
            for row, track in zip(begun, begun_on, strict=True):
                self._open[track].append(row)
        else:
            self._nest()
        self._start()

    def _is_group(self, ends: int) -> bool:
        if ends > len(self._begun) or self._begun_on[:ends] != self._ended_on:
            return False
        if not self._grouped:
            begun, ended = _numbers(self._begun_ns), _numbers(self._ended_ns)
            times = np.concatenate((begun, ended))
            self._grouped = bool((times[1:] < times[:-1]).any() and (ended >= begun[:ends]).all())
        return self._grouped

    def _nest(self) -> None:
        for row, track in zip(self._begun, self._begun_on, strict=True):
            self._open[track].append(row)
        rows, times = array("q"), array("q")
        for track, time in zip(self._ended_on, self._ended_ns, strict=True):
            begun = self._open.get(track)
            if begun:
                rows.append(begun.pop())
                times.append(time)
            else:
                self.stray_count += 1
        self._pair(rows, times)

    def _pair(self, rows: array[int], times: array[int]) -> None:
        self.rows += rows
        self.ends_ns += times

    def durations(self, start_ns: Int64) -> tuple[Int64, Int64]:
        """Rows of the slices that have both a begin and an end, and their durations in ns."""
        rows, ends = _numbers(self.rows), _numbers(self.ends_ns)
        known = rows != NO_ROW
        return rows[known], ends[known] - start_ns[rows[known]]


def _numbers(values: array[int]) -> npt.NDArray[Any]:
    return np.frombuffer(values, np.int64) if values else np.empty(0, np.int64)
