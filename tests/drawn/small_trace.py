"""A tiny recording in Kineto's format, for tests of what happens to files. What it measures is easily told:

each step is 100 us long; the loader's mark covers 30 us of it, and one kernel runs for 40 us.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STEP_US = 100
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def write_trace(
    path: Path,
    *,
    steps: int = 3,
    first_step: int = 5,
    rank: int | None = None,
    op_us: float = 10,
    frames: Sequence[str] = (),
    **extra: Any,
) -> Path:
    """Write a trace of this many steps; `.gz` in the name compresses it. frames: see `with_frames`; extra becomes
    metadata of the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps(with_frames(small_trace(steps, first_step, rank, op_us), frames) | extra).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content)
    return path


def with_allocations(trace: dict[str, Any]) -> dict[str, Any]:
    """In each step the product allocates 1000 bytes of the GPU, which are freed 45 us later; 500 were there before."""
    starts = [event["ts"] for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep")]
    allocations = [each for start in starts for each in ((start + 36, 1000, 1500), (start + 81, -1000, 500))]
    memory = [
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 10, "tid": 10, "ts": us, "args": {
            "Addr": 4096, "Bytes": size, "Device Type": 1, "Device Id": 0,
            "Total Allocated": total, "Total Reserved": 2000,
        }}
        for us, size, total in allocations
    ]  # fmt: skip
    return trace | {"traceEvents": trace["traceEvents"] + memory, "profile_memory": 1}


def with_frames(trace: dict[str, Any], frames: Sequence[str]) -> dict[str, Any]:
    """In each step these Python frames are around the product, each inside the one before it."""
    products = [event for event in trace["traceEvents"] if event["name"] == "aten::mm"]
    around = [
        {
            **op,
            "cat": "python_function",
            "name": name,
            "ts": op["ts"] - before,
            "dur": op["dur"] + 2 * before,
            "args": {},
        }
        for op in products
        for before, name in enumerate(reversed(frames), start=1)
    ]
    return trace | {"traceEvents": trace["traceEvents"] + around, "with_stack": 1} if frames else trace


def small_trace(steps: int = 3, first_step: int = 5, rank: int | None = None, op_us: float = 10) -> dict[str, Any]:
    job = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}}
    events = [event for step in range(steps) for event in _step(step, first_step + step, op_us)]
    return {
        "schemaVersion": 1,
        **job,
        "deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-16GB", "numSms": 80, "computeMajor": 7}],
        "baseTimeNanoseconds": 1_600_000_000_000_000_000,
        "traceEvents": [*events, {"ph": "M", "name": "process_name", "pid": 10, "args": {"name": "python"}}],
        "traceName": "small.json",
    }


def _step(place: int, number: int, op_us: float) -> list[dict[str, Any]]:
    begin = place * STEP_US

    def event(cat: str, name: str, start: float, length: float, **args: Any) -> dict[str, Any]:
        track = {"pid": 0, "tid": 7} if cat == "kernel" else {"pid": 10, "tid": 10}
        return {"ph": "X", "cat": cat, "name": name, "ts": begin + start, "dur": length, **track, "args": args}

    return [
        event("user_annotation", f"ProfilerStep#{number}", 0, STEP_US),
        event("user_annotation", LOADER, 0, 30),
        event("cpu_op", "aten::mm", 35, op_us),
        event("cuda_runtime", "cudaLaunchKernel", 38, 5, correlation=number),
        event("kernel", "volta_sgemm_64x64_nt", 50, 40, correlation=number, device=0, stream=7, grid=[160, 1, 1],
              block=[64, 1, 1], **{"blocks per SM": 2.0, "est. achieved occupancy %": 25}),
    ]  # fmt: skip
