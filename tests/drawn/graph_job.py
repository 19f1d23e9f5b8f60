"""One job recorded twice, in Kineto's format: eager, and with its steps captured in a graph.

    eager     aten::addmm | aten::relu  | aten::mm        each op launches its kernel, which lasts 40, 10 or 20 us
    captured  cudaGraphLaunch                             launches all three

A job of another model runs kernels of other names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STEPS = 4
_STEP_US = 200
#: For each kernel: its op, its module, its name, its length in us and its grid.
_WORK = (
    ("aten::addmm", "Linear_0", "gemm_a<float>", 40, 64),
    ("aten::relu", "ReLU_0", "relu<float>", 10, 32),
    ("aten::mm", "Linear_1", "gemm_b<float>", 20, 16),
)
STEP_KERNEL_NS = 70_000


def write_eager(path: Path, *, other_model: bool = False, op_us: int = 8) -> Path:
    return _write(path, [each for step in range(STEPS) for each in _eager(step, other_model, op_us)])


def write_captured(path: Path, *, annotated: bool = False, phase: str = "forward") -> Path:
    """annotated: the kernels themselves carry their modules and phase, as PyTorch 2.15 can record them."""
    return _write(path, [each for step in range(STEPS) for each in _captured(step, annotated, phase)])


def _write(path: Path, events: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    devices = [{"id": 0, "name": "NVIDIA A100", "numSms": 108, "computeMajor": 8, "computeMinor": 0}]
    origin = 1_600_000_000_000_000_000
    trace = {"schemaVersion": 1, "deviceProperties": devices, "baseTimeNanoseconds": origin, "traceEvents": events}
    path.write_text(json.dumps(trace))
    return path


def _event(cat: str, name: str, start: float, length: float, args: dict[str, Any]) -> dict[str, Any]:
    track = {"pid": 0, "tid": 7} if cat == "kernel" else {"pid": 10, "tid": 10}
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length, **track, "args": args}


def _mark(step: int) -> dict[str, Any]:
    return _event("user_annotation", f"ProfilerStep#{step + 1}", step * _STEP_US, _STEP_US, {})


def _kernel(name: str, start: float, length: float, grid: int, **more: Any) -> dict[str, Any]:
    shape = {"device": 0, "stream": 7, "grid": [grid, 1, 1], "block": [128, 1, 1]}
    return _event("kernel", name, start, length, shape | more)


def _eager(step: int, other_model: bool, op_us: int) -> list[dict[str, Any]]:
    begin, found, starts = step * _STEP_US, [_mark(step)], step * _STEP_US + 30.0
    for place, (op, module, kernel, length, grid) in enumerate(_WORK):
        call, number = begin + 10 + 20 * place, step * 10 + place + 1
        name = f"other_{kernel}" if other_model else kernel
        starts = max(starts, call + 15.0)
        found += [
            _event("python_function", f"nn.Module: {module}", call - 1, op_us + 2, {"Python id": number}),
            _event("cpu_op", op, call, op_us, {"External id": number}),
            _event("cuda_runtime", "cudaLaunchKernel", call + 2, 4, {"correlation": number, "External id": number}),
            _kernel(name, starts, length, grid, correlation=number, **{"External id": number}),
        ]  # fmt: skip
        starts += length + 1
    return found


def _captured(step: int, annotated: bool, phase: str) -> list[dict[str, Any]]:
    begin = step * _STEP_US
    launch = _event("cuda_runtime", "cudaGraphLaunch", begin + 10, 8, {"correlation": 1000 + step})
    found, starts = [_mark(step), launch], begin + 25.0
    for place, (_, module, kernel, length, grid) in enumerate(_WORK):
        noted = {"module_fqn": f"net.{module}", "autograd_phase": phase} if annotated else {}
        node = {"correlation": 1000 + step, "graph id": 1, "graph node id": place}
        found.append(_kernel(kernel, starts, length, grid, **node, **noted))
        starts += length + 1
    return found
