"""What an analysis should find in a simulated span, computed from the model's own records with plain lists of pairs.

Deliberately another implementation than the package's: one stream and one host clock make it short.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.truth.simulate.causes import Row, Span, Training
from tests.truth.simulate.pairs import Pair, both, total, without

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True)
class Gap:
    """An idle range of the device and why: data_loading, blocking, host_late, launch_latency, queued or tail."""

    start_ns: int
    end_ns: int
    reason: str


def ground_truth(training: Training, span: Span, produced_ns: list[int]) -> dict[str, Any]:
    """Figures of a span: of each step, their means, and of the GPU over the window from the first step to the last."""
    windows = step_windows(span)
    gaps = idle_gaps(span, windows[-1][1])
    steps = [_step_truth(span, gaps, mark, window) for mark, window in zip(span.marks, windows, strict=True)]
    return {
        "cause": training.cause,
        "seed": training.seed,
        "batch_production_ns": sum(produced_ns) // len(produced_ns),
        "workers": training.loader.workers if training.loader else 0,
        "steps": steps,
        "mean": _mean(steps),
        "gpu": _gpu_truth(training, span, (windows[0][0], windows[-1][1])),
    }


def step_windows(span: Span) -> list[Pair]:
    """From the end of the previous step to the later one of the mark's end and the last launched activity's end."""
    activities = {row.correlation_id: row for row in span.rows if row.category in DEVICE}
    calls = [row for row in span.rows if row.category == "cuda_runtime"]
    windows: list[Pair] = []
    for _, start, end in span.marks:
        launched = [activities[row.correlation_id].end_ns for row in calls if _launches_in(row, start, end, activities)]
        begin = max(start, windows[-1][1]) if windows else start
        windows.append((begin, max([begin, end, *launched])))
    return windows


def _launches_in(row: Row, start: int, end: int, activities: dict[int, Row]) -> bool:
    return start <= row.start_ns and row.end_ns <= end and row.correlation_id in activities


def idle_gaps(span: Span, end_ns: int) -> list[Gap]:
    """Every idle range from the window's start to end_ns, split where its reason changes."""
    calls = {row.correlation_id: row for row in span.rows if row.category == "cuda_runtime"}
    loads = _pairs(span, lambda row: row.name.startswith("enumerate(DataLoader)"))
    blocked = _pairs(span, lambda row: row.blocks)
    gaps: list[Gap] = []
    free = span.start_ns
    for activity in _activities(span):
        pieces = _why_idle(free, activity.start_ns, calls[activity.correlation_id], blocked)
        gaps += _charge_loader_first(pieces, loads)
        free = activity.end_ns
    return gaps + _charge_loader_first([Gap(free, end_ns, "tail")], loads)


def _why_idle(free: int, start: int, call: Row, blocked: list[Pair]) -> list[Gap]:
    if call.start_ns <= free:
        return [Gap(free, start, "queued")]
    late = min(call.start_ns, start)
    waits = both([(free, late)], blocked)
    return [
        *(Gap(*pair, "blocking") for pair in waits),
        *(Gap(*pair, "host_late") for pair in without([(free, late)], waits)),
        Gap(late, start, "blocking" if call.blocks else "launch_latency"),
    ]


def _charge_loader_first(gaps: Iterable[Gap], loads: list[Pair]) -> list[Gap]:
    charged = []
    for gap in gaps:
        pair = [(gap.start_ns, gap.end_ns)]
        charged += [Gap(*exposed, "data_loading") for exposed in both(pair, loads)]
        charged += [Gap(*rest, gap.reason) for rest in without(pair, loads)]
    return charged


def idle_of_ops(span: Span) -> dict[str, int]:
    """By op: the idle time that ended when its launched work began, without that of the loader. An op within one of the
    same name counts once, ops between the marks of the steps and idle time between their windows not at all.
    """
    windows = step_windows(span)
    calls = {row.correlation_id: row for row in span.rows if row.category == "cuda_runtime"}
    loads = _pairs(span, lambda row: row.name.startswith("enumerate(DataLoader)"))
    ops = [row for row in span.rows if row.category == "cpu_op"]
    found = {row.name: 0 for row in ops if _marked(span, row)}
    free = span.start_ns
    for activity in _activities(span):
        idle = total(both(windows, without([(free, activity.start_ns)], loads)))
        call, free = calls[activity.correlation_id], activity.end_ns
        for name in {row.name for row in ops if _holds(row, call) and _marked(span, row)} if idle else ():
            found[name] += idle
    return found


def _holds(op: Row, call: Row) -> bool:
    return op.thread == call.thread and op.start_ns <= call.start_ns and call.end_ns <= op.end_ns


def _marked(span: Span, row: Row) -> bool:
    return any(start <= row.start_ns < end for _, start, end in span.marks)


def _step_truth(span: Span, gaps: list[Gap], mark: tuple[int, int, int], window: Pair) -> dict[str, Any]:
    number, host_start, host_end = mark
    span = _around(span, window)
    loads = both([window], _pairs(span, lambda row: row.name.startswith("enumerate(DataLoader)")))
    busy = both([window], [(row.start_ns, row.end_ns) for row in _activities(span)])
    exposed = total(without(loads, busy))
    return {
        "name": str(number),
        "duration_ns": window[1] - window[0],
        "host_ns": host_end - host_start,
        "wait_ns": total(loads),
        "exposed_ns": exposed,
        "hidden_ns": total(loads) - exposed,
        "gpu_busy_ns": total(busy),
        "gpu_idle_ns": window[1] - window[0] - total(busy),
        "idle_ns": _idle_by_reason(gaps, window),
        "parts_ns": _parts(span, window),
    }


def _around(span: Span, window: Pair) -> Span:
    """Keeps only rows that overlap the window."""
    start, end = window
    return replace(span, rows=[row for row in span.rows if row.start_ns < end and row.end_ns > start])


def _idle_by_reason(gaps: list[Gap], window: Pair) -> dict[str, int]:
    reasons = dict.fromkeys(("data_loading", "blocking", "host_late", "launch_latency", "queued", "tail"), 0)
    for gap in gaps:
        reasons[gap.reason] += max(0, min(gap.end_ns, window[1]) - max(gap.start_ns, window[0]))
    return reasons


def _parts(span: Span, window: Pair) -> dict[str, int]:
    """The parts of the breakdown that do not depend on what counts as CPU work; in order of priority."""
    rest, parts = [window], {}
    layers = {
        "kernel": _pairs(span, lambda row: row.category == "kernel"),
        "memcpy": _pairs(span, lambda row: row.category == "gpu_memcpy"),
        "memset": _pairs(span, lambda row: row.category == "gpu_memset"),
        "runtime": _pairs(span, lambda row: row.category == "cuda_runtime"),
        "data_loader": _pairs(span, lambda row: row.name.startswith("enumerate(DataLoader)")),
    }
    for part, pairs in layers.items():
        parts[part] = total(both(rest, pairs))
        rest = without(rest, pairs)
    return {**parts, "cpu_and_other": total(rest)}


def _gpu_truth(training: Training, span: Span, window: Pair) -> dict[str, Any]:
    kernels = [row for row in span.rows if row.category == "kernel"]
    length = window[1] - window[0]
    filled = math.fsum(_blocks_share(row, training.gpu.sm_count) * (row.end_ns - row.start_ns) for row in kernels)
    kernel_ns = sum(row.end_ns - row.start_ns for row in kernels)
    tensor = [row for row in kernels if row.activity and row.activity.tensor_core]
    return {
        "utilization": kernel_ns / length,
        "est_sm_efficiency": filled / length,
        "kernel_ns": kernel_ns,
        "tensor_core_ns": sum(row.end_ns - row.start_ns for row in tensor),
    }


def _blocks_share(row: Row, sm_count: int) -> float:
    assert row.activity
    x, y, z = row.activity.grid
    return min(1.0, x * y * z / sm_count)


def _mean(steps: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = ("duration_ns", "host_ns", "wait_ns", "exposed_ns", "hidden_ns", "gpu_busy_ns", "gpu_idle_ns")
    means: dict[str, Any] = {key: sum(step[key] for step in steps) // len(steps) for key in numbers}
    for group in ("idle_ns", "parts_ns"):
        means[group] = {key: sum(step[group][key] for step in steps) // len(steps) for key in steps[0][group]}
    return means


def _activities(span: Span) -> list[Row]:
    return [row for row in span.rows if row.category in DEVICE]


def _pairs(span: Span, chosen: Callable[[Row], bool]) -> list[Pair]:
    return [(row.start_ns, row.end_ns) for row in span.rows if chosen(row)]
