"""The loader, the host and the device through two typical steps: the pattern, and its repetition.

loader   llll......lll.......
cpu      ....cccccc...ccccccc
gpu      .....ggggg....gggggg
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.waits import device_busy, exposed_waits
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.trace.host_ranges import host_ranges, loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: Number of steps in the picture: enough to show the pattern and that it repeats.
LANE_STEPS = 2
#: Gaps shorter than this share of the window are closed in the picture, as more segments than pixels are useless.
LANE_GAP_FRACTION = 0.001
#: Maximum number of waits that are drawn one by one. If there are more, gaps that no pixel could show are closed as in
#: the other lanes.
MOST_WAITS = 2_000

LaneId = Literal["loader", "cpu", "gpu"]


class Lane(msgspec.Struct, frozen=True):
    """One lane of the picture of two steps. id: loader, cpu or gpu. start_ns, end_ns: disjoint intervals; hatched says
    for each whether it is the second sense of the lane's colour (a wait that is hidden)."""

    id: LaneId
    label: str
    start_ns: list[int]
    end_ns: list[int]
    hatched: list[bool]


class LaneWindow(msgspec.Struct, frozen=True):
    """A range of the span in which the pattern shows, by steps. Times are relative to the span's origin."""

    start_ns: int
    end_ns: int
    steps: list[str]
    marks_ns: list[int]
    lanes: list[Lane]


def lane_window(trace: Trace, waits_ns: Int64) -> LaneWindow | None:
    """The loader, the host and, where one is recorded, the device through two typical steps."""
    if len(waits_ns) < LANE_STEPS:
        return None
    first = _typical_pair(waits_ns)
    steps = find_steps(trace).steps[first : first + LANE_STEPS]
    low, high = steps[0].start_ns, steps[-1].end_ns
    loader, exposed = loader_intervals(trace), exposed_waits(trace)
    lanes = [
        _loader_lane(*_drawn(exposed.clip(low, high), (loader - exposed).clip(low, high), high - low)),
        _lane("cpu", "CPU work", host_ranges(trace).clip(low, high) - loader, high - low),
    ]
    if has_device_activity(trace):  # an empty lane would suggest that the device is idle
        lanes.append(_lane("gpu", "GPU", device_busy(trace).clip(low, high), high - low))
    return LaneWindow(
        start_ns=low,
        end_ns=high,
        steps=[step.name for step in steps],
        marks_ns=[step.start_ns for step in steps],
        lanes=lanes,
    )


def _typical_pair(waits_ns: Int64) -> int:
    """The two adjacent steps whose waits are nearest to the mean: not the first batch, not an outlier. If long waits
    recur (bursts), not two steps between them."""
    waits = waits_ns.astype(np.float64)
    distance = np.abs(waits - waits.mean())
    both = distance[:-1] + distance[1:]
    if (waits[1:] >= waits.mean()).any():
        both[np.maximum(waits[:-1], waits[1:]) < waits.mean()] = np.inf
    return int(both.argmin())


def _drawn(exposed: Intervals, hidden: Intervals, window_ns: int) -> tuple[Intervals, Intervals]:
    """Both unchanged; or, if there are too many waits, closed, with those that cost GPU time in front."""
    if len(exposed) + len(hidden) <= MOST_WAITS:
        return exposed, hidden
    exposed = _closed(exposed, window_ns)
    return exposed, _closed(hidden, window_ns) - exposed


def _loader_lane(exposed: Intervals, hidden: Intervals) -> Lane:
    start = np.concatenate((exposed.start, hidden.start))
    end = np.concatenate((exposed.end, hidden.end))
    hatched = np.repeat([False, True], [len(exposed), len(hidden)])
    order = np.argsort(start, kind="stable")
    return Lane("loader", "Loader", start[order].tolist(), end[order].tolist(), hatched[order].tolist())


def _lane(lane: LaneId, label: str, busy: Intervals, window_ns: int) -> Lane:
    """A lane in which gaps that no pixel could show are closed."""
    drawn = _closed(busy, window_ns)
    return Lane(lane, label, drawn.start.tolist(), drawn.end.tolist(), [False] * len(drawn))


def _closed(busy: Intervals, window_ns: int) -> Intervals:
    gap = round(LANE_GAP_FRACTION * window_ns)
    closed = Intervals.union(busy.start, busy.end + gap)
    return Intervals(closed.start, closed.end - gap)
