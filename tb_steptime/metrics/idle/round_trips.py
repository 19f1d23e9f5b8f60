"""Work of the CPU between a copy from the device and a copy back to it, within a step. It is a part of the model that
stays on the CPU, such as embeddings that do not fit on the device, and it needs what is copied at once.

thread   [launch]|-- copy to the host --|--- aten::embedding_bag ---|[copy to the device][launch]
device   kkkkkkkkkkkkkkkkkccccccccccccccc                            cccccccc            kkkkkk

Other work behind a copy lacks one of these signs. Of metrics, stored results and logs nothing is copied back. The next
batch comes from the loader, or in the next step. With an optimizer on the CPU, or an environment that acts on a few
values, the ops that compute are not most of what the CPU does, or few bytes are copied.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.activities import directions, way
from tb_steptime.metrics.host.blocking_calls import BlockingGroups
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches
from tb_steptime.trace.nesting import Lane, lane, op_rows
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in

#: Minimum bytes of a copy to the host. Fewer are values that a script reads.
LEAST_BYTES = 64 << 10
#: Minimum share of the time between the copies in which ops run.
COMPUTES_FRACTION = 0.5


def computes_between(trace: Trace, groups: BlockingGroups, others: Intervals) -> Int64:
    """Returns for each group that copies to the host the row of the longest op that computes before the next launch of
    the thread, if that is a copy to the device; -1 for all others. others: when the CPU does something else with
    copies, such as an optimizer's step."""
    result = np.full(len(groups), -1, np.int64)
    events = trace.events
    steps = find_steps(trace)
    words = directions(trace, groups.copy)
    is_result = np.array([*(text == "DtoH" for text in words.texts), False], bool)[words.number]
    candidates = np.flatnonzero(is_result & (groups.bytes >= LEAST_BYTES))
    if not len(candidates):
        return result
    launches, others = find_launches(trace), others | loader_intervals(trace)
    known = np.flatnonzero(launches.call >= 0)
    known = known[np.argsort(events.start_ns[launches.call[known]], kind="stable")]
    threads = events.thread[launches.call[known]]
    for thread in distinct_in(events.thread[groups.call[candidates]]).tolist():
        on_thread = candidates[events.thread[groups.call[candidates]] == thread]
        here = known[threads == thread]
        call_starts, begin = events.start_ns[launches.call[here]], groups.end[on_thread]
        following = np.searchsorted(call_starts, begin)
        on_thread, begin, following = (each[following < len(here)] for each in (on_thread, begin, following))
        end, activity = call_starts[following], launches.activity[here[following]]
        step = steps.holding_on_host(begin)
        returns = are_named(trace, activity, lambda name: way(name).direction == "HtoD")
        returns &= (events.kind[activity] == Kind.MEMCPY) & (step >= 0) & (step == steps.holding_on_host(end))
        returns &= others.overlap_ns(begin, end) == 0
        ops = lane(trace, op_rows, thread)
        for place in np.flatnonzero(returns).tolist():
            result[on_thread[place]] = _longest_op(ops, int(begin[place]), int(end[place]))
    return result


def _longest_op(ops: Lane, begin: int, end: int) -> int:
    """Returns the row of the longest op within these times; -1 if ops take little of them."""
    first, last = np.searchsorted(ops.start, (begin, end))
    inside = np.arange(first, last)[ops.end[first:last] <= end]
    busy_ns = Intervals.union(ops.start[inside], ops.end[inside]).total_ns
    if busy_ns < max(COMPUTES_FRACTION * (end - begin), 1):
        return -1
    return int(ops.rows[inside[(ops.end - ops.start)[inside].argmax()]])
