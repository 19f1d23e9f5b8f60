"""The cost of profiling per step, as timed by the recorder: steps that the profiler recorded, and the others."""

from __future__ import annotations

import msgspec


class StepPace(msgspec.Struct, frozen=True):
    """Medians of the steps of a job, ns. recorded, plain: of how many. differ: their 95 % intervals do not overlap, so
    that one of them is longer by more than steps differ from each other. plain_p1_ns: 1st percentile of the plain
    steps, but no less than the second shortest."""

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
