"""Times the making of batches, where they are made: in a worker, or in the main process of a loader without workers.

fetch     |---- dataset ----|-- collate --|
          start_ns          collate_ns    end_ns
"""

from __future__ import annotations

import time
from typing import Any

from tb_steptime.record.clock import now_ns
from tb_steptime.record.format import EXHAUSTED, FAILED, NO_BATCH, PRODUCED
from tb_steptime.record.journal import Journal
from tb_steptime.record.weigh import UNKNOWN, weigh

thread_cpu_ns = time.thread_time_ns
process_cpu_ns = time.process_time_ns

#: Of a loader without workers, so many batches are weighed, and every so many'th that follows.
WEIGHED = 16


class Lane:
    """The batch in the making, and the journal that it is written to. batch and requested_ns are set from outside.

    alone: the process does nothing else, so that the CPU time of all its threads is the batch's.
    """

    def __init__(self, journal: Journal, alone: bool) -> None:
        self.journal = journal
        self._alone = alone
        self.batch = NO_BATCH
        self.requested_ns = 0
        self.end_ns = 0
        self._samples = UNKNOWN
        self._start = (0, 0, 0)  # wall clock, CPU time of the thread, of the process
        self._collate = (0, 0)

    def begin(self) -> None:
        self._samples = UNKNOWN
        self._collate = (0, 0)
        self._start = (now_ns(), thread_cpu_ns(), process_cpu_ns() if self._alone else 0)

    def collate(self, samples: int) -> None:
        self._samples = samples
        self._collate = (now_ns(), thread_cpu_ns())

    def end(self, flags: int, batch: Any) -> None:
        """The batch is whole, or there is none (flags). What goes wrong here ends the recording, not the training."""
        self.end_ns = now_ns()
        cpu = thread_cpu_ns()
        start, start_cpu, start_process = self._start
        process = process_cpu_ns() - start_process if self._alone else UNKNOWN
        collate, collate_cpu = self._collate if self._collate[0] else (self.end_ns, cpu)
        times = (self.requested_ns, start, collate, self.end_ns, collate_cpu - start_cpu, cpu - collate_cpu, process)
        try:
            size = weigh(batch) if self._weighs(flags) else UNKNOWN
        except Exception:  # noqa: BLE001 - a batch of the user's own type may do anything when it is looked at
            size = UNKNOWN
        self.journal.add(self.end_ns, PRODUCED, flags, self.batch, (*times, size, self._samples))
        self.batch = NO_BATCH
        self.requested_ns = 0

    def _weighs(self, flags: int) -> bool:
        """In a worker every batch; in the main process, where it costs the loop's time and nothing is sent, some."""
        return not flags and (self._alone or self.batch < WEIGHED or self.batch % WEIGHED == 0)


class TimedFetcher:
    """A fetcher of torch (`torch/utils/data/_utils/fetch.py`) that times what it does. Errors pass as they are."""

    def __init__(self, fetcher: Any, lane: Lane) -> None:
        self._fetcher = fetcher
        self._lane = lane
        self._ends = hasattr(fetcher, "dataset_iter")
        fetcher.collate_fn = _TimedCollate(fetcher.collate_fn, lane, fetcher.auto_collation)

    def fetch(self, index: Any) -> Any:
        self._lane.begin()
        try:
            batch = self._fetcher.fetch(index)
        except BaseException as error:
            exhausted = self._ends and isinstance(error, StopIteration)
            self._lane.end(EXHAUSTED if exhausted else FAILED, None)
            raise
        self._lane.end(0, batch)
        return batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fetcher, name)


class _TimedCollate:
    def __init__(self, collate: Any, lane: Lane, batched: bool) -> None:
        self._function = collate
        self._lane = lane
        self._batched = batched

    def __call__(self, samples: Any) -> Any:
        self._lane.collate(len(samples) if self._batched and isinstance(samples, (list, tuple)) else UNKNOWN)
        return self._function(samples)
