"""How far a recording can be trusted: the notes that stand above a view's pictures, gravest first."""

from __future__ import annotations

from tb_steptime.metrics.catalogue import main_device, measure
from tb_steptime.metrics.gpu.occupancy import kineto_zero_fraction
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.idle.bottleneck import IDLE_FRACTION
from tb_steptime.metrics.idle.reasons import HOST_BOUND_SHARE, devices_by_activity
from tb_steptime.text import Note, Phrase, code, count, fraction, phrase, text
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
    if trace.job.simulated is None:
        return []
    return [Note("simulated", phrase("Simulated, not recorded."), _with_code(trace.job.simulated))]


def _with_code(statement: str) -> Phrase:
    """Backticks mark code, as in every text of ours.

    >>> _with_code("Written by `make demo`.").template
    '{part_0}{part_1}{part_2}'
    """
    parts = {f"part_{n}": (code if n % 2 else text)(part) for n, part in enumerate(statement.split("`")) if part}
    return Phrase("".join(f"{{{key}}}" for key in parts), parts)


def _cpu_only(trace: Trace) -> list[Note]:
    if has_device_activity(trace):
        return []
    effect = phrase(
        "If the job used a GPU, record with {activity}. Every GPU figure below is a dash, not a zero.",
        activity=code("ProfilerActivity.CUDA"),
    )
    return [Note("cpu_only", phrase("CPU only."), effect)]


def _call_stacks(trace: Trace) -> list[Note]:
    if not trace.job.with_stack:
        return []
    effect = phrase("They slow the host, so Data loading, Runtime and CPU exec are upper bounds here; Kernel holds.")
    return [Note("with_stack", phrase("Recorded with call stacks."), effect, ("overview", "data_loading", "trends"))]


def _profiling_slows(trace: Trace) -> list[Note]:
    """Where the host decides, what recording it costs is in the figures."""
    device = main_device(trace)
    share = None if device is None else measure(trace, HOST_BOUND_SHARE.id, device).value
    if share is None or share < IDLE_FRACTION:
        return []
    effect = phrase(
        "The unprofiled step is shorter and its idle share smaller; the order of the causes holds.",
    )
    return [Note("profiling_slows", phrase("Profiling slows the host by 1.5 to 2 times."), effect, ("host",))]


def _several_devices(trace: Trace) -> list[Note]:
    devices = devices_by_activity(trace)
    if len(devices) < 2:
        return []
    effect = phrase(
        "GPU figures are those of GPU {main}, which is busy longest; the parts of the step count a GPU that works as "
        "working.",
        main=count(main_device(trace)),
    )
    return [Note("several_devices", phrase("This process drives {number} GPUs.", number=count(len(devices))), effect)]


def _occupancy_zeros(trace: Trace) -> list[Note]:
    device = main_device(trace)
    share = None if device is None else kineto_zero_fraction(trace, device)
    if share is None or share < KINETO_ZERO_FRACTION:
        return []
    effect = phrase(
        "The profiler writes 0 for kernels with more than 48 KiB of shared memory, {share} of kernel time here. "
        "Occupancy is "
        "recomputed from each launch instead.",
        share=fraction(share),
    )
    return [
        Note("kineto_occupancy", phrase("Occupancy differs from the PyTorch Profiler tab."), effect, ("tensor_cores",))
    ]
