"""Two clocks: a monotonic one for times, and how far the wall clock, which traces use, is ahead of it.

wall        |---------|      |------|        set forward here: `ahead` grows, and a row says so;
monotonic   |---------|------|               durations stay right
"""

from __future__ import annotations

import time

#: On Linux one clock for all processes of a machine, so that times of workers and training process can be compared.
now_ns = time.perf_counter_ns
wall_ns = time.time_ns

#: Less may be an interruption between two readings.
TOLERANCE_NS = 50_000
#: A clock that is slewed moves by at most half a millisecond a second; this was set.
CLOCK_STEP_NS = 1_000_000


class Clock:
    """How far the wall clock is ahead of the monotonic one, in ns."""

    def __init__(self) -> None:
        self.ahead_ns = _measure()

    def moved_ns(self, at_ns: int) -> int:
        """By how much the wall clock was set since the last call; mostly 0. at_ns: the monotonic clock, just read."""
        if abs(wall_ns() - at_ns - self.ahead_ns) < TOLERANCE_NS:
            return 0
        ahead = _measure()
        moved = ahead - self.ahead_ns
        if abs(moved) < TOLERANCE_NS:
            return 0
        self.ahead_ns = ahead
        return moved


def _measure() -> int:
    """The narrowest of five readings of one clock between two of the other."""
    best, ahead = 1 << 62, 0
    for _ in range(5):
        before = now_ns()
        wall = wall_ns()
        after = now_ns()
        if after - before < best:
            best, ahead = after - before, wall - (before + after) // 2
    return ahead
