"""Waiting for the DataLoader: how long, and how much of it leaves the GPU idle.

loader   llllll      llll
device      kkkkkkkk     kkk
exposed  eee         eeee        the device has nothing to do
hidden      hhh                  the device works on what was launched before

Lanes show the loader, the host and the device through two typical steps: the pattern, and its repetition.

loader   llll......lll.......
cpu      ....cccccc...ccccccc
gpu      .....ggggg....gggggg
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity, has_device_activity
from tb_steptime.trace.host_ranges import host_ranges, iterator_of, loader_intervals, loader_rows
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


class LoaderWaits(msgspec.Struct, frozen=True, eq=False):
    """ns per step, int64, one entry per step: wait = exposed + hidden."""

    wait_ns: Int64
    exposed_ns: Int64
    hidden_ns: Int64


@shared
def device_busy(trace: Trace) -> Intervals:
    """When any device of this process is busy: kernels, copies, sets, collectives."""
    return Intervals.joined(busy_intervals(trace, device) for device in devices_with_activity(trace))


@shared
def work_from_before(trace: Trace) -> Intervals:
    """When any device runs work that was launched before the recording, whether or not the launch was seen."""
    return Intervals.joined(excluded_time(trace, device).before_recording for device in devices_with_activity(trace))


@shared
def exposed_waits(trace: Trace) -> Intervals:
    """When the main process waits for a batch and no device works, in the judged time: not while one runs work from
    before the recording. Without a device every wait is exposed."""
    return loader_intervals(trace) - device_busy(trace) - work_from_before(trace)


@shared
def loader_waits(trace: Trace) -> LoaderWaits | None:
    """Recorded waits per step; None if the trace has no loader events (another loader, or none)."""
    if not len(loader_rows(trace)):
        return None
    steps = find_steps(trace)
    wait = steps.overlap_ns(loader_intervals(trace))
    exposed = steps.overlap_ns(loader_intervals(trace) - device_busy(trace))
    return LoaderWaits(wait, exposed, wait - exposed)


def judged_exposed_ns(trace: Trace, exposed_ns: int) -> int:
    """The judged part of the mean step's exposed wait, in ns."""
    steps, waits = find_steps(trace), loader_intervals(trace) - device_busy(trace)
    hidden = steps.overlap_ns(waits & work_from_before(trace))
    return exposed_ns - int(hidden.sum()) // len(steps.steps)


def loader_iterators(trace: Trace) -> tuple[str, ...]:
    """Distinct iterator classes in order of first wait, such as `_SingleProcessDataLoaderIter`."""
    names = dict.fromkeys(trace.strings[int(name)] for name in trace.events.name[loader_rows(trace)])
    return tuple(iterator_of(name) for name in names)


def is_multiprocess(iterators: tuple[str, ...]) -> bool | None:
    """Whether worker processes produce the batches; None if the class's name does not show it (a subclass)."""
    kinds = {("Multi" in name, "Single" in name) for name in iterators}
    if kinds == {(True, False)}:
        return True
    return False if kinds == {(False, True)} else None


class LoaderStep(msgspec.Struct, frozen=True):
    """wait_ns = exposed_ns + hidden_ns: the loader's intervals within the step, without and with device work beside."""

    name: str
    duration_ns: int
    wait_ns: int
    exposed_ns: int
    hidden_ns: int


def loader_steps(trace: Trace, waits: LoaderWaits) -> list[LoaderStep]:
    columns = (waits.wait_ns.tolist(), waits.exposed_ns.tolist(), waits.hidden_ns.tolist())
    steps = find_steps(trace).steps
    return [LoaderStep(step.name, step.duration_ns, *row) for step, *row in zip(steps, *columns, strict=True)]


def mean_of(rows: list[LoaderStep]) -> LoaderStep:
    """Means in whole ns; wait is the sum of the other two, so that the parts still add up."""
    duration, exposed, hidden = (
        round(sum(getattr(row, column) for row in rows) / len(rows))
        for column in ("duration_ns", "exposed_ns", "hidden_ns")
    )
    return LoaderStep("mean", duration, exposed + hidden, exposed, hidden)


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
