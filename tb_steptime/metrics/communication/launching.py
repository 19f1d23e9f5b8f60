"""Finds what launches a collective: the host's call, the op that requests it from a backend of the host, and FSDP's
ranges around it.

training thread   |-- c10d::allreduce_ --|      |-- c10d::_reduce_scatter_base_ --|
gloo's thread          |-- gloo:all_reduce --|        |-- gloo:all_reduce --|     in the same order
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import Collectives, find_collectives
from tb_steptime.metrics.communication.kinds import KINDS, kind_of
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.text.patterns import expression
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in

#: FSDP2's ranges, and those of FSDP1 that exchange. FSDP1's forward is left out, as it contains the model's own
#: exchanges.
_FSDP = expression(r"FSDP::|FullyShardedDataParallel\._")
_REQUEST = "c10d::"
#: gloo runs a reduce-scatter as an all-reduce.
_RUN_AS = {KINDS.index("reduce_scatter"): KINDS.index("all_reduce")}


def launching_calls(trace: Trace) -> Int64:
    """For each of `find_collectives` the row of the call or op that launched it; -1 where that is not recorded."""
    found = find_collectives(trace)
    on_device = has_device_activity(trace)
    return find_launches(trace).calls_of(found.event) if on_device else _requesting_ops(trace, found)


def launched_by_fsdp(trace: Trace, calls: Int64) -> Bool:
    """Whether a range of FSDP encloses each call. calls: rows of the event table, -1 for none."""
    around: Bool = innermost(trace, rows_named(trace, (Kind.USER,), _FSDP.match), calls) >= 0
    return around


def _requesting_ops(trace: Trace, found: Collectives) -> Int64:
    """The op that requests each collective, -1 where it is not known. Requests and collectives of a kind are matched in
    order if they are equally many and each request comes before its collective."""
    ops = rows_named(trace, (Kind.CPU_OP,), lambda name: name.startswith(_REQUEST))
    requested = [kind_of(trace.strings[name]) for name in trace.events.name[ops].tolist()]
    kinds = np.array([_RUN_AS.get(kind, kind) for kind in requested], np.int64)
    calls = np.full(len(found), -1, np.int64)
    for kind in distinct_in(found.kind).tolist():
        mine, requests = np.flatnonzero(found.kind == kind), ops[kinds == kind]
        if len(mine) == len(requests) and (trace.events.start_ns[requests] <= found.start[mine]).all():
            calls[mine] = requests
    return calls
