"""Log directories for the browser tests, made from the recordings that the project ships."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from tests.drawn.pftrace import backend_trace, packed
from tests.drawn.small_trace import small_trace

#: The .pftrace file of a run, as jobs name it that record every so many steps.
PFTRACE = "iteration_20/rank3_trace.pftrace.gz"

DEMO_LOGS = Path(__file__).resolve().parents[2] / "demo_logs"


def copy_of(traces: list[Path], folder: Path) -> Path:
    """Copy these demo recordings in their runs, with the files of the loader's recorder, but without the summaries that
    earlier visits have left beside them."""
    recorders = {file for trace in traces for file in trace.parent.glob("*.loader")}
    for file in (*traces, *sorted(recorders)):
        target = folder / file.relative_to(DEMO_LOGS)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return folder


def runs_of(*names: str) -> list[Path]:
    """The recordings of these demo runs."""
    return [trace for trace in demo_traces() if trace.parent.name in names]


def demo_traces() -> list[Path]:
    traces = sorted(DEMO_LOGS.rglob("*.pt.trace.json.gz"))
    assert traces, f"{DEMO_LOGS} holds no recordings"
    return traces


def one_whole_one_broken(folder: Path) -> Path:
    """One run with a recording, and another run whose only file is not a trace and was written an hour ago."""
    whole, broken = folder / "whole", folder / "broken"
    whole.mkdir(parents=True)
    broken.mkdir()
    trace = demo_traces()[0]
    shutil.copyfile(trace, whole / trace.name)
    file = broken / "worker0.1700000000000.pt.trace.json"
    file.write_text("This is not a trace.\n")
    os.utime(file, times=(file.stat().st_mtime - 3600,) * 2)
    return folder


def without_marks(folder: Path) -> Path:
    """A training on the CPU without prof.step(): three times an op and then the optimizer, in 100 us each."""

    def event(cat: str, name: str, ts: int, dur: int) -> dict[str, Any]:
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}

    events = [event("cpu_op", "aten::mm", 100 * step, 50) for step in range(3)]
    events += [event("user_annotation", "Optimizer.step#SGD.step", 100 * step + 80, 20) for step in range(3)]
    (folder / "unmarked").mkdir(parents=True)
    (folder / "unmarked" / "host.1700000000000.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    return folder


def one_pftrace(folder: Path) -> Path:
    """One run whose only file is PFTRACE."""
    file = folder / "packed" / PFTRACE
    file.parent.mkdir(parents=True)
    file.write_bytes(packed(backend_trace(small_trace())))
    return folder


def write_scalars(folder: Path, tag: str, values: Sequence[float]) -> None:
    """Write an event file as torch.utils.tensorboard does, with one value per step."""
    writer = EventFileWriter(str(folder))
    for step, value in enumerate(values):
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))
    writer.close()
