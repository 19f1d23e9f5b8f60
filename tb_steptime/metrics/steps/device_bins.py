"""The device beside its queue, in the same time bins: its activity, and how far the host is ahead of it.

queue    |1 2 3 2 1 0 0 0 |0 1 1 0 ..|
device   |kkkkkkkkkk      |  cc   kk |     compute, communication, copies: exact overlap, an instant counts once
ahead    |   40 us        |   12 us  |     mean of the activities that start in the bin
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from tb_steptime.metrics.launches.queue import QueueLevel
from tb_steptime.metrics.steps.mean_step import kinds_of_work
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64


class DeviceLevel(msgspec.Struct, frozen=True):
    """One resolution, one entry per bin from the window's start on, in thousandths of the bin: computing kernels,
    collectives where no kernel computes, copies where no kernel runs. run_ahead_ns: mean over the activities that start
    in the bin, None where none does."""

    bin_ns: int
    kernel_permille: list[int]
    communication_permille: list[int]
    copy_permille: list[int]
    run_ahead_ns: list[int | None]


#: Number of activities that are counted at a time, to avoid arrays as long as all of them.
_CHUNK = 1 << 18


def device_levels(trace: Trace, device: int, queue: Sequence[QueueLevel]) -> list[DeviceLevel]:
    """The device in the bins of each level of the queue, whose bins are multiples of the finest level's."""
    if not queue:
        return []
    low, high = find_steps(trace).window
    kinds = kinds_of_work(trace, device)
    finest_ns = queue[-1].bin_ns
    count, ahead = _run_ahead(trace, device, low, high, finest_ns)
    levels = []
    for bin_ns in (level.bin_ns for level in queue):
        starts = np.arange(low, high, bin_ns, dtype=np.int64)
        joined = np.arange(0, len(count), bin_ns // finest_ns)
        means = _means(np.add.reduceat(count, joined), np.add.reduceat(ahead, joined))
        kernel, communication, copy = _permille(kinds, starts, np.minimum(starts + bin_ns, high))
        levels.append(DeviceLevel(bin_ns, kernel, communication, copy, means))
    return levels


def _permille(kinds: Sequence[Intervals], starts: Int64, ends: Int64) -> list[list[int]]:
    return [(1000 * kind.overlap_ns(starts, ends) // np.maximum(ends - starts, 1)).tolist() for kind in kinds]


def _means(count: Int64, total_ns: Int64) -> list[int | None]:
    means = (total_ns // np.maximum(count, 1)).tolist()
    return [mean if known else None for mean, known in zip(means, (count > 0).tolist(), strict=True)]


def _run_ahead(trace: Trace, device: int, low: int, high: int, bin_ns: int) -> tuple[Int64, Int64]:
    """Per bin: the device's activities that start in it, and the sum of their run-ahead, ns."""
    events, launches = trace.events, find_launches(trace)
    bins = -(-(high - low) // bin_ns)
    count, total = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    for first in range(0, len(launches.activity), _CHUNK):
        activity, call = launches.activity[first : first + _CHUNK], launches.call[first : first + _CHUNK]
        start = events.start_ns[activity]
        wanted = (events.device[activity] == device) & (call >= 0) & (start >= low) & (start < high)
        place = (start[wanted] - low) // bin_ns
        ahead = np.maximum(start[wanted] - events.start_ns[call[wanted]], 0)
        count += np.bincount(place, minlength=bins)
        total += exact_sums(place, ahead, bins)
    return count, total
