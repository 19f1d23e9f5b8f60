"""Jobs of many ranks that never ran, from declared causes: who is late, by how much, how fast the link is, how wrong
the clocks are. Each rank computes, and meets the others at all-reduces that end on all of them at once.

    rank 0   [forward][backward 1  ][reduce 1      ][backward 2][reduce 2]       a synchronous step: nothing is hidden
    rank 1   [forward][backward 1      ][reduce 1  ][backward 2][reduce 2]       rank 1 is late at reduce 1
                                        |transfer  |

What a rank waits, and who made it wait, is written down while it happens.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

Ns = npt.NDArray[np.int64]

_NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#: When the recordings begin, on a correct clock.
EPOCH_NS = 1_790_000_000_000_000_000
SIMULATED = "Simulated by `tests/truth/simulate/rank_jobs.py`; no machine ran this."


@dataclass(frozen=True)
class Declared:
    """late: rank -> ns by which it computes longer in each step. spread_ns: standard deviation of what each rank
    computes in each step. bus_rate: bytes per second of each link. clocks_ns: standard deviation of the ranks' clocks.
    numbered: collectives record their number, as in current PyTorch. lost: rank -> numbers of those missing in its
    recording. waits: the host waits for the device at the end of each step, like one that reads the loss; its ops are
    then recorded.
    """

    ranks: int
    steps: int = 8
    compute_ns: int = 40_000_000
    late: dict[int, int] = field(default_factory=dict)
    spread_ns: int = 0
    bus_rate: float = 50e9
    bucket_bytes: tuple[int, ...] = (26_214_400, 26_214_400, 8_388_608)
    clocks_ns: int = 0
    group_name: str = "0"
    seed: int = 0
    numbered: bool = False
    lost: dict[int, set[int]] = field(default_factory=dict)
    waits: bool = False


@dataclass(frozen=True, eq=False)
class Meeting:
    """One all-reduce. start: per rank, end: of all, true times, ns; transfer: from the last arrival."""

    step: int
    bytes: int
    start: Ns
    end: int
    transfer: int


@dataclass(frozen=True, eq=False)
class Ran:
    """What happened. computed: (steps, ranks, pieces) [begin, end); clock: how far each rank's clock is ahead."""

    declared: Declared
    meetings: list[Meeting]
    computed: list[list[list[tuple[int, int]]]]
    step_end: list[int]
    clock: Ns

    def waits(self) -> Ns:
        """(ranks,) sums over the steps after the first."""
        return sum((m.end - m.transfer - m.start for m in self.meetings if m.step), np.zeros(self.declared.ranks, int))


def run(declared: Declared) -> Ran:
    random = np.random.default_rng(declared.seed)
    pieces, ranks = len(declared.bucket_bytes), declared.ranks
    now = np.zeros(ranks, np.int64)
    meetings, computed, ends = [], [], []
    for step in range(declared.steps):
        whole = declared.compute_ns + random.normal(0, declared.spread_ns or 1e-9, ranks)
        whole += [declared.late.get(rank, 0) for rank in range(ranks)]
        share = np.maximum(whole / pieces, 1_000).astype(np.int64)
        ran: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
        for size in declared.bucket_bytes:
            for rank in range(ranks):
                ran[rank].append((int(now[rank]), int(now[rank] + share[rank])))
            start = now + share
            transfer = round(size * 2 * (ranks - 1) / ranks / declared.bus_rate * 1e9)
            end = int(start.max()) + transfer
            meetings.append(Meeting(step, size, start, end, transfer))
            now = np.full(ranks, end, np.int64)
        computed.append(ran)
        ends.append(int(now[0]))
    clock = np.append(0, random.normal(0, declared.clocks_ns or 1e-9, ranks - 1)).astype(np.int64)
    return Ran(declared, meetings, computed, ends, clock)


def write(ran: Ran, folder: Path) -> None:
    """A trace for each rank, in Kineto's format."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ran.declared.ranks):
        with gzip.open(folder / f"rank{rank}_trace.json.gz", "wt", compresslevel=1) as file:
            json.dump(_trace(ran, rank), file)


def _trace(ran: Ran, rank: int) -> dict[str, object]:
    world = ran.declared.ranks
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": world, "ranks": list(range(world))}
    info = {"backend": "nccl", "rank": rank, "world_size": world, "pg_count": 1, "pg_config": [group]}
    events = [*_steps(ran), *_computing(ran, rank), *_reduces(ran, rank), *_waits(ran)]
    return {
        "schemaVersion": 1,
        "tb_steptime_simulated": SIMULATED,
        "distributedInfo": info,
        "deviceProperties": [{"id": 0, "name": "Simulated GPU", "numSms": 100}],
        "baseTimeNanoseconds": EPOCH_NS + int(ran.clock[rank]),
        "traceEvents": events,
    }


def _event(name: str, cat: str, begin: int, end: int, tid: int, **args: object) -> dict[str, object]:
    times = {"ts": begin / 1e3, "dur": (end - begin) / 1e3}
    return {"ph": "X", "name": name, "cat": cat, "pid": 1 if tid == 1 else 0, "tid": tid, **times, "args": args}


def _steps(ran: Ran) -> list[dict[str, object]]:
    """The host is never late: it launches everything of a step at its beginning."""
    begins = [0, *ran.step_end[:-1]]
    pairs = zip(begins, ran.step_end, strict=True)
    return [_event(f"ProfilerStep#{n}", "user_annotation", *pair, 1) for n, pair in enumerate(pairs, 5)]


def _computing(ran: Ran, rank: int) -> list[dict[str, object]]:
    events = []
    for step, of_step in enumerate(ran.computed):
        for piece, (begin, end) in enumerate(of_step[rank]):
            id = 10_000 + step * 100 + piece
            call = ([0, *ran.step_end][step]) + 2_000 + piece * 5_000
            events.append(_event("cudaLaunchKernel", "cuda_runtime", call, call + 1_000, 1, correlation=id))
            events += [_event("aten::mm", "cpu_op", call - 500, call + 1_200, 1)] if ran.declared.waits else []
            events.append(_event("gemm", "kernel", begin + 6_000, end, 7, correlation=id, device=0, stream=7,
                                 grid=[100, 1, 1], block=[256, 1, 1]))  # fmt: skip
    return events


def _reduces(ran: Ran, rank: int) -> list[dict[str, object]]:
    events = []
    for number, meeting in enumerate(ran.meetings):
        if number in ran.declared.lost.get(rank, ()):
            continue
        id, step = 50_000 + number, meeting.step
        call = ([0, *ran.step_end][step]) + 3_500 + number % len(ran.declared.bucket_bytes) * 5_000
        facts = {"Collective name": "allreduce", "In msg nelems": meeting.bytes // 4, "Group size": ran.declared.ranks,
                 "Out msg nelems": meeting.bytes // 4, "dtype": "Float",
                 "Process Group Name": ran.declared.group_name}  # fmt: skip
        facts |= {"Seq": 1000 + number} if ran.declared.numbered else {}
        events.append(_event("cudaLaunchKernelExC", "cuda_runtime", call, call + 1_000, 1, correlation=id))
        begin = int(meeting.start[rank])
        events.append(_event(_NCCL, "kernel", begin, meeting.end, 9, correlation=id, device=0, stream=9, **facts))
    return events


def _waits(ran: Ran) -> list[dict[str, object]]:
    """From the time when everything is launched until the device has finished it."""
    if not ran.declared.waits:
        return []
    begins = [begin + 5_000 * len(ran.declared.bucket_bytes) for begin in (0, *ran.step_end[:-1])]
    pairs = zip(begins, ran.step_end, strict=True)
    return [_event("cudaDeviceSynchronize", "cuda_runtime", *pair, 1) for pair in pairs]
