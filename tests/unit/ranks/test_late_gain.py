"""What a late rank's arrival in time gains where the ranks cannot be replayed together, because work on its GPU waits
for something that is not recorded.

rank 0   host  |launch|                                      |wait|     its GPU runs nothing recorded for 60 ms
         GPU                                         |gemm|==|
rank 1   host  |launch|op op op op op op op|     wait        |
         GPU         [collective waits                     ==|
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_steptime.ranks.result import JobRanks
from tests.drawn.recorded_jobs import job_in

MS = 1_000_000
STEP = 70
#: When the kernel begins on a rank that is late, and on another one.
LATE, EARLY = 60, 2
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SIZE = {"Collective name": "allreduce", "In msg nelems": 25_000, "Out msg nelems": 25_000, "dtype": "Float",
        "Process Group Name": "0"}  # fmt: skip


def event(cat: str, name: str, begin: float, end: float, **args: Any) -> dict[str, Any]:
    track = {"pid": 0, "tid": 7} if cat == "kernel" else {"pid": 1, "tid": 1}
    return {"ph": "X", "cat": cat, "name": name, "ts": begin * 1e3, "dur": (end - begin) * 1e3, **track, "args": args}


def launched(id: int, call: float, name: str, begin: float, end: float, **args: Any) -> list[dict[str, Any]]:
    """A kernel and the call that launches it, ms."""
    return [event("cuda_runtime", "cudaLaunchKernel", call, call + 0.5, correlation=id),
            event("kernel", name, begin, end, correlation=id, device=0, stream=7, **args)]  # fmt: skip


def write(folder: Path, rank: int, ranks: int, begins: list[int], host_until: int) -> None:
    """Steps in which the ranks leave the all-reduce 65 ms after the step's begin. begins: of the kernel in each step,
    ms; the all-reduce follows it. host_until: when the host begins to wait for the device."""
    events = []
    for place, begin in enumerate(begins):
        at = place * STEP
        events += [event("user_annotation", f"ProfilerStep#{place + 5}", at, at + STEP)]
        events += launched(10 * place + 1, at + 1, "gemm", at + begin, at + begin + 2)
        events += launched(10 * place + 2, at + 2, REDUCE, at + begin + 2, at + 65, **SIZE | {"Group size": ranks})
        events += [event("cpu_op", "aten::add", at + ms, at + ms + 1) for ms in range(3, host_until)]
        events += [event("cuda_runtime", "cudaDeviceSynchronize", at + host_until, at + 65.005)]
    job = {"backend": "nccl", "rank": rank, "world_size": ranks}
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": ranks, "ranks": list(range(ranks))}
    trace = {
        "schemaVersion": 1,
        "distributedInfo": job | {"pg_count": 1, "pg_config": [group]},
        "deviceProperties": [{"id": 0, "name": "Drawn GPU", "numSms": 100}],
        "baseTimeNanoseconds": 1_790_000_000_000_000_000,
        "traceEvents": events,
    }
    (folder / f"rank{rank}_trace.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))


def job(folder: Path) -> JobRanks:
    found = job_in(folder)
    assert found.what_if is not None and not found.what_if.trusted
    return found


@pytest.mark.parametrize(("host_until", "gain_ms"), [(6, 58), (45, 20), (60, 5)])
def test_the_step_still_takes_what_the_waiting_rank_needs_by_itself(tmp_path: Path, host_until: int, gain_ms: int):
    """Its host has work until then. Then come the transfer, which is left out, and the last 5 ms of the step."""
    write(tmp_path, 0, 2, [LATE] * 3, 6)
    write(tmp_path, 1, 2, [EARLY] * 3, host_until)
    found = job(tmp_path)
    assert (found.balance, found.late[0].rank, found.late[0].wait_ns) == ("straggler", 0, 58 * MS)
    assert found.late[0].gain_ns == pytest.approx(gain_ms * MS, rel=0.01)


@pytest.mark.parametrize(("host_until", "gain_ms", "of_rank_ms"), [(6, 58, 34.8), (45, 20, 20)])
def test_so_it_does_where_ranks_take_turns(tmp_path: Path, host_until: int, gain_ms: int, of_rank_ms: float):
    """Ranks 0 and 1 are late in turn; the three others are explained, and so is the median rank. In the five steps
    after the first one, rank 1 is late three times."""
    for rank in range(5):
        begins = [LATE if rank == place % 2 else EARLY for place in range(6)]
        write(tmp_path, rank, 5, begins, host_until)
    found = job(tmp_path)
    assert found.balance == "imbalance" and found.path is not None
    assert found.imbalance_gain_ns == pytest.approx(gain_ms * MS, rel=0.01)
    assert [each.rank for each in found.path.deciders] == [1]
    assert found.path.gain_ns == pytest.approx(of_rank_ms * MS, rel=0.01)
