"""When DistributedDataParallel's forward sends the buffers of rank 0 to all ranks, before it calls the model."""

from __future__ import annotations

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind

#: What DistributedDataParallel.forward does when it sends the buffers of rank 0 to all, before it calls the model.
_BUFFER_SYNC = expression(
    r"aten::(un)?flatten_dense_tensors$|aten::(view|narrow|cat|reshape|empty|detach|copy_)$|record_param_comms$|"
    r"(nccl:|gloo:|c10d::|mpi:|ucc:)broadcast"
)
_BROADCAST = expression(r"\w+:{1,2}_?broadcast")
_DDP_FORWARD = "DistributedDataParallel.forward"


def buffer_syncs(trace: Trace) -> dict[int, Intervals]:
    """When DistributedDataParallel.forward sends buffers, by thread: from its start to the first op at its top level
    that has no part in that, if a broadcast came before it. Old versions do not mark their forward: never, then."""
    events, strings = trace.events, trace.strings
    if _DDP_FORWARD not in strings.strings or not any(_BROADCAST.match(name) for name in strings.strings):
        return {}
    rows = np.flatnonzero(events.name == strings.strings.index(_DDP_FORWARD))
    rows = rows[np.isin(events.kind[rows], (Kind.USER, Kind.CPU_OP))]
    found: dict[int, list[tuple[int, int]]] = {}
    for row in rows.tolist():
        end = _buffer_sync_end(trace, row)
        if end is not None:
            found.setdefault(int(events.thread[row]), []).append((int(events.start_ns[row]), end))
    return {thread: Intervals.of(*pairs) for thread, pairs in found.items()}


def _buffer_sync_end(trace: Trace, row: int) -> int | None:
    """Where the leading buffer synchronisation of this forward ends; None where it has none."""
    events, end_ns = trace.events, int(trace.events.start_ns[row] + trace.events.dur_ns[row])
    inside = np.arange(row + 1, int(np.searchsorted(events.start_ns, end_ns)))
    is_host = (events.kind[inside] == Kind.CPU_OP) | (events.kind[inside] == Kind.USER)
    inside = inside[is_host & (events.thread[inside] == events.thread[row])]
    reach = np.maximum.accumulate(events.ends(inside)) if len(inside) else np.empty(0, np.int64)
    top = inside[np.append(True, events.start_ns[inside[1:]] >= reach[:-1])] if len(inside) else inside
    names = [trace.strings[name] for name in events.name[top].tolist()]
    prefix = next((place for place, name in enumerate(names) if not _BUFFER_SYNC.match(name)), len(names))
    if not any(_BROADCAST.match(name) for name in names[:prefix]):
        return None
    return int(events.start_ns[top[prefix]]) if prefix < len(names) else end_ns
