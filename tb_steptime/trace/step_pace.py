"""The cost of profiling per step, as timed by the recorder: steps that the profiler recorded, and the others."""

from __future__ import annotations

import msgspec


class StepPace(msgspec.Struct, frozen=True):
    """Median lengths of a job's steps, in ns, that were recorded and that were not.

    recorded, plain   number of steps behind each median
    differ            the 95 % intervals of the medians do not overlap, so that one is longer by more than chance
    plain_p1_ns       1st percentile of the steps that were not recorded, no less than the second shortest
    """

    recorded_ns: int
    recorded: int
    plain_ns: int
    plain: int
    differ: bool = True
    plain_p1_ns: int | None = None

    @property
    def times(self) -> float:
        """How many times as long a recorded step takes as a plain one."""
        return self.recorded_ns / max(1, self.plain_ns)
