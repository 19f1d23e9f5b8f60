"""Each recorded worker process, and the slowest batches: which workers compute, and which wait for files.

worker 0   [ccc.cc.cccc][cccc.ccc]        c: the thread computes; cpu_share is its share of producing a batch. "cpu"
worker 1   [c....c.....][c.......]        .: it waits for files. "io"
worker 2   [c---c---c--][-c---c--]        -: it could compute but has no core; core_wait_share. "cores"
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.base import PartMeaning
from tb_steptime.metrics.data_loading.waits import in_steps
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords, ProducedBatches, ReceivedBatches
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, distinct, median

# Each recorded batch passes from the worker that produced it to the training loop.
#
# worker          [dataset ....][collate]
# transfer                               [transfer]              until it is an object of the main process
# prefetched                                       [ready ...]   until the loop asks
# training loop                                              [wait]     from asking to having it


class BatchTimings(ReceivedBatches, frozen=True, eq=False):
    """One row per batch that the loop asked for in the steps, in that order; times in ns, -1 if not known.

    step        place of the step that asked for it
    produced    its row of `ProducedBatches`; -1 if its production is not recorded
    ready_ns    how long it was ready before it was asked for, from the begin of the first step on
    """

    step: Int64
    produced: Int64
    dataset_ns: Int64
    collate_ns: Int64
    transfer_ns: Int64
    ready_ns: Int64
    wait_ns: Int64


@shared
def find_timings(trace: Trace) -> BatchTimings | None:
    """Returns the timings of the batches that the loop asked for in the steps; None without a recorder's files, or if
    these have no such batch."""
    records = trace.loader_records
    if records is None:
        return None
    rows, step = in_steps(trace, records.received.next_called_ns)
    return _timings(records, rows, step, find_steps(trace).steps[0].host_start_ns) if len(rows) else None


def producers(records: LoaderRecords) -> Int64:
    """Returns for each received batch the row of the produced one with the same number in the same pass; -1 for
    none."""
    keys, received = records.produced.keys, records.received.keys
    if not len(keys):
        return np.full(len(received), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    row = order[np.minimum(np.searchsorted(keys[order], received), len(keys) - 1)]
    return np.where((keys[row] == received) & (records.received.batch >= 0), row, -1)


def ready_at(records: LoaderRecords, produced: Int64) -> Int64:
    """Returns when each received batch was ready. That is when it was pinned or, without a pinning thread, when its
    worker handed it over, because the message stays in the queue until the loop reads it."""
    pinned = records.received.pinned_ns
    end_ns = _values_of(records.produced.end_ns, produced, UNKNOWN_TIME)
    return np.where(pinned != UNKNOWN_TIME, pinned, end_ns)


def _values_of(column: Int64, rows: Int64, missing: int) -> Int64:
    """Returns the entries of a column at these rows; `missing` for row -1."""
    return np.append(column, missing)[rows]


def sampler_ns(timings: BatchTimings) -> int | None:
    """Returns the median time from when the loop has a batch until the loader returns it; None if not recorded. In this
    time the loader draws the indices of a later batch and sends them to a worker.

    loop    asked [ waits | receives | draws indices ] returned
    """
    pinned, unpickled = timings.pinned_ns, timings.unpickled_ns
    ready_ns = np.maximum(np.where(pinned != UNKNOWN_TIME, pinned, unpickled), timings.next_called_ns)
    is_measured = (unpickled != UNKNOWN_TIME) & (ready_ns <= timings.returned_ns)
    return round(median((timings.returned_ns - ready_ns)[is_measured])) if is_measured.any() else None


def _timings(records: LoaderRecords, rows: Int64, step: Int64, begin_ns: int) -> BatchTimings:
    received_batches = records.received.where(rows)
    produced_batches, called_ns = records.produced, received_batches.next_called_ns
    all_producers = producers(records)
    produced, ready_ns = all_producers[rows], ready_at(records, all_producers)[rows]
    columns = (
        *received_batches.columns,
        step,
        produced,
        _values_of(produced_batches.collate_ns - produced_batches.start_ns, produced, -1),
        _values_of(produced_batches.end_ns - produced_batches.collate_ns, produced, -1),
        _transfer(received_batches, _values_of(produced_batches.end_ns, produced, UNKNOWN_TIME)),
        np.where(ready_ns == UNKNOWN_TIME, -1, np.maximum(called_ns - np.maximum(ready_ns, begin_ns), 0)),
        received_batches.returned_ns - called_ns,
    )
    return BatchTimings(*columns)


def _transfer(received: ReceivedBatches, end_ns: Int64) -> Int64:
    """Returns the time from a batch's end in its worker until it is an object of this process, without the time in
    which it only lay in the queue; -1 if not recorded."""
    is_measured = (end_ns != UNKNOWN_TIME) & (received.unpickled_ns != UNKNOWN_TIME)
    ready_ns = np.maximum(end_ns, received.next_called_ns)
    alone = received.unpickled_ns - np.where(received.unpickled_ns >= ready_ns, ready_ns, received.arrived_ns)
    way = np.where(received.pinned_ns != UNKNOWN_TIME, received.pinned_ns - end_ns, alone)
    return np.maximum(np.where(is_measured, way, -1), -1)


#: A thread that computes for more than this share of its time is limited by the CPU, ...
COMPUTES_FRACTION = 0.7
#: ... and one that computes for less than this share by files or the network.
READS_FRACTION = 0.3
#: Minimum number of sampled batches. Fewer may be alike by chance; five are once in 32 times if every other batch is of
#: another kind, ...
LEAST_SAMPLED = 5
#: ... but if at least half of the batches were sampled, the others cannot turn I/O-bound into CPU-bound: a worker that
#: computed for less than READS_FRACTION of that half computed for less than COMPUTES_FRACTION of the whole, and the
#: other way round.
MOST_FRACTION = 0.5
#: Waits for a core are sampled more rarely than CPU time. Even two batches represent the others if their share of
#: computing time differs from that of the others by at most ALIKE_FRACTION.
LEAST_WAITED, ALIKE_FRACTION = 2, 0.1
#: Maximum number of rows in the table of the slowest batches.
MOST_SLOW = 10
#: What limits a worker: it computes, waits for files or the network, does both, or would compute if it had a core.
Kind = Literal["cpu", "io", "mixed", "cores"]
LIMIT_WORDS: dict[str, str] = {"cpu": "CPU-bound", "io": "I/O-bound", "mixed": "mixed", "cores": "short of cores"}


class RecordedWorker(msgspec.Struct, frozen=True):
    """One worker process over the span. Times are means per batch in ns.

    worker            -1 is the main process itself
    sampled           number of batches that the recorder sampled
    cpu_share         CPU time of the thread over the time in which it works on a sampled batch; None if none is sampled
    core_wait_share   time in which it could have run but had no core, over the same; None if no batch has it
    busy_share        share of the span in which it produces batches
    kind              what limits it; None if too few batches are sampled
    ended             False if the process was killed; None if that is not known
    """

    loader: int
    worker: int
    pid: int
    batches: int
    dataset_ns: int
    collate_ns: int
    sampled: int
    cpu_share: float | None
    core_wait_share: float | None
    busy_share: float
    kind: Kind | None
    ended: bool | None


class SlowBatch(msgspec.Struct, frozen=True):
    """One of the batches that took longest to produce. step: the step that received it; None outside the steps.
    wait_ns: how long the training loop waited for it. start_ns is relative to the span's origin."""

    loader: int
    batch: int
    worker: int
    step: str | None
    start_ns: int
    total_ns: int
    dataset_ns: int
    collate_ns: int
    cpu_share: float | None
    wait_ns: int


def recorded_workers(records: LoaderRecords, low: int, high: int) -> list[RecordedWorker]:
    """Returns every worker that produced a batch within [low, high), by loader and number."""
    batches = records.produced
    overlap = np.clip(batches.end_ns, low, high) - np.clip(batches.start_ns, low, high)
    columns = np.stack((batches.loader, batches.worker, batches.pid), axis=1)
    keys = np.unique(columns[overlap > 0], axis=0)
    batches_of = [np.flatnonzero((overlap > 0) & (columns == key).all(axis=1)) for key in keys]
    return [_worker(records, rows, int(overlap[rows].sum()), high - low) for rows in batches_of]


def _worker(records: LoaderRecords, rows: Int64, busy_ns: int, window_ns: int) -> RecordedWorker:
    """Returns one worker. rows: its batches, as rows of `records.produced`."""
    batches, shares = records.produced, sampled_shares(records.produced, rows)
    pid = int(batches.pid[rows[0]])
    return RecordedWorker(
        loader=int(batches.loader[rows[0]]),
        worker=int(batches.worker[rows[0]]),
        pid=pid,
        batches=len(rows),
        dataset_ns=round(float((batches.collate_ns - batches.start_ns)[rows].mean())),
        collate_ns=round(float((batches.end_ns - batches.collate_ns)[rows].mean())),
        sampled=shares.batches,
        cpu_share=shares.cpu,
        core_wait_share=shares.core_wait,
        busy_share=busy_ns / window_ns if window_ns else 0.0,
        kind=shares.kind_of(len(rows)),
        ended=False if pid in records.killed else None,
    )


class SampledShares(msgspec.Struct, frozen=True):
    """Shares of the production time of sampled batches. batches: number of sampled batches. waited: number of batches
    whose core_wait is known, which some systems do not report; waited_cpu: the CPU share of these."""

    batches: int
    cpu: float | None
    core_wait: float | None
    waited: int
    waited_cpu: float | None

    @property
    def own_cpu(self) -> float | None:
        """The CPU share of the time in which the thread had a core."""
        if self.cpu is None:
            return None
        had_a_core = 1 - (self.core_wait or 0.0)
        return min(1.0, self.cpu / had_a_core) if had_a_core > 0 else 1.0

    def kind_of(self, batches: int) -> Kind | None:
        """Returns what limits the producer of this number of batches; None if the sampled batches may be alike by
        chance. It is None also for a producer that hardly computes on a system that does not report waits for a core,
        because such a producer may wait for files or for a core."""
        if self.cpu is None or not _are_enough(self.batches, batches):
            return None
        if self.cpu >= COMPUTES_FRACTION:
            return "cpu"
        if self.core_wait is None or not self._waits_are_typical(batches):
            return None
        would = self.cpu + self.core_wait
        if would >= COMPUTES_FRACTION:
            return "cores"
        return "io" if would <= READS_FRACTION else "mixed"

    def _waits_are_typical(self, batches: int) -> bool:
        if _are_enough(self.waited, batches):
            return True
        unlike = abs((self.waited_cpu or 0.0) - (self.cpu or 0.0))
        return self.waited >= LEAST_WAITED and unlike <= ALIKE_FRACTION


def _are_enough(sampled: int, batches: int) -> bool:
    return sampled >= min(LEAST_SAMPLED, MOST_FRACTION * batches)


def sampled_shares(batches: ProducedBatches, rows: Int64) -> SampledShares:
    """Returns the shares of the production time of these batches, according to those that the recorder sampled. rows:
    rows of `batches`."""
    sampled = rows[batches.dataset_cpu_ns[rows] >= 0]
    waited = sampled[batches.core_wait_ns[sampled] >= 0]
    cpu = batches.dataset_cpu_ns + batches.collate_cpu_ns
    length = batches.end_ns - batches.start_ns
    return SampledShares(
        batches=len(sampled),
        cpu=_share(cpu[sampled], length[sampled]),
        core_wait=_share(batches.core_wait_ns[waited], length[waited]),
        waited=len(waited),
        waited_cpu=_share(cpu[waited], length[waited]),
    )


def _share(parts: Int64, whole: Int64) -> float | None:
    total = int(whole.sum())
    return min(1.0, int(parts.sum()) / total) if total else None


def slowest_batches(trace: Trace, records: LoaderRecords, timings: BatchTimings) -> list[SlowBatch]:
    """Returns the slowest batches that the steps received, slowest first."""
    produced, steps = records.produced, find_steps(trace).steps
    total = np.where(timings.produced >= 0, timings.dataset_ns + timings.collate_ns, -1)
    order = np.argsort(-total, kind="stable")[:MOST_SLOW]
    batches = []
    for entry in order[total[order] > 0].tolist():
        row = int(timings.produced[entry])
        batches.append(
            SlowBatch(
                loader=int(produced.loader[row]),
                batch=int(timings.batch[entry]),
                worker=int(produced.worker[row]),
                step=steps[int(timings.step[entry])].name,
                start_ns=int(produced.start_ns[row]),
                total_ns=int(total[entry]),
                dataset_ns=int(timings.dataset_ns[entry]),
                collate_ns=int(timings.collate_ns[entry]),
                cpu_share=sampled_shares(produced, np.array([row])).cpu,
                wait_ns=int(timings.wait_ns[entry]),
            )
        )
    return batches


# Pictures of recorded workers show what each one does over time, and how many batches are ready.
#
# worker 0   [dataset...][col][transfer][wait ]   a segment is one part of one batch, if wide enough to be drawn
# depth      0     1      0  1  2   1

DATASET, COLLATE, TRANSFER, WAIT = range(4)
#: The parts of a batch's life from its first read until the training loop takes it. The first four are in the order of
#: `ProductionLane.part`. A main process without workers trains when a worker would be idle.
PRODUCTION_PARTS = (
    PartMeaning("dataset", "Dataset", "The dataset's own code: reading, decoding, transforms.", "data"),
    PartMeaning("collate", "Collate", "Samples are put together into a batch.", "cpu"),
    PartMeaning("transfer", "Transfer",
        "The batch is on its way from the worker into the main process, pinning included.", "copy"),
    PartMeaning("idle", "Waits for a request",
        "The worker has nothing to do: the main process has requested enough batches.", "other", True),
    PartMeaning("ready", "Prefetched",
        "The batch is in the main process and has not been asked for yet: time to spare.", "other", True),
    PartMeaning("trains", "Computes", "The main process produces no batch: it computes.", "other", True),
    PartMeaning("loop_waits", "The loop waits", "The loop asks for a batch and waits until it has it.", "data"),
    PartMeaning("reader_waits", "The reading thread waits",
        "The thread that reads the loader asks for a batch and waits until it has it; whether the loop "
        "waits meanwhile is not known.", "data"),
)  # fmt: skip
#: Maximum number of segments of all lanes together. More segments than pixels would be useless.
MOST_SEGMENTS = 8000
#: A segment that is shorter than this share of the window is not drawn separately.
LEAST_FRACTION = 0.0005
#: Maximum number of points of a queue's line.
MOST_POINTS = 2000


class ProductionLane(msgspec.Struct, frozen=True):
    """What a worker does over time: disjoint segments in time order, relative to the span's origin.

    part    0 dataset, 1 collate, 2 transfer (the worker has no other batch to produce meanwhile), 3 wait for a request
    batch   number of the segment's batch; -1 for none, and for a segment that stands for several short ones
    """

    loader: int
    worker: int
    start_ns: list[int]
    end_ns: list[int]
    part: list[int]
    batch: list[int]


class ReadyQueue(msgspec.Struct, frozen=True):
    """The batches of one loader that are ready for the training loop: depth[i] of them from at_ns[i] on. late_share:
    share of the requests whose batch was not ready; None without a request."""

    loader: int
    at_ns: list[int]
    depth: list[int]
    late_share: float | None


def lanes(records: LoaderRecords, low: int, high: int) -> list[ProductionLane]:
    """Returns the lane of each worker number of each loader, within [low, high)."""
    batches = records.produced
    ready_ns = np.full(len(batches), UNKNOWN_TIME, np.int64)
    producer = producers(records)
    ready_ns[producer[producer >= 0]] = ready_at(records, producer)[producer >= 0]
    keys = np.unique(np.stack((batches.loader, batches.worker), axis=1), axis=0).tolist() if len(batches) else []
    least = max(1, round(LEAST_FRACTION * (high - low)))
    drawn = [_lane(records, ready_ns, loader, worker, (low, high), least) for loader, worker in keys]
    return [lane for lane in drawn if lane.start_ns]


def _lane(
    records: LoaderRecords, ready_ns: Int64, loader: int, worker: int, window: tuple[int, int], least: int
) -> ProductionLane:
    batches = records.produced
    rows = np.flatnonzero((batches.loader == loader) & (batches.worker == worker))
    start = batches.start_ns[rows]
    collate = batches.collate_ns[rows]
    end = batches.end_ns[rows]
    following = np.append(start[1:], max(window[1], int(end.max(initial=window[0]))))
    arrived = np.clip(np.where(ready_ns[rows] == UNKNOWN_TIME, end, ready_ns[rows]), end, np.maximum(following, end))
    edges = np.stack((start, collate, end, arrived, np.maximum(following, arrived)))
    begin, end_ns = np.clip(edges[:-1].T.ravel(), *window), np.clip(edges[1:].T.ravel(), *window)
    part = np.tile(np.arange(4), len(rows))
    batch = np.where(part == WAIT, -1, np.repeat(batches.batch[rows], 4))
    keep = np.flatnonzero(end_ns - begin >= least)
    columns: tuple[Int64, ...]
    if len(keep) < len(rows):
        # Most batches are too short, so those without a visible gap between them are merged into one segment.
        inside = (end > window[0]) & (start < window[1])
        closed = Intervals.union(np.clip(start, *window)[inside], np.clip(end, *window)[inside] + least)
        columns = (closed.start, closed.end - least, np.full(len(closed), DATASET), np.full(len(closed), -1))
    else:
        keep = keep[: MOST_SEGMENTS // max(1, len(distinct(batches.worker)))]
        columns = (begin[keep], end_ns[keep], part[keep], batch[keep])
    return ProductionLane(loader, worker, *(column.tolist() for column in columns))


def ready_queues(records: LoaderRecords, low: int, high: int) -> list[ReadyQueue]:
    """Returns the queue of ready batches of each loader with workers, within [low, high)."""
    producer = producers(records)
    ready_ns = ready_at(records, producer)
    return [_queue(records, ready_ns, loader.loader, (low, high)) for loader in records.loaders if loader.workers]


def _queue(records: LoaderRecords, ready_ns: Int64, loader: int, window: tuple[int, int]) -> ReadyQueue:
    received = records.received
    rows = np.flatnonzero((received.loader == loader) & (ready_ns != UNKNOWN_TIME))
    came, left = ready_ns[rows], np.maximum(received.returned_ns[rows], ready_ns[rows])
    at = np.concatenate((came, left))
    order = np.argsort(at, kind="stable")
    depth = np.cumsum(np.repeat([1, -1], len(rows))[order])
    at = at[order]
    in_window = np.flatnonzero((at >= window[0]) & (at < window[1]))
    before = int(depth[in_window[0] - 1]) if len(in_window) and in_window[0] > 0 else 0
    if len(in_window) > MOST_POINTS:
        in_window = in_window[:: -(-len(in_window) // MOST_POINTS)]
    requests = rows[(received.next_called_ns[rows] >= window[0]) & (received.next_called_ns[rows] < window[1])]
    is_late = ready_ns[requests] > received.next_called_ns[requests]
    at_ns, depths = [window[0], *at[in_window].tolist()], [before, *depth[in_window].tolist()]
    return ReadyQueue(loader, at_ns, depths, float(is_late.mean()) if len(is_late) else None)
