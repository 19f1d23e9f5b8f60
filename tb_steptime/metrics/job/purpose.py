"""Training or inference: by events that only training has, or by the amount of forward work without any of these.

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

#: torch's own mark, which shows training even if the recording ends before the first gradient.
_ZERO_GRAD = expression(r"Optimizer\.zero_grad#")
#: Ops of which a model consists, one call per layer.
_LAYER_OP = expression(r"aten::(addmm|mm|bmm|baddbmm|convolution|embedding|layer_norm)$")
#: Minimum number of layer calls without a gradient that shows inference: in training a forward pass is followed by its
#: backward pass within one step. The few ops of an excerpt show nothing.
MANY = 10


def purpose_of(trace: Trace) -> tuple[Purpose, list[JobEvidence]]:
    """The purpose and the evidence for it; unknown, without evidence, if there is too little."""
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
    steps = named_evidence("optimizer_steps", trace, (Kind.USER,), OPTIMIZER_STEP.match)
    if autograd or steps:
        return autograd + steps
    zeroed = named_evidence("optimizer_steps", trace, (Kind.USER,), _ZERO_GRAD.match)
    ops = named_evidence("backward_ops", trace, (Kind.CPU_OP,), lambda name: name.endswith("_backward"))
    kernels = named_evidence("backward_kernels", trace, (Kind.KERNEL,), BACKWARD_KERNEL.search)
    return zeroed or ops or kernels


def _layers(trace: Trace) -> list[JobEvidence]:
    """Evidence of layer calls: by their ops or, if more ran in graphs than were called, by their kernels."""
    ops = named_evidence("layer_ops", trace, (Kind.CPU_OP,), _LAYER_OP.match)
    kernels = named_evidence("layer_kernels", trace, (Kind.KERNEL,), LAYER_KERNEL.search)
    return max(ops, kernels, key=lambda found: sum(each.count for each in found))
