"""The model's records as a Chrome trace in Kineto's format of 2024 and later; each says that it is simulated."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.truth.simulate.causes import Activity, Gpu, Row, Span, Training

#: Says in every file that no machine has run this; the reader shows it to the user.
STATEMENT_KEY = "tb_steptime_simulated"
TRUTH_KEY = "tb_steptime_ground_truth"

BASE_NS = 1_790_812_800_000_000_000
HOST = 4100
AUTOGRAD = HOST + 57  # the engine's thread of the first device
STREAM = 7
CALL_IDS = {"cudaLaunchKernel": 211, "cudaMemcpyAsync": 41, "cudaMemsetAsync": 51, "cudaStreamSynchronize": 131}


def statement(training: Training) -> str:
    """What the user is told above every figure of the file."""
    return (
        f"No GPU has run this training. Declared: {training.gpu.name}; {training.cause} "
        f"Seed {training.seed}; written by `python -m tests.truth.simulate`."
    )


def write(path: Path, training: Training, span: Span) -> None:
    """The same bytes each time: no clock, no name of a machine, no time stamp in the gzip head."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(chrome_trace(training, span).encode(), 9, mtime=0))


def file_name(span: Span, worker: str = "gpu") -> str:
    """As tensorboard_trace_handler names files: the time at which the window ended."""
    return f"{worker}.{BASE_NS + span.end_ns}.pt.trace.json.gz"


def chrome_trace(training: Training, span: Span) -> str:
    head = {
        "schemaVersion": 1,
        STATEMENT_KEY: statement(training),
        TRUTH_KEY: span.truth,
        "deviceProperties": [_device_properties(training.gpu, device) for device in range(training.devices)],
        "record_shapes": 1,
        **({"with_stack": 1} if any(section.frames for section in training.sections) else {}),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_NS,
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    events = ",\n".join(_text(event) for event in _events(training, span))
    return "{\n" + "\n".join(lines) + f'\n  "traceEvents": [\n{events}\n  ],\n  "traceName": ""\n}}\n'


def _text(event: dict[str, Any]) -> str:
    """A key on each line, arguments on one line, as Kineto writes events."""
    fields = [f'    "{key}": {json.dumps(value)}' for key, value in event.items() if key != "args"]
    if "args" in event:
        fields.append('    "args": {\n      ' + json.dumps(event["args"])[1:-1] + "\n    }")
    return "  {\n" + ",\n".join(fields) + "\n  }"


def _device_properties(gpu: Gpu, device: int) -> dict[str, Any]:
    return {
        "id": device,
        "name": gpu.name,
        "totalGlobalMem": gpu.memory_bytes,
        "computeMajor": gpu.compute_capability[0],
        "computeMinor": gpu.compute_capability[1],
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerMultiprocessor": gpu.max_threads_per_sm,
        "regsPerBlock": 65536,
        "warpSize": 32,
        "sharedMemPerBlock": gpu.shared_memory_per_block,
        "numSms": gpu.sm_count,
        "regsPerMultiprocessor": gpu.registers_per_sm,
        "sharedMemPerBlockOptin": gpu.shared_memory_per_block_optin,
        "sharedMemPerMultiprocessor": gpu.shared_memory_per_sm,
    }


def _events(training: Training, span: Span) -> Iterator[dict[str, Any]]:
    yield from _names(span, training.devices)
    host = [row for row in span.rows if row.activity is None]
    yield from (_host_event(row) for row in host if row.category != "cuda_runtime")
    activities = {row.correlation_id: row for row in span.rows if row.activity}
    for call in host:
        if call.category == "cuda_runtime":
            yield _runtime_event(call)
            if call.correlation_id in activities:
                yield from _activity_events(training.gpu, call, activities[call.correlation_id])
    yield from _device_marks(host, activities)
    yield from _window(span)


def _names(span: Span, devices: int) -> Iterator[dict[str, Any]]:
    engine = {AUTOGRAD + device: f"thread {AUTOGRAD + device} (pt_autograd_{device})" for device in range(devices)}
    tracks = {
        HOST: ("python", "CPU", {HOST: f"thread {HOST} (python)", **engine}),
        **{device: ("python", f"GPU {device}", {STREAM: f"stream {STREAM} "}) for device in range(devices)},
    }
    at = {"ph": "M", "ts": _us(span.start_ns)}
    for pid, (process, label, threads) in tracks.items():
        yield {**at, "name": "process_name", "pid": pid, "tid": 0, "args": {"name": process}}
        yield {**at, "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": label}}
        for tid, name in threads.items():
            yield {**at, "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def _track(row: Row) -> tuple[int, int]:
    """Kineto's process and thread of a record."""
    tracks = {"main": (HOST, HOST), "backward": (HOST, AUTOGRAD + row.device), "stream": (row.device, STREAM)}
    return tracks[row.thread]


def _complete(row: Row, args: dict[str, Any]) -> dict[str, Any]:
    pid, tid = _track(row)
    return {
        "ph": "X",
        "cat": row.category,
        "name": row.name,
        "pid": pid,
        "tid": tid,
        "ts": _us(row.start_ns),
        "dur": _us(row.end_ns - row.start_ns),
        "args": args,
    }


def _host_event(row: Row) -> dict[str, Any]:
    if row.category == "python_function":
        return _complete(row, {"Python id": row.external_id, "Ev Idx": row.external_id - 1})
    args: dict[str, Any] = {"External id": row.external_id, "Record function id": 0}
    if row.sequence >= 0:
        args |= {"Sequence number": row.sequence, "Fwd thread id": int(row.thread == "backward")}
    if row.op and row.op.shapes:
        args["Input Dims"] = [list(shape) for shape in row.op.shapes]
        args["Input type"] = list(row.op.types)
    return _complete(row, {**args, "Ev Idx": row.external_id - 1})


def _runtime_event(row: Row) -> dict[str, Any]:
    args = {"External id": row.external_id} if row.external_id >= 0 else {}
    return _complete(row, {**args, "cbid": CALL_IDS.get(row.name, 165), "correlation": row.correlation_id})


def _activity_events(gpu: Gpu, call: Row, row: Row) -> Iterator[dict[str, Any]]:
    assert row.activity
    place = {"External id": row.external_id, "device": row.device, "context": 1, "stream": STREAM}
    place["correlation"] = row.correlation_id
    yield _complete(row, {**place, **_activity_args(gpu, row.activity, row.end_ns - row.start_ns)})
    for phase, side, at in (("s", call, call.start_ns), ("f", row, row.start_ns)):
        pid, tid = _track(side)
        flow = {"ph": phase, "id": row.correlation_id, "pid": pid, "tid": tid, "ts": _us(at), "cat": "ac2g"}
        yield {**flow, "name": "ac2g", **({"bp": "e"} if phase == "f" else {})}


def _activity_args(gpu: Gpu, activity: Activity, dur_ns: int) -> dict[str, Any]:
    if activity.kind != "kernel":
        return {"bytes": activity.nbytes, "memory bandwidth (GB/s)": round(activity.nbytes / dur_ns, 6)}
    blocks = _product(activity.grid) / gpu.sm_count
    return {
        "registers per thread": activity.registers,
        "shared memory": activity.shared_memory,
        "blocks per SM": round(blocks, 6),
        "warps per SM": round(blocks * _product(activity.block) / 32, 6),
        "grid": list(activity.grid),
        "block": list(activity.block),
        "est. achieved occupancy %": kineto_occupancy(gpu, activity),
    }


def kineto_occupancy(gpu: Gpu, activity: Activity) -> int:
    """As Kineto writes it: percent, and 0 above the shared memory that a block may have without opting in."""
    if activity.shared_memory > gpu.shared_memory_per_block:
        return 0
    threads = _product(activity.block)
    resident = min(resident_blocks(gpu, activity), _product(activity.grid) / gpu.sm_count)
    return int(0.5 + 100 * min(1.0, resident * threads / gpu.max_threads_per_sm))


def resident_blocks(gpu: Gpu, activity: Activity) -> int:
    """How many blocks one SM holds: the least of what its slots, warps, registers and shared memory allow."""
    warps = -(-_product(activity.block) // 32)
    registers = -(-activity.registers * 32 // 256) * 256
    memory = -(-(activity.shared_memory + 1024) // 128) * 128
    by_registers = gpu.registers_per_sm // 4 // registers * 4 // warps if registers else gpu.max_blocks_per_sm
    by_warps = gpu.max_threads_per_sm // 32 // warps
    return max(1, min(gpu.max_blocks_per_sm, by_warps, by_registers, gpu.shared_memory_per_sm // memory))


def _device_marks(host: list[Row], activities: dict[int, Row]) -> Iterator[dict[str, Any]]:
    """The shadow of each annotation on a device: from its first activity's start to its last one's end."""
    launched = [
        (call, activities[call.correlation_id])
        for call in host
        if call.category == "cuda_runtime" and call.correlation_id in activities
    ]
    for mark in (row for row in host if row.category == "user_annotation"):
        inside = [row for call, row in launched if mark.start_ns <= call.start_ns and call.end_ns <= mark.end_ns]
        for device in sorted({row.device for row in inside}):
            here = [row for row in inside if row.device == device]
            shadow = Row("gpu_user_annotation", mark.name, "stream", here[0].start_ns, here[-1].end_ns, device=device)
            yield _complete(shadow, {"External id": mark.external_id})


def _window(span: Span) -> Iterator[dict[str, Any]]:
    yield {
        "ph": "X",
        "cat": "Trace",
        "name": "PyTorch Profiler (0)",
        "pid": "Spans",
        "tid": "PyTorch Profiler",
        "ts": _us(span.start_ns),
        "dur": _us(span.end_ns - span.start_ns),
        "args": {"Op count": 0},
    }
    yield {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": _us(span.end_ns)}


def _product(sizes: tuple[int, int, int]) -> int:
    return sizes[0] * sizes[1] * sizes[2]


def _us(ns: int) -> float:
    """Microseconds. Below 2**43 ns the shortest decimal of the quotient has the integer's three places."""
    return ns / 1000
