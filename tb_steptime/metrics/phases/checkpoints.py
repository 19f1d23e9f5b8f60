"""Ops that a checkpoint computes again: `torch.utils.checkpoint` computes layers again in the backward pass.

engine   |-------- AddmmBackward0 --------|     needs what its block dropped, so the block is computed again in it,
           [linear][gelu][linear]               with gradients: such ops have sequence numbers, and no others do here
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in

#: Nodes in which a checkpoint computes again. With `use_reentrant=True` this is its own node, else the first one that
#: needs what it dropped, of a class built into torch. Functions that users write may compute again for other reasons,
#: such as reversible layers.
_NODE = expression(rf"{NODE}(CheckpointFunctionBackward|\w+Backward\d+)$")
#: Layers as a forward pass calls them. If a backward pass is differentiated again (`create_graph=True`), its ops have
#: numbers, too, but none of them is a layer.
_LAYER = expression(
    r"aten::(linear|conv[123]d|conv_transpose[123]d|layer_norm|rms_norm|group_norm|batch_norm|embedding|"
    r"scaled_dot_product_attention|lstm|gru)$"
)


class RecomputedOps(msgspec.Struct, frozen=True, eq=False):
    """Ops that are computed again inside nodes of the backward pass.

    rows  the outermost ones, rows of the event table, ascending
    node  a number from 0 on for the node around each
    """

    rows: Int64
    node: Int64

    def intervals(self, trace: Trace) -> tuple[Int64, Int64, Int64]:
        """Returns the time from the first to the last of the ops inside each node: the thread, the start and the end,
        in ns."""
        events, count = trace.events, int(self.node.max(initial=-1)) + 1
        thread, begins, ends = (np.zeros(count, np.int64) for _ in range(3))
        thread[self.node] = events.thread[self.rows]
        begins[self.node[::-1]] = events.start_ns[self.rows[::-1]]  # rows ascend, so the first one is set last
        np.maximum.at(ends, self.node, events.ends(self.rows))
        return thread, begins, ends


@shared
def checkpointed(trace: Trace) -> RecomputedOps:
    """Returns the ops with sequence numbers that run inside a node in which a layer is called."""
    events, table = trace.events, trace.sequences
    numbered = table.event[table.forward_thread == 0].astype(np.int64)
    node = innermost(trace, _nodes, numbered)
    rows, node = numbered[node >= 0], node[node >= 0]
    layer = are_named(trace, rows, _LAYER.match)
    of_layers = is_in(node, distinct_in(node[layer]))
    rows, node = rows[of_layers], node[of_layers]
    if not len(rows):
        return RecomputedOps(rows, node)
    reach = np.append(-1, np.maximum.accumulate(events.ends(rows)))[:-1]
    top = events.start_ns[rows] >= reach
    _, place = np.unique(node[top], return_inverse=True)
    return RecomputedOps(rows[top], place.reshape(-1).astype(np.int64))


def _nodes(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _NODE.match)


@shared
def again_activities(trace: Trace) -> Int64:
    """Returns the device activities that the ops of `checkpointed` launch, as rows of the event table."""
    ops, launches = checkpointed(trace), find_launches(trace)
    call = launches.call.astype(np.int64)
    recomputed = innermost(trace, recomputed_rows, call) >= 0
    return launches.activity[recomputed & (call >= 0)].astype(np.int64) if len(ops.rows) else np.empty(0, np.int64)


def recomputed_rows(trace: Trace) -> Int64:
    return checkpointed(trace).rows


def are_recomputed(trace: Trace, ops: Int64) -> Bool:
    """Returns which of these ops, rows of the event table, are computed again, or run inside of ops that are."""
    rows = checkpointed(trace).rows
    return is_in(ops, rows) | (innermost(trace, recomputed_rows, ops) >= 0)
