r"""Why each activity of a device begins when it does.

host     --[launch]------[launch]--[synchronize]--
stream       \-> kkkkkkk     \-> kkkkk ----^

launch      call --lag--> activity                         from the end of the call, or its beginning where that fits;
                                                           behind other work it would have begun as soon as usual
stream      activity --lag--> the next one of its stream
crossing    the end of another stream's work just before a start that has no other explanation

Lags are constants of the recording, one for each kind of edge. A delay that no edge explains is kept, and counted as
unexplained, or as contended if other work was running.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.idle.gaps import ENOUGH_LAUNCHES, REACHED_AT_MOST_NS
from tb_steptime.replay.host import Host, Role
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.table import Bool, Columns, Int64, median, values_at

#: Maximum delay of the hardware between two activities of a stream, or from a launch to its start.
LAG_NS = 10_000
#: Work that begins at least this long before its call returns does not wait for the return.
EARLY_NS = 10_000
#: The delays of most launches are alike if their upper quartile is at most this many times the lower one. Delays of a
#: device that others use are not.
ALIKE = 2
#: An instant before all others, far enough from the least number that times can be subtracted from it.
_BEFORE_ALL = -(1 << 62)


class Activities(Columns, frozen=True, eq=False):
    """Activities of devices in time order; times in ns.

    row        row of the event table
    track      the stream, as a row of `Trace.threads`
    item       the host's item that launched the activity; -1 for none
    previous   the activity before it on its stream, -1 for none. The first one of a stream follows the activity before
               it on any stream, if its launch is lost and it was not launched before the recording
    """

    row: Int64
    start_ns: Int64
    end_ns: Int64
    track: Int64
    item: Int64
    previous: Int64


class Starts(msgspec.Struct, frozen=True, eq=False):
    """Edges into activities, in any order, and the unexplained parts of delays; int64 in ns, one for each activity.

    unexplained_ns   delay without an explanation
    contended_ns     delay while another stream's work was running, which may have left no room
    """

    edges: list[Edges]
    unexplained_ns: Int64
    contended_ns: Int64


def find_activities(trace: Trace, host: Host) -> Activities:
    events, launches = trace.events, find_launches(trace)
    row, call = launches.activity.astype(np.int64), launches.call.astype(np.int64)
    place = np.full(len(events), -1, np.int64)
    place[host.row] = np.arange(len(host))
    device, stream = events.device[row], events.stream[row]
    order = np.lexsort((events.start_ns[row], stream, device))
    same = (np.diff(stream[order]) == 0) & (np.diff(device[order]) == 0)
    previous = np.full(len(row), -1, np.int64)
    previous[order[1:][same]] = order[:-1][same]
    item = values_at(place, call)
    start = events.start_ns[row]
    lost = (item < 0) & (previous < 0) & (start > start[item >= 0].min(initial=start.max(initial=0)))
    previous[lost] = np.flatnonzero(lost) - 1
    return Activities(row, start, events.ends(row), events.thread[row].astype(np.int64), item, previous)


def start_edges(trace: Trace, host: Host, work: Activities) -> Starts:
    """Returns the edges that explain the start of each activity."""
    start = work.start_ns
    has_call = work.item >= 0
    follows = work.previous >= 0
    returned = host.end_ns[work.item] if len(host) else start
    ended = work.end_ns[work.previous] if len(work) else start
    gap = start - ended
    launch_lag = _launch_lag(host, work, returned, ended)
    early = _during_call(host, work, returned)
    queued = follows & has_call & (gap >= 0) & (gap < LAG_NS) & (returned < ended)
    stream_lag = round(float(gap[queued].mean())) if queued.any() else 0
    order_lag = np.where(gap < 0, gap, stream_lag)
    called = np.where(early, _begun_in_call(host, work, early), returned + launch_lag)
    ready = np.maximum(np.where(has_call, called, _BEFORE_ALL), np.where(follows, ended + order_lag, _BEFORE_ALL))
    recorded, recorded_waits = _dependencies(trace, work)
    ready[recorded.after] = np.maximum(ready[recorded.after], work.end_ns[recorded.before])
    delay = np.where(ready > _BEFORE_ALL, start - ready, 0)
    other, crossing = _crossings(work, np.where(recorded_waits, 0, delay), stream_lag)
    lag = round(float((start - work.end_ns[other])[crossing].mean())) if crossing.any() else 0
    # gaps inside a graph, and those after work whose launch is not recorded, are as recorded
    inside = has_call & follows & (work.item[work.previous] == work.item)
    orphan = ~has_call & follows
    left = np.where((delay > LAG_NS) & ~crossing & ~inside & ~orphan & ~recorded_waits, delay, 0)
    # on its own stream an earlier one has ended
    reach = np.maximum.accumulate(np.append(_BEFORE_ALL, work.end_ns))[:-1]
    shared = (reach > start) & (left > 0)
    order_lag = np.where(inside | orphan, gap, order_lag + left)
    launch = np.where(early, called - host.start_ns[work.item] if len(host) else 0, launch_lag) + left
    caller = work.item + np.where(early, 0, len(host))
    number, base = np.arange(len(work)), 2 * len(host)
    edges = [
        edges_of(EdgeKind.LAUNCH, caller[has_call], number[has_call] + base, launch[has_call]),
        edges_of(EdgeKind.STREAM, work.previous[follows] + base, number[follows] + base, order_lag[follows]),
        edges_of(EdgeKind.DEPENDENCY, recorded.before + base, recorded.after + base, recorded.lag_ns),
        edges_of(EdgeKind.CROSSING, other[crossing] + base, number[crossing] + base, lag),
    ]
    unexplained = np.where(orphan, np.maximum(gap - stream_lag, 0), left)
    return Starts(edges, np.where(shared, 0, unexplained), np.where(shared, left, 0))


def _during_call(host: Host, work: Activities, returned: Int64) -> Bool:
    """Returns which activities begin while their call still runs, such as copies of pageable memory, or a copy for
    which its call waits. They depend on the beginning of the call."""
    if not len(host):
        return np.zeros(len(work), bool)
    ahead = np.where(work.item >= 0, returned - work.start_ns, 0)
    return np.asarray(ahead > np.where(host.role[work.item] == Role.WAIT, 0, EARLY_NS), bool)


def _begun_in_call(host: Host, work: Activities, early: Bool) -> Int64:
    """Returns when activities that begin during their call would have begun on an idle stream, in ns. For activities
    directly behind other work it is the beginning of their call and the usual delay of those that found an idle stream.

    call     [copy, waits for all of the stream   ]
    stream      kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkcc      the call's beginning says when to launch, not when to begin
    """
    if not early.any():
        return work.start_ns
    called = host.start_ns[work.item]
    behind = behind_others(host, work)
    after = work.start_ns - called
    usual = round(median(after[early & ~behind])) if (early & ~behind).any() else 0
    return np.where(early & behind, called + np.minimum(after, usual), work.start_ns)


def behind_others(host: Host, work: Activities) -> Bool:
    """Returns which activities follow directly on work of their stream that ended after their launch was called."""
    called, ended = host.start_ns[work.item], work.end_ns[work.previous]
    return (work.item >= 0) & (work.previous >= 0) & (ended > called) & (work.start_ns - ended < LAG_NS)


def _launch_lag(host: Host, work: Activities, returned: Int64, ended: Int64) -> Int64:
    """Returns the delay in ns from the end of each activity's call to its start on an idle stream: a constant of the
    recording. Launches may usually take longer to reach an idle device while queued work follows at once. The delay is
    then that usual time, which a queue that never empties hides, or less where the activity began sooner.

    call     [l]          [l][l][l]
    stream      ----kkkkk    ----kkkkkkkkkkkkkk
    """
    if not len(host):
        return np.zeros(len(work), np.int64)
    after = work.start_ns - returned
    launched = (work.item >= 0) & (host.role[work.item] == Role.CALL)
    rests = (work.previous < 0) | (ended < host.start_ns[work.item])
    idle = (work.item >= 0) & rests & (after < LAG_NS)
    lag = np.full(len(work), round(median(after[idle])) if idle.any() else 0)
    late = after[launched & rests]
    queued = (work.start_ns - ended)[launched & (work.previous >= 0) & (returned < ended)]
    if min(len(late), len(queued)) < ENOUGH_LAUNCHES or median(queued) > LAG_NS:
        return lag
    low, usual, high = np.sort(late)[np.arange(1, 4) * len(late) // 4].tolist()
    if not (LAG_NS < usual <= REACHED_AT_MOST_NS and high <= ALIKE * low):
        return lag
    return np.maximum(lag, np.minimum(after, usual))


def _dependencies(trace: Trace, work: Activities) -> tuple[Edges, Bool]:
    """Returns the recorded edges between activities of graphs, and which activities they explain."""
    place = np.full(len(trace.events), -1, np.int64)
    place[work.row] = np.arange(len(work))
    before, after = (place[column] for column in (trace.dependencies.before, trace.dependencies.after))
    in_graph = (before >= 0) & (after >= 0)
    before, after = before[in_graph], after[in_graph]
    gap = work.start_ns[after] - work.end_ns[before]
    lag = np.minimum(np.maximum(gap, 0), LAG_NS)
    recorded_waits = np.zeros(len(work), bool)
    recorded_waits[after[(gap >= 0) & (gap < LAG_NS)]] = True
    return edges_of(EdgeKind.DEPENDENCY, before, after, lag), recorded_waits


def _crossings(work: Activities, delay: Int64, stream_lag: int) -> tuple[Int64, Bool]:
    """Returns for each activity the one that ended last before its start, and whether it waited for that one."""
    ends = np.argsort(work.end_ns, kind="stable")
    latest = np.searchsorted(work.end_ns[ends], work.start_ns + 1) - 1
    other = np.where(latest >= 0, ends[np.maximum(latest, 0)], -1) if len(work) else latest
    waits = (delay > stream_lag) & (other >= 0) & (other != work.previous)
    near = work.start_ns - work.end_ns[other] < LAG_NS
    return other, waits & near & (work.start_ns > work.start_ns[other])
