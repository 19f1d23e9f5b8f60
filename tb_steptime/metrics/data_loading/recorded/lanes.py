"""Pictures of recorded workers: what each one does over time, and how many batches are ready.

worker 0   [dataset...][col][transfer][wait ]   a segment is one part of one batch, if wide enough to be drawn
depth      0     1      0  1  2   1
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import PartMeaning
from tb_steptime.metrics.data_loading.recorded.batches import producers, ready_at
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_records import UNKNOWN_TIME, LoaderRecords
from tb_steptime.trace.table import Int64, distinct

DATASET, COLLATE, TRANSFER, WAIT = range(4)
#: From the first read of a batch until the training loop takes it. The first four are in the order of
#: `ProductionLane.part`. A main process without workers trains where a worker would be idle.
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
#: Maximum number of segments of all lanes together: more than the pixels would be useless.
MOST_SEGMENTS = 8000
#: A segment shorter than this share of the window is not drawn separately.
LEAST_FRACTION = 0.0005
#: Points of a queue's line.
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
    """Batches that are ready for the training loop: depth[i] from at_ns[i] on, of one loader. late_share: share of the
    requests whose batch was not ready, None without a request."""

    loader: int
    at_ns: list[int]
    depth: list[int]
    late_share: float | None


def lanes(records: LoaderRecords, low: int, high: int) -> list[ProductionLane]:
    """Returns the lane of each worker number of each loader, within [low, high)."""
    made = records.produced
    there = np.full(len(made), UNKNOWN_TIME, np.int64)
    producer = producers(records)
    there[producer[producer >= 0]] = ready_at(records, producer)[producer >= 0]
    keys = np.unique(np.stack((made.loader, made.worker), axis=1), axis=0).tolist() if len(made) else []
    least = max(1, round(LEAST_FRACTION * (high - low)))
    drawn = [_lane(records, there, loader, worker, (low, high), least) for loader, worker in keys]
    return [lane for lane in drawn if lane.start_ns]


def _lane(
    records: LoaderRecords, there: Int64, loader: int, worker: int, window: tuple[int, int], least: int
) -> ProductionLane:
    made = records.produced
    mine = np.flatnonzero((made.loader == loader) & (made.worker == worker))
    start, collate, end = made.start_ns[mine], made.collate_ns[mine], made.end_ns[mine]
    following = np.append(start[1:], max(window[1], int(end.max(initial=window[0]))))
    arrived = np.clip(np.where(there[mine] == UNKNOWN_TIME, end, there[mine]), end, np.maximum(following, end))
    edges = np.stack((start, collate, end, arrived, np.maximum(following, arrived)))
    begin, past = np.clip(edges[:-1].T.ravel(), *window), np.clip(edges[1:].T.ravel(), *window)
    part = np.tile(np.arange(4), len(mine))
    batch = np.where(part == WAIT, -1, np.repeat(made.batch[mine], 4))
    keep = np.flatnonzero(past - begin >= least)
    columns: tuple[Int64, ...]
    if len(keep) < len(mine):  # most batches are too short: times without a visible gap are merged into one segment
        inside = (end > window[0]) & (start < window[1])
        closed = Intervals.union(np.clip(start, *window)[inside], np.clip(end, *window)[inside] + least)
        columns = (closed.start, closed.end - least, np.full(len(closed), DATASET), np.full(len(closed), -1))
    else:
        keep = keep[: MOST_SEGMENTS // max(1, len(distinct(made.worker)))]
        columns = (begin[keep], past[keep], part[keep], batch[keep])
    return ProductionLane(loader, worker, *(column.tolist() for column in columns))


def ready_queues(records: LoaderRecords, low: int, high: int) -> list[ReadyQueue]:
    """Returns the queue of ready batches of each loader with workers, within [low, high)."""
    producer = producers(records)
    there = ready_at(records, producer)
    return [_queue(records, there, each.loader, (low, high)) for each in records.loaders if each.workers]


def _queue(records: LoaderRecords, there: Int64, loader: int, window: tuple[int, int]) -> ReadyQueue:
    taken = records.received
    mine = np.flatnonzero((taken.loader == loader) & (there != UNKNOWN_TIME))
    came, left = there[mine], np.maximum(taken.returned_ns[mine], there[mine])
    at = np.concatenate((came, left))
    order = np.argsort(at, kind="stable")
    depth = np.cumsum(np.repeat([1, -1], len(mine))[order])
    at = at[order]
    shown = np.flatnonzero((at >= window[0]) & (at < window[1]))
    before = int(depth[shown[0] - 1]) if len(shown) and shown[0] > 0 else 0
    if len(shown) > MOST_POINTS:
        shown = shown[:: -(-len(shown) // MOST_POINTS)]
    requests = mine[(taken.asked_ns[mine] >= window[0]) & (taken.asked_ns[mine] < window[1])]
    late = there[requests] > taken.asked_ns[requests]
    at_ns, depths = [window[0], *at[shown].tolist()], [before, *depth[shown].tolist()]
    return ReadyQueue(loader, at_ns, depths, float(late.mean()) if len(late) else None)
