"""Each recorded worker process, and the batches that took longest: who computes, and who waits for files.

worker 0   [ccc.cc.cccc][cccc.ccc]        c: the thread computes; cpu_share of the time in which it produces a batch
worker 1   [c....c.....][c.......]        "io"
worker 2   [c---c---c--][-c---c--]        -: it could, but has no core; core_wait_share. "cores"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.recorded.batches import Ways
from tb_steptime.trace.loader_records import LoaderRecords, Produced
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64

#: A thread that computes for more than this share of its time is limited by the processor, ...
COMPUTES_FRACTION = 0.7
#: ... for less than this by files or the network.
READS_FRACTION = 0.3
#: Workers that use so much of all cores leave none but what the training process needs.
CORES_FRACTION = 0.75
#: Fewer batches may be alike by chance: five are, once in 32 times, where every other batch is of another kind, ...
LEAST_SAMPLED = 5
#: ... but where at least half of them were sampled, the others cannot turn I/O-bound into CPU-bound: with less than
#: READS_FRACTION of that half they computed for less than COMPUTES_FRACTION of the whole, and the other way round.
MOST_FRACTION = 0.5
#: Rows of the table of the slowest batches.
MOST_SLOW = 10
#: What limits a worker: it computes, waits for files or the network, does both, or would compute if it had a core.
Kind = Literal["cpu", "io", "mixed", "cores"]


class RecordedWorker(msgspec.Struct, frozen=True):
    """One worker process over the span; ns are means per batch, but busy_share is of the span.

    worker: -1 is the training process itself. cpu_share: CPU time of the thread over the time that it works;
    core_wait_share: time that it could have run but had no core, over the same; both of the batches that the recorder
    sampled, so many as `sampled` says, None where there is none. few_sampled: kind is an estimate, see `is_few`. ended:
    False where the process was killed.
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
    few_sampled: bool
    ended: bool | None


class SlowBatch(msgspec.Struct, frozen=True):
    """One of the slowest batches to produce. step: that received it, None outside the steps; wait_ns: how long
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
    """Of every worker that produced a batch within [low, high), by loader and number."""
    made = records.produced
    overlap = _overlap(made, low, high)
    inside = overlap > 0
    keys = np.unique(np.stack((made.loader, made.worker, made.pid), axis=1)[inside], axis=0).tolist()
    full = _cores_are_full(records, overlap, high - low)
    return [_worker(records, inside & _of(records, *key), overlap, key, high - low, full) for key in keys]


def kind_of(records: LoaderRecords, rows: Int64, low: int, high: int) -> Kind | None:
    """What limits the process that produced these batches, rows of `records.produced`; see RecordedWorker."""
    made = records.produced
    by_workers = bool((made.worker[rows] >= 0).any())
    return _kind(
        sampled_shares(made, rows), by_workers and _cores_are_full(records, _overlap(made, low, high), high - low)
    )


def is_few(sampled: int, batches: int) -> bool:
    """Whether what is said of the batches rests on so few that were sampled that it may be by chance.

    >>> [is_few(1, 12), is_few(5, 12), is_few(3, 6), is_few(0, 0)]
    [True, False, False, False]
    """
    return sampled < min(LEAST_SAMPLED, MOST_FRACTION * batches)


def _overlap(made: Produced, low: int, high: int) -> Int64:
    """For how long of [low, high) each batch was in production; not more than 0: it was not."""
    return np.clip(made.end_ns, low, high) - np.clip(made.start_ns, low, high)


def _of(records: LoaderRecords, loader: int, worker: int, pid: int) -> Bool:
    made = records.produced
    return np.asarray((made.loader == loader) & (made.worker == worker) & (made.pid == pid))


def _cores_are_full(records: LoaderRecords, overlap: Int64, window_ns: int) -> bool:
    """Whether all workers together use what the machine has."""
    shares = sampled_shares(records.produced, np.arange(len(records.produced)))
    if shares.cpu is None or not records.cores:
        return False
    return shares.cpu * float(overlap.sum()) >= CORES_FRACTION * records.cores * window_ns


def _worker(
    records: LoaderRecords, mine: Bool, overlap: Int64, key: list[int], window_ns: int, full: bool
) -> RecordedWorker:
    made = records.produced
    dataset, collate = (made.collate_ns - made.start_ns)[mine], (made.end_ns - made.collate_ns)[mine]
    shares = sampled_shares(made, np.flatnonzero(mine))
    loader, worker, pid = key
    return RecordedWorker(
        loader=loader,
        worker=worker,
        pid=pid,
        batches=int(mine.sum()),
        dataset_ns=_mean(dataset),
        collate_ns=_mean(collate),
        sampled=shares.batches,
        cpu_share=shares.cpu,
        core_wait_share=shares.core_wait,
        busy_share=float(overlap[mine].sum() / window_ns) if window_ns else 0.0,
        kind=_kind(shares, full and worker >= 0),
        few_sampled=is_few(shares.batches, int(mine.sum())),
        ended=False if pid in records.killed else None,
    )


@dataclass(frozen=True)
class SampledShares:
    """Of the production time of sampled batches; batches: how many."""

    batches: int
    cpu: float | None
    core_wait: float | None


def sampled_shares(made: Produced, rows: Int64) -> SampledShares:
    """rows: of `made`, of which the recorder sampled some."""
    sampled = rows[made.dataset_cpu_ns[rows] >= 0]
    waited = sampled[made.core_wait_ns[sampled] >= 0]
    cpu = made.dataset_cpu_ns[sampled] + made.collate_cpu_ns[sampled]
    length = made.end_ns - made.start_ns
    return SampledShares(len(sampled), _share(cpu, length[sampled]), _share(made.core_wait_ns[waited], length[waited]))


def _share(parts: Int64, whole: Int64) -> float | None:
    total = int(whole.sum())
    return min(1.0, int(parts.sum()) / total) if total else None


def _kind(shares: SampledShares, full: bool) -> Kind | None:
    """full: all workers together use what the machine has, which has to do where no wait for a core is recorded."""
    if shares.cpu is None:
        return None
    if shares.cpu >= COMPUTES_FRACTION:
        return "cpu"
    would = full if shares.core_wait is None else shares.cpu + shares.core_wait >= COMPUTES_FRACTION
    if would:
        return "cores"
    return "io" if shares.cpu + (shares.core_wait or 0) <= READS_FRACTION else "mixed"


def slowest_batches(trace: Trace, records: LoaderRecords, ways: Ways) -> list[SlowBatch]:
    """Of those that the steps received, longest first."""
    made, taken, steps = records.produced, records.received, find_steps(trace).steps
    total = np.where(ways.produced >= 0, ways.dataset_ns + ways.collate_ns, -1)
    order = np.argsort(-total, kind="stable")[:MOST_SLOW]
    batches = []
    for entry in order[total[order] > 0].tolist():
        row = int(ways.produced[entry])
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
                cpu_share=sampled_shares(made, np.array([row])).cpu,
                wait_ns=int(ways.wait_ns[entry]),
            )
        )
    return batches


def _mean(values: Int64) -> int:
    return round(float(values.mean())) if len(values) else 0
