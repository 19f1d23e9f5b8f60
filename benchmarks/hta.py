"""Prints idle time and its split beside HolisticTraceAnalysis' figures on real traces, as a Markdown table.

    pip install HolisticTraceAnalysis
    python -m benchmarks.hta TRACES

TRACES is a folder of traces. Idle is held over HTA's window: from the first activity of the device to the last one that
HTA keeps. HTA splits idle time by stream, and the busiest one stands for it here; ours is that of the device, within
the steps:

    HTA    host_wait    the next kernel of the stream was launched after the one before had ended
           kernel_wait  it was launched before, and the gap is short; other: the rest
    ours   late         the launch call of the next work of the device had not begun, or the work had not started yet
           rest         launched before the gap began: hardware gaps, dependencies, work that is not recorded
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tb_steptime.errors import TraceError
from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.idle.reasons import HOST_BOUND, devices_by_activity
from tb_steptime.metrics.idle.sums import idle_partition
from tb_steptime.trace.kineto import read_trace
from tb_steptime.trace.model import Trace

HEAD = ("trace", "window, ms", "idle, HTA", "idle, ours", "host_wait, HTA", "late, ours")


class Split(NamedTuple):
    """window_ms: from the first to the last activity; idle: its idle share; late: the share of idle time that waits for
    the host.
    """

    window_ms: float
    idle: float
    late: float | None


def main(folder: str) -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    print("| " + " | ".join(HEAD) + " |")
    print("|---|" + "---:|" * (len(HEAD) - 1))
    for path in sorted(Path(folder).rglob("*.json*")):
        row = [str(path.relative_to(folder)), *_row(path)]
        print("| " + " | ".join(row) + " |")


def _row(path: Path) -> Iterator[str]:
    theirs = _theirs(path)
    ours = _ours(path, theirs.window_ms if theirs else None)
    yield f"{ours.window_ms:.1f}" if ours else "-"
    for name in ("idle", "late"):
        for split in (theirs, ours):
            value = getattr(split, name) if split else None
            yield "-" if value is None else f"{value:.1%}"


def _ours(path: Path, window_ms: float | None) -> Split | None:
    """The figures of the device that is busy longest. window_ms: how much of the recording counts; None: all."""
    try:
        trace = read_trace(str(path))
    except TraceError:
        return None
    devices = devices_by_activity(trace)
    return _of_device(trace, devices[0], window_ms) if devices else None


def _of_device(trace: Trace, device: int, window_ms: float | None) -> Split:
    busy, idle = busy_intervals(trace, device), idle_partition(trace)[device].per_step_ns
    first, last = int(busy.start[0]), int(busy.end[-1])
    window_ns = last - first if window_ms is None else min(last - first, round(window_ms * 1e6))
    busy = busy.clip(first, first + window_ns)
    known = {reason: int(ns.sum()) for reason, ns in idle.items() if reason != "tail"}
    late = known["data_loading"] + sum(known[reason] for reason in HOST_BOUND)
    total = sum(known.values())
    return Split(window_ns / 1e6, 1 - busy.total_ns / window_ns, late / total if total else None)


def _theirs(path: Path) -> Split | None:
    """None where HTA raises, as it does on traces without a GPU."""
    from hta.trace_analysis import TraceAnalysis

    try:
        analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
        (whole,) = analysis.get_temporal_breakdown(visualize=False).to_dict("records")
        rows = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0].to_dict("records")
    except (IndexError, KeyError, TypeError, ValueError):  # what HTA cannot read is a dash here
        return None
    return Split(whole["kernel_time(us)"] / 1e3, whole["idle_time_pctg"] / 100, _host_wait(rows))


def _host_wait(rows: list[dict[str, Any]]) -> float | None:
    """The row of the stream with the least idle time, which has most of the work."""
    total = {row["stream"]: 0.0 for row in rows}
    for row in rows:
        total[row["stream"]] += row["idle_time"]
    stream = min(total, key=lambda each: total[each])
    waits = sum(row["idle_time"] for row in rows if row["stream"] == stream and row["idle_category"] == "host_wait")
    return waits / total[stream] if total[stream] else None


if __name__ == "__main__":
    main(*sys.argv[1:])
