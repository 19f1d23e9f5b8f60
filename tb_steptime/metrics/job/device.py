"""The device on which a job computes, and whether one rank or many work together. Device activities show GPU or CPU,
runtime calls the GPU's vendor, and collectives one rank or many.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.kernel_names.work_kinds import (
    is_collective,
    is_collective_call,
)
from tb_steptime.text.patterns import expression
from tb_steptime.trace.compute_capability import Vendor as Vendor
from tb_steptime.trace.compute_capability import vendor_of
from tb_steptime.trace.model import Trace, find_launches, rows_named
from tb_steptime.trace.quality import ASKS, may_hide_device, unseen_device
from tb_steptime.trace.table import CALL_KINDS, DEVICE_KINDS, Kind, distinct_in

DeviceKind = Literal["gpu", "cpu", "unknown"]
Ranks = Literal["one", "many", "unknown"]

#: Ops and marks that run only on a GPU. If the trace has them but no GPU activities, these were not recorded. torch
#: also calls `cudnn_is_acceptable` for tensors on the CPU.
_GPU_OP = expression(
    r"[emnr]ccl:|aten::(_?cudnn_(?!is_acceptable)|miopen_|_flash_attention_forward|_efficient_attention|_fused_(adam|adamw|sgd)_?cuda)"
)
#: Ops that run only on a CPU.
_CPU_OP = expression(r"aten::(_?mkldnn_|mkl_|_scaled_dot_product_flash_attention_for_cpu)|mkldnn::|mkl::")


class ComputeDevice(msgspec.Struct, frozen=True):
    """The device on which the job computes, and the vendor of its GPU, which is None if there is no GPU or the vendor
    is unknown."""

    device: DeviceKind
    vendor: Vendor | None
    evidence: list[JobEvidence]


def where_it_runs(trace: Trace) -> ComputeDevice:
    """Returns the device on which the job computes. It is the GPU if one worked or was called to work. It is the CPU if
    no GPU is listed, if only calls were recorded that query a GPU, or if ops show it. Otherwise it is unknown."""
    evidence = _gpu_evidence(trace)
    if evidence:
        return ComputeDevice("gpu", _vendor(trace), evidence)
    on_cpu = named_evidence("cpu_ops", trace, (Kind.CPU_OP,), _CPU_OP.match) or _cpu_memory(trace)
    # PyTorch 1.8 and older ROCm list no properties of GPUs, but label their rows.
    launches_nothing = not (trace.devices or trace.job.labels_gpus) or len(trace.events.rows(*CALL_KINDS)) > 0
    if on_cpu or (launches_nothing and len(trace.events.rows(Kind.CPU_OP)) and not may_hide_device(trace)):
        return ComputeDevice("cpu", None, on_cpu)
    return ComputeDevice("unknown", None, [])


def idle_gpu(trace: Trace) -> str | None:
    """Returns the name of the first GPU that the file lists although the job computes on the CPU, as all of its
    allocations show. It is None if allocations do not show that, because a file also lists a GPU whose work was not
    recorded."""
    if where_it_runs(trace).device != "cpu" or not _cpu_memory(trace):
        return None
    return next((device.name for device in trace.devices.values() if device.name), None)


def _cpu_memory(trace: Trace) -> list[JobEvidence]:
    """Returns the allocations of the CPU as evidence, if memory was recorded and no other device has any."""
    allocations = int((trace.memory.bytes > 0).sum())
    return [JobEvidence("cpu_memory", allocations)] if allocations and not trace.memory.device_type.any() else []


def _gpu_evidence(trace: Trace) -> list[JobEvidence]:
    if has_device_activity(trace):
        return [JobEvidence("device_activities", len(trace.events.rows(*DEVICE_KINDS)))]
    calls = named_evidence("runtime_calls", trace, CALL_KINDS, lambda name: not ASKS.match(name))
    ops = named_evidence("gpu_ops", trace, (Kind.CPU_OP, Kind.USER), _GPU_OP.match)
    unseen = None if calls or ops else unseen_device(trace)
    return calls or ops or ([JobEvidence("unseen_device", unseen.count, unseen.name)] if unseen else [])


def _vendor(trace: Trace) -> Vendor | None:
    """Returns the vendor, according to the name of the first GPU, or else to the calls of its runtime."""
    name = next((device.name for device in trace.devices.values() if device.name), "")
    calls = named_evidence("runtime_calls", trace, CALL_KINDS, lambda name: True)
    call = calls[0].name if calls else ""
    if name:
        return vendor_of(name)
    return "amd" if call.startswith("hip") else "nvidia" if call.startswith("cu") else None


#: Functions of torch.nn.DataParallel, which copies a model to all GPUs of its process with NCCL's kernels.
_REPLICATES = expression(r"(Broadcast(Backward)?|ReduceAddCoalesced)$")


def _by_one_thread(trace: Trace) -> list[JobEvidence]:
    """Returns broadcasts on several devices that one thread launches, by which `nn.DataParallel` copies a model without
    gradients and without any recorded function of autograd. A rank has one device, and in a file of several ranks each
    has threads of its own."""
    rows = rows_named(trace, (Kind.KERNEL,), lambda name: is_collective(name) and "Broadcast" in name)
    call = find_launches(trace).calls_of(rows)
    rows, thread = rows[call >= 0], trace.events.thread[call[call >= 0]]
    devices = (trace.events.device[rows[thread == number]] for number in distinct_in(thread).tolist())
    several = any(len(distinct_in(device)) > 1 for device in devices)
    return [JobEvidence("one_thread", len(rows), trace.name_of(rows[0]))] if several else []


def ranks_of(trace: Trace) -> tuple[Ranks, list[JobEvidence]]:
    """Returns whether the job has one rank or many, and the evidence. The file's number of ranks decides. Without it,
    there are many if collectives run, except those of `nn.DataParallel`, and one if none does; a rank with a number
    belongs to many."""
    job = trace.job
    if job.world_size is not None:
        return ("many" if job.world_size > 1 else "one"), [JobEvidence("world_size", job.world_size)]
    kernels = named_evidence("collectives", trace, (Kind.KERNEL,), is_collective)
    calls = named_evidence("collectives", trace, (Kind.CPU_OP, Kind.USER), is_collective_call)
    if kernels and not calls and job.rank is None:
        replicas = named_evidence("replicas", trace, (Kind.CPU_OP,), _REPLICATES.match) or _by_one_thread(trace)
        if replicas:
            return "one", replicas
    others = [*kernels, *calls]
    if others or job.rank:
        return "many", others[:1]
    return ("one" if job.rank is None else "unknown"), []
