"""The kind of job, determined once for each recording; views show it, and rules check it."""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.job.evidence import JobEvidence
from tb_steptime.metrics.job.execution import ExecutionId, execution_of
from tb_steptime.metrics.job.machine import DeviceKind, Ranks, Vendor, ranks_of, where_it_runs
from tb_steptime.metrics.job.purpose import Purpose, purpose_of
from tb_steptime.metrics.job.server import Server, server_of
from tb_steptime.metrics.phases.assignment import optimizer_class
from tb_steptime.trace.model import Trace
from tb_steptime.trace.shared import shared


class JobKind(msgspec.Struct, frozen=True):
    """What a recording shows about its job; "unknown", or None, if it does not show it.

    purpose         training: gradients or an optimizer; inference: many layers without either
    execution       how its work is launched; mixed: no way makes four fifths of it
    compiled_share, graph_share   of kernel time but collectives (of CPU jobs: of the time in ops); the rest is eager
    device, vendor  the device on which it computes; gpu even if its work there is not recorded
    accelerator     what PyTorch calls the devices: GPU, XPU, MTIA, HPU
    ranks           processes that work together; rank and world_size as in the file
    optimizer       class with most recorded steps, such as "AdamW"
    server          what runs an inference, None for a script
    evidence        what shows each of these, at most a few
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
    )
