"""Ops that start an exchange and wait for it, on a host that computes without a device.

They are the autograd functions around collectives, of `torch.distributed.nn.functional`, Megatron and others. The host
does not compute while they wait.

op             [_AlltoAllSingle                ][aten::mm]
c10d op          [alltoall]
exchange              [gloo:all_to_all        ]                 on a thread of the backend
computing                                       kkkkkkkkk      the rest of the function is a wait

The exchanges of DistributedDataParallel end after the ops that start them, which do not wait. Compiled code calls no
ops while it computes, so a compiled region does not count as such an op.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import find_collectives
from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.job.execution import compiled_ranges
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.nesting import parent_places
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in, is_in


@shared
def holding_ops(trace: Trace) -> Int64:
    """Returns the rows of the ops that start an exchange and wait for it, in time order."""
    rows, _, holds = _nested(trace)
    return rows[holds]


def computing_ops(trace: Trace) -> Intervals:
    """Returns when the host of a job without a device computes: while it runs an op that is neither a collective nor a
    wait for an exchange that the op has started."""
    rows, parent, holds = _nested(trace)
    inside = _inside(parent, holds)
    computes = ~collective_names(trace)[trace.events.name[rows]] & ~holds
    on, pieces = trace.events.thread[rows], []
    with_waits = distinct_in(on[holds])
    for thread in with_waits.tolist():
        on_thread = on == thread
        meanwhile = Intervals.of_events(trace.events, rows[on_thread & inside & computes])
        waits = Intervals.of_events(trace.events, rows[on_thread & holds]) - meanwhile
        pieces.append(Intervals.of_events(trace.events, rows[on_thread & computes]) - waits)
    pieces.append(Intervals.of_events(trace.events, rows[computes & ~is_in(on, with_waits)]))
    return Intervals.joined(pieces)


@shared
def _nested(trace: Trace) -> tuple[Int64, Int32, Bool]:
    """Returns the rows of all ops, the place of the op around each, -1 for none, and whether each waits for an exchange
    that it has started. An op does if it directly calls a collective and outlasts an exchange. Without collectives the
    nesting is not computed: all places are -1."""
    rows, exchanging = trace.events.rows(Kind.CPU_OP), collective_names(trace)
    holds = np.zeros(len(rows), bool)
    calls = np.flatnonzero(exchanging[trace.events.name[rows]])
    if not len(calls):
        return rows, np.full(len(rows), -1, np.int32), holds
    parent = parent_places(trace, rows)
    enclosing = parent[calls]
    around = distinct_in(enclosing[enclosing >= 0])
    holds[around] = ~exchanging[trace.events.name[rows[around]]] & _outlasts(trace, rows[around])
    holds[is_in(rows, compiled_ranges(trace))] = False
    return rows, parent, holds


def _outlasts(trace: Trace, rows: Int64) -> Bool:
    """Returns whether an exchange begins and ends within each of these rows."""
    collectives = find_collectives(trace)
    order = np.argsort(collectives.start, kind="stable")
    earliest_end = np.minimum.accumulate(collectives.end[order][::-1])[::-1]  # of all that begin no sooner
    first = np.searchsorted(collectives.start[order], trace.events.start_ns[rows])
    return np.append(earliest_end, NEVER)[first] <= trace.events.ends(rows)


def _inside(parent: Int32, holds: Bool) -> Bool:
    """Returns whether any op around each of them waits for an exchange."""
    inside, around = np.zeros(len(parent), bool), parent
    while (any_around := around >= 0).any() and holds.any():
        inside |= any_around & holds[around]
        around = np.where(any_around, parent[around], -1)
    return inside
