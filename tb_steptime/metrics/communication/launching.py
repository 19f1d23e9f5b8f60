"""What launches a collective: the host's call, the op that requests it from a backend of the host, and FSDP's ranges
around it.

training thread   |-- c10d::allreduce_ --|      |-- c10d::_reduce_scatter_base_ --|
gloo's thread          |-- gloo:all_reduce --|        |-- gloo:all_reduce --|     in one order
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import Collectives, find_collectives
from tb_steptime.metrics.communication.kinds import KINDS, kind_of
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.text.patterns import expression
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in

#: FSDP2's ranges, and those of FSDP1 that exchange. FSDP1's forward is left out, as it contains the model's own
#: exchanges.
_FSDP = expression(r"FSDP::|FullyShardedDataParallel\._")
_ASKED = "c10d::"
#: gloo runs a reduce-scatter as an all-reduce.
_RUN_AS = {KINDS.index("reduce_scatter"): KINDS.index("all_reduce")}


def launching_calls(trace: Trace) -> Int64:
    """Returns for each of `find_collectives` the row of the call or op that launched it, -1 where that is not
    recorded."""
    found = find_collectives(trace)
    if not has_device_activity(trace):
        return _asking_ops(trace, found)
    launches = find_launches(trace)
    return launches.call[np.searchsorted(launches.activity, found.event)].astype(np.int64)


def launched_by_fsdp(trace: Trace, calls: Int64) -> Bool:
    """Marks the calls (-1 for none) that a range of FSDP encloses."""
    ranges = trace.events.rows(Kind.USER)
    marks = [name for name in distinct_in(trace.events.name[ranges]).tolist() if _FSDP.match(trace.strings[name])]
    around: Bool = innermost(trace, ranges[is_in(trace.events.name[ranges], marks)], calls) >= 0
    return around


def _asking_ops(trace: Trace, found: Collectives) -> Int64:
    """The requesting ops, matched by order. Only for kinds with as many requests as collectives, each request before
    its collective."""
    ops, kinds = _ops(trace)
    calls = np.full(len(found), -1, np.int64)
    for kind in distinct_in(found.kind).tolist():
        mine, asked = np.flatnonzero(found.kind == kind), ops[kinds == kind]
        if len(mine) == len(asked) and (trace.events.start_ns[asked] <= found.start[mine]).all():
            calls[mine] = asked
    return calls


def _ops(trace: Trace) -> tuple[Int64, Int64]:
    """Rows of the ops that request a collective, by start, and the kind as which a backend of the host runs it."""
    rows = trace.events.rows(Kind.CPU_OP)
    asks = np.array([name.startswith(_ASKED) for name in trace.strings.strings], bool)
    rows = rows[asks[trace.events.name[rows]]] if len(rows) else rows
    kinds = [kind_of(trace.strings[name]) for name in trace.events.name[rows].tolist()]
    return rows, np.array([_RUN_AS.get(kind, kind) for kind in kinds], np.int64)
