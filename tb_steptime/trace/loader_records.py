"""A recorder's data about a trace's loaders, on the trace's clock. In columns; `ingest.recorder_files` reads the files.

worker           start .... collate .. end                      one row of `ProducedBatches`
main process     asked    arrived unpickled pinned  returned    one row of `ReceivedBatches`
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text import Note
from tb_steptime.trace.table import Columns, Int64

#: A time that was not recorded.
UNKNOWN_TIME = int(np.iinfo(np.int64).min)


class LoaderSettings(msgspec.Struct, frozen=True):
    """The settings of a loader; None if its recorder does not have a value. loader: 1, 2, ... within the process."""

    loader: int
    dataset: str | None
    workers: int
    prefetch: int | None
    batch_size: int | None
    pin_memory: bool | None
    persistent: bool | None
    in_order: bool | None
    iterable: bool | None


class BatchRows(Columns, frozen=True, eq=False):
    """One row for each batch: its number, and the pass over the data that it belongs to. keys: a unique number per
    batch of a process."""

    loader: Int64
    pass_number: Int64
    batch: Int64

    @property
    def keys(self) -> Int64:
        return (self.loader << 56) + (self.pass_number << 32) + self.batch


class ProducedBatches(BatchRows, frozen=True, eq=False):
    """Batches produced, by start; times in ns from the trace's origin.

    worker, pid                            that produced it
    start_ns, collate_ns, end_ns           dataset from start to collate, collate_fn from there to the end
    dataset_cpu_ns, collate_cpu_ns         CPU time of the thread that produced it; -1: not measured (only few batches
                                           are)
    core_wait_ns                           time for which it was runnable but had no core; -1: not measured or unknown
    bytes, samples                         -1: not known
    """

    worker: Int64
    pid: Int64
    start_ns: Int64
    collate_ns: Int64
    end_ns: Int64
    dataset_cpu_ns: Int64
    collate_cpu_ns: Int64
    core_wait_ns: Int64
    bytes: Int64
    samples: Int64


class ReceivedBatches(BatchRows, frozen=True, eq=False):
    """Batches returned to the training loop, in that order. Times as above, UNKNOWN_TIME if missing; see
    `record.file.format`."""

    next_called_ns: Int64
    arrived_ns: Int64
    unpickled_ns: Int64
    pinned_ns: Int64
    returned_ns: Int64


class LoaderPasses(Columns, frozen=True, eq=False):
    """Passes over the data: from iter(loader) until it returned; times as above.

    New workers start in this time. Persistent ones first deliver the remaining batches of a pass that was broken off.
    """

    loader: Int64
    begin_ns: Int64
    ready_ns: Int64


class LineSamples(msgspec.Struct, frozen=True, eq=False):
    """Sampled source lines of the workers that produce batches, over the whole recording; int64, one row for each line
    in each burst of samples. location: row of locations, "data.py(41): __getitem__", or -1; count: number of samples.

    late: bursts that do not count, because the machine was too busy to sample in time.
    """

    loader: Int64
    worker: Int64
    at_ns: Int64
    location: Int64
    count: Int64
    locations: tuple[str, ...]
    late: int


class Pace(msgspec.Struct, frozen=True):
    """How fast batches follow each other with and without the profiler.

    inside_ns, outside_ns   median time from one batch to the next inside the recording, and in the rest of the job,
                            which runs nearly all without the profiler
    inside, outside         the number of batches inside the recording, and in the rest of the job
    """

    inside_ns: int
    inside: int
    outside_ns: int
    outside: int


class LoaderRecords(msgspec.Struct, frozen=True):
    """What the files of one process contain for the time of its trace.

    files: how many were used. cores: number that the process may use; None if unknown. killed: pids of worker processes
    that did not exit normally. pace: None if too little is known of the rest of the job. If there are no rows, only
    notes say what is missing, and why.
    """

    files: int
    cores: int | None
    loaders: tuple[LoaderSettings, ...]
    produced: ProducedBatches
    received: ReceivedBatches
    begun: LoaderPasses
    lines: LineSamples
    killed: frozenset[int]
    notes: tuple[Note, ...]
    pace: Pace | None = None


class StepPace(msgspec.Struct, frozen=True):
    """Median lengths of a job's steps, in ns, that were recorded and that were not.

    recorded, plain   number of steps behind each median
    differ            the 95 % intervals of the medians do not overlap, so that one is longer by more than chance
    plain_p1_ns       1st percentile of the steps that were not recorded, no less than the second shortest
    """

    recorded_ns: int
    recorded: int
    plain_ns: int
    plain: int
    differ: bool = True
    plain_p1_ns: int | None = None

    @property
    def times(self) -> float:
        """The length of a recorded step divided by that of a plain one."""
        return self.recorded_ns / max(1, self.plain_ns)
