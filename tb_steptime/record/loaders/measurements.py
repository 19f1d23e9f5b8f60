"""The batch in the making, and what is looked at beside the clock: CPU time, the wait for a core, bytes.

The wall clock costs next to nothing and is read for every batch. The rest costs some microseconds and is looked at as
often as a small share of the time allows: at ten batches a second that is every batch where a look takes 25 us, at
thousands one of many.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import NO_BATCH
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.batch_bytes import UNKNOWN, weigh
from tb_steptime.record.loaders.line_samples import LineSampler

thread_cpu_ns = time.thread_time_ns

#: After a look that took d, none is taken for 2000 d: less than a tenth of a percent of the time is spent so. d is the
#: shorter of the last two: one alone may have been interrupted.
LOOK_REST = 2000
#: Who keeps rows waiting until a look is due is asked for them at least so often, looked at or not.
MOST_APART_NS = 50_000_000
#: A look's readings at the start and between the parts, in readings of those at the end.
_READINGS = 2

#: What a look tells where none was taken.
NOT_LOOKED = (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


class Lane:
    """The batch in the making, and the journal that it is written to. batch and requested_ns are set from outside.

    core_wait_ns: how long the thread that makes batches had to wait for a core so far; UNKNOWN where nobody tells.
    lines: looks at the thread now and then.
    """

    def __init__(
        self,
        journal: Journal,
        core_wait_ns: Callable[[], int] = lambda: UNKNOWN,
        lines: LineSampler | None = None,
    ) -> None:
        self.write_to(journal)
        self.batch = NO_BATCH
        self.requested_ns = 0
        self.end_ns = 0
        self.next_look_ns = 0
        self._rests_until_ns = 0
        self._looks = False
        self._lines = lines
        self._core_wait_ns = core_wait_ns
        self._took_ns = 0
        self._cpu_ns = [0, 0]  # of the thread, when fetching and when collating began
        self._waited_ns = UNKNOWN

    def write_to(self, journal: Journal) -> None:
        self.journal = journal
        self.waiting = journal.waiting

    def look_at_start(self) -> None:
        """next_look_ns has come; where the last looks took long, only what waits is asked for."""
        self._looks = now_ns() >= self._rests_until_ns
        if not self._looks:
            return
        self._waited_ns = self._core_wait_ns()
        self._cpu_ns[0] = thread_cpu_ns()

    def look_at_collate(self) -> None:
        if self._looks:
            self._cpu_ns[1] = thread_cpu_ns()

    def look_at_end(self, batch: Any, end_ns: int) -> tuple[int, int, int, int]:
        """CPU time of the dataset and of collate_fn, wait for a core, bytes."""
        looked = self._looked(batch, end_ns) if self._looks else NOT_LOOKED
        self.next_look_ns = min(self._rests_until_ns, now_ns() + MOST_APART_NS)
        return looked

    def _looked(self, batch: Any, end_ns: int) -> tuple[int, int, int, int]:
        cpu_ns = thread_cpu_ns()
        waited_ns = self._core_wait_ns()
        start, collate = self._cpu_ns
        known = waited_ns != UNKNOWN and self._waited_ns != UNKNOWN
        try:
            size = weigh(batch)
        except Exception:  # noqa: BLE001 - a batch of the user's own type may do anything when it is looked at
            size = UNKNOWN
        if self._lines is not None:
            self._lines.write()
        after_ns = now_ns()
        took_ns = after_ns - end_ns
        self._rests_until_ns = after_ns + LOOK_REST * _READINGS * min(took_ns, self._took_ns)
        self._took_ns = took_ns
        return collate - start, cpu_ns - collate, waited_ns - self._waited_ns if known else UNKNOWN, size


def core_wait_of_this_thread() -> Callable[[], int]:
    """How long the calling thread was able to run but had no core, from its start: told by Linux alone.

    https://docs.kernel.org/scheduler/sched-stats.html: the second number, in ns.
    """
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return lambda: UNKNOWN

    def core_wait_ns() -> int:
        try:
            return int(os.pread(file, 64, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return UNKNOWN

    return core_wait_ns
