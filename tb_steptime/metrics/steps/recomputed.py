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
from tb_steptime.metrics.phases.checkpoints import again_activities, checkpointed, recomputed_rows
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, distinct_in


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
    maker = rows_at(trace, recomputed_rows, rows_of_blocks)
    place = np.searchsorted(rows, maker)
    by_these_ops = on_device & (maker >= 0) & (rows[np.minimum(place, len(rows) - 1)] == maker)
    _, _, ends = checkpointed(trace).intervals(trace)
    alive = by_these_ops & (ends_ns(trace) > np.where(by_these_ops, ends[node[np.minimum(place, len(rows) - 1)]], 0))
    return int(table.bytes[rows_of_blocks[alive]].sum()) // steps
