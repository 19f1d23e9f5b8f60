"""Detects slow steps: a single one, or all from some step on.

one step       | | |   |   | | |        three times the median of the steps before it
a change       ........::::::::         medians of blocks of steps: the latest three are all above those before
"""

from __future__ import annotations

from statistics import median

#: A slow step takes this many times the usual time ...
SLOW_TIMES = 3
#: ... and at least this much longer: what the system does to a step of a millisecond is no reason to record.
LEAST_NS = 50_000_000
#: Minimum number of steps before any time counts as usual, and how many first steps of a job are ignored because they
#: are slow by nature.
LEAST_STEPS, FIRST_STEPS = 20, 10
#: Number of steps in a block; maximum and minimum number of blocks that define what is usual; number of new blocks that
#: make a change.
BLOCK, MOST_BLOCKS, LEAST_BLOCKS, NEW_BLOCKS = 16, 32, 5, 3
#: Criteria of a change, as in Trends: medians differ by this many robust deviations, and by at least a fifth, since
#: less is no reason to record.
DEVIATIONS, ROBUST, LEAST_CHANGE = 3, 1.4826, 0.2


class Slowness:
    """Receives the lengths of steps without a profiler, in order. usual_ns: their recent median, None at first.
    limit_ns: longer steps are slow; 0 while unknown. latest: lengths that `follow` has not seen; a length up to the
    limit may be appended directly instead of calling `add`."""

    def __init__(self) -> None:
        self.usual_ns: float | None = None
        self.limit_ns = 0.0
        self._seen = 0
        self.latest: list[int] = []
        self._medians: list[float] = []

    def add(self, duration_ns: int) -> bool:
        """Adds a step, and returns whether it was slow. A slow step does not count for what is usual."""
        self._seen += 1
        if self._seen <= FIRST_STEPS:
            return False
        if self.limit_ns and duration_ns > self.limit_ns:
            return True
        self.latest.append(duration_ns)
        return False

    def follow(self) -> tuple[float, float] | None:
        """Called now and then: updates what is usual. If steps have become slower, returns their median before and now,
        once."""
        while len(self.latest) >= BLOCK:
            self._medians.append(median(self.latest[:BLOCK]))
            del self.latest[:BLOCK]
        lately = [*self._medians[-NEW_BLOCKS:], *self.latest]
        if self._seen >= LEAST_STEPS and lately:
            self.usual_ns = median(lately)
            self.limit_ns = max(SLOW_TIMES * self.usual_ns, self.usual_ns + LEAST_NS)
        before, new = self._medians[:-NEW_BLOCKS], self._medians[-NEW_BLOCKS:]
        if len(before) < LEAST_BLOCKS:
            return None
        self._medians = self._medians[-MOST_BLOCKS:]
        level = median(before)
        deviation = ROBUST * median(abs(each - level) for each in before)
        if min(new) <= level + max(DEVIATIONS * deviation, LEAST_CHANGE * level):
            return None
        self._medians = new
        return level, median(new)
