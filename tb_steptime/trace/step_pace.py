"""What profiling costs a step, as the recorder has timed it: steps that the profiler recorded, and the others."""

from __future__ import annotations

import msgspec


class StepPace(msgspec.Struct, frozen=True):
    """Medians of the steps of a job, ns. recorded, plain: of how many."""

    recorded_ns: int
    recorded: int
    plain_ns: int
    plain: int

    @property
    def times(self) -> float:
        """A recorded step takes so many times as long."""
        return self.recorded_ns / max(1, self.plain_ns)
