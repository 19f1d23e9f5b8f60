"""Times the making of batches, where they are made: in a worker, or in the main process of a loader without workers.

fetch     |---- dataset ----|-- collate --|
          start_ns          collate_ns    end_ns

The wall clock costs next to nothing and is read for every batch. CPU time, the wait for a core and the size of a batch
cost some microseconds: they are looked at as often as a small share of the time allows. At ten batches a second that is
every batch, at thousands one of many.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import CodeType
from typing import Any

from tb_steptime.record.clock import now_ns
from tb_steptime.record.format import EXHAUSTED, FAILED, NO_BATCH, PRODUCED
from tb_steptime.record.journal import Journal
from tb_steptime.record.line_samples import LineSampler
from tb_steptime.record.weigh import UNKNOWN, weigh

thread_cpu_ns = time.thread_time_ns

#: After a look that took d, none is taken for 2000 d: less than a tenth of a percent of the time is spent so. d is the
#: shorter of the last two: one alone may have been interrupted.
LOOK_REST = 2000
#: A look's readings at the start and between the parts, in readings of those at the end.
_READINGS = 2

_NOT_LOOKED = (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


class Lane:
    """The batch in the making, and the journal that it is written to. batch and requested_ns are set from outside, what
    follows them by the functions below, which run for every batch: a call less there is time that training has.

    core_wait_ns: how long the thread that makes batches had to wait for a core so far; UNKNOWN where nobody tells.
    lines: looks at the thread now and then.
    """

    def __init__(
        self,
        journal: Journal,
        core_wait_ns: Callable[[], int] = lambda: UNKNOWN,
        lines: LineSampler | None = None,
    ) -> None:
        self.journal = journal
        self.batch = NO_BATCH
        self.requested_ns = 0
        self.start_ns = 0
        self.collate_ns = 0
        self.end_ns = 0
        self.samples = UNKNOWN
        self.looks = False
        self.next_look_ns = 0
        self._lines = lines
        self._core_wait_ns = core_wait_ns
        self._took_ns = 0
        self._cpu_ns = [0, 0]  # of the thread, when fetching and when collating began
        self._waited_ns = UNKNOWN

    def look_at_start(self) -> None:
        self._waited_ns = self._core_wait_ns()
        self._cpu_ns[0] = thread_cpu_ns()

    def look_at_collate(self) -> None:
        self._cpu_ns[1] = thread_cpu_ns()

    def end(self, flags: int, batch: Any) -> None:
        """The batch is whole, or there is none (flags)."""
        end_ns = self.end_ns = now_ns()
        cpu, collate_cpu, waited, size = self._look(flags, batch) if self.looks else _NOT_LOOKED
        collate_ns = self.collate_ns or end_ns
        times = (self.requested_ns, self.start_ns, collate_ns, end_ns, cpu, collate_cpu, waited, size, self.samples)
        self.journal.add(end_ns, PRODUCED, flags, self.batch, times)
        self.batch = NO_BATCH
        self.requested_ns = 0

    def _look(self, flags: int, batch: Any) -> tuple[int, int, int, int]:
        """CPU time of the dataset and of collate_fn, wait for a core, bytes."""
        cpu_ns = thread_cpu_ns()
        waited_ns = self._core_wait_ns()
        start, collate = self._cpu_ns if self.collate_ns else (self._cpu_ns[0], cpu_ns)
        known = waited_ns != UNKNOWN and self._waited_ns != UNKNOWN
        try:
            size = UNKNOWN if flags else weigh(batch)
        except Exception:  # noqa: BLE001 - a batch of the user's own type may do anything when it is looked at
            size = UNKNOWN
        if self._lines is not None:
            self._lines.write()
        after_ns = now_ns()
        took_ns = after_ns - self.end_ns
        self.next_look_ns = after_ns + LOOK_REST * _READINGS * min(took_ns, self._took_ns)
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


class TimedFetcher:
    """A fetcher of torch (`torch/utils/data/_utils/fetch.py`) that times what it does. Errors pass as they are."""

    _fetcher: Any
    _lane: Lane
    _ends: bool

    def __init__(self, fetcher: Any, lane: Lane) -> None:
        self.__dict__.update(_fetcher=fetcher, _lane=lane, _ends=hasattr(fetcher, "dataset_iter"))
        fetcher.collate_fn = TimedCollate(fetcher.collate_fn, lane, fetcher.auto_collation)

    def fetch(self, index: Any) -> Any:
        lane = self._lane
        lane.collate_ns = 0
        lane.samples = UNKNOWN
        start_ns = lane.start_ns = now_ns()
        lane.looks = start_ns >= lane.next_look_ns
        if lane.looks:
            lane.look_at_start()
        try:
            batch = self._fetcher.fetch(index)
        except BaseException as error:
            exhausted = self._ends and isinstance(error, StopIteration)
            lane.end(EXHAUSTED if exhausted else FAILED, None)
            raise
        lane.end(0, batch)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fetcher, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """torchdata's workers give a fetcher the state that they read from it later."""
        setattr(self._fetcher, name, value)


class TimedMapFetcher(TimedFetcher):
    """Of a data set with an index, as most are: what torch's fetcher does, with the clock read in between. In place of
    two functions around torch's own that is none, and half of what recording costs a loop of 1000 batches a second."""

    def __init__(self, fetcher: Any, lane: Lane) -> None:
        self.__dict__.update(_fetcher=fetcher, _lane=lane, _ends=False)

    def fetch(self, index: Any) -> Any:
        lane, fetcher = self._lane, self._fetcher
        lane.collate_ns = 0
        lane.samples = UNKNOWN
        start_ns = lane.start_ns = now_ns()
        lane.looks = start_ns >= lane.next_look_ns
        if lane.looks:
            lane.look_at_start()
        try:
            dataset = fetcher.dataset
            if not fetcher.auto_collation:
                samples = dataset[index]
            else:
                many = getattr(dataset, "__getitems__", None)
                samples = many(index) if many else [dataset[each] for each in index]
                if isinstance(samples, (list, tuple)):
                    lane.samples = len(samples)
            lane.collate_ns = now_ns()
            if lane.looks:
                lane.look_at_collate()
            batch = fetcher.collate_fn(samples)
        except BaseException:
            lane.end(FAILED, None)
            raise
        lane.end(0, batch)
        return batch


#: What the fetcher of torch that is stood in for refers to, in all versions tried. One that does more is left to work.
_MAP_FETCHER = {"auto_collation", "hasattr", "dataset", "__getitems__", "collate_fn"}


def timed(fetcher: Any, lane: Lane) -> TimedFetcher:
    from torch.utils.data._utils.fetch import _MapDatasetFetcher

    known = type(fetcher) is _MapDatasetFetcher and set(_MapDatasetFetcher.fetch.__code__.co_names) == _MAP_FETCHER
    return TimedMapFetcher(fetcher, lane) if known else TimedFetcher(fetcher, lane)


class TimedCollate:
    def __init__(self, collate: Any, lane: Lane, batched: bool) -> None:
        self._function = collate
        self._lane = lane
        self._batched = batched

    def __call__(self, samples: Any) -> Any:
        lane = self._lane
        if self._batched and isinstance(samples, (list, tuple)):
            lane.samples = len(samples)
        lane.collate_ns = now_ns()
        if lane.looks:
            lane.look_at_collate()
        return self._function(samples)


#: Below these a batch is being made ...
OUTER_CODE: tuple[CodeType, ...] = (TimedFetcher.fetch.__code__, TimedMapFetcher.fetch.__code__)
#: ... and of the recorder's own code there only this is part of it: the call of collate_fn, and the loop over samples,
#: which up to Python 3.11 is a function of its own.
INNER_CODE: tuple[CodeType, ...] = (
    TimedCollate.__call__.__code__,
    *(each for each in TimedMapFetcher.fetch.__code__.co_consts if isinstance(each, CodeType)),
)
