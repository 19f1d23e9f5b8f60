"""Memory: how much each device has allocated over time, what is alive at the peak, what grows, and what allocated
it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.analyses.base import NOT_COMPUTED, Analysis
from tb_steptime.metrics.catalogue import main_device
from tb_steptime.metrics.excluded_time.steady_step import steady_step_ns
from tb_steptime.metrics.memory.by_op import MOST_OPS, ChurnRow, OpMemory, churn, memory_by_op
from tb_steptime.metrics.memory.contents import AllocationRow, CategoryBytes, by_category, largest, why_no_parts
from tb_steptime.metrics.memory.curves import (
    CPU,
    NOT_RECORDED,
    MemoryBins,
    Place,
    curve,
    memory_bins,
    memory_devices,
    memory_name,
)
from tb_steptime.metrics.memory.fit.predictions import DeviceFit, fits
from tb_steptime.metrics.memory.growth import Growth, Maker, growth, leak_makers
from tb_steptime.metrics.memory.peak import MemoryPeak, allocated_peak, reserved_peak, step_peaks
from tb_steptime.metrics.phases.assignment import PhaseSpan, phase_spans
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.ops import RUNTIME
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS

#: Number of bins of the curve over the whole recording, for the first picture and where only the summary is available.
BINS = 512
#: Maximum number of calls that are marked in the picture.
MOST_CALLS = 200
_ALLOCATOR_CALL = expression(rf"^{RUNTIME}(?:Malloc|Free)(?:Async)?$|^cuMem(?:Create|Map|Unmap|Release)$")


class MemoryStep(msgspec.Struct, frozen=True):
    """A step by the host's marks, because memory is allocated when the host requests it."""

    name: str
    start_ns: int
    end_ns: int
    phase_spans: list[PhaseSpan] = []


class AllocatorCall(msgspec.Struct, frozen=True):
    """A call by which the caching allocator requests memory from the driver, or returns it."""

    name: str
    start_ns: int


class DeviceMemory(msgspec.Struct, frozen=True):
    """A device whose memory was recorded.

    device, type   its number, None for the CPU; torch's number of its type
    whole          the allocated bytes include all memory of the device. Otherwise the file has no totals: bytes count
                   from the first event, and categories and the largest allocations are not known
    step_peaks     the peak of each step
    categories     of the allocations that are alive at the peak; they sum to it; None with why_unknown
    largest        the largest of these allocations, the largest first
    by_op          over the whole recording
    fit            the peak at other batches, and the largest batch that fits into total_bytes
    """

    type: int
    device: int | None
    name: str
    events: int
    whole: bool
    start_bytes: int
    end_bytes: int
    peak: MemoryPeak
    reserved_peak: MemoryPeak | None
    step_peaks: list[int]
    growth: Growth
    makers: list[Maker]
    categories: list[CategoryBytes] | None
    why_unknown: Reason | None
    largest: list[AllocationRow]
    churn: list[ChurnRow]
    by_op: list[OpMemory]
    curve: MemoryBins
    total_bytes: int | None = None
    fit: DeviceFit | None = None

    @property
    def most_reserved_bytes(self) -> int | None:
        """The bytes that are reserved at most; None without a caching allocator."""
        return self.reserved_peak.reserved_bytes if self.reserved_peak else None


class MemoryResult(msgspec.Struct, frozen=True):
    """The result of the memory view.

    devices              GPUs first; empty with `unknown` if memory was not recorded
    calls, more_calls    the first calls of the allocator to the driver, and the number of the others
    start_ns, end_ns     the range of the curves
    """

    unknown: Reason | None = Reason("older_release")
    start_ns: int = 0
    end_ns: int = 0
    steps: list[MemoryStep] = []
    devices: list[DeviceMemory] = []
    calls: list[AllocatorCall] = []
    more_calls: int = 0


def device_fits(trace: Trace, batches: Sequence[int] = (), limit_bytes: int | None = None) -> list[DeviceFit]:
    """Returns `fits` with the steady step, as the whole page has it. Raises ValueError for a batch below 1."""
    return fits(trace, steady_step_ns(trace, main_device(trace)), batches, limit_bytes)


def analyse(trace: Trace) -> MemoryResult:
    places = memory_devices(trace)
    if not places:
        return MemoryResult(NOT_RECORDED)
    steps, ts = find_steps(trace).steps, trace.memory.ts
    high = max(int(ts[-1]) + 1, *(step.host_end_ns for step in steps))
    low = min(int(ts[0]), steps[0].host_start_ns)
    calls = rows_named(trace, CALL_KINDS, _ALLOCATOR_CALL.match)
    columns = zip(find_steps(trace).steps, phase_spans(trace), strict=True)
    return MemoryResult(
        unknown=None,
        start_ns=low,
        end_ns=high,
        steps=[MemoryStep(step.name, step.host_start_ns, step.host_end_ns, spans) for step, spans in columns],
        devices=[_device(trace, place, low, high, fit) for place, fit in zip(places, device_fits(trace), strict=True)],
        calls=[_call(trace, row) for row in calls[:MOST_CALLS].tolist()],
        more_calls=max(0, len(calls) - MOST_CALLS),
    )


def _call(trace: Trace, row: int) -> AllocatorCall:
    return AllocatorCall(trace.name_of(row), int(trace.events.start_ns[row]))


def _device(trace: Trace, place: Place, low: int, high: int, fit: DeviceFit) -> DeviceMemory:
    device_curve, peak = curve(trace, place), allocated_peak(trace, place)
    parts = by_category(trace, peak.row, peak.allocated_bytes) if device_curve.whole else None
    return DeviceMemory(
        type=place.type,
        device=None if place.type == CPU else place.device,
        name=memory_name(trace, place),
        events=len(device_curve.row),
        whole=device_curve.whole,
        start_bytes=device_curve.before,
        end_bytes=int(device_curve.allocated[-1]),
        peak=peak,
        reserved_peak=reserved_peak(trace, place),
        step_peaks=step_peaks(trace, place),
        growth=growth(trace, place),
        makers=leak_makers(trace, place),
        categories=parts,
        why_unknown=None if parts else why_no_parts(device_curve),
        largest=largest(trace, peak.row) if device_curve.whole else [],
        churn=churn(trace, place),
        by_op=memory_by_op(trace, place)[:MOST_OPS],
        curve=memory_bins(device_curve, low, high, BINS),
        total_bytes=fit.limit_bytes,
        fit=fit,
    )


ANALYSIS = Analysis("memory", "Memory", MemoryResult, analyse, MemoryResult(NOT_COMPUTED))
