"""One process that drives several GPUs: whether they work at the same time, and which call blocks which of them.

thread [sync of gpu0][a][sync of gpu1]
gpu0   kkkkkkkkkkkkk     .............  blocked by the synchronize of gpu1      concurrency = sum of busy / busy of
gpu1   .............  aaaaaaaaaaaaaaaa  blocked by the synchronize of gpu0      the union: 1 in series, D perfect

A group of blocking calls belongs to the device of its copy, or else to the one on which its thread launched last. While
it lasts, it blocks every other device that is idle, except one that a group of its own blocks at that moment. If
several groups last, the one that began first counts, so no idle time counts twice.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.metrics.host.blocking_calls import BlockingGroups, blocking_groups
from tb_steptime.metrics.idle.gaps import idle_outside_loader
from tb_steptime.trace.intervals import BEFORE_ALL, Intervals
from tb_steptime.trace.model import Trace, find_launches, in_order_of_calls
from tb_steptime.trace.ops import op_at
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Int64, distinct_in

#: Maximum number of rows in the table.
BLOCKERS = 20
#: A process does not drive a device with less than this share of the busiest one's work. A library has merely been
#: initialised there.
DRIVEN_FRACTION = 0.01
#: Maximum position between one device at a time (0) and all devices at once (1) at which the devices count as working
#: one after another.
SERIAL_FRACTION = 0.25


class Blocker(msgspec.Struct, frozen=True):
    """An op for one device that blocks the launching thread while another device is idle. idle_ns: idle time of that
    other device per step."""

    op: str
    by_device: int
    idle_device: int
    idle_ns: int


class SeveralDevices(msgspec.Struct, frozen=True):
    """How the devices of a process work together.

    concurrency     mean number of devices that work, over the time in which any does
    busy_ns         time per step in which each device works
    union_busy_ns   time per step in which any of them works
    blockers        the ops that block, most idle time first
    """

    devices: list[int]
    concurrency: float
    busy_ns: list[int]
    union_busy_ns: int
    blockers: list[Blocker]

    @property
    def in_series(self) -> bool:
        """Whether the devices work one after another."""
        return self.concurrency - 1 <= SERIAL_FRACTION * (len(self.devices) - 1)


def several_devices(trace: Trace, chosen: Steps | None = None) -> SeveralDevices | None:
    """Returns the comparison; None if the process drives at most one device. chosen: None for all steps."""
    steps = chosen or find_steps(trace)
    windows, count = steps.intervals, len(steps.steps)
    works = {device: busy_intervals(trace, device) & windows for device in devices_with_activity(trace)}
    least_ns = DRIVEN_FRACTION * max((each.total_ns for each in works.values()), default=0)
    devices = tuple(device for device, each in works.items() if each.total_ns >= least_ns)
    if len(devices) < 2:
        return None
    busy = [works[device] for device in devices]
    total, union = sum(each.total_ns for each in busy), Intervals.joined(busy).total_ns
    return SeveralDevices(
        devices=list(devices),
        concurrency=total / union if union else 0.0,
        busy_ns=[each.total_ns // count for each in busy],
        union_busy_ns=union // count,
        blockers=_blockers(trace, devices, steps),
    )


def _blockers(trace: Trace, devices: tuple[int, ...], steps: Steps) -> list[Blocker]:
    """Returns the blockers, most idle time first. A call outside any op is listed by its own name."""
    groups, by = blocking_groups(trace), group_devices(trace)
    op = op_at(trace, groups.call)
    name = trace.events.name[np.where(op >= 0, op, groups.call)]
    blocked: dict[tuple[int, int, int], int] = {}
    for device in devices:
        idle = np.where(steps.holding(groups.start) >= 0, _blocked_ns(trace, groups, by, device), 0)
        for place in np.flatnonzero(idle).tolist():
            key = (int(name[place]), int(by[place]), device)
            blocked[key] = blocked.get(key, 0) + int(idle[place])
    count = len(steps.steps)
    rows = [Blocker(trace.strings[op], by, device, ns // count) for (op, by, device), ns in blocked.items()]
    return sorted(rows, key=lambda row: (-row.idle_ns, row.op, row.by_device, row.idle_device))[:BLOCKERS]


def _blocked_ns(trace: Trace, groups: BlockingGroups, by: Int64, device: int) -> Int64:
    """Returns for each group the idle time of the device for which it is responsible."""
    own = by == device
    others = np.flatnonzero(~own & (by >= 0))
    idle = idle_outside_loader(trace, device) - Intervals.union(groups.start[own], groups.end[own])
    reach = np.maximum.accumulate(groups.end[others])
    start = np.maximum(groups.start[others], np.append(BEFORE_ALL, reach)[: len(others)])
    blocked = np.zeros(len(groups), np.int64)
    blocked[others] = idle.overlap_ns(start, np.maximum(groups.end[others], start))
    return blocked


def group_devices(trace: Trace) -> Int64:
    """Returns for each of `blocking_groups` the device for which it waits; -1 if its thread had launched nothing."""
    groups = blocking_groups(trace)
    events = trace.events
    launches = find_launches(trace)
    linked = in_order_of_calls(trace, np.arange(len(launches.call)))
    call, device = launches.call[linked], events.device[launches.activity[linked]]
    thread, of_call = events.thread[call], np.full(len(groups), -1, np.int64)
    for number in distinct_in(events.thread[groups.call]).tolist():
        on_thread = events.thread[groups.call] == number
        before = np.searchsorted(call[thread == number], groups.call[on_thread])
        of_call[on_thread] = np.append(-1, device[thread == number])[before]
    return np.where(groups.copy >= 0, events.device[launches.activity[groups.copy]], of_call)
