"""Estimated wait for other ranks in each collective: its extra time compared with others of the same size.

all-reduce of 8 MB   [==]         [==]        [=========]        [==]
at best              [==]                         ^^^^^^^ est. wait: this rank was ready, another was not

This is an estimate, because one rank's trace lacks the clocks of the others; it is a lower bound if every collective
waits. A collective beside computation takes longer without any wait, so only exposed time counts. Without a device no
time counts, because ranks share the processor.

Blocking calls wait for a small collective, because its result is read as soon as it is requested.

thread      [all_reduce][div][aten::item: copy + synchronize ........]
stream 40         [ncclDevKernel_AllReduce .................]          ends when the slowest rank is there
stream 7                                                     [div][c]

Gradients are not considered: they are launched by other threads, and are large. A collective that had ended when the
call began was not waited for.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import Collectives, find_collectives
from tb_steptime.metrics.communication.exposure import exposure
from tb_steptime.metrics.communication.kinds import KIND_LABELS, KINDS
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.metrics.host.sync_groups import BlockingGroups, blocking_groups
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.sources import Words
from tb_steptime.trace.table import Bool, Int64, distinct_in

#: Minimum number of collectives of a size. With fewer, the best one may have waited as well.
FEWEST_ALIKE = 3
#: Networks vary: a collective that takes less than this many times the best, or less than this much longer, did not
#: wait.
LONGER_THAN_BEST, LEAST_WAIT_NS = 1.5, 100_000
#: Sizes within a quarter of a power of two count as equal: the splits of an all-to-all differ from step to step.
_SIZES_PER_DOUBLING = 4
#: A message of at most this many bytes arrives within this time on any network that connects ranks; the rest of its
#: time is a wait.
FEW_BYTES, FEW_BYTES_NS = 65_536, 500_000


def est_wait_ns(trace: Trace) -> Int64:
    """Estimates the wait in each of `find_collectives`, at most its exposed time; 0 where nothing indicates a wait."""
    found = find_collectives(trace)
    if not has_device_activity(trace):
        return np.zeros(len(found), np.int64)
    return np.minimum(longer_than_best_ns(trace), exposure(trace).exposed_ns)


def longer_than_best_ns(trace: Trace) -> Int64:
    """How much longer each of `find_collectives` takes than the best comparable one, if a network's variation cannot
    explain it; else 0."""
    found = find_collectives(trace)
    length = found.end - found.start
    best = np.where((found.bytes >= 0) & (found.bytes <= FEW_BYTES), FEW_BYTES_NS, length)
    best = np.minimum(best, _best_alike(found, length))
    waits = (length >= LONGER_THAN_BEST * best) & (length - best >= LEAST_WAIT_NS)
    return np.where(waits, length - best, 0)


def _best_alike(found: Collectives, length: Int64) -> Int64:
    """The shortest length among those of its kind, group and size; its own if these are few or the size is unknown."""
    size = np.where(found.bytes > 0, np.rint(_SIZES_PER_DOUBLING * np.log2(np.maximum(found.bytes, 1))), 0)
    alike = Groups.of(found.kind, found.group, found.group_size, size.astype(np.int64))
    enough = (alike.count()[alike.place] >= FEWEST_ALIKE) & (found.bytes >= 0)
    return np.where(enough, alike.extremes(length)[0][alike.place], length)


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
