"""Each recorded worker process, and the slowest batches: which workers compute, and which wait for files.

worker 0   [ccc.cc.cccc][cccc.ccc]        c: the thread computes; cpu_share of the time in which it produces a batch
worker 1   [c....c.....][c.......]        "io"
worker 2   [c---c---c--][-c---c--]        -: it could, but has no core; core_wait_share. "cores"
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.recorded.batches import BatchTimings
from tb_steptime.trace.loader_records import LoaderRecords, Produced
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: A thread that computes for more than this share of its time is limited by the CPU, ...
COMPUTES_FRACTION = 0.7
#: ... one that computes for less than this by files or the network.
READS_FRACTION = 0.3
#: Minimum number of sampled batches. Fewer may be alike by chance: five are, once in 32 times, if every other batch is
#: of another kind, ...
LEAST_SAMPLED = 5
#: ... but if at least half of the batches were sampled, the others cannot turn I/O-bound into CPU-bound: a worker that
#: computed for less than READS_FRACTION of that half computed for less than COMPUTES_FRACTION of the whole, and the
#: other way round.
MOST_FRACTION = 0.5
#: The wait for a core is sampled more rarely than CPU time. Even two batches represent the others if their share of
#: computing time is within ALIKE_FRACTION of theirs.
LEAST_WAITED, ALIKE_FRACTION = 2, 0.1
#: Maximum number of rows in the table of the slowest batches.
MOST_SLOW = 10
#: What limits a worker: it computes, waits for files or the network, does both, or would compute if it had a core.
Kind = Literal["cpu", "io", "mixed", "cores"]
LIMIT_WORDS: dict[str, str] = {"cpu": "CPU-bound", "io": "I/O-bound", "mixed": "mixed", "cores": "short of cores"}


class RecordedWorker(msgspec.Struct, frozen=True):
    """One worker process over the span; ns are means per batch, but busy_share is of the span.

    worker: -1 is the main process itself. cpu_share: CPU time of the thread over the time in which it works;
    core_wait_share: time in which it could have run but had no core, over the same; both of the batches that the
    recorder sampled, `sampled` in number, None if there is none. kind: None if these are too few. ended: False if the
    process was killed.
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
    """One of the slowest batches to produce. step: the step that received it, None outside the steps; wait_ns: how long
    the training loop waited for it. start_ns is relative to the span's origin."""

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
    made = records.produced
    overlap = _overlap(made, low, high)
    columns = np.stack((made.loader, made.worker, made.pid), axis=1)
    keys = np.unique(columns[overlap > 0], axis=0)
    mine = [np.flatnonzero((overlap > 0) & (columns == key).all(axis=1)) for key in keys]
    return [_worker(records, rows, int(overlap[rows].sum()), high - low) for rows in mine]


def _overlap(made: Produced, low: int, high: int) -> Int64:
    """How much of [low, high) each batch was in production; 0 or less if it was not."""
    return np.clip(made.end_ns, low, high) - np.clip(made.start_ns, low, high)


def _worker(records: LoaderRecords, rows: Int64, busy_ns: int, window_ns: int) -> RecordedWorker:
    """One worker. rows: its batches, as rows of `records.produced`."""
    made, shares = records.produced, sampled_shares(records.produced, rows)
    pid = int(made.pid[rows[0]])
    return RecordedWorker(
        loader=int(made.loader[rows[0]]),
        worker=int(made.worker[rows[0]]),
        pid=pid,
        batches=len(rows),
        dataset_ns=round(float((made.collate_ns - made.start_ns)[rows].mean())),
        collate_ns=round(float((made.end_ns - made.collate_ns)[rows].mean())),
        sampled=shares.batches,
        cpu_share=shares.cpu,
        core_wait_share=shares.core_wait,
        busy_share=busy_ns / window_ns if window_ns else 0.0,
        kind=shares.kind_of(len(rows)),
        ended=False if pid in records.killed else None,
    )


class SampledShares(msgspec.Struct, frozen=True):
    """Shares of the production time of sampled batches; batches: their number. waited: number of batches whose
    core_wait is known; waited_cpu: their CPU share. Some systems do not report core_wait."""

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
        """What limits the producer of this number of batches; None if the sampled ones may be alike by chance."""
        if self.cpu is None or not _are_enough(self.batches, batches):
            return None
        if self.cpu >= COMPUTES_FRACTION:
            return "cpu"
        if self.waited_cpu is not None and not self._waits_are_typical(batches):
            return None
        would = self.cpu + (self.core_wait or 0)
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


def sampled_shares(made: Produced, rows: Int64) -> SampledShares:
    """Shares of the time of these batches, from those of them that the recorder sampled. rows: rows of `made`."""
    sampled = rows[made.dataset_cpu_ns[rows] >= 0]
    waited = sampled[made.core_wait_ns[sampled] >= 0]
    cpu, length = made.dataset_cpu_ns + made.collate_cpu_ns, made.end_ns - made.start_ns
    return SampledShares(
        batches=len(sampled),
        cpu=_share(cpu[sampled], length[sampled]),
        core_wait=_share(made.core_wait_ns[waited], length[waited]),
        waited=len(waited),
        waited_cpu=_share(cpu[waited], length[waited]),
    )


def _share(parts: Int64, whole: Int64) -> float | None:
    total = int(whole.sum())
    return min(1.0, int(parts.sum()) / total) if total else None


def slowest_batches(trace: Trace, records: LoaderRecords, timings: BatchTimings) -> list[SlowBatch]:
    """Returns the slowest batches that the steps received, longest first."""
    made, steps = records.produced, find_steps(trace).steps
    total = np.where(timings.produced >= 0, timings.dataset_ns + timings.collate_ns, -1)
    order = np.argsort(-total, kind="stable")[:MOST_SLOW]
    batches = []
    for entry in order[total[order] > 0].tolist():
        row = int(timings.produced[entry])
        batches.append(
            SlowBatch(
                loader=int(made.loader[row]),
                batch=int(timings.batch[entry]),
                worker=int(made.worker[row]),
                step=steps[int(timings.step[entry])].name,
                start_ns=int(made.start_ns[row]),
                total_ns=int(total[entry]),
                dataset_ns=int(timings.dataset_ns[entry]),
                collate_ns=int(timings.collate_ns[entry]),
                cpu_share=sampled_shares(made, np.array([row])).cpu,
                wait_ns=int(timings.wait_ns[entry]),
            )
        )
    return batches
