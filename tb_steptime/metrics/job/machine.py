"""GPU or CPU, the GPU's vendor, and one rank or many: by device activities, by runtime calls, and by collectives."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.kernel_names.work_kinds import is_collective, is_collective_call
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality import unseen_device
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Kind

DeviceKind = Literal["gpu", "cpu", "unknown"]
Vendor = Literal["nvidia", "amd", "other"]
Ranks = Literal["one", "many", "unknown"]

#: Ops and marks that run only on a GPU; if the trace has no GPU activities, these were not recorded. torch also calls
#: `cudnn_is_acceptable` for tensors on the CPU.
_GPU_OP = expression(
    r"nccl:|rccl:|aten::(_?cudnn_(?!is_acceptable)|miopen_|_flash_attention_forward|_efficient_attention|_fused_(adam|adamw|sgd)_?cuda)"
)
#: Ops that run only on a CPU.
_CPU_OP = expression(r"aten::(_?mkldnn_|mkl_|_scaled_dot_product_flash_attention_for_cpu)|mkldnn::|mkl::")

_NVIDIA = expression(r"NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID|[AHBVTPL]\d+", re.ASCII)
_AMD = expression(r"AMD|Instinct|Radeon|MI\d+|gfx\d+", re.ASCII)


class ComputeDevice(NamedTuple):
    """The device on which the job computes, and the vendor of its GPU; None if there is no GPU or the vendor is
    unknown."""

    device: DeviceKind
    vendor: Vendor | None
    evidence: list[JobEvidence]


def where_it_runs(trace: Trace) -> ComputeDevice:
    """GPU if one worked or was called, CPU if none is listed or ops show it, else unknown."""
    evidence = _gpu_evidence(trace)
    if evidence:
        return ComputeDevice("gpu", _vendor(trace), evidence)
    on_cpu = named_evidence("cpu_ops", trace, (Kind.CPU_OP,), _CPU_OP.match)
    on_cpu = on_cpu or _cpu_memory(trace)
    if on_cpu or (not trace.devices and len(trace.events.rows(Kind.CPU_OP))):
        return ComputeDevice("cpu", None, on_cpu)
    return ComputeDevice("unknown", None, [])


def idle_gpu(trace: Trace) -> str | None:
    """The name of the first GPU that the file lists although the job computes on the CPU, as all of its allocations
    show. None where they show no such thing, since a file also lists the GPU whose work was not recorded."""
    if where_it_runs(trace).device != "cpu" or not _cpu_memory(trace):
        return None
    return next((device.name for device in trace.devices.values() if device.name), None)


def _cpu_memory(trace: Trace) -> list[JobEvidence]:
    """Allocations of the CPU, if memory was recorded and no other device has any."""
    allocations = int((trace.memory.bytes > 0).sum())
    return [JobEvidence("cpu_memory", allocations)] if allocations and not trace.memory.device_type.any() else []


def _gpu_evidence(trace: Trace) -> list[JobEvidence]:
    if has_device_activity(trace):
        return [JobEvidence("device_activities", len(trace.events.rows(*DEVICE_KINDS)))]
    calls = named_evidence("runtime_calls", trace, CALL_KINDS, lambda name: True)
    ops = named_evidence("gpu_ops", trace, (Kind.CPU_OP, Kind.USER), _GPU_OP.match)
    unseen = None if calls or ops else unseen_device(trace)
    return calls or ops or ([JobEvidence("unseen_device", unseen.count, unseen.name)] if unseen else [])


def _vendor(trace: Trace) -> Vendor | None:
    """The vendor, by the name of the first GPU, or else by the calls of its runtime."""
    name = next((device.name for device in trace.devices.values() if device.name), "")
    calls = named_evidence("runtime_calls", trace, CALL_KINDS, lambda name: True)
    call = calls[0].name if calls else ""
    if _AMD.search(name) or (not name and call.startswith("hip")):
        return "amd"
    if _NVIDIA.search(name) or (not name and call.startswith("cu")):
        return "nvidia"
    return "other" if name else None


def ranks_of(trace: Trace) -> tuple[Ranks, list[JobEvidence]]:
    """The number of ranks in the file; else many if collectives run, one if none does, and unknown for a rank without a
    number."""
    job = trace.job
    if job.world_size is not None:
        return ("many" if job.world_size > 1 else "one"), [JobEvidence("world_size", job.world_size)]
    found = [
        *named_evidence("collectives", trace, (Kind.KERNEL,), is_collective),
        *named_evidence("collectives", trace, (Kind.CPU_OP, Kind.USER), is_collective_call),
    ]
    if found or job.rank:
        return "many", found[:1]
    return ("one" if job.rank is None else "unknown"), []
