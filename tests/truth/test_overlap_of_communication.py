"""The share of communication that computation hides, as Holistic Trace Analysis defines it, computed from raw events:

overlap = time in which a collective's kernel and a computing kernel run / time in which a collective's kernel runs
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_steptime.metrics.communication.summary import communication
from tb_steptime.trace.kineto import read_trace

Ranges = list[tuple[float, float]]


@pytest.mark.parametrize(("name", "overlap"), [("hta_a100_ddp_control", 0.462372), ("hta_a100_ddp_nccl", 0.156092)])
def test_hidden_communication_is_hta_s_overlap(trace_path: Callable[[str], Path], name: str, overlap: float):
    path = trace_path(name)
    collectives, computing = kernels(path)
    both = length(collectives) + length(computing) - length(collectives + computing)
    assert both / length(collectives) == pytest.approx(overlap, abs=1e-6)
    ours = communication(read_trace(path))
    assert ours is not None
    assert 1 - ours.exposed_ns / ours.running_ns == pytest.approx(overlap, abs=1e-6)


def kernels(path: Path) -> tuple[Ranges, Ranges]:
    """The kernels of collectives, and the other kernels, in us."""
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    found: tuple[Ranges, Ranges] = ([], [])
    for event in events:
        if event.get("ph") == "X" and str(event.get("cat")).lower() == "kernel":
            found["nccl" not in event["name"].lower()].append((event["ts"], event["ts"] + event["dur"]))
    return found


def length(ranges: Ranges) -> float:
    """The length of the union of the ranges."""
    total, reach = 0.0, float("-inf")
    for start, end in sorted(ranges):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total
