"""The peak memory of a training, in the recording and in each step: the instants at which most is allocated and most
is reserved, with the step and phase of the host.

step        0000  1111
allocated   2  5  9  4        peak: 9, at its first instant; of the steps 5, 9
reserved    8  8 12 12        peak: 12; at any instant reserved - allocated is cached and not used
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.memory.allocations import moments
from tb_steptime.metrics.memory.devices import CPU, NO_TOTALS, NOT_RECORDED, Place, curve, memory_devices
from tb_steptime.metrics.phases.assignment import PHASES
from tb_steptime.metrics.phases.marks import PhaseId
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.windows import Step
from tb_steptime.trace.table import Int64


class MemoryPeak(msgspec.Struct, frozen=True):
    """The first instant at which most memory is allocated, or reserved.

    row              row of the memory table
    step             None outside of all steps
    reserved_bytes   bytes that are reserved at that instant; None without a caching allocator
    """

    row: int
    at_ns: int
    step: str | None
    phase: PhaseId
    allocated_bytes: int
    reserved_bytes: int | None


def allocated_peak(trace: Trace, place: Place) -> MemoryPeak:
    return _at(trace, place, int(curve(trace, place).allocated.argmax()))


def reserved_peak(trace: Trace, place: Place) -> MemoryPeak | None:
    """The reserved peak; None without a caching allocator."""
    reserved = curve(trace, place).reserved
    return None if reserved is None else _at(trace, place, int(reserved.argmax()))


def step_peaks(trace: Trace, place: Place) -> list[int]:
    """Maximum allocated bytes in each step, by the host's marks."""
    of = curve(trace, place)
    steps = find_steps(trace).steps
    return [_most(of.at(np.array([step.host_start_ns])), of.allocated, *_rows(of.ts, step)) for step in steps]


def step_reserved_peaks(trace: Trace, place: Place) -> list[int | None]:
    """Maximum reserved bytes in each step; None before the allocator's first event, and without a caching allocator."""
    of, steps = curve(trace, place), find_steps(trace).steps
    if of.reserved is None:
        return [None] * len(steps)
    rows = [_rows(of.ts, step) for step in steps]
    return [int(of.reserved[max(first - 1, 0) : past].max()) if past else None for first, past in rows]


def _rows(ts: Int64, step: Step) -> tuple[int, int]:
    first, past = np.searchsorted(ts, [step.host_start_ns, step.host_end_ns])
    return int(first), int(past)


def _most(at_start: Int64, allocated: Int64, first: int, past: int) -> int:
    return int(np.append(allocated[first:past], at_start).max())


def _at(trace: Trace, place: Place, number: int) -> MemoryPeak:
    of = curve(trace, place)
    here = moments(trace, of.row[number : number + 1])
    step = int(here.step[0])
    return MemoryPeak(
        row=int(of.row[number]),
        at_ns=int(of.ts[number]),
        step=find_steps(trace).steps[step].name if step >= 0 else None,
        phase=PHASES[here.phase[0]],
        allocated_bytes=int(of.allocated[number]),
        reserved_bytes=None if of.reserved is None else int(of.reserved[number]),
    )


NOTHING_RESERVED = Reason("memory_not_reserved")
_OF = "Of the GPU that has most; of the CPU where the recording has no GPU. Recorded with profile_memory=True."

PEAK_ALLOCATED = Metric(
    "peak_allocated", "Peak memory", Unit.BYTES,
    f"Most that tensors and workspaces have allocated at one time, in the recording and in each step. {_OF}",
)  # fmt: skip
PEAK_RESERVED = Metric(
    "peak_reserved", "Peak reserved memory", Unit.BYTES,
    f"Most that PyTorch's caching allocator holds of the GPU, used or not. {_OF}", short="Peak reserved",
)  # fmt: skip


def peak_allocated(trace: Trace) -> Figure:
    place = memory_place(trace)
    if place is None:
        return unknown(trace, NOT_RECORDED)
    of = curve(trace, place)
    return Figure(int(of.allocated.max()), tuple(step_peaks(trace, place))) if of.whole else unknown(trace, NO_TOTALS)


def peak_reserved(trace: Trace) -> Figure:
    place = memory_place(trace)
    if place is None:
        return unknown(trace, NOT_RECORDED)
    reserved = curve(trace, place).reserved
    if reserved is None:
        return unknown(trace, NOTHING_RESERVED)
    return Figure(int(reserved.max()), tuple(step_reserved_peaks(trace, place)))


def memory_place(trace: Trace) -> Place | None:
    """The device whose memory represents the training: the GPU with the highest peak, or the CPU if no GPU works. None
    if memory was not recorded."""
    places = memory_devices(trace)
    gpus = [place for place in places if place.type != CPU]
    if gpus:
        return max(gpus, key=lambda place: int(curve(trace, place).allocated.max()))
    return None if has_device_activity(trace) else next(iter(places), None)
