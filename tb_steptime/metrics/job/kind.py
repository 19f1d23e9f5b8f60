"""The kind of job, determined once for each recording; views show it, and rules check it."""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.job.evidence import JobEvidence
from tb_steptime.metrics.job.execution import ExecutionId, execution_of
from tb_steptime.metrics.job.machine import DeviceKind, Ranks, Vendor, ranks_of, where_it_runs
from tb_steptime.metrics.job.purpose import Purpose, purpose_of
from tb_steptime.metrics.job.server import Server, schedules_ahead, server_of
from tb_steptime.metrics.phases.assignment import optimizer_class
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared


class JobKind(msgspec.Struct, frozen=True):
    """What a recording shows about its job; a field is "unknown" or None where it does not show it.

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
        accelerator=trace.job.accelerator,
        ranks=ranks,
        rank=trace.job.rank,
        world_size=trace.job.world_size,
        evidence=(*trains, *execution.evidence, *where.evidence, *together),
        optimizer=optimizer_class(trace),
        server=server_of(trace) if purpose != "training" else None,
        schedules_ahead=purpose != "training" and schedules_ahead(trace),
    )
