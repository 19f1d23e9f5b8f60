"""The excess on host threads.

segment  [aten::addmm          |launch|  ]      a segment that is longer than others of its site
op       [cudnn_convolution [cudaFree][cudaMalloc] ]     an op that is longer than those of its site because of calls
                                                         that no other one makes, which are its excess
range    [compile_inner (dynamo_timed)     ]    what the recording identifies as work of a first use
step     | [bench] [bench] [bench] | mm | mm |  code that only the first step runs, if it is far longer than the others
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.metrics.base import Figure, Metric, mean_figure, unknown
from tb_steptime.metrics.gpu.utilization import devices_with_activity
from tb_steptime.metrics.launches.run_ahead import NO_LAUNCHES
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.metrics.steady.edges import between_recordings, cut_off_intervals
from tb_steptime.metrics.steady.excess import (
    LEAST_ALIKE_NS,
    CallExcess,
    Excess,
    ExcessKind,
    judge,
    no_excess,
    ranked_in_groups,
)
from tb_steptime.metrics.steady.first_use import first_uses
from tb_steptime.metrics.steady.host_segments import HostEvents, HostSegments, host_events, host_segments, waits_ns
from tb_steptime.metrics.steady.sites import host_code, op_sites, segment_sites
from tb_steptime.text import Unit
from tb_steptime.trace.host_ranges import LOADING_OVERHEAD, garbage_collections, loading_overheads
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.quality.memory_calls import allocation_retries
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import ALL_ROWS, CALL_KINDS, Bool, Int32, Int64, Kind, UInt8, distinct_in, is_in, values_at

#: One-time work must be this many times as long as interruptions in other steps, if there are at least LEAST_STEPS
#: steps.
TIMES_NOISE, LEAST_STEPS = 2, 3
#: Work that only the first step does must take this many times as long as the longest later step. Work of every k-th
#: step, such as an optimizer's after accumulated gradients, does not.
TIMES_ALL_LATER = 2


class HostComparison(msgspec.Struct, frozen=True, eq=False):
    """The result of comparing the calls of host threads. `_undisturbed_ns` explains `undisturbed_ns`."""

    excess: Excess
    undisturbed_ns: Int64 | None


UNDISTURBED_HOST_TIME = Metric(
    "undisturbed_host_time", "Undisturbed host time", Unit.NS,
    "Time per step in which the main threads work, if each call took as long as the second fastest one of the same "
    "code and shapes (est.). Waits are left out. Other processes hardly change it.",
)  # fmt: skip


@shared
def on_host(trace: Trace) -> HostComparison:
    """Returns the segments that are too long, without the waits of their thread. Threads that do not train are idle
    between their events, and that is not time of the job."""
    host, segments = host_events(trace), host_segments(trace)
    trains = is_in(segments.thread, training_threads(trace))
    segments = segments.where((segments.inside >= 0) | trains)
    if not len(segments):
        return HostComparison(no_excess(), None)
    own_ns = segments.end_ns - segments.start_ns
    own_ns -= waits_ns(trace, host, segments)
    step = step_at(trace, segments.start_ns)
    judged, site, only_first = _judged(trace, segments, own_ns, step)
    undisturbed_ns = _undisturbed_ns(trace, segments, own_ns, site, step)
    steps = int(np.count_nonzero(np.bincount(step)))
    del step  # with a million segments, each column takes 8 MB
    excess, kind = _excess_of_ops(trace, segments, own_ns, site, judged)
    kind = _explained(trace, segments, excess, kind)
    kind[_noise_rows(trace, segments, excess, kind, steps)] = ExcessKind.INTERRUPTED
    late = np.flatnonzero((excess > 0) & (kind == ExcessKind.INTERRUPTED))  # the kind of others means nothing
    kind[late[_in_first_call(trace, host, segments, site, late)]] = ExcessKind.ONCE
    kind[_begins_again(trace, segments, excess, kind, steps)] = ExcessKind.ONCE
    short = is_in(host.row, allocation_retries(trace).rows)  # memory may run short in any op and any step
    in_short = (segments.inside >= 0) & short.take(segments.inside)
    kind[(kind == ExcessKind.ONCE) & in_short] = ExcessKind.INTERRUPTED
    only_first = _with_calls_between(trace, segments, only_first) & ~in_short
    kind[only_first] = ExcessKind.ONCE
    excess[only_first] = own_ns[only_first]
    excess, kind, ends = _excess_of_first_use(trace, host, segments, own_ns, excess, kind)
    kind = _explained(trace, segments, excess, kind)
    long = np.flatnonzero(excess)
    start, end = ends[long] - excess[long], ends[long]
    inside = segments.inside[long]
    named = np.where(inside >= 0, inside, np.maximum(segments.before[long], segments.after[long]))
    events = values_at(host.row, named).astype(np.int32)
    return HostComparison(Excess(segments.thread[long], start, end, kind[long], events), undisturbed_ns)


def _undisturbed_ns(trace: Trace, segments: HostSegments, own_ns: Int64, site: Int64, step: Int64) -> Int64 | None:
    """Returns the time of the training threads in each step if each call took as long as the second fastest one of its
    site, in ns; None if they have no segments. Segments outside the steps are compared, too, but do not count.

    aten::mm of one site, in ten steps      1.3  0.9  2.4  0.9  1.0  6.2  0.9  1.1  0.9  1.4 ms      0.9 ms per call

    Other processes make calls longer but never shorter. A step of 25 ms is rarely undisturbed as a whole, but most of
    its calls are undisturbed in some step.
    """
    rows = np.flatnonzero(is_in(segments.thread, training_threads(trace)))
    if not len(rows):
        return None
    steps, site = find_steps(trace), site[rows]
    count = np.bincount(site)
    end = np.cumsum(count)
    second = ranked_in_groups(own_ns[rows], site)[np.minimum(end - count + 1, end - 1)].astype(np.float64)
    within = np.where(segments.start_ns[rows] < steps.steps[-1].host_end_ns, step[rows], 0)
    ns = np.bincount(within, second[site], minlength=len(steps.steps) + 1)
    return ns[1:].round().astype(np.int64)


def _judged(trace: Trace, segments: HostSegments, own_ns: Int64, step: Int64) -> tuple[CallExcess, Int64, Bool]:
    """Returns the comparison of each segment with those of its sites, the number of its exact site, and whether only
    the first step has its code. The less exact sites are not needed afterwards. With a million segments, each takes 8
    MB."""
    sites, like = segment_sites(trace, segments)
    return judge(own_ns, step, sites, like), sites[0](ALL_ROWS), _only_in_first(trace, sites[2], own_ns, step)


def _only_in_first(trace: Trace, site_of: Callable[[slice], Int64], own_ns: Int64, step: Int64) -> Bool:
    """Returns which segments are code that no later step runs, if all of it takes far longer than any later step.
    Examples are candidates that are compiled and timed, and data that is prepared. An evaluation before the first of a
    few recorded steps may be such code, too, but its cost is no cost of the other steps either."""
    steps = find_steps(trace)
    length = steps.duration_ns
    if len(length) < LEAST_STEPS:
        return np.zeros(len(own_ns), bool)
    in_first, only = np.flatnonzero(step == 1), np.zeros(len(own_ns), bool)
    least_ns = TIMES_ALL_LATER * int(length[1:].max())
    if int(own_ns[in_first].sum()) >= least_ns:
        site = site_of(ALL_ROWS)
        in_first = in_first[is_in(site[in_first], site[step > 1], invert=True)]
        only[in_first] = int(own_ns[in_first].sum()) >= least_ns
    return only


def only_first_calls(trace: Trace) -> Int64:
    """Returns the rows of the calls in code that only a far longer first step runs, in order of thread and time."""
    length = find_steps(trace).duration_ns
    if len(length) < LEAST_STEPS or length[0] < TIMES_ALL_LATER * int(length[1:].max()):
        return np.zeros(0, np.int64)  # only a longer first step can have so much code of its own
    host, segments = host_events(trace), host_segments(trace)
    segments = segments.where(is_in(segments.thread, training_threads(trace)))
    own_ns = segments.end_ns - segments.start_ns - waits_ns(trace, host, segments)
    site_of = segment_sites(trace, segments).sites[2]
    only = _only_in_first(trace, site_of, own_ns, step_at(trace, segments.start_ns))
    segment = np.flatnonzero(_with_calls_between(trace, segments, only) & (segments.inside >= 0))
    rows: Int64 = host.row[segments.inside[segment]].astype(np.int64)
    return rows[is_in(trace.events.kind[rows], CALL_KINDS)]


def _with_calls_between(trace: Trace, segments: HostSegments, only: Bool) -> Bool:
    """Returns these segments and the calls before and after which a thread runs such code. A call has only its name in
    common with other calls, so the call alone does not show to what code it belongs."""
    if not only.any():
        return only
    host, thread, inside = host_events(trace), segments.thread, segments.inside
    same_thread = thread[:-1] == thread[1:]
    near = np.append(False, only[:-1] & same_thread) & np.append(only[1:] & same_thread, False)
    calls = (inside >= 0) & is_in(trace.events.kind.take(host.row), CALL_KINDS).take(inside)
    return np.asarray(only | near & calls, bool)


def _explained(trace: Trace, segments: HostSegments, excess: Int64, kind: UInt8) -> UInt8:
    """Returns the kind of each excess, considering what else happens for half of it: a garbage collection, a pause or
    the end of the recording, or the profiler."""
    kind, long = kind.copy(), np.flatnonzero(excess)
    start, end = segments.start_ns[long], segments.end_ns[long]
    collected = garbage_collections(trace)
    cut_off = (cut_off_intervals(trace, device) for device in devices_with_activity(trace))
    for named, when in (
        (ExcessKind.PERIODIC, Intervals.of_events(trace.events, collected)),
        (ExcessKind.EDGE, Intervals.joined((between_recordings(trace), *cut_off))),
        (ExcessKind.PROFILER, profiler_intervals(trace)),
    ):
        kind[long] = np.where(2 * when.overlap_ns(start, end) >= excess[long], named, kind[long])
    return kind


def undisturbed_host_time(trace: Trace) -> Figure:
    ns = on_host(trace).undisturbed_ns
    return unknown(trace, NO_LAUNCHES) if ns is None else mean_figure(ns)


def step_at(trace: Trace, instants: Int64) -> Int64:
    """Returns the number of the step whose host work contains each instant; 0 before the first one."""
    return find_steps(trace).begun_on_host(instants) + 1


def profiler_intervals(trace: Trace) -> Intervals:
    """Returns when the profiler works. Its rows for loading belong to the job, because a first launch loads code
    without a profiler, too."""
    rows = rows_named(trace, (Kind.OVERHEAD,), lambda name: LOADING_OVERHEAD.match(name) is None)
    return Intervals.of_events(trace.events, rows)


def _excess_of_ops(
    trace: Trace, segments: HostSegments, own_ns: Int64, site: Int64, repeats: CallExcess
) -> tuple[Int64, UInt8]:
    """Returns the excess of each segment and its kind, including that of ops with unusual calls. The time of an op
    beyond the steady duration of its site is attributed to its longest segments that have no equivalent in other calls
    of the op. It is added to the columns of `repeats` in place, because they are as long as the segments."""
    excess, kind = repeats.excess_ns, repeats.kind
    host = host_events(trace)
    ops = np.flatnonzero((trace.events.kind[host.row] == Kind.CPU_OP) & host_code(trace).fixed)
    first, end = _segments_within(trace, segments, host.row[ops])
    not_empty = end > first
    ops = ops[not_empty]
    first = first[not_empty]
    end = end[not_empty]
    if not len(ops):
        return excess, kind
    sites, like = op_sites(trace, ops)
    sums = np.zeros(len(own_ns) + 1, np.int64)
    np.cumsum(own_ns, out=sums[1:])
    length = sums.take(end) - sums.take(first)
    step = step_at(trace, trace.events.start_ns[host.row[ops]])
    del sums
    judged = judge(length, step, sites, like)
    long = np.flatnonzero(judged.excess_ns)
    calls = np.bincount(site)
    for place in long[np.argsort(host.depth[ops[long]], kind="stable")].tolist():
        segment_rows = np.arange(first[place], end[place])
        left = int(judged.excess_ns[place]) - int(excess[segment_rows].sum())
        inside = np.bincount(site[segment_rows], minlength=1)
        alone = segment_rows[(inside[site[segment_rows]] == calls[site[segment_rows]]) & (excess[segment_rows] == 0)]
        for each in alone[np.argsort(-own_ns[alone], kind="stable")].tolist():
            if left <= 0:
                break
            excess[each] = min(int(own_ns[each]), left)
            kind[each] = judged.kind[place]
            left -= int(excess[each])
    return excess, kind


def _segments_within(trace: Trace, segments: HostSegments, rows: Int32) -> tuple[Int64, Int64]:
    """Returns, for each of these rows of the event table, the first of its thread's segments that begins in it, and the
    first one after its end. The rows must be sorted by thread."""
    thread = trace.events.thread[rows]
    start = trace.events.start_ns[rows]
    end = trace.events.ends(rows)
    first, behind = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for number in distinct_in(thread).tolist():
        on_thread, (low, high) = slice(*_range_of(thread, number)), _range_of(segments.thread, number)
        segment_start = segments.start_ns[low:high]
        first[on_thread] = low + np.searchsorted(segment_start, start[on_thread])
        behind[on_thread] = low + np.searchsorted(segment_start, end[on_thread])
    return first, behind


def _range_of(ascending: Int32, value: int) -> tuple[int, int]:
    """Returns where this value begins and ends in the column."""
    number = np.array(value, ascending.dtype)  # of the same type, so that the column is not copied
    return int(np.searchsorted(ascending, number)), int(np.searchsorted(ascending, number, side="right"))


def _noise_rows(trace: Trace, segments: HostSegments, excess: Int64, kind: UInt8, steps: int) -> Int64:
    """Returns the segments that would count as one-time, although in at least two steps interruptions take half as
    long. A first call is interrupted as often as any other one. The number of steps with segments is `steps`."""
    long = np.flatnonzero(excess)
    if steps < LEAST_STEPS or not len(long):
        return long[:0]
    at, first = step_at(trace, segments.start_ns[long]), kind[long] == ExcessKind.ONCE
    interrupted, once = (
        np.bincount(at[of_kind], excess[long][of_kind], minlength=len(find_steps(trace).steps) + 1)
        for of_kind in (kind[long] == ExcessKind.INTERRUPTED, first)
    )
    return long[first & (once[at] < TIMES_NOISE * np.sort(interrupted)[-2])]


def _begins_again(trace: Trace, segments: HostSegments, excess: Int64, kind: UInt8, steps: int) -> Int64:
    """Returns the segments of the first step that would count as interrupted, although it has longer one-time work and
    no later step has an interruption half as long. A kernel that is compiled again for other inputs is an example. The
    number of steps with segments is `steps`."""
    long = np.flatnonzero(excess)
    if steps < LEAST_STEPS or not len(long):
        return long[:0]
    ns, first = excess[long], step_at(trace, segments.start_ns[long]) == 1
    interrupted = kind[long] == ExcessKind.INTERRUPTED
    longest = int(ns[interrupted & ~first].max(initial=0))
    once_ns = int(ns[(kind[long] == ExcessKind.ONCE) & first].sum())
    again = interrupted & first & (ns >= max(LEAST_ALIKE_NS, TIMES_NOISE * longest)) & (ns <= once_ns)
    return np.asarray(long[again], np.int64)


def _in_first_call(trace: Trace, host: HostEvents, segments: HostSegments, site: Int64, late: Int64) -> Bool:
    """Returns which of these segments are in the first launch of a kernel, or in the first call of an op, in which a
    library initializes itself. The latter only counts if no other call of the op has similar segments."""
    if not len(late):
        return np.zeros(0, bool)
    events, launches = trace.events, find_launches(trace)
    kind, name = events.kind.take(host.row), events.name.take(host.row).astype(np.int64)
    first = np.zeros(len(host), bool)
    ops = np.flatnonzero(kind == Kind.CPU_OP)
    ops = ops[np.argsort(events.start_ns[host.row[ops]], kind="stable")]
    calls = is_in(kind, CALL_KINDS)
    calling = ops[is_in(ops, host.parent[calls])]  # the first call of an op may only compute shapes
    for each in (ops, calling):
        first[each[firsts(name[each])]] = True
    op = np.where(calls, host.parent, np.arange(len(host)))
    in_op = first & ~calls | calls & (op >= 0) & first[op]
    launched = launches.activity[launches.call >= 0]
    loads = np.zeros(len(events), bool)
    loads[launches.call[launches.call >= 0][firsts(events.name[launched].astype(np.int64))]] = True
    asked = np.zeros(int(site.max()) + 1, bool)
    asked[site[late]] = True
    near = np.flatnonzero(asked[site])
    within = values_at(op, segments.inside[near])
    least, most = np.full(len(asked), len(host)), np.full(len(asked), -1)
    np.minimum.at(least, site[near], within)
    np.maximum.at(most, site[near], within)
    alone, inside = (least == most)[site[late]], segments.inside[late]
    return np.asarray((inside >= 0) & (loads.take(host.row).take(inside) | alone & in_op.take(inside)), bool)


def firsts(values: Int64) -> Int64:
    """Returns the place of the first of each distinct value."""
    place = np.full(int(values.max(initial=-1)) + 1, len(values), np.int64)
    place[values[::-1]] = np.arange(len(values))[::-1]  # the last write stays, which is that of the first one
    return place[place < len(values)]


def _excess_of_first_use(
    trace: Trace, host: HostEvents, segments: HostSegments, own_ns: Int64, excess: Int64, kind: UInt8
) -> tuple[Int64, UInt8, Int64]:
    """Returns the excess of each segment, its kind, and where it ends. It includes work that the recording identifies
    as a first use, which is excess as a whole. The profiler writes the loading of code on a track of its own, and the
    launch that loads is the call at that time."""
    loads = Intervals.of_events(trace.events, loading_overheads(trace))
    start = segments.start_ns
    end = segments.end_ns
    named = np.zeros(len(segments), np.int64)
    ends = end.copy()
    if len(loads):
        is_call = is_in(trace.events.kind.take(host.row), CALL_KINDS)
        calls = np.flatnonzero((segments.inside >= 0) & is_call.take(segments.inside))
        named[calls] = loads.overlap_ns(start[calls], end[calls])
    for thread, when in first_uses(trace):
        first, behind = _range_of(segments.thread, thread)
        use_ns = when.overlap_ns(start[first:behind], end[first:behind])
        inside = np.flatnonzero(use_ns)
        rows = first + inside
        last = np.searchsorted(when.start, end[rows]) - 1
        ends[rows] = np.minimum(when.end[last], end[rows])
        named[rows] = np.maximum(named[rows], use_ns[inside])
    np.minimum(named, own_ns, out=named)
    is_first = (named > 0) & (named >= excess - named)
    np.maximum(excess, named, out=excess)
    np.copyto(ends, end, where=~is_first)
    rows = np.flatnonzero(is_first)
    ends[rows] = np.maximum(ends[rows], start[rows] + excess[rows])
    kind[rows] = ExcessKind.ONCE
    return excess, kind, ends
