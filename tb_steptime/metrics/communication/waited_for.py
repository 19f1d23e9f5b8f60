"""Which blocking calls wait for a small collective, because they read its result as soon as it is requested.

thread      [all_reduce][div][aten::item: copy + synchronize ........]
stream 40         [ncclDevKernel_AllReduce .................]          ends when the slowest rank is there
stream 7                                                     [div][c]

Gradients are not considered, because they are launched by other threads, and are large. A call does not wait for a
collective that ended before the call began.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import BARRIER, KIND_LABELS, Collectives, find_collectives
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.host.blocking_calls import BlockingGroups, blocking_groups
from tb_steptime.trace.model import Trace, calls_that_launch, find_launches
from tb_steptime.trace.sources import Words
from tb_steptime.trace.table import Int64, distinct_in

#: Maximum number of launches of a thread between an exchange and the call that reads its result: a division, a
#: comparison, the copy.
LAUNCHES_BETWEEN = 4
#: Maximum size of a collective whose result a call reads: a loss, some metrics, a norm. Larger ones are gradients or
#: activations, which no line of a script reads.
MOST_BYTES = 65_536


def waited_collectives(trace: Trace) -> Words:
    """Returns for each of `blocking_groups` the label of the collective for which it waits, such as "all-reduce"; none
    for most of them."""
    groups, labels = blocking_groups(trace), list(KIND_LABELS.values())
    number = np.full(len(groups), -1, np.int32)
    if len(groups) and has_device_activity(trace):
        collectives = find_collectives(trace)
        last = _last_before(trace, collectives, groups)
        with_last = np.flatnonzero(last >= 0)
        with_last = with_last[collectives.end[last[with_last]] > groups.start[with_last]]
        number[with_last] = collectives.kind[last[with_last]]
    return Words(number, labels)


def _last_before(trace: Trace, collectives: Collectives, groups: BlockingGroups) -> Int64:
    """Returns for each group the last small collective that its thread launched shortly before it; -1 for none."""
    launches, thread = find_launches(trace), trace.events.thread
    call = launches.calls_of(collectives.event)
    nbytes = collectives.bytes
    is_small = ((nbytes >= 0) & (nbytes <= MOST_BYTES)) | (collectives.kind == BARRIER)
    small = np.flatnonzero(is_small & (call >= 0))
    small = small[np.argsort(call[small], kind="stable")]
    launching = calls_that_launch(trace)
    last = np.full(len(groups), -1, np.int64)
    for number in distinct_in(thread[call[small]]).tolist():
        thread_calls = launching[thread[launching] == number]
        thread_small = small[thread[call[small]] == number]
        on_thread = np.flatnonzero(thread[groups.call] == number)
        before = np.searchsorted(call[thread_small], groups.call[on_thread]) - 1
        on_thread, before = on_thread[before >= 0], thread_small[before[before >= 0]]
        between = (
            np.searchsorted(thread_calls, groups.call[on_thread]) - np.searchsorted(thread_calls, call[before]) - 1
        )
        near = between <= LAUNCHES_BETWEEN
        last[on_thread[near]] = before[near]
    return last
