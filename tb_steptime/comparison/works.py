"""Groups recordings by what they compute."""

from __future__ import annotations

from tb_steptime.comparison.fairness import does_other_work
from tb_steptime.comparison.sides import Side


class Works:
    """Numbers for the works of recordings, as far as these show what they compute.

    A recording is compared only with the first one of each group, so that small differences do not add up within a
    group.
    """

    def __init__(self) -> None:
        self._firsts: list[Side] = []

    def number(self, side: Side) -> int:
        """Returns the number of the first group whose first recording does the same work, or that of a new group."""
        for number, first in enumerate(self._firsts):
            if not does_other_work(first, side):
                return number
        self._firsts.append(side)
        return len(self._firsts) - 1
