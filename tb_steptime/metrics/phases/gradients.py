"""Gradients that are differentiated, and gradients that transforms of torch.func compute.

autograd.grad(..., create_graph=True)     node  |TanhBackward0|   |TanhBackwardBackward0|
                                          op     tanh_backward        torch.compile refuses to differentiate it

torch.func.grad, vmap, jacrev             node  |---- TanhBackward0 ----|
  a row for each transform, and one       op     tanh_backward
  for the op itself                                tanh_backward
                                                     tanh_backward    torch.compile traces it like any other op
"""

from __future__ import annotations

from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.nesting import parent_places
from tb_steptime.trace.table import Int64, Kind, is_in, values_at

#: Nodes that differentiate a gradient.
_OF_GRADIENTS = expression(r"(?:Backward|Double)Backward\d*$")
#: Ops that compute gradients. Autocast and DTensor also call an op again inside itself, but autocast does so only for
#: ops of forward passes.
_GRADIENT_OP = expression(r"aten::\w+_backward$")


def differentiates_gradients(trace: Trace) -> bool:
    """Returns whether a backward pass of autograd goes through the nodes of another one. A gradient that a transform
    computes is an op of the forward pass for the pass that differentiates it. Ops without sequence numbers show no
    transform."""
    rows = rows_named(trace, (Kind.CPU_OP,), _OF_GRADIENTS.search)
    if not len(rows):
        return False
    nodes = backward_nodes(trace)
    differentiated = nodes.forward[is_in(nodes.event, rows)]
    return not len(differentiated) or not is_in(differentiated, transformed_gradients(trace)).all()


@shared
def transformed_gradients(trace: Trace) -> Int64:
    """Returns the rows of ops that compute gradients within a transform of torch.func. These are the innermost ones,
    inside at least two rows of the same op."""
    rows = rows_named(trace, (Kind.CPU_OP,), _GRADIENT_OP.match)
    name, parent = trace.events.name[rows], parent_places(trace, rows)
    above = values_at(parent, parent)
    return rows[(above >= 0) & (name[parent] == name) & (name[above] == name)]
