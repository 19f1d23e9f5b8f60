"""Forward work that the backward pass repeats, because its results were not kept (activation checkpointing).

    forward    |-- aten::linear --|
    backward        |- evaluate_function: GeluBackward0 --------------|
                       |-- aten::linear --|  a node's own formula never calls it: it is the forward pass again
                    |- evaluate_function: CheckpointFunctionBackward -|
                       |-- aten::addmm --|   directly within this node: the forward pass again

A gradient of a gradient (create_graph=True) calls other ops than these. Custom nodes that call `F.linear` in their
backward are taken for repeated forward work.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import named_in
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Bool, Int64, Kind, is_in

#: Ops that modules call, and no formula of a gradient.
_FORWARD_ONLY = frozenset(
    f"aten::{name}" for name in ("linear", "conv1d", "conv2d", "conv3d", "scaled_dot_product_attention")
)
#: The node of a checkpoint that runs its forward pass again and then a backward pass of its own.
_CHECKPOINT = "CheckpointFunctionBackward"


def recomputed_ops(trace: Trace, ops: Int64) -> Bool:
    """Of each op, a row of the event table: is it of a forward pass within the backward pass?"""
    nodes = backward_nodes(trace).event.astype(np.int64)
    node = innermost(trace, nodes, ops)
    inside = node >= 0
    if not inside.any():
        return inside
    rows = trace.events.rows(Kind.CPU_OP)
    forward_only = named_in(trace, rows, _FORWARD_ONLY.__contains__)[trace.events.name[rows]]
    calls = rows[forward_only]
    around = np.where(is_in(ops, calls), ops, innermost(trace, calls, ops))
    again = (around >= 0) & (innermost(trace, nodes, around) >= 0)
    checkpoint = named_in(trace, nodes, lambda name: name.endswith(_CHECKPOINT))[trace.events.name[node]]
    repeated: Bool = inside & (again | checkpoint)
    return repeated
