"""Times torch's fetchers (`torch/utils/data/_utils/fetch.py`) where they produce batches: in a worker, or in the
training process of a loader without workers.

fetch     |---- dataset ----|-- collate --|
          start_ns          collate_ns    end_ns

Reading the wall clock costs next to nothing and is done for every batch. Everything else is measured as often as a
small share of the time allows. Reading CPU time takes a few microseconds: at fifty batches a second that is every
batch, so that a short recording, too, shows whether workers compute. The wait for a core, bytes and lines take ten
times as long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from io import FileIO
from types import CodeType
from typing import Any, NamedTuple

from tb_steptime.record.file.clock import now_ns
from tb_steptime.record.file.format import EXHAUSTED, FAILED, NO_BATCH, PRODUCED
from tb_steptime.record.file.journal import Journal
from tb_steptime.record.loaders.hooks import swap_methods
from tb_steptime.record.loaders.line_samples import LineSampler

thread_cpu_ns = time.thread_time_ns

#: Factor of the pause after a measurement: after one that took d, none of its kind is made for 2000 d, so measuring
#: takes less than a tenth of a percent of the time. d is the shorter of the last two: a single one may have been
#: interrupted.
REST = 2000
#: Number of readings that the cost of one reading stands for: CPU time is also read at the start and between the parts,
#: when the caches are warmer.
_READINGS = 2
#: CPU time is measured for each batch if batches take longer than the first limit, and everything for each batch if
#: they take longer than the second: on a machine whose cores are all in use, CPU time takes 10 us and everything 100
#: us.
CPU_OF_EACH_NS, ALL_OF_EACH_NS = 20_000_000, 100_000_000

UNKNOWN = -1
#: What Linux reports of the scheduling of the calling thread.
SCHEDULING = "/proc/thread-self/schedstat"
_of_thread = threading.local()
#: Maximum number of parts of a batch whose bytes are counted: counting more would take longer than a step may lose.
MAX_PARTS = 128
_WITHOUT_BYTES = (int, float, complex, bool, str, type(None))


class Costs(NamedTuple):
    """What producing a batch costs: CPU time of the dataset and of collate_fn, and the wait for a core, ns; and the
    size of the batch, bytes."""

    dataset_ns: int = UNKNOWN
    collate_ns: int = UNKNOWN
    waited_ns: int = UNKNOWN
    size: int = UNKNOWN


NOT_MEASURED = Costs()


class _Allowance:
    """Allows the next measurement of a kind at due_ns or later."""

    def __init__(self, readings: int) -> None:
        self.due_ns = 0
        self._readings = readings
        self._took_ns = 0

    def spend(self, began_ns: int, ended_ns: int) -> None:
        took_ns = ended_ns - began_ns
        self.due_ns = ended_ns + REST * self._readings * min(took_ns, self._took_ns)
        self._took_ns = took_ns


class ProductionMeter:
    """Measures the batch in production and writes to the journal. batch and requested_ns are set from outside. lines:
    samples the thread's stack now and then."""

    def __init__(self, journal: Journal, lines: LineSampler | None = None) -> None:
        self.journal = journal
        self.batch = NO_BATCH
        self.requested_ns = 0
        self.end_ns = 0
        self._cpu, self._rest = _Allowance(_READINGS), _Allowance(1)
        self._lines = lines
        self._cpu_is_due = self._rest_is_due = False
        self._start_ns = self._length_ns = 0  # of the latest batch
        self._cpu_ns = [0, 0]  # of the thread, when fetching and when collating began
        self._waited_ns = UNKNOWN

    def begin(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._rest_is_due = start_ns >= self._rest.due_ns or self._length_ns >= ALL_OF_EACH_NS
        self._cpu_is_due = self._rest_is_due or start_ns >= self._cpu.due_ns or self._length_ns >= CPU_OF_EACH_NS
        if self._rest_is_due:
            self._waited_ns = core_wait_ns()
        if self._cpu_is_due:
            self._cpu_ns[0] = thread_cpu_ns()

    def collate(self) -> None:
        if self._cpu_is_due:
            self._cpu_ns[1] = thread_cpu_ns()

    def end(self, batch: Any, end_ns: int) -> Costs:
        self._length_ns = end_ns - self._start_ns
        dataset_ns = collate_ns = waited_ns = size = UNKNOWN
        ended_ns = end_ns
        if self._cpu_is_due:
            start, collate = self._cpu_ns
            dataset_ns, collate_ns = collate - start, thread_cpu_ns() - collate
            ended_ns = now_ns()
            self._cpu.spend(end_ns, ended_ns)
        if self._rest_is_due:
            before_ns, after_ns = self._waited_ns, core_wait_ns()
            waited_ns = UNKNOWN if UNKNOWN in (before_ns, after_ns) else after_ns - before_ns
            try:
                size = bytes_of(batch)
            except Exception:  # noqa: BLE001 - a batch of the user's own type may do anything when it is inspected
                size = UNKNOWN
            if self._lines is not None:
                self._lines.write()
            self._rest.spend(ended_ns, now_ns())
        return Costs(dataset_ns, collate_ns, waited_ns, size)


def time_fetcher(fetcher: Any, meter: ProductionMeter) -> None:
    """Write how each batch is produced from now on. Errors of the user's code pass through."""
    fetcher._tb_steptime = meter
    fetcher._tb_steptime_collate = TimedCollate(fetcher.collate_fn, fetcher.auto_collation)
    fetcher.collate_fn = fetcher._tb_steptime_collate  # the program may replace it
    swap_methods(fetcher, _timed)


def _timed(cls: Any) -> dict[str, Any]:
    def fetch(self: Any, index: Any) -> Any:
        meter: ProductionMeter = self._tb_steptime
        collate: TimedCollate = self._tb_steptime_collate
        start_ns = now_ns()
        meter.begin(start_ns)
        collate.begin(meter)
        flags, batch = 0, None
        try:
            batch = cls.fetch(self, index)
        except BaseException as error:
            flags = EXHAUSTED if isinstance(error, StopIteration) and hasattr(self, "dataset_iter") else FAILED
            raise
        finally:
            end_ns = meter.end_ns = now_ns()
            costs = NOT_MEASURED if flags else meter.end(batch, end_ns)
            values = (meter.requested_ns, start_ns, collate.began_ns or end_ns, end_ns, *costs, collate.samples)
            meter.journal.add(end_ns, PRODUCED, flags, meter.batch, values)
        return batch

    return {"fetch": fetch}


class TimedCollate:
    """Stands in for a fetcher's collate_fn, and records when it began (0: it did not), and with how many samples."""

    began_ns: int
    samples: int

    def __init__(self, collate: Any, batched: bool) -> None:
        self._function = collate
        self._batched = batched
        self.begin(None)

    def begin(self, meter: ProductionMeter | None) -> None:
        """Begins a batch. meter: is notified when collating begins."""
        self.began_ns = 0
        self.samples = UNKNOWN
        self._meter = meter

    def __call__(self, samples: Any) -> Any:
        if self._batched and isinstance(samples, (list, tuple)):
            self.samples = len(samples)
        self.began_ns = now_ns()
        if self._meter is not None:
            self._meter.collate()
        return self._function(samples)


def core_wait_ns() -> int:
    """Returns how long the calling thread was runnable but had no core, since its start; UNKNOWN where the system does
    not report it. Only Linux does.

    https://docs.kernel.org/scheduler/sched-stats.html: the time on a core, the wait for one, in ns, and how often the
    thread got one; all are 0 where the kernel does not count.
    """
    try:
        _, waited, runs = os.pread(_own_scheduling().fileno(), 64, 0).split()
        return int(waited) if int(runs) else UNKNOWN
    except (OSError, ValueError, AttributeError):  # Windows has no os.pread
        return UNKNOWN


def _own_scheduling() -> FileIO:
    """Returns the file of the calling thread, open until the thread ends: opening it each time takes twice as long. A
    loop may read its loader on another thread than the one that made the iterator, and in a forked process the file is
    still that of the parent's thread."""
    pid = os.getpid()
    if getattr(_of_thread, "pid", None) != pid:
        _of_thread.file, _of_thread.pid = FileIO(SCHEDULING), pid
    file: FileIO = _of_thread.file
    return file


def bytes_of(batch: Any) -> int:
    """Returns the bytes of the tensors, arrays and byte strings in nested lists, tuples and mappings; UNKNOWN if there
    are parts of other types.

    Numbers and text count as 0. With an unknown part there is no sum, since it would look like a small batch.
    """
    total = 0
    parts = [batch]
    for number, part in enumerate(parts):
        if number >= MAX_PARTS:
            return UNKNOWN
        if isinstance(part, (list, tuple)):
            parts += part[:MAX_PARTS]
        elif isinstance(part, Mapping):
            parts += part.values()
        elif not isinstance(part, _WITHOUT_BYTES):
            size = _size_of(part)
            if size is None:
                return UNKNOWN
            total += size
    return total


def _size_of(part: Any) -> int | None:
    if isinstance(part, (bytes, bytearray)):
        return len(part)
    if not hasattr(part, "nbytes") and hasattr(part, "element_size"):  # tensors before PyTorch 2.1
        return int(part.element_size() * part.numel())
    size = getattr(part, "nbytes", None)
    return size if isinstance(size, int) else None


#: Code objects below which, in a stack, a batch is being produced.
OUTER_CODE: tuple[CodeType, ...] = tuple(const for const in _timed.__code__.co_consts if isinstance(const, CodeType))
#: The recorder's own code that is part of producing a batch: the call of collate_fn.
INNER_CODE: tuple[CodeType, ...] = (TimedCollate.__call__.__code__,)
