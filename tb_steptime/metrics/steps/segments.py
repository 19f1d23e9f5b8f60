"""The mean step as one bar, work before waiting, and which of its segments are longer in slow steps.

|kernel|communication|memory|  data loading, blocking, allocator, CPU by phase, nothing recorded, latency, gaps  |
 works                       waits
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.idle.reasons import EXCLUDED, IDLE_MEANINGS, IdleNs
from tb_steptime.metrics.means import slow
from tb_steptime.metrics.phases.assignment import PHASES
from tb_steptime.metrics.phases.marks import PhaseId
from tb_steptime.metrics.steps.mean_step import StepAggregates
from tb_steptime.metrics.steps.parts import PART_MEANINGS, Parts
from tb_steptime.trace.steps import Step
from tb_steptime.trace.table import Int64, median

#: Phases with a segment of CPU work of their own; the rest are one.
_CPU_PHASES: tuple[PhaseId, ...] = ("forward", "backward", "optimizer")

#: Labels and colours of parts and reasons: a segment is one of them, or several.
_MEANINGS = {each.id: each for each in (*IDLE_MEANINGS, *PART_MEANINGS)}

#: A segment has grown if it accounts for this share of a slow step's extra time.
GROWN_FRACTION = 0.05


class Segment(msgspec.Struct, frozen=True):
    """A part of the mean step as the view draws it: one field of `Parts`, or one or several of `IdleNs`. The segments
    sum to the mean step. works: the device works; reasons: if it does not, the reasons in IdleNs for which it is idle.
    """

    id: str
    label: str
    ns: int
    colour: str
    hatched: bool
    works: bool
    reasons: tuple[str, ...] = ()


class GrownPart(msgspec.Struct, frozen=True):
    """A segment of the step, and how much longer it is than usual."""

    id: str
    label: str
    excess_ns: int


class Grown(msgspec.Struct, frozen=True):
    """A slow step, and what is longer in it than in the median of the others, most first. excess_ns: step time above
    that median."""

    step: str
    start_ns: int
    end_ns: int
    excess_ns: int
    grown: list[GrownPart]


def segments(aggregates: StepAggregates, step: int, labels: Mapping[PhaseId, str]) -> list[Segment]:
    """The segments of a step in the order of every picture, including empty ones. labels: of the phases."""
    works, idle = aggregates.works_of(step), aggregates.idle_of(step)
    cpu = {phase: aggregates.of_reason(step, "cpu_work", PHASES.index(phase)) for phase in _CPU_PHASES}
    return [
        _part("kernel", works.kernel),
        _part("communication", works.communication),
        replace(_part("memcpy", works.memory), id="memory", label="Memory"),
        *(_wait(reason, getattr(idle, reason)) for reason in ("data_loading", "blocking_call", "allocator")),
        *(_cpu(phase, labels[phase], ns) for phase, ns in cpu.items()),
        _cpu("other", labels["other"], idle.cpu_work - sum(cpu.values())),
        *_gaps(idle),
    ]


def _gaps(idle: IdleNs) -> list[Segment]:
    gap = _wait("dependency", idle.queued + idle.dependency)
    return [
        _wait("nothing_recorded", idle.nothing_recorded),
        _wait("launch_latency", idle.launch_latency),
        replace(gap, id="gap", label="Gap, dependency", reasons=("queued", "dependency")),
        *(
            _wait(reason, getattr(idle, reason))
            for reason in ("collective_wait", "unrecorded_work", "unknown", "tail", *EXCLUDED)
        ),
    ]


def _part(id: str, ns: int) -> Segment:
    """A part of the step in which the device, or the host of a job without one, works."""
    meaning = _MEANINGS[id]
    return Segment(id, meaning.label, ns, meaning.colour, meaning.hatched, True)


def _wait(reason: str, ns: int) -> Segment:
    """Time in which the device is idle for this reason."""
    meaning = _MEANINGS[reason]
    return Segment(reason, meaning.label, ns, meaning.colour, meaning.hatched, False, (reason,))


def _cpu(phase: str, label: str, ns: int) -> Segment:
    return replace(_wait("cpu_work", ns), id=f"cpu_{phase}", label=f"CPU, {label.lower()}")


def slow_steps(
    steps: tuple[Step, ...], lengths: Int64, aggregates: StepAggregates, labels: Mapping[PhaseId, str]
) -> list[Grown]:
    """Steps that are outliers above the rest, longest first, by judged length. labels: of the phases."""
    return _slow_of(steps, lengths, lambda row: segments(aggregates, row, labels))


def slow_steps_of_host(steps: tuple[Step, ...], lengths: Int64, parts: tuple[Parts, ...]) -> list[Grown]:
    """The same for a job without GPU activity."""
    return _slow_of(steps, lengths, lambda row: _of_host(parts[row]))


def _of_host(parts: Parts) -> list[Segment]:
    return [
        _wait("data_loading", parts.data_loader),
        _part("communication", parts.communication),
        _part("cpu_exec", parts.cpu_exec + parts.runtime),
        _wait("nothing_recorded", parts.other),
    ]


def _slow_of(steps: tuple[Step, ...], lengths: Int64, segments_of: Callable[[int], list[Segment]]) -> list[Grown]:
    """The slow steps, and what is longer in each. segments_of: returns the segments of a step, by its place."""
    rows = np.flatnonzero(slow(lengths)).tolist()
    rows.sort(key=lambda row: -lengths[row])
    if not rows:
        return []
    others = np.setdiff1d(np.arange(len(steps)), rows, assume_unique=True).tolist()
    alike = zip(*(segments_of(row) for row in others), strict=True)
    usual = [round(median([each.ns for each in one])) for one in alike]
    usual_ns = median(lengths[others])
    return [_grown(steps[row], int(lengths[row] - usual_ns), segments_of(row), usual) for row in rows]


def _grown(step: Step, excess_ns: int, own: list[Segment], usual: list[int]) -> Grown:
    """What is longer in a step. own: its segments; usual: the median of each segment in the other steps."""
    parts = [
        GrownPart(each.id, each.label, each.ns - ns)
        for each, ns in zip(own, usual, strict=True)
        if each.id not in EXCLUDED
    ]
    parts = [part for part in parts if part.excess_ns >= max(1, GROWN_FRACTION * excess_ns)]
    parts.sort(key=lambda part: -part.excess_ns)
    return Grown(step.name, step.start_ns, step.end_ns, excess_ns, parts)
