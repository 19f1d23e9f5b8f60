"""The wait for other ranks in each collective, estimated as its extra time compared with others of the same size or
larger, or at the same place of other steps if sizes are not recorded.

all-reduce of 8 MB   [==]         [==]        [=========]        [==]
at best              [==]                         ^^^^^^^ est. wait: this rank was ready, another was not
broadcast of 1 MB              [=====]             [=====]   in the same group: fewer bytes take no longer than 8 MB

This is an estimate, because one rank's trace lacks the clocks of the others. It is a lower bound if every collective
waits. A collective beside computation takes longer without any wait, so only exposed time counts. Without a device
nothing counts as a wait, because ranks share the processor.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.communication.collectives import BARRIER, KINDS, Collectives, find_collectives
from tb_steptime.metrics.communication.exposure import exposure
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.model import Trace
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64, distinct_in, is_in

#: Minimum number of collectives of a size, or at a place. Of fewer, the shortest one may have waited as well.
FEWEST_ALIKE = 3
#: Networks vary, so a collective that takes less than this many times the best, or less than this much longer, did not
#: wait.
LONGER_THAN_BEST, LEAST_WAIT_NS = 1.5, 100_000
#: Sizes within a quarter of a power of two count as equal, because the splits of an all-to-all differ from step to
#: step.
_SIZES_PER_DOUBLING = 4
#: Kinds that pass all data from rank to rank. In one group more bytes take longer, and an all-reduce, which passes them
#: twice, takes longer than the others.
_ALONG_THE_RING = tuple(KINDS.index(kind) for kind in ("all_reduce", "reduce_scatter", "all_gather", "broadcast"))
_ALL_REDUCE = KINDS.index("all_reduce")
#: A message of at most this many bytes arrives within this time on any network that connects ranks; the rest of its
#: time is a wait.
FEW_BYTES, FEW_BYTES_NS = 65_536, 500_000


def est_wait_ns(trace: Trace) -> Int64:
    """Estimates the wait in each of `find_collectives`, at most its exposed time; 0 if nothing indicates a wait."""
    collectives = find_collectives(trace)
    if not has_device_activity(trace):
        return np.zeros(len(collectives), np.int64)
    longer, exposed = longer_than_best_ns(trace), exposure(trace).exposed_ns
    return np.minimum(longer + _carried_ns(trace, collectives, longer, exposed), exposed)


# A hidden wait delays what is queued behind it, so it may be exposed only there.
#
# computing   |ccccccccccccccccccccc|
# stream 40      [wait for a late rank ][25 MB][25 MB]     the last two would have run beside the computation
# exposed                            |eeeeeeeeeeeeeee|

#: A hidden collective is slowed by the computation beside it, but does not take this many times as long as the best
#: one.
_SURELY_WAITS = 3
#: Maximum time between two collectives of a stream if the second one was queued. NCCL's launches are 10 us apart.
_QUEUED_NS = 50_000


def _carried_ns(trace: Trace, collectives: Collectives, longer: Int64, exposed: Int64) -> Int64:
    """Returns for each collective the hidden waits before it in an unbroken queue that delay its own exposed time. No
    wait counts twice."""
    length, events = collectives.end - collectives.start, trace.events
    hidden = np.where(length >= _SURELY_WAITS * (length - longer), np.maximum(longer - exposed, 0), 0)
    carried = np.zeros(len(collectives), np.int64)
    if not hidden.any():
        return carried
    device, stream = events.device[collectives.event], events.stream[collectives.event]
    order = np.lexsort((collectives.start, stream, device))
    same = (np.diff(stream[order]) == 0) & (np.diff(device[order]) == 0)
    queued = np.append(False, same & (collectives.start[order[1:]] - collectives.end[order[:-1]] <= _QUEUED_NS))
    left = 0
    for place, follows in zip(order.tolist(), queued.tolist(), strict=True):
        left = left if follows else 0
        carried[place] = min(left, max(0, int(exposed[place] - longer[place])))
        left += int(hidden[place]) - int(carried[place])
    return carried


def longer_than_best_ns(trace: Trace) -> Int64:
    """Returns how much longer each of `find_collectives` takes than the best comparable one; 0 if the variation of
    networks explains it."""
    collectives = find_collectives(trace)
    length = collectives.end - collectives.start
    few = ((collectives.bytes >= 0) & (collectives.bytes <= FEW_BYTES)) | (collectives.kind == BARRIER)
    best = np.where(few, FEW_BYTES_NS, length)
    best = np.minimum(best, _best_alike(trace, collectives, length))
    waits = (length >= LONGER_THAN_BEST * best) & (length - best >= LEAST_WAIT_NS)
    return np.where(waits, length - best, 0)


def _best_alike(trace: Trace, collectives: Collectives, length: Int64) -> Int64:
    """Returns the shortest length of comparable collectives: those of the same kind, group and size, and those that
    send more over the same links; or, where sizes are not recorded, those at the same place of the steps. If these are
    few, it is the collective's own length."""
    known = collectives.bytes >= 0
    size = np.where(collectives.bytes > 0, np.rint(_SIZES_PER_DOUBLING * np.log2(np.maximum(collectives.bytes, 1))), 0)
    place = _places_in_steps(trace, collectives)
    like = known.astype(np.int64), np.where(known, size, place).astype(np.int64)
    alike = Groups.of(collectives.kind, collectives.group, collectives.group_size, *like)
    enough = (alike.count()[alike.place] >= FEWEST_ALIKE) & (known | (place >= 0))
    best = np.where(enough, alike.extremes(length)[0][alike.place], length)
    named = np.flatnonzero((collectives.group >= 0) & (collectives.bytes > 0))
    groups = Groups.of(collectives.group[named], collectives.group_size[named])
    for number in range(len(groups)):
        members = named[groups.place == number]
        for kind in distinct_in(collectives.kind[members]).tolist():
            if kind in _ALONG_THE_RING:
                of_kind = members[collectives.kind[members] == kind]
                comparable = members[is_in(collectives.kind[members], (kind, _ALL_REDUCE))]
                best[of_kind] = np.minimum(best[of_kind], _best_of_larger(size, length, of_kind, comparable))
    return best


def _best_of_larger(size: Float64, length: Int64, chosen: Int64, others: Int64) -> Int64:
    """Returns for each of `chosen` the shortest length of those others that are at least as large; its own length if
    these are few."""
    order = others[np.argsort(size[others], kind="stable")]
    shortest = np.minimum.accumulate(length[order][::-1])[::-1]
    place = np.searchsorted(size[order], size[chosen])
    enough = len(order) - place >= FEWEST_ALIKE
    return np.where(enough, shortest[np.minimum(place, len(order) - 1)], length[chosen])


def _places_in_steps(trace: Trace, collectives: Collectives) -> Int64:
    """Returns the place of each collective among those of its kind and group in its step; -1 outside of steps, and if
    the steps have different numbers of them.

    step        |--- 0 ---|--- 1 ---|--- 2 ---|
    all-reduce   a   b     a   b     a    b       those at place 0 reduce the same gradients
    """
    step = find_steps(trace).holding(collectives.start)
    of_kind = Groups.of(collectives.kind, collectives.group, collectives.group_size)
    in_step = Groups.of(of_kind.place, step)
    order = np.lexsort((collectives.start, in_step.place))
    count = in_step.count()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    of_step, inside = count[in_step.place], step >= 0
    fewest, most = of_kind.extremes(np.where(inside, of_step, len(step)), np.where(inside, of_step, 0))
    return np.where(inside & (fewest == most)[of_kind.place], place, -1)
