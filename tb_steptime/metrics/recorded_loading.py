"""What the recorder's files tell of the worker processes, on the trace's clock.

worker 0   [dataset...][col]  [dataset...][col]        busy = dataset + collate; then the batch is handed over
worker 1        [dataset...][col]    [dataset...][col]
on its way                    [transfer][ready....]    from the batch's end in the worker to its arrival; till asked for
queue depth     0   1      0  1  2   1                 batches that lie ready in the training process
"""

from __future__ import annotations

import msgspec

from tb_steptime.phrases import Note, Phrase


class RecordedLoader(msgspec.Struct, frozen=True):
    """Settings of a loader as its recorder wrote them; None where not said. batches: taken within the steps."""

    loader: int
    dataset: str | None
    workers: int
    prefetch: int | None
    batch_size: int | None
    pin_memory: bool | None
    persistent: bool | None
    in_order: bool | None
    batches: int


class RecordedWorker(msgspec.Struct, frozen=True):
    """One worker process over the span; ns are means per batch, but busy_share is of the span.

    worker: -1 is the training process itself. cpu_share: CPU time of the thread over the time that it works; kind:
    "cpu" (computes), "io" (waits for files or the network) or "mixed". ended: False where the process was killed.
    """

    loader: int
    worker: int
    pid: int
    batches: int
    dataset_ns: int
    collate_ns: int
    cpu_share: float | None
    busy_share: float
    kind: str
    ended: bool | None


class ProductionLane(msgspec.Struct, frozen=True):
    """What a worker does over time, relative to the span's origin; disjoint and sorted. part: 0 dataset, 1 collate,
    2 transfer (the batch is on its way and the worker has no other to make), 3 waits for a request. batch: of each
    piece; -1 for none, or where pieces are too short to be drawn one by one and stand for several.
    """

    loader: int
    worker: int
    start_ns: list[int]
    end_ns: list[int]
    part: list[int]
    batch: list[int]


class ReadyQueue(msgspec.Struct, frozen=True):
    """Batches that lie ready for the training loop: depth[i] from at_ns[i] on, of one loader. empty_share: share of the
    requests that found none."""

    loader: int
    at_ns: list[int]
    depth: list[int]
    empty_share: float


class SlowBatch(msgspec.Struct, frozen=True):
    """One of the batches that took longest to make. step: that received it, None outside the steps; wait_ns: how long
    the training loop stood for it. start_ns is relative to the span's origin."""

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


class Recorded(msgspec.Struct, frozen=True):
    """Of the batches that the span's steps received; ns are means per batch, None where no batch tells.

    production_ns = dataset_ns + collate_ns. transfer_ns: from the batch's end in the worker until it is an object of
    the training process (and pinned); ready_ns: it lies there until asked for; wait_ns: the training loop stands.
    needed_workers: from the recorded production time. lanes: of the window [start_ns, end_ns), all its pieces; steps
    that begin in it, and when each of them does.
    files: how many were used; notes: what is missing in them, or was left out.
    """

    files: int
    batches: int
    dataset_ns: int | None
    collate_ns: int | None
    production_ns: int | None
    production_spread_ns: int | None
    transfer_ns: int | None
    ready_ns: int | None
    wait_ns: int | None
    cpu_share: float | None
    kind: str | None
    bytes: int | None
    samples: int | None
    needed_workers: int | None
    cores: int | None
    loaders: list[RecordedLoader]
    workers: list[RecordedWorker]
    start_ns: int
    end_ns: int
    steps: list[str]
    marks_ns: list[int]
    lanes: list[ProductionLane]
    queues: list[ReadyQueue]
    slowest: list[SlowBatch]
    lanes_title: Phrase
    split_title: Phrase
    notes: list[Note]
