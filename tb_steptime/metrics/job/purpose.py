"""Training or inference: by what only a training does, and by how much forward work there is without it.

training    aten::linear  aten::linear  |AddmmBackward0|  |Optimizer.step#SGD.step|
inference   aten::linear  aten::linear  aten::linear  aten::linear  ...                 at least MANY of them
unknown     aten::linear  aten::sum                                     the backward pass may lie outside
"""

from __future__ import annotations

from typing import Literal

from tb_steptime.metrics.job.evidence import JobEvidence, named_evidence
from tb_steptime.metrics.kernel_names.work_kinds import BACKWARD_KERNEL, LAYER_KERNEL
from tb_steptime.metrics.phases.marks import engine_nodes
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps.calls import OPTIMIZER_STEP
from tb_steptime.trace.table import Kind

Purpose = Literal["training", "inference", "unknown"]

#: torch's own mark; a recording may end before the first gradient.
_ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: Ops that a model consists of, one call for each layer.
_LAYER_OP = expression(r"aten::(addmm|mm|bmm|baddbmm|convolution|embedding|layer_norm)$")
#: So many layers and no gradient: a forward pass of a training is followed by its backward pass within one step, and
#: the few ops of an excerpt show nothing.
MANY = 10


def purpose_of(trace: Trace) -> tuple[Purpose, list[JobEvidence]]:
    """With what shows it; unknown without evidence where there is too little."""
    trains = _training(trace)
    if trains:
        return "training", trains
    layers = _layers(trace)
    if sum(each.count for each in layers) >= MANY:
        return "inference", layers
    return "unknown", []


def _training(trace: Trace) -> list[JobEvidence]:
    nodes = engine_nodes(trace)
    autograd = [JobEvidence("autograd_nodes", len(nodes))] if len(nodes) else []
    steps = named_evidence("optimizer_steps", trace, (Kind.USER,), lambda name: bool(OPTIMIZER_STEP.match(name)))
    if autograd or steps:
        return autograd + steps
    zeroed = named_evidence("optimizer_steps", trace, (Kind.USER,), lambda name: bool(_ZERO_GRAD.match(name)))
    ops = named_evidence("backward_ops", trace, (Kind.CPU_OP,), lambda name: name.endswith("_backward"))
    kernels = named_evidence("backward_kernels", trace, (Kind.KERNEL,), lambda name: bool(BACKWARD_KERNEL.search(name)))
    return zeroed or ops or kernels


def _layers(trace: Trace) -> list[JobEvidence]:
    """Calls of layers: by their ops or, where more ran in graphs than was called, by their kernels."""
    ops = named_evidence("layer_ops", trace, (Kind.CPU_OP,), lambda name: bool(_LAYER_OP.match(name)))
    kernels = named_evidence("layer_kernels", trace, (Kind.KERNEL,), lambda name: bool(LAYER_KERNEL.search(name)))
    return max(ops, kernels, key=lambda found: sum(each.count for each in found))
