"""The model's records as a Chrome trace in Kineto's format of 2024 and later; each says that it is simulated."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.truth.simulate.causes import Gpu, Span, Training
from tests.truth.simulate.events import events

#: States in every file that no machine has run this; the reader shows it to the user.
STATEMENT_KEY = "tb_steptime_simulated"
TRUTH_KEY = "tb_steptime_ground_truth"

BASE_NS = 1_790_812_800_000_000_000


def statement(training: Training) -> str:
    """The statement that is shown to the user above every figure of the file."""
    return (
        f"No GPU has run this training. Declared: {training.gpu.name if training.devices else 'CPU'}; {training.cause} "
        f"Seed {training.seed}; written by `python -m tests.truth.simulate`."
    )


def write(path: Path, training: Training, span: Span) -> None:
    """The same bytes each time: no clock, no machine name, no time stamp in the gzip header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(chrome_trace(training, span).encode(), 9, mtime=0))


def write_plain(path: Path, training: Training, span: Span) -> None:
    """For a reader that runs right away: compressing takes longer than the simulation."""
    path.write_text(chrome_trace(training, span))


def file_name(span: Span, worker: str = "gpu") -> str:
    """Named as by tensorboard_trace_handler: the time at which the window ended."""
    return f"{worker}.{BASE_NS + span.end_ns}.pt.trace.json.gz"


def chrome_trace(training: Training, span: Span) -> str:
    """The file's text, a key on each line."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head(training, span).items()]
    written = ",\n".join(_text(event) for event in events(training, span))
    return "{\n" + "\n".join(lines) + f'\n  "traceEvents": [\n{written}\n  ],\n  "traceName": ""\n}}\n'


def head(training: Training, span: Span) -> dict[str, Any]:
    """The part of the file before the events."""
    return {
        "schemaVersion": 1,
        STATEMENT_KEY: statement(training),
        TRUTH_KEY: span.truth,
        "deviceProperties": [_device_properties(training.gpu, device) for device in range(training.devices)],
        **({"record_shapes": 1} if training.recording.shapes else {}),
        **_ranks(training),
        **({"with_stack": 1} if any(section.frames for section in training.sections) else {}),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": BASE_NS,
    }


def _text(event: dict[str, Any]) -> str:
    """A key on each line, arguments on one line, as Kineto writes events."""
    fields = [f'    "{key}": {_scalar(value)}' for key, value in event.items() if key != "args"]
    if "args" in event:
        fields.append('    "args": {\n      ' + json.dumps(event["args"])[1:-1] + "\n    }")
    return "  {\n" + ",\n".join(fields) + "\n  }"


def _scalar(value: Any) -> str:
    """Like json.dumps; numbers, which are the most frequent, are written directly."""
    return repr(value) if type(value) in (int, float) else json.dumps(value)


def _ranks(training: Training) -> dict[str, Any]:
    if training.ranks == 1:
        return {}
    return {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": training.ranks, "pg_count": 1}}


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
        "warpSize": 64 if gpu.amd else 32,
        "sharedMemPerBlock": gpu.shared_memory_per_block,
        "numSms": gpu.sm_count,
        "regsPerMultiprocessor": gpu.registers_per_sm,
        "sharedMemPerBlockOptin": gpu.shared_memory_per_block_optin,
        "sharedMemPerMultiprocessor": gpu.shared_memory_per_sm,
    }
