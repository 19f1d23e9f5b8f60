"""Steps less their excess: what a step takes when nothing happens in it that does not repeat.

An instant of a step has excess where a stream that is too long is the only one that works, or where a host thread is
too long and no device works. This is exact where one of the two sets the pace, and an estimate where a queue hides a
part of the host's excess.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.trace.intervals import Intervals, partition
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import is_in


class StepExcess(msgspec.Struct, frozen=True):
    """One step, ns. steady_ns and the excess of all kinds sum to the step's length; by_kind has a kind's id as key and
    leaves out those without any."""

    name: str
    steady_ns: int
    by_kind: dict[str, int]


class ExcessSite(msgspec.Struct, frozen=True):
    """Excess of one kind in events of one name, over the recording, ns."""

    kind: str
    name: str
    total_ns: int
    count: int


def step_excess(trace: Trace, excess: Excess) -> list[StepExcess]:
    """Of each step, in time order."""
    steps = find_steps(trace)
    window = Intervals.union(steps.start_ns, steps.end_ns)
    parts = partition(window, [_deciding(trace, excess, kind) for kind in ExcessKind])
    overlap = np.array([part.overlap_ns(steps.start_ns, steps.end_ns) for part in parts])
    return [
        StepExcess(
            step.name,
            int(overlap[-1, place]),
            {kind.name.lower(): int(overlap[kind, place]) for kind in ExcessKind if overlap[kind, place]},
        )
        for place, step in enumerate(steps.steps)
    ]


def _deciding(trace: Trace, excess: Excess, kind: ExcessKind) -> Intervals:
    """When excess of this kind makes the step longer."""
    devices = devices_with_activity(trace)
    busy = Intervals.empty()
    for device in devices:
        busy = busy | busy_intervals(trace, device)
    threads = (*training_threads(trace), *autograd_threads(trace))
    on_device = trace.events.device[np.maximum(excess.event, 0)] >= 0
    host = excess.where(is_in(excess.track, threads) & ~on_device).intervals(kind) - busy
    return host | excess.where(on_device).intervals(kind)


def largest_sites(trace: Trace, excess: Excess, most: int = 3) -> list[ExcessSite]:
    """The names with most excess, most first, each with one kind."""
    sums: dict[tuple[int, int], list[int]] = {}
    for kind, event, length in zip(excess.kind.tolist(), excess.event.tolist(), excess.dur_ns.tolist(), strict=True):
        name = int(trace.events.name[event]) if event >= 0 else -1
        total = sums.setdefault((kind, name), [0, 0])
        total[0] += length
        total[1] += 1
    rows = sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))[:most]
    return [
        ExcessSite(ExcessKind(kind).name.lower(), trace.strings[name] if name >= 0 else "", total, count)
        for (kind, name), (total, count) in rows
    ]
