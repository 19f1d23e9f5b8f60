"""Each recorded worker process, and the batches that took longest: who computes, and who waits for files.

worker 0   [ccc.cc.cccc][cccc.ccc]        c: the thread computes; cpu_share of the time in which it makes a batch
worker 1   [c....c.....][c.......]        "io"
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.recorded_batches import Ways
from tb_steptime.trace.loader_records import LoaderRecords
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64

#: A thread that computes for more than this share of its time is held up by the processor, ...
COMPUTES_FRACTION = 0.7


#: ... for less than this by files or the network.
READS_FRACTION = 0.3


#: Workers that use so much of all cores have none left to share, beside the training process.
CORES_FRACTION = 0.75


#: Rows of the table of the slowest batches.
MOST_SLOW = 10


class RecordedWorker(msgspec.Struct, frozen=True):
    """One worker process over the span; ns are means per batch, but busy_share is of the span.

    worker: -1 is the training process itself. cpu_share: CPU time of the thread over the time that it works; kind:
    "cpu" (computes), "io" (waits for files or the network), "mixed", or "cores" (computes, but all workers together
    have no more cores). ended: False where the process was killed.
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


def recorded_workers(records: LoaderRecords, low: int, high: int) -> list[RecordedWorker]:
    """Of every worker that made a batch within [low, high), by loader and number."""
    made = records.produced
    overlap = np.clip(made.end_ns, low, high) - np.clip(made.start_ns, low, high)
    inside = overlap > 0
    keys = np.unique(np.stack((made.loader, made.worker, made.pid), axis=1)[inside], axis=0).tolist()
    full = _cores_are_full(records, overlap, high - low)
    return [_worker(records, inside & _of(records, *key), overlap, key, high - low, full) for key in keys]


def _of(records: LoaderRecords, loader: int, worker: int, pid: int) -> Bool:
    made = records.produced
    return np.asarray((made.loader == loader) & (made.worker == worker) & (made.pid == pid))


def _cores_are_full(records: LoaderRecords, overlap: Int64, window_ns: int) -> bool:
    """Whether all workers together use what the machine has."""
    made = records.produced
    length = np.maximum(made.end_ns - made.start_ns, 1)
    cpu = (made.dataset_cpu_ns + made.collate_cpu_ns) * (overlap / length)
    return bool(records.cores) and float(cpu.sum()) >= CORES_FRACTION * (records.cores or 1) * window_ns


def _worker(
    records: LoaderRecords, mine: Bool, overlap: Int64, key: list[int], window_ns: int, full: bool
) -> RecordedWorker:
    made = records.produced
    dataset, collate = (made.collate_ns - made.start_ns)[mine], (made.end_ns - made.collate_ns)[mine]
    length = int((dataset + collate).sum())
    share = float((made.dataset_cpu_ns + made.collate_cpu_ns)[mine].sum() / length) if length else None
    loader, worker, pid = key
    return RecordedWorker(
        loader=loader,
        worker=worker,
        pid=pid,
        batches=int(mine.sum()),
        dataset_ns=_mean(dataset),
        collate_ns=_mean(collate),
        cpu_share=share,
        busy_share=float(overlap[mine].sum() / window_ns) if window_ns else 0.0,
        kind=_kind(share, full and worker >= 0),
        ended=False if pid in records.killed else None,
    )


def _kind(share: float | None, full: bool) -> str:
    if share is None:
        return "mixed"
    if share >= COMPUTES_FRACTION:
        return "cpu"
    if full:
        return "cores"
    return "io" if share <= READS_FRACTION else "mixed"


def slowest_batches(trace: Trace, records: LoaderRecords, ways: Ways) -> list[SlowBatch]:
    """Of those that the steps received, longest first."""
    made, taken, steps = records.produced, records.received, find_steps(trace).steps
    total = np.where(ways.produced >= 0, ways.dataset_ns + ways.collate_ns, -1)
    order = np.argsort(-total, kind="stable")[:MOST_SLOW]
    batches = []
    for entry in order[total[order] > 0].tolist():
        row = int(ways.produced[entry])
        cpu = int(made.dataset_cpu_ns[row] + made.collate_cpu_ns[row])
        batches.append(
            SlowBatch(
                loader=int(made.loader[row]),
                batch=int(taken.batch[ways.received[entry]]),
                worker=int(made.worker[row]),
                step=steps[int(ways.step[entry])].name,
                start_ns=int(made.start_ns[row]),
                total_ns=int(total[entry]),
                dataset_ns=int(ways.dataset_ns[entry]),
                collate_ns=int(ways.collate_ns[entry]),
                cpu_share=cpu / int(total[entry]),
                wait_ns=int(ways.wait_ns[entry]),
            )
        )
    return batches


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else 0
