"""How many processes read traces at once: one for each core that this process may use, of however many traces."""

from __future__ import annotations

import os

#: Each process may need a good part of a gigabyte; more at once gain nothing on one disk.
MAX_PROCESSES = 8


def cores() -> int:
    """Processes that may run at once: one for each core that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_PROCESSES)


def share_of(all: int, taken: int, waiting: int) -> int:
    """Processes for one trace, of those that there may be: the others that wait now get as many, and each at least one.

    >>> share_of(8, 0, 0), share_of(8, 0, 3), share_of(8, 8, 3)
    (8, 2, 1)
    """
    return max(1, (all - taken) // (waiting + 1))
