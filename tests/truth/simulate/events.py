"""The events of a Chrome trace, one after the other, from the model's records."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.truth.simulate.causes import Activity, Gpu, Row, Span, Training
from tests.truth.simulate.occupancy import kineto_occupancy

HOST = 4100
AUTOGRAD = HOST + 57  # the engine's thread of the first device
STREAM = 7
CALL_IDS = {"cudaLaunchKernel": 211, "cudaMemcpyAsync": 41, "cudaMemsetAsync": 51, "cudaStreamSynchronize": 131}


CALLS = ("cuda_runtime", "cuda_driver")


def events(training: Training, span: Span) -> Iterator[dict[str, Any]]:
    """Host ranges, then each call with what it launched, then what no recorded call launched."""
    yield from _names(span, training.devices)
    rows = [row for row in span.rows if row.category not in training.recording.without]
    host = [row for row in rows if row.activity is None]
    yield from (_host_event(row, training.recording.shapes) for row in host if row.category not in CALLS)
    launched: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if row.activity:
            launched[row.correlation_id].append(row)
    calls = {row.correlation_id: row for row in host if row.category in CALLS}
    for call in calls.values():
        yield _runtime_event(call, training.gpu)
        for row in launched[call.correlation_id]:
            yield _activity_event(training.gpu, row)
            yield from _arrow(call, row)
    alone = (row for number, rows in launched.items() if number not in calls for row in rows)
    yield from (_activity_event(training.gpu, row) for row in alone)
    yield from _device_marks(host, [(call, row) for call in calls.values() for row in launched[call.correlation_id]])
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
    if row.thread == "stream":
        return row.device, _stream(row)
    return HOST, AUTOGRAD + row.device if row.thread == "backward" else HOST


def _stream(row: Row) -> int:
    """The stream number that the driver assigns: 7 to the default one of a thread, and about 20 to the next ones."""
    return STREAM if row.activity is None or row.activity.stream == 0 else 19 + row.activity.stream


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


def _host_event(row: Row, shapes: bool) -> dict[str, Any]:
    if row.category == "python_function":
        return _complete(row, {"Python id": row.external_id, "Ev Idx": row.external_id - 1})
    args: dict[str, Any] = {"External id": row.external_id, "Record function id": 0}
    if row.sequence >= 0:
        args |= {"Sequence number": row.sequence, "Fwd thread id": int(row.thread == "backward")}
    if shapes and row.op and row.op.shapes:
        args["Input Dims"] = [list(shape) for shape in row.op.shapes]
        args["Input type"] = list(row.op.types)
    if row.op and row.op.facts and row.name == row.op.names[-1]:
        args |= dict(row.op.facts)
    return _complete(row, {**args, "Ev Idx": row.external_id - 1})


def _runtime_event(row: Row, gpu: Gpu) -> dict[str, Any]:
    args = {"External id": row.external_id} if row.external_id >= 0 else {}
    event = _complete(row, {**args, "cbid": CALL_IDS.get(row.name, 165), "correlation": row.correlation_id})
    return {**event, "name": _AMD_CALLS.get(row.name, row.name.replace("cuda", "hip"))} if gpu.amd else event


#: HIP's names of calls, where they differ in more than the prefix.
_AMD_CALLS = {"cudaLaunchKernel": "hipLaunchKernel", "cuLaunchKernel": "hipModuleLaunchKernel"}


def _activity_event(gpu: Gpu, row: Row) -> dict[str, Any]:
    assert row.activity
    place = {"External id": row.external_id, "device": row.device, "context": 1, "stream": _stream(row)}
    place["correlation"] = row.correlation_id
    args = {**place, **_activity_args(gpu, row.activity, row.end_ns - row.start_ns), **dict(row.activity.facts)}
    return _complete(row, args)


def _arrow(call: Row, row: Row) -> Iterator[dict[str, Any]]:
    """An arrow from a call to what it launched."""
    for phase, side, at in (("s", call, call.start_ns), ("f", row, row.start_ns)):
        pid, tid = _track(side)
        flow = {"ph": phase, "id": row.correlation_id, "pid": pid, "tid": tid, "ts": _us(at), "cat": "ac2g"}
        yield {**flow, "name": "ac2g", **({"bp": "e"} if phase == "f" else {})}


def _activity_args(gpu: Gpu, activity: Activity, dur_ns: int) -> dict[str, Any]:
    if activity.kind != "kernel":
        return {"bytes": activity.nbytes, "memory bandwidth (GB/s)": round(activity.nbytes / dur_ns, 6)}
    if gpu.amd:
        return {"grid": list(activity.grid), "block": list(activity.block)}
    blocks = math.prod(activity.grid) / gpu.sm_count
    return {
        "registers per thread": activity.registers,
        "shared memory": activity.shared_memory,
        "blocks per SM": round(blocks, 6),
        "warps per SM": round(blocks * math.prod(activity.block) / 32, 6),
        "grid": list(activity.grid),
        "block": list(activity.block),
        "est. achieved occupancy %": kineto_occupancy(gpu, activity),
    }


def _device_marks(host: list[Row], launched: list[tuple[Row, Row]]) -> Iterator[dict[str, Any]]:
    """The shadow of each annotation on a device: from its first activity's start to its last one's end.

    launched: calls, each with an activity of it.
    """
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


def _us(ns: int) -> float:
    """Microseconds. Below 2**43 ns the shortest decimal of the quotient has the integer's three places."""
    return ns / 1000
