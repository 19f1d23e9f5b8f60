"""The mean step as one bar, what works before what waits, and which of its pieces are longer in slow steps.

|kernel|communication|memory|  data loading, blocking, allocator, CPU by phase, nothing recorded, latency, gaps  |
 works                       waits
"""

from __future__ import annotations

import statistics

import msgspec
import numpy as np

from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.outliers import slow
from tb_steptime.metrics.phases.assignment import PHASES
from tb_steptime.metrics.steps.mean_step import Cells
from tb_steptime.trace.steps import Step

#: Phases with a piece of CPU work of their own; the rest are one.
_CPU_PHASES = ("forward", "backward", "optimizer")

#: A piece has grown if it holds this share of what a slow step takes longer.
GROWN_FRACTION = 0.05


class Piece(msgspec.Struct, frozen=True):
    """A stretch of the mean step as the view draws it; the pieces sum to the mean step. works: the device works;
    reasons: for which it is idle where it does not, as in IdleNs."""

    id: str
    label: str
    ns: int
    colour: str
    hatched: bool
    works: bool
    reasons: tuple[str, ...] = ()


class GrownPart(msgspec.Struct, frozen=True):
    """A piece of the step, and how much longer it is than usual."""

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


def pieces(cells: Cells, step: int) -> list[Piece]:
    """The pieces of a step in the order of every picture, those without length too."""
    works, idle = cells.works_of(step), cells.idle_of(step)
    cpu = {phase: cells.of_reason(step, "cpu_work", PHASES.index(phase)) for phase in _CPU_PHASES}
    return [
        Piece("kernel", "Kernel", works.kernel, "kernel", False, True),
        Piece("communication", "Communication", works.communication, "comm", False, True),
        Piece("memory", "Memory", works.memory, "copy", False, True),
        _wait("data_loading", "Data loading", idle.data_loading, "data"),
        _wait("blocking_call", "Blocking call", idle.blocking_call, "blocking"),
        _wait("allocator", "Allocator", idle.allocator, "blocking", hatched=True),
        *(_cpu(phase, ns) for phase, ns in cpu.items()),
        _cpu("other", idle.cpu_work - sum(cpu.values())),
        *_gaps(idle),
    ]


def _gaps(idle: IdleNs) -> list[Piece]:
    return [
        _wait("nothing_recorded", "Nothing recorded", idle.nothing_recorded, "other"),
        _wait("launch_latency", "Launch latency", idle.launch_latency, "runtime"),
        _wait("gap", "Gap, dependency", idle.queued + idle.dependency, "comm", True, ("queued", "dependency")),
        _wait("unknown", "Unknown", idle.unknown, "other", hatched=True),
        _wait("tail", "Tail", idle.tail, "other", hatched=True),
    ]


def _cpu(phase: str, ns: int) -> Piece:
    return _wait(f"cpu_{phase}", f"CPU, {phase}", ns, "cpu", reasons=("cpu_work",))


def _wait(
    id: str, label: str, ns: int, colour: str, hatched: bool = False, reasons: tuple[str, ...] | None = None
) -> Piece:
    return Piece(id, label, ns, colour, hatched, False, reasons or (id,))


def slow_steps(steps: tuple[Step, ...], cells: Cells) -> list[Grown]:
    """Outliers above the rest, longest first. The pieces of a step without a device are not known: nothing grew."""
    lengths = np.array([step.duration_ns for step in steps], np.int64)
    rows = np.flatnonzero(slow(lengths)).tolist()
    rows.sort(key=lambda row: -lengths[row])
    others = [row for row in range(len(steps)) if row not in rows]
    of_step = [pieces(cells, row) for row in range(len(steps))] if rows else []
    return [_grown(steps, of_step, row, others) for row in rows]


def _grown(steps: tuple[Step, ...], of_step: list[list[Piece]], row: int, others: list[int]) -> Grown:
    step = steps[row]
    excess_ns = step.duration_ns - round(statistics.median(steps[other].duration_ns for other in others))
    parts = [
        GrownPart(
            piece.id, piece.label, piece.ns - round(statistics.median(of_step[other][place].ns for other in others))
        )
        for place, piece in enumerate(of_step[row])
    ]
    parts = [part for part in parts if part.excess_ns >= max(1, GROWN_FRACTION * excess_ns)]
    parts.sort(key=lambda part: -part.excess_ns)
    return Grown(step.name, step.start_ns, step.end_ns, excess_ns, parts)
