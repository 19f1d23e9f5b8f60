"""The kind of job, determined once for each recording; views show it, and rules check it."""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.job.device import DeviceKind, Ranks, idle_gpu, ranks_of, where_it_runs
from tb_steptime.metrics.job.evidence import JobEvidence
from tb_steptime.metrics.job.execution import ExecutionId, execution_of
from tb_steptime.metrics.job.purpose import Purpose, purpose_of
from tb_steptime.metrics.job.servers import Server, schedules_ahead, server_of
from tb_steptime.metrics.phases.assignment import optimizer_class
from tb_steptime.metrics.phases.cell_loops import sequence_layer
from tb_steptime.metrics.phases.gradients import differentiates_gradients, transformed_gradients
from tb_steptime.metrics.phases.left_as_is import LeftAsIs, left_as_is
from tb_steptime.metrics.phases.no_grad import NoGrad, without_gradients
from tb_steptime.trace.compute_capability import Vendor, has_triton
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.quality import accelerator


class JobKind(msgspec.Struct, frozen=True):
    """What a recording shows about its job. A field that it does not show is "unknown" or None.

    purpose         "training" if there are gradients or an optimizer; "inference" if there are many layers and neither
    execution       how the job's work is launched; "mixed" if no single way launches four fifths of it
    compiled_share, graph_share   shares of the kernel time without collectives, or of the time in ops for jobs on a
                    CPU, that run in compiled code and in graphs; the rest is eager
    device, vendor  the device on which the job computes, and the maker of its GPU; "gpu" also if the work there is not
                    recorded
    accelerator     PyTorch's name for the devices: GPU, XPU, MTIA, HPU
    ranks           whether one process or many work together
    rank, world_size   the number of this process and the number of all processes, as the file states them
    optimizer       class of the optimizer with the most recorded steps, such as "AdamW"
    server          the server that runs an inference; None for a script
    schedules_ahead  whether frames show that the server schedules the next batch while the device works
    compiles        whether torch.compile can generate code for the GPUs; True if these are not known
    double_backward   whether autograd also differentiates gradients, which torch.compile does not support
    transforms      whether transforms of torch.func compute gradients
    no_grad         what a training runs without gradients
    sequence_layer   the layer of torch.nn that computes in one call what a loop over its cell does; None without a loop
    left_as_is      the kind of code that torch.compile does not compile: most of the forward pass, or FSDP's hooks
    idle_gpu        name of a GPU that the file lists although all allocations are on the CPU
    evidence        events that show the values above, a few for each
    """

    purpose: Purpose = "unknown"
    execution: ExecutionId = "unknown"
    compiled_share: float | None = None
    graph_share: float | None = None
    device: DeviceKind = "unknown"
    vendor: Vendor | None = None
    accelerator: str = "GPU"
    ranks: Ranks = "unknown"
    rank: int | None = None
    world_size: int | None = None
    evidence: tuple[JobEvidence, ...] = ()
    optimizer: str | None = None
    server: Server | None = None
    schedules_ahead: bool = False
    idle_gpu: str | None = None
    compiles: bool = True
    double_backward: bool = False
    transforms: bool = False
    no_grad: NoGrad = NoGrad()
    sequence_layer: str | None = None
    left_as_is: LeftAsIs | None = None


@shared
def job_kind(trace: Trace) -> JobKind:
    purpose, trains = purpose_of(trace)
    execution, where = execution_of(trace), where_it_runs(trace)
    ranks, together = ranks_of(trace)
    return JobKind(
        purpose=purpose,
        execution=execution.id,
        compiled_share=execution.compiled_share,
        graph_share=execution.graph_share,
        device=where.device,
        vendor=where.vendor,
        accelerator=accelerator(trace),
        ranks=ranks,
        rank=trace.job.rank,
        world_size=trace.job.world_size,
        evidence=(*trains, *execution.evidence, *where.evidence, *together),
        optimizer=optimizer_class(trace),
        server=server_of(trace) if purpose != "training" else None,
        idle_gpu=idle_gpu(trace),
        compiles=where.vendor != "nvidia" or has_triton(devices_with_activity(trace), trace.devices),
        schedules_ahead=purpose != "training" and schedules_ahead(trace),
        double_backward=differentiates_gradients(trace),
        no_grad=without_gradients(trace),
        transforms=len(transformed_gradients(trace)) > 0,
        sequence_layer=sequence_layer(trace),
        left_as_is=left_as_is(trace),
    )
