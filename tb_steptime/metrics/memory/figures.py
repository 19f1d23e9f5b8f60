"""The peak memory of a training: of the recording, and of each step.

step        0000000000  1111111111
allocated   2  5  9  4  4  6  8  4      peak: 9; of the steps 9, 8
reserved    8  8 12 12 12 12 12 12      peak: 12; of the steps 12, 12
"""

from __future__ import annotations

from tb_steptime.metrics.base import Figure, Metric, unknown
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.memory.devices import CPU, NO_TOTALS, NOT_RECORDED, Place, curve, memory_devices
from tb_steptime.metrics.memory.peak import step_peaks, step_reserved_peaks
from tb_steptime.text import Reason, Unit
from tb_steptime.trace.model import Trace

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
