"""A long recording in Kineto's format, written as a stream: a few steps with many small kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEPS = 4
_OP_US = 10
_SHAPES = {"Input Dims": [[128, 64], [64, 32], []], "Input type": ["float", "float", "Scalar"], "Ev Idx": 12_345}
_FRAMES = [f"torch/nn/modules/module.py({line}): _call_impl" for line in range(3)]
_KERNEL = {"grid": [160, 1, 1], "block": [64, 1, 1], "registers per thread": 32, "shared memory": 0, "device": 0}


def write_long_trace(path: Path, nbytes: int) -> Path:
    """Writes about this many bytes."""
    ops = nbytes // STEPS // 1500
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [')
        file.writelines(",\n" * bool(number) + json.dumps(event) for number, event in enumerate(_events(ops)))
        file.write("]}")
    return path


def _events(ops: int) -> Iterator[dict[str, Any]]:
    for step in range(STEPS):
        begin = step * ops * _OP_US
        yield _event("user_annotation", f"ProfilerStep#{step}", begin, ops * _OP_US)
        for number in range(ops):
            id = step * ops + number + 1
            yield from _op(begin + number * _OP_US, id)


def _op(start: float, id: int) -> Iterator[dict[str, Any]]:
    """Three frames, the op, its launch and its kernel, which begins 5 us later: 1.5 kB."""
    for frame in _FRAMES:
        yield _event("python_function", frame, start, 9, **{"Python id": id, "Python parent id": id - 1})
    yield _event("cpu_op", "aten::mm", start + 1, 7, **{"External id": id}, **_SHAPES)
    yield _event("cuda_runtime", "cudaLaunchKernel", start + 2, 3, correlation=id, **{"External id": id})
    yield {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": id, "ts": start + 2, "pid": 10, "tid": 10}
    ids = {"correlation": id, "External id": id, "stream": 7}
    yield _event("kernel", "volta_sgemm_64x64_nt", start + 7, 8, **ids, **_KERNEL) | {"pid": 0, "tid": 7}
    yield {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": id, "ts": start + 7, "pid": 0, "tid": 7}


def _event(cat: str, name: str, start: float, length: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length, "pid": 10, "tid": 10, "args": args}
