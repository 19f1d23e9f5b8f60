"""How far the host is ahead of the device: run-ahead of each launch, queue depth over time, launches held up by a full
queue.

    host     [a][b][c]                     run-ahead of c = its start - its launch call's start
    device       aaaaabbbbbccccc           queue depth = launched - started, of all streams
    depth    1223 2....1....0
"""

from __future__ import annotations

import msgspec


class LaunchFigures(msgspec.Struct, frozen=True):
    """Of the whole span. A launch is a call that launched anything; with CUDA graphs one launch starts many activities.

    calls, activities: per step. call_p50_ns: median length of a launch call. delay_p50_ns: median of max(0, start - end
    of the launch call). starved_share: activities whose run-ahead is 15 us or less. unlinked: activities without launch
    record, in the steps. queue_mean, queue_max: of all streams, over the window; empty_share: of the time with nothing
    queued. graphs: launches of captured graphs per step.
    """

    calls: float
    activities: float
    call_p50_ns: int | None
    delay_p50_ns: int | None
    run_ahead_p50_ns: int | None
    starved_share: float | None
    unlinked: int
    queue_mean: float
    queue_max: int
    empty_share: float
    graphs: float


class BackPressure(msgspec.Struct, frozen=True):
    """Launch calls that began with the queue full and had to wait for room: per step, and their share of host time."""

    calls: float
    held_ns: int
    share: float
    queue_limit: int


class QueueLevel(msgspec.Struct, frozen=True):
    """The queue at one resolution, one entry per bin from the window's start on: mean depth in thousandths, and the
    peak."""

    bin_ns: int
    mean_permille: list[int]
    peak: list[int]
