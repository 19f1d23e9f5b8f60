"""Whether a job trains. Training is recognised by events that only training has, and inference by the amount of forward
work without any of these.

training    aten::linear  aten::linear  |AddmmBackward0|  |Optimizer.step#SGD.step|
inference   aten::linear  aten::linear  aten::linear  aten::linear  ...                 at least MANY of them
unknown     aten::linear  aten::sum                                     the backward pass may lie outside
"""

from __future__ import annotations

from typing import Literal

from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.kernel_names.work_kinds import (
    BACKWARD_KERNEL,
    LAYER_KERNEL,
    LAYER_OP,
)
from tb_steptime.metrics.phases.threads import engine_nodes
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import compiling
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Int64, Kind

Purpose = Literal["training", "inference", "unknown"]

#: torch's own mark, which shows training even if the recording ends before the first gradient.
_ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: Minimum number of layer calls without a gradient that shows inference. In training, a forward pass is followed by its
#: backward pass within one step. The few ops of an excerpt show nothing.
MANY = 10


def purpose_of(trace: Trace) -> tuple[Purpose, list[JobEvidence]]:
    """Returns the purpose and the evidence for it; unknown, without evidence, if there is too little."""
    trains = _training(trace)
    if trains:
        return "training", trains
    ops = named_evidence("layer_ops", trace, (Kind.CPU_OP,), LAYER_OP.match)
    kernels = named_evidence("layer_kernels", trace, (Kind.KERNEL,), LAYER_KERNEL.search)
    layers = max(ops, kernels, key=lambda layers: sum(layer.count for layer in layers))
    if sum(layer.count for layer in layers) >= MANY:
        return "inference", layers
    return "unknown", []


def _training(trace: Trace) -> list[JobEvidence]:
    nodes = _run(trace, engine_nodes(trace))
    autograd = [JobEvidence("autograd_nodes", len(nodes))] if len(nodes) else []
    steps = named_evidence("optimizer_steps", trace, (Kind.USER,), OPTIMIZER_STEP.match)
    if autograd or steps:
        return autograd + steps
    zeroed = named_evidence("optimizer_steps", trace, (Kind.USER,), _ZERO_GRAD.match)
    rows = _run(trace, rows_named(trace, (Kind.CPU_OP,), lambda name: name.endswith("_backward")))
    ops = [JobEvidence("backward_ops", len(rows), trace.name_of(rows[0]))] if len(rows) else []
    kernels = named_evidence("backward_kernels", trace, (Kind.KERNEL,), BACKWARD_KERNEL.search)
    return zeroed or ops or kernels


def _run(trace: Trace, rows: Int64) -> Int64:
    """Returns those of these ops that compute and are not only traced by a compiler."""
    start = trace.events.start_ns[rows]
    return rows[compiling(trace).overlap_ns(start, start + 1) == 0]
