"""Two clocks: a monotonic one for times, and the wall clock, which traces use; `ahead` is how far the wall clock is
ahead.

wall        |---------|      |------|        set forward here: `ahead` grows, and a row says so;
monotonic   |---------|------|               durations stay right
"""

from __future__ import annotations

import time

#: The monotonic clock. On Linux all processes of a machine share it, so that times of workers and training process can
#: be compared.
now_ns = time.perf_counter_ns
wall_ns = time.time_ns

#: A smaller difference may be an interruption between two readings.
TOLERANCE_NS = 50_000
#: Minimum jump for a clock that was set: a clock that is slewed moves by at most half a millisecond a second.
CLOCK_STEP_NS = 1_000_000


def measure_ahead_ns() -> int:
    """Returns how far the wall clock is ahead of the monotonic one. Of five readings of it between two of the monotonic
    clock, the one with the shortest interval counts."""
    best, ahead_ns = 1 << 62, 0
    for _ in range(5):
        before = now_ns()
        wall = wall_ns()
        after = now_ns()
        if after - before < best:
            best, ahead_ns = after - before, wall - (before + after) // 2
    return ahead_ns
