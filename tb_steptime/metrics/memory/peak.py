"""The peak memory of a training, in the recording and in each step. These are the instants at which most is allocated
and most is reserved, with the step and phase of the host.

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
from tb_steptime.metrics.memory.curves import CPU, NO_TOTALS, NOT_RECORDED, Place, curve, memory_devices
from tb_steptime.metrics.phases.sites import PHASES, PhaseId
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
    return _peak_of(trace, place, int(curve(trace, place).allocated.argmax()))


def reserved_peak(trace: Trace, place: Place) -> MemoryPeak | None:
    """Returns the reserved peak; None without a caching allocator."""
    reserved = curve(trace, place).reserved
    return None if reserved is None else _peak_of(trace, place, int(reserved.argmax()))


def step_peaks(trace: Trace, place: Place) -> list[int]:
    """Returns the maximum allocated bytes in each step, by the host's marks."""
    memory, steps = curve(trace, place), find_steps(trace).steps
    at_starts = memory.at(find_steps(trace).host_start_ns).tolist()
    rows = [_rows(memory.ts, step) for step in steps]
    return [
        int(memory.allocated[first:end].max(initial=least)) for (first, end), least in zip(rows, at_starts, strict=True)
    ]


def step_reserved_peaks(trace: Trace, place: Place) -> list[int | None]:
    """Returns the maximum reserved bytes in each step; None before the allocator's first event, and without a caching
    allocator."""
    memory, steps = curve(trace, place), find_steps(trace).steps
    if memory.reserved is None:
        return [None] * len(steps)
    rows = [_rows(memory.ts, step) for step in steps]
    return [int(memory.reserved[max(first - 1, 0) : end].max()) if end else None for first, end in rows]


def _rows(ts: Int64, step: Step) -> tuple[int, int]:
    first, end = np.searchsorted(ts, [step.host_start_ns, step.host_end_ns])
    return int(first), int(end)


def _peak_of(trace: Trace, place: Place, number: int) -> MemoryPeak:
    memory = curve(trace, place)
    moment = moments(trace, memory.row[number : number + 1])
    step = int(moment.step[0])
    return MemoryPeak(
        row=int(memory.row[number]),
        at_ns=int(memory.ts[number]),
        step=find_steps(trace).steps[step].name if step >= 0 else None,
        phase=PHASES[moment.phase[0]],
        allocated_bytes=int(memory.allocated[number]),
        reserved_bytes=None if memory.reserved is None else int(memory.reserved[number]),
    )


NOTHING_RESERVED = Reason("memory_not_reserved")
_OF = (
    "It is that of the GPU with the highest peak, or of the CPU where the recording has no GPU. It needs "
    "profile_memory=True."
)

PEAK_ALLOCATED = Metric(
    "peak_allocated", "Peak memory", Unit.BYTES,
    f"Most memory that tensors and workspaces take at one time, in the recording and in each step. {_OF}",
)  # fmt: skip
PEAK_RESERVED = Metric(
    "peak_reserved", "Peak reserved memory", Unit.BYTES,
    f"Most memory that PyTorch's caching allocator holds at one time, used or not. {_OF}", short="Peak reserved",
)  # fmt: skip


def peak_allocated(trace: Trace) -> Figure:
    place = memory_place(trace)
    if place is None:
        return unknown(trace, NOT_RECORDED)
    memory = curve(trace, place)
    return (
        Figure(int(memory.allocated.max()), tuple(step_peaks(trace, place)))
        if memory.whole
        else unknown(trace, NO_TOTALS)
    )


def peak_reserved(trace: Trace) -> Figure:
    place = memory_place(trace)
    if place is None:
        return unknown(trace, NOT_RECORDED)
    reserved = curve(trace, place).reserved
    if reserved is None:
        return unknown(trace, NOTHING_RESERVED)
    return Figure(int(reserved.max()), tuple(step_reserved_peaks(trace, place)))


def memory_place(trace: Trace) -> Place | None:
    """Returns the device whose memory represents the training: the GPU with the highest peak, or the CPU if no GPU
    works; None if memory was not recorded."""
    places = memory_devices(trace)
    gpus = [place for place in places if place.type != CPU]
    if gpus:
        return max(gpus, key=lambda place: int(curve(trace, place).allocated.max()))
    return None if has_device_activity(trace) else next(iter(places), None)
