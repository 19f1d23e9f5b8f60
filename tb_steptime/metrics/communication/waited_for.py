"""Blocking calls that wait for a small collective, because its result is read as soon as it is requested.

thread      [all_reduce][div][aten::item: copy + synchronize ........]
stream 40         [ncclDevKernel_AllReduce .................]          ends when the slowest rank is there
stream 7                                                     [div][c]

Gradients are not considered: they are launched by other threads, and are large. A collective that had ended when the
call began was not waited for.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import Collectives, find_collectives
from tb_steptime.metrics.communication.kinds import KIND_LABELS, KINDS
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.host.sync_groups import BlockingGroups, blocking_groups
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.sources import Words
from tb_steptime.trace.table import Bool, Int64, distinct_in

#: Maximum number of launches of a thread between an exchange and the call that reads it: a division, a comparison, the
#: copy.
LAUNCHES_BETWEEN = 4
#: Maximum size of the collective: a loss, some metrics, a norm. Larger ones are gradients or activations, which no line
#: of a script reads.
MOST_BYTES = 65_536

_BARRIER = KINDS.index("barrier")


def waited_collectives(trace: Trace) -> Words:
    """For each of `blocking_groups` the name of the collective for which it waits, such as "all-reduce"; none for most
    of them."""
    groups, labels = blocking_groups(trace), list(KIND_LABELS.values())
    number = np.full(len(groups), -1, np.int32)
    if len(groups) and has_device_activity(trace):
        found = find_collectives(trace)
        last = _last_before(trace, found, groups)
        known = np.flatnonzero(last >= 0)
        known = known[found.end[last[known]] > groups.start[known]]
        number[known] = found.kind[last[known]]
    return Words(number, labels)


def _last_before(trace: Trace, found: Collectives, groups: BlockingGroups) -> Int64:
    """Returns for each group the last small collective that its thread launched shortly before it; -1 for none."""
    launches, thread = find_launches(trace), trace.events.thread
    call = launches.calls_of(found.event)
    small = np.flatnonzero(_is_small(found) & (call >= 0))
    small = small[np.argsort(call[small], kind="stable")]
    launching = distinct_in(launches.call[launches.call >= 0]).astype(np.int64)
    last = np.full(len(groups), -1, np.int64)
    for number in distinct_in(thread[call[small]]).tolist():
        own, mine = launching[thread[launching] == number], small[thread[call[small]] == number]
        here = np.flatnonzero(thread[groups.call] == number)
        before = np.searchsorted(call[mine], groups.call[here]) - 1
        here, before = here[before >= 0], mine[before[before >= 0]]
        between = np.searchsorted(own, groups.call[here]) - np.searchsorted(own, call[before]) - 1
        near = between <= LAUNCHES_BETWEEN
        last[here[near]] = before[near]
    return last


def _is_small(found: Collectives) -> Bool:
    small: Bool = ((found.bytes >= 0) & (found.bytes <= MOST_BYTES)) | (found.kind == _BARRIER)
    return small
