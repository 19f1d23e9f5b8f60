"""How much of the devices' work lies inside the steps, and how much before, between and after them.

steps     before |--- 5 ---|--- 6 ---| between |--- 8 ---| after
device       kkkk kkkkk kkkk kkkk kk     kkk     kkkkkk     k
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import DEVICE_KINDS, Int64

#: Work outside of the steps below this share changes no figure, and is not mentioned.
SAID_FROM = 0.01


class DeviceTime(NamedTuple):
    """Time of all kernels, copies and sets of a trace by where it lies, ns; what crosses an edge is divided there."""

    in_steps_ns: int
    before_ns: int
    between_ns: int
    after_ns: int

    @property
    def total_ns(self) -> int:
        return sum(self)

    @property
    def outside_ns(self) -> int:
        return self.total_ns - self.in_steps_ns


def device_time(trace: Trace, windows: Sequence[tuple[int, int]]) -> DeviceTime:
    """The device time by place. windows: disjoint, in time order, at least one."""
    rows = trace.events.rows(*DEVICE_KINDS)
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    low, high = np.array(windows, np.int64).T
    total = int((end - start).sum())
    end.sort(kind="stable")  # starts are sorted, and ends nearly so, from which this sort profits
    starts, ends = _Knots.of(start), _Knots.of(end)
    before = _until(starts, ends, low[:1])
    after = total - _until(starts, ends, high[-1:])
    inside = _until(starts, ends, high) - _until(starts, ends, low)
    return DeviceTime(inside, before, total - before - after - inside, after)


class _Knots(NamedTuple):
    """Sorted instants, and the sums of those before each, one entry more."""

    at: Int64
    sums: Int64

    @staticmethod
    def of(instants: Int64) -> _Knots:
        return _Knots(instants, np.append(0, np.cumsum(instants)))


def _until(starts: _Knots, ends: _Knots, instants: Int64) -> int:
    """The time of the intervals before each instant, summed over the instants."""
    begun, over = np.searchsorted(starts.at, instants), np.searchsorted(ends.at, instants)
    sums: Int64 = ends.sums[over] + (begun - over) * instants - starts.sums[begun]
    return int(sums.sum())
