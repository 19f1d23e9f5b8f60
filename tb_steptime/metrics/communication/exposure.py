"""How much of each collective no computation hides.

kernels       kkkkkkkk......kkkk.......kkkk
collectives   ...aaaaaaaaaa........cccc....
                 ....bbbb...                    an instant of two collectives belongs to the one that ends first
exposed               bbaaa        cccc         the step's part "communication": of a 3, of b 2, of c 4

Work that waits for several collectives begins as soon as the first of them ends, so it does not wait for the others.

Exposed times are disjoint. They sum to the time of the steps in which collectives run and no computing kernel does,
without the time that verdicts leave out: work from before the recording, one-time work, and the end of the recording.

On a host that computes without a device, some ops start an exchange themselves and wait for it: the autograd
functions around collectives, of `torch.distributed.nn.functional`, Megatron and others.

op             [_AlltoAllSingle                ][aten::mm]
c10d op          [alltoall]
exchange              [gloo:all_to_all        ]                 on a thread of the backend
computing                                       kkkkkkkkk      the rest of the function is a wait

The exchanges of DistributedDataParallel end after the ops that start them, which do not wait. Compiled code calls no
ops while it computes, so a compiled region does not count as such an op.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import KIND_LABELS, KINDS, Collectives, find_collectives
from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.gpu.utilization import collective_names, computing_kernels, has_device_activity
from tb_steptime.metrics.host.blocking_calls import BlockingGroups, blocking_groups
from tb_steptime.metrics.idle.reasons import devices_by_activity
from tb_steptime.metrics.job import compiled_ranges
from tb_steptime.metrics.phases.assignment import PHASES, SITE_PHASE, activity_sites
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import NEVER, Intervals
from tb_steptime.trace.model import Trace, calls_that_launch, find_launches, rows_named, shared
from tb_steptime.trace.nesting import parent_places
from tb_steptime.trace.sources import Words
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int32, Int64, Kind, distinct, distinct_in, is_in

#: The model computes on a stream with at least this share of its device's computing time.
COMPUTE_STREAM_FRACTION = 0.10
#: Two collectives with at most this many computing kernels in between count as one exchange. Such kernels divide by the
#: number of ranks or copy out of a buffer; between layers there are more.
FEW_KERNELS = 2


class Exposure(msgspec.Struct, frozen=True, eq=False):
    """How much of the collectives no computation hides; one entry for each of `find_collectives`.

    exposed_ns          exposed time within the judged time of the steps
    alone               all ranges of exposed time, over all collectives
    on_compute_stream   whether it runs on a stream of the model, where no later kernel can start before it ends
    in_a_row            whether at most FEW_KERNELS kernels start between it and the next or the previous collective
    """

    exposed_ns: Int64
    alone: Intervals
    on_compute_stream: Bool
    in_a_row: Bool


@shared
def exposure(trace: Trace) -> Exposure:
    """Measures the exposure over all devices of the process. As in the step's parts, a kernel on any of them hides a
    collective."""
    collectives, computing = find_collectives(trace), computing_kernels(trace)
    alone = (Intervals.union(collectives.start, collectives.end) & judged_windows(trace)) - computing_times(trace)
    return Exposure(
        exposed_ns=_exposed_ns(collectives, alone),
        alone=alone,
        on_compute_stream=_are_on_compute_stream(trace, collectives, computing),
        in_a_row=_are_in_a_row(trace, collectives, computing),
    )


def exposure_within(trace: Trace, windows: Intervals) -> Exposure:
    """Returns the exposure within these windows alone."""
    shown = exposure(trace)
    alone = shown.alone & windows
    return msgspec.structs.replace(shown, exposed_ns=_exposed_ns(find_collectives(trace), alone), alone=alone)


def computing_times(trace: Trace) -> Intervals:
    """Returns when kernels other than collectives run, or ops without a device, within the judged time of the steps."""
    if not has_device_activity(trace):
        return computing_ops(trace) & judged_windows(trace)
    return Intervals.of_events(trace.events, computing_kernels(trace)) & judged_windows(trace)


def backward_computing(trace: Trace, reduces: Bool) -> Intervals | None:
    """Returns when the backward passes compute whose gradients these of `find_collectives` reduce; None if the trace
    shows no such pass. Nothing else can hide the exchange of gradients.

    computes    ffff bbbb ffff bbbb oo
    reduces                      rrrrr       gradients of the last backward pass that began before
    result                     bbbb
    """
    found = _reduced_passes(trace, reduces)
    return None if found is None else Intervals.of_events(trace.events, found.kernels)


def before_gradients(trace: Trace, reduces: Bool) -> Intervals:
    """Returns when these passes compute before their first gradient is ready. Work that the host launches before that
    also runs before any bucket can be sent. A backward pass that is compiled as a whole returns all gradients at its
    end.

    host        [bbbbbbbbbbbbbbb][AccumulateGrad][AccumulateGrad]
    computes     bbbbbbbbbbbbbbb
    """
    found = _reduced_passes(trace, reduces)
    if found is None:
        return Intervals.empty()
    launched, next_pass = _launched_ns(trace, found.kernels), _launched_ns(trace, found.next)
    ready = np.sort(trace.events.start_ns[rows_named(trace, (Kind.CPU_OP,), _ACCUMULATES.fullmatch)])
    by_pass = Groups.of(found.number)
    begin = by_pass.extremes(launched)[0]
    first = np.append(ready, NEVER)[np.searchsorted(ready, begin)][by_pass.place]
    return Intervals.of_events(trace.events, found.kernels[(first < next_pass) & (launched < first)])


def _launched_ns(trace: Trace, kernels: Int64) -> Int64:
    """Returns when the host launches each kernel, ns; a time in the far future without a launch, or for -1."""
    call = np.where(kernels >= 0, find_launches(trace).calls_of(np.maximum(kernels, 0)), -1)
    return np.where(call >= 0, trace.events.start_ns[np.maximum(call, 0)], NEVER - 1)


_ACCUMULATES = expression(r"torch::autograd::AccumulateGrad")


class _Passes(msgspec.Struct, frozen=True, eq=False):
    """The computing kernels of backward passes, the number of each one's pass, and the first kernel of the pass after
    that, -1 for none."""

    kernels: Int64
    number: Int64
    next: Int64


def _reduced_passes(trace: Trace, reduces: Bool) -> _Passes | None:
    kernels, launches = computing_kernels(trace), find_launches(trace).activity
    phase = SITE_PHASE[activity_sites(trace)[np.searchsorted(launches, kernels)]]
    in_pass = is_in(phase, (_FORWARD, _BACKWARD))
    kernels, is_backward = kernels[in_pass], phase[in_pass] == _BACKWARD
    if not is_backward.any():
        return None
    passes = np.cumsum(np.append(False, is_backward[1:] != is_backward[:-1]))
    first = np.flatnonzero(np.append(True, np.diff(passes) > 0))
    started = find_collectives(trace).start[reduces]
    place = np.searchsorted(trace.events.start_ns[kernels[first]], started, side="right") - 1
    reduced = is_backward & is_in(passes, place)
    after = np.append(kernels[first[1:]], -1)[passes[reduced]]
    return _Passes(kernels[reduced], passes[reduced], after) if reduced.any() else None


_FORWARD, _BACKWARD = PHASES.index("forward"), PHASES.index("backward")


def judged_windows(trace: Trace) -> Intervals:
    """Returns the steps without the time that verdicts and cards leave out, on the device with the most work."""
    steps, devices = find_steps(trace), devices_by_activity(trace)
    left_out = excluded_time(trace, devices[0] if devices else None).total
    return steps.intervals - left_out


def _exposed_ns(collectives: Collectives, alone: Intervals) -> Int64:
    """Returns for each collective the part of `alone` in which no other collective runs that ends earlier."""
    times = distinct(np.concatenate((collectives.start, collectives.end)))
    owner = first_to_end(collectives.start, collectives.end, times[:-1])
    covered = np.flatnonzero(owner >= 0)
    exposed = np.zeros(len(collectives), np.int64)
    np.add.at(exposed, owner[covered], alone.overlap_ns(times[covered], times[covered + 1]))
    return exposed


def first_to_end(start: Int64, end: Int64, instants: Int64) -> Int64:
    """Returns for each instant the range that contains it and ends first (of equals, the first one); -1 if none
    contains it.

    >>> first_to_end(np.array([0, 5, 30]), np.array([20, 10, 40]), np.array([0, 5, 10, 20, 30])).tolist()
    [0, 1, 0, -1, 2]
    """
    order = np.argsort(end, kind="stable")
    # earliest[k][i]: the earliest start of the 2^k ranges from the i-th on, by end
    earliest = [start[order]]
    while (width := 1 << (len(earliest) - 1)) < len(order):
        later = np.append(earliest[-1][width:], np.full(min(width, len(order)), NEVER))
        earliest.append(np.minimum(earliest[-1], later))
    at = np.searchsorted(end[order], instants, side="right")
    for level in range(len(earliest) - 1, -1, -1):
        passed = np.append(earliest[level], -NEVER)[at] > instants
        at = np.minimum(at + (passed << level), len(order))
    holds = at < len(order)
    return np.where(holds, order[np.minimum(at, len(order) - 1)], -1) if len(order) else np.full(len(instants), -1)


def _are_on_compute_stream(trace: Trace, collectives: Collectives, computing: Int64) -> Bool:
    """Returns whether each collective runs on a compute stream, which has at least COMPUTE_STREAM_FRACTION of its
    device's computing time."""
    events = trace.events
    streams = Groups.of(events.device[computing], events.stream[computing])
    devices = Groups.of(events.device[computing])
    busy_ns = devices.sum(events.dur_ns[computing])[devices.place[streams.first]]
    often = computing[streams.first[streams.sum(events.dur_ns[computing]) >= COMPUTE_STREAM_FRACTION * busy_ns]]
    compute = set(zip(events.device[often].tolist(), events.stream[often].tolist(), strict=True))
    own = zip(events.device[collectives.event].tolist(), events.stream[collectives.event].tolist(), strict=True)
    return np.array([stream in compute for stream in own], bool)


def _are_in_a_row(trace: Trace, collectives: Collectives, computing: Int64) -> Bool:
    start = trace.events.start_ns[computing]
    between = np.searchsorted(start, collectives.start[1:]) - np.searchsorted(start, collectives.end[:-1])
    close = between <= FEW_KERNELS
    return np.append(close, False) | np.append(False, close) if len(close) else np.zeros(len(collectives), bool)


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


# The wait for other ranks in each collective is estimated as its extra time compared with others of the same size or
# larger, or at the same place of other steps if sizes are not recorded.
#
# all-reduce of 8 MB   [==]         [==]        [=========]        [==]
# at best              [==]                         ^^^^^^^ est. wait: this rank was ready, another was not
# broadcast of 1 MB              [=====]             [=====]   in the same group: fewer bytes take no longer than 8 MB
#
# This is an estimate, because one rank's trace lacks the clocks of the others. It is a lower bound if every collective
# waits. A collective beside computation takes longer without any wait, so only exposed time counts. Without a device
# nothing counts as a wait, because ranks share the processor.
#
# Blocking calls wait for a small collective, because its result is read as soon as it is requested.
#
# thread      [all_reduce][div][aten::item: copy + synchronize ........]
# stream 40         [ncclDevKernel_AllReduce .................]          ends when the slowest rank is there
# stream 7                                                     [div][c]
#
# Gradients are not considered, because they are launched by other threads, and are large. A call does not wait for a
# collective that ended before the call began.

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
    few = ((collectives.bytes >= 0) & (collectives.bytes <= FEW_BYTES)) | (collectives.kind == _BARRIER)
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
                own = members[collectives.kind[members] == kind]
                comparable = members[is_in(collectives.kind[members], (kind, _ALL_REDUCE))]
                best[own] = np.minimum(best[own], _best_of_larger(size, length, own, comparable))
    return best


def _best_of_larger(size: Float64, length: Int64, own: Int64, others: Int64) -> Int64:
    """Returns for each of `own` the shortest length of those others that are at least as large; its own length if these
    are few."""
    order = others[np.argsort(size[others], kind="stable")]
    shortest = np.minimum.accumulate(length[order][::-1])[::-1]
    place = np.searchsorted(size[order], size[own])
    enough = len(order) - place >= FEWEST_ALIKE
    return np.where(enough, shortest[np.minimum(place, len(order) - 1)], length[own])


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


#: Maximum number of launches of a thread between an exchange and the call that reads its result: a division, a
#: comparison, the copy.
LAUNCHES_BETWEEN = 4
#: Maximum size of a collective whose result a call reads: a loss, some metrics, a norm. Larger ones are gradients or
#: activations, which no line of a script reads.
MOST_BYTES = 65_536

_BARRIER = KINDS.index("barrier")


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
    is_small = ((nbytes >= 0) & (nbytes <= MOST_BYTES)) | (collectives.kind == _BARRIER)
    small = np.flatnonzero(is_small & (call >= 0))
    small = small[np.argsort(call[small], kind="stable")]
    launching = calls_that_launch(trace)
    last = np.full(len(groups), -1, np.int64)
    for number in distinct_in(thread[call[small]]).tolist():
        own = launching[thread[launching] == number]
        small_here = small[thread[call[small]] == number]
        on_thread = np.flatnonzero(thread[groups.call] == number)
        before = np.searchsorted(call[small_here], groups.call[on_thread]) - 1
        on_thread, before = on_thread[before >= 0], small_here[before[before >= 0]]
        between = np.searchsorted(own, groups.call[on_thread]) - np.searchsorted(own, call[before]) - 1
        near = between <= LAUNCHES_BETWEEN
        last[on_thread[near]] = before[near]
    return last
