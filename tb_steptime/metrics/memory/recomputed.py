"""What `torch.utils.checkpoint` computes again in the backward pass, and the memory that keeping it would take.

engine   |-------- AddmmBackward0 --------|     needs what its block dropped, so the block is computed again in it,
           [linear][gelu][linear]               with gradients: such ops have sequence numbers, and no others do here
memory      +a      +b    +c                    what is alive when these end would have been kept by the first pass
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import allocations, ends_ns, rows_at, steps_at
from tb_steptime.metrics.memory.devices import CPU
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

#: Nodes in which a checkpoint computes again: with `use_reentrant=True` its own, else the first one that needs what it
#: dropped, of a class built into torch. Functions that users write may do so for other reasons, as reversible layers.
_NODE = expression(rf"{NODE}(CheckpointFunctionBackward|\w+Backward\d+)$")
#: Layers as a forward pass calls them. Where a backward pass is differentiated once more (`create_graph=True`), its ops
#: have numbers, too, but none of them is a layer.
_LAYER = expression(
    r"aten::(linear|conv[123]d|conv_transpose[123]d|layer_norm|rms_norm|group_norm|batch_norm|embedding|"
    r"scaled_dot_product_attention|lstm|gru)$"
)


class Again(msgspec.Struct, frozen=True, eq=False):
    """Ops that are computed again inside nodes of the backward pass. rows: the outermost ones, rows of the event table,
    ascending; node: a number from 0 on for the node around each."""

    rows: Int64
    node: Int64

    def intervals(self, trace: Trace) -> tuple[Int64, Int64, Int64]:
        """From the first to the last of the ops inside each node: the thread, when they begin and end, ns."""
        events, count = trace.events, int(self.node.max(initial=-1)) + 1
        thread, begins, ends = (np.zeros(count, np.int64) for _ in range(3))
        thread[self.node] = events.thread[self.rows]
        begins[self.node[::-1]] = events.start_ns[self.rows[::-1]]  # rows ascend: the first one is set last
        np.maximum.at(ends, self.node, events.ends(self.rows))
        return thread, begins, ends


class Recomputed(msgspec.Struct, frozen=True):
    """Recomputation in the mean step.

    calls        number of checkpoints
    ns           device time of what is computed again; without a device the time of its ops
    kept_bytes   the most memory on the main device that keeping the results instead would take; None if memory is not
                 recorded
    """

    calls: int
    ns: int
    kept_bytes: int | None


@shared
def checkpointed(trace: Trace) -> Again:
    """The ops with sequence numbers that run inside a node in which a layer is called."""
    events, table = trace.events, trace.sequences
    numbered = table.event[table.forward_thread == 0].astype(np.int64)
    node = innermost(trace, _nodes, numbered)
    rows, node = numbered[node >= 0], node[node >= 0]
    layer = are_named(trace, rows, _LAYER.match)
    mine = is_in(node, distinct_in(node[layer]))
    rows, node = rows[mine], node[mine]
    if not len(rows):
        return Again(rows, node)
    reach = np.append(-1, np.maximum.accumulate(events.ends(rows)))[:-1]
    top = events.start_ns[rows] >= reach
    _, place = np.unique(node[top], return_inverse=True)
    return Again(rows[top], place.reshape(-1).astype(np.int64))


def _nodes(trace: Trace) -> Int64:
    return rows_named(trace, (Kind.CPU_OP,), _NODE.match)


@shared
def again_activities(trace: Trace) -> Int64:
    """Rows of the event table: the device activities that the ops of `checkpointed` launch."""
    again, launches = checkpointed(trace), find_launches(trace)
    call = launches.call.astype(np.int64)
    found = innermost(trace, _again_rows, call) >= 0
    return launches.activity[found & (call >= 0)].astype(np.int64) if len(again.rows) else np.empty(0, np.int64)


def _again_rows(trace: Trace) -> Int64:
    return checkpointed(trace).rows


def recomputed(trace: Trace, device: int | None) -> Recomputed | None:
    """What is computed again within the steps; None if nothing is."""
    events, again, steps = trace.events, checkpointed(trace), len(find_steps(trace).steps)
    kept = steps_at(trace, events.start_ns[again.rows]) >= 0
    if not kept.any():
        return None
    rows, node, work = again.rows[kept], again.node[kept], again_activities(trace)
    taken = work if len(work) else rows
    return Recomputed(
        calls=round(len(distinct_in(node)) / steps),
        ns=int(events.dur_ns[taken].sum()) // steps,
        kept_bytes=_kept_bytes(trace, device, rows, node, steps),
    )


def _kept_bytes(trace: Trace, device: int | None, rows: Int64, node: Int64, steps: int) -> int | None:
    """The memory that these ops allocate, and that is alive when the last one inside their node has ended."""
    table, born = trace.memory, allocations(trace).born
    if device is None or not len(born):
        return None
    here = (table.device[born] == device) & (table.device_type[born] != CPU)
    maker = rows_at(trace, _again_rows, born)
    place = np.searchsorted(rows, maker)
    made = here & (maker >= 0) & (rows[np.minimum(place, len(rows) - 1)] == maker)
    _, _, ends = checkpointed(trace).intervals(trace)
    alive = made & (ends_ns(trace) > np.where(made, ends[node[np.minimum(place, len(rows) - 1)]], 0))
    return int(table.bytes[born[alive]].sum()) // steps
