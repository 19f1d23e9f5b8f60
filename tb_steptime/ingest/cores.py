"""How many processes read traces at once: one for each core that this process may use, shared by all traces."""

from __future__ import annotations

from tb_steptime.record.cores import usable_cores

#: Each process may need a good part of a gigabyte, and more than this gain nothing on one disk.
MAX_PROCESSES = 8


def cores() -> int:
    """Returns how many processes may run at once: one for each core that this process may use."""
    return min(usable_cores() or 1, MAX_PROCESSES)


def share_of(all: int, used: int, waiting: int) -> int:
    """Returns how many of all processes one trace gets: as many as each of the other waiting traces, and at least one.

    >>> share_of(8, 0, 0), share_of(8, 0, 3), share_of(8, 8, 3)
    (8, 2, 1)
    """
    return max(1, (all - used) // (waiting + 1))
