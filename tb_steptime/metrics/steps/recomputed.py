"""What a checkpoint computes twice: `torch.utils.checkpoint` computes layers again in the backward pass. Keeping their
results would take memory.

engine   |-------- AddmmBackward0 --------|     needs what its block dropped, so the block is computed again in it,
           [linear][gelu][linear]               with gradients: such ops have sequence numbers, and no others do here
memory      +a      +b    +c                    what is alive when these end would have been kept by the first pass
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, ends_ns, rows_at, steps_at
from tb_steptime.metrics.memory.curves import CPU
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

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


class Recomputed(msgspec.Struct, frozen=True):
    """Recomputation in the mean step.

    calls        number of checkpoints
    ns           device time of what is computed again; without a device, the time of its ops
    kept_bytes   memory on the main device that keeping the results instead would take at most; None if memory is not
                 recorded
    """

    calls: int
    ns: int
    kept_bytes: int | None


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
    recomputed = innermost(trace, _recomputed_rows, call) >= 0
    return launches.activity[recomputed & (call >= 0)].astype(np.int64) if len(ops.rows) else np.empty(0, np.int64)


def _recomputed_rows(trace: Trace) -> Int64:
    return checkpointed(trace).rows


def recomputed(trace: Trace, device: int | None) -> Recomputed | None:
    """Returns what is computed again within the steps; None if nothing is."""
    events = trace.events
    ops = checkpointed(trace)
    steps = len(find_steps(trace).steps)
    within = steps_at(trace, events.start_ns[ops.rows]) >= 0
    if not within.any():
        return None
    rows = ops.rows[within]
    node = ops.node[within]
    work = again_activities(trace)
    repeated = work if len(work) else rows
    return Recomputed(
        calls=round(len(distinct_in(node)) / steps),
        ns=int(events.dur_ns[repeated].sum()) // steps,
        kept_bytes=_kept_bytes(trace, device, rows, node, steps),
    )


def _kept_bytes(trace: Trace, device: int | None, rows: Int64, node: Int64, steps: int) -> int | None:
    """Returns the memory that these ops allocate and that is alive after the last one inside their node has ended."""
    table, rows_of_blocks = trace.memory, allocations(trace).born
    if device is None or not len(rows_of_blocks):
        return None
    on_device = (table.device[rows_of_blocks] == device) & (table.device_type[rows_of_blocks] != CPU)
    maker = rows_at(trace, _recomputed_rows, rows_of_blocks)
    place = np.searchsorted(rows, maker)
    by_these_ops = on_device & (maker >= 0) & (rows[np.minimum(place, len(rows) - 1)] == maker)
    _, _, ends = checkpointed(trace).intervals(trace)
    alive = by_these_ops & (ends_ns(trace) > np.where(by_these_ops, ends[node[np.minimum(place, len(rows) - 1)]], 0))
    return int(table.bytes[rows_of_blocks[alive]].sum()) // steps
