"""What profiling costs a step, as the recorder has timed it: steps that the profiler recorded, and the others."""

from __future__ import annotations

import msgspec


class StepPace(msgspec.Struct, frozen=True):
    """Medians of the steps of a job, ns. recorded, plain: of how many. differ: their 95 % intervals do not overlap, so
    that one of them is longer by more than steps differ from each other."""

    recorded_ns: int
    recorded: int
    plain_ns: int
    plain: int
    differ: bool = True

    @property
    def times(self) -> float:
        """A recorded step takes so many times as long."""
        return self.recorded_ns / max(1, self.plain_ns)
