"""Calls that set something up, and take long for that the first time only: a context, a stream, a library's handle.

cudaDeviceGetStreamPriorityRange   [29.9 s]  |  |  |        the first creates the context, all later ones take 1 us
cudaStreamCreateWithFlags               [732 ms]  ||        the first loads what streams need
cudaMemcpyAsync                              [40 ms]        copies and synchronizes may wait for the device: none of
                                                            these; nor are calls that launch, or that get memory
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.host.blocking_calls import blocking_calls
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import named_in
from tb_steptime.trace.shared import shared
from tb_steptime.trace.table import Bool, Int64, Kind, is_in

#: A call takes microseconds; the profiler may slow one to some hundreds of them.
LONG_NS = 1_000_000
#: What comes once is an order of magnitude longer than all that follow.
TIMES_LONGER = 10
#: A context takes a tenth of a second at least. A process that creates one in the recording had no work before it.
CONTEXT_NS = 50_000_000

#: Calls that put something into the queue of the device, and wait where it is full.
_QUEUES = expression(
    r"Launch|Memcpy|Memset|Memory|Prefetch|EventRecord|WaitEvent|EventQuery|StreamQuery|Callback|Write"
)


@shared
def set_up_calls(trace: Trace) -> Int64:
    """Rows of these calls, in time order: each the first of its name."""
    events, calls = trace.events, trace.events.rows(Kind.RUNTIME, Kind.DRIVER)
    plain = named_in(trace, calls, lambda name: _QUEUES.search(name) is None)
    calls = calls[plain[events.name[calls]]]
    return firsts(trace, calls[is_in(calls, blocking_calls(trace).row, invert=True)], LONG_NS)


@shared
def starts_up(trace: Trace) -> bool:
    """Whether the process begins to use its devices in the recording."""
    return bool((trace.events.dur_ns[set_up_calls(trace)] >= CONTEXT_NS).any())


def firsts(trace: Trace, rows: Int64, least_ns: int, length: Int64 | None = None) -> Int64:
    """Those of some events that are the first of their name, and far longer than all later ones of it.

    rows: in time order; length: of each, ns, where it is not the event's own.
    """
    if not len(rows):
        return rows
    length = trace.events.dur_ns[rows] if length is None else length
    _, first, name = np.unique(trace.events.name[rows], return_index=True, return_inverse=True)
    later_ns = np.zeros(len(first), np.int64)
    later = np.ones(len(rows), bool)
    later[first] = False
    np.maximum.at(later_ns, name[later], length[later])
    alone: Bool = (length[first] >= least_ns) & (length[first] >= TIMES_LONGER * later_ns)
    return np.sort(rows[first[alone]])
