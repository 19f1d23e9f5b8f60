"""`tb-steptime summarize --format json`: the memory of each device, as other programs read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_steptime import cli
from tests.drawn.small_trace import small_trace, with_allocations


def memory_of(trace: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> object:
    path = folder / "host.1.pt.trace.json"
    path.write_text(json.dumps(trace))
    assert cli.main(["summarize", str(path), "--format", "json"]) == 0
    (span,) = json.loads(capsys.readouterr().out)["spans"]
    return span["memory"]


def test_the_json_has_peaks_growth_and_what_is_alive(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert memory_of(with_allocations(small_trace()), tmp_path, capsys) == [
        {
            "device": 0,
            "name": "Tesla V100-SXM2-16GB",
            "peak_allocated_bytes": 1500,
            "peak_reserved_bytes": 2000,
            "at_step": "5",
            "growth_bytes_per_step": 0.0,
            "by_category": {"temporary": 1000, "before_recording": 500},
        }
    ]


def test_memory_that_was_not_recorded_is_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert memory_of(small_trace(), tmp_path, capsys) is None


def test_without_totals_peaks_and_kinds_are_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """PyTorch of 2021 writes only changes."""
    trace = with_allocations(small_trace())
    for event in trace["traceEvents"]:
        for field in ("Addr", "Total Allocated", "Total Reserved"):
            event.get("args", {}).pop(field, None)
    (device,) = memory_of(trace, tmp_path, capsys)  # type: ignore[misc]
    fields = (device["peak_allocated_bytes"], device["peak_reserved_bytes"], device["by_category"], device["at_step"])
    assert fields == (None, None, None, "5")
