"""How far a recording can be trusted: the notes that stand above a view's pictures, gravest first."""

from __future__ import annotations

from tb_steptime.metrics.catalogue import main_device, measure
from tb_steptime.metrics.gpu.occupancy import kineto_zero_fraction
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION
from tb_steptime.metrics.idle.figures import HOST_BOUND_SHARE
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.text import Note, count, fraction, text
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps

#: Kernel time for which Kineto's occupancy is a wrong 0: from here on the two figures differ visibly.
KINETO_ZERO_FRACTION = 0.01


def notes(trace: Trace) -> list[Note]:
    """Simulated first, then what was lost in reading, then what the recording lacks, then what slows it."""
    return [
        *_simulated(trace),
        *trace.notes,
        *_cpu_only(trace),
        *find_steps(trace).notes,
        *_profiling_slows(trace),
        *_call_stacks(trace),
        *_several_devices(trace),
        *_occupancy_zeros(trace),
    ]


def _simulated(trace: Trace) -> list[Note]:
    statement = trace.job.simulated
    return [] if statement is None else [Note("simulated", {"statement": text(statement)})]


def _cpu_only(trace: Trace) -> list[Note]:
    return [] if has_device_activity(trace) else [Note("cpu_only")]


def _call_stacks(trace: Trace) -> list[Note]:
    return [Note("with_stack", qualifies=("overview", "data_loading", "trends"))] if trace.job.with_stack else []


def _profiling_slows(trace: Trace) -> list[Note]:
    """Where the step waits for the host, the cost of recording it is in the figures."""
    device = main_device(trace)
    share = None if device is None else measure(trace, HOST_BOUND_SHARE.id, device).value
    return [] if share is None or share < IDLE_FRACTION else [Note("profiling_slows", qualifies=("host",))]


def _several_devices(trace: Trace) -> list[Note]:
    devices = devices_by_activity(trace)
    if len(devices) < 2:
        return []
    return [Note("several_devices", {"number": count(len(devices)), "main": count(main_device(trace))})]


def _occupancy_zeros(trace: Trace) -> list[Note]:
    device = main_device(trace)
    share = None if device is None else kineto_zero_fraction(trace, device)
    if share is None or share < KINETO_ZERO_FRACTION:
        return []
    return [Note("kineto_occupancy", {"share": fraction(share)}, ("tensor_cores",))]
