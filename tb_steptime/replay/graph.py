r"""The graph of one process: what its host threads and its devices do, and what each of them waits for.

host     --[launch]------[launch]--[synchronize]--      items, and the host's own time before each of them
stream       \-> kkkkkkk     \-> kkkkk ----^            activities, in the order of their stream

Each activity begins when it does for a reason:

launch      call --lag--> activity                         from the end of the call, or its beginning where that fits;
                                                           behind other work it would have begun as soon as usual
stream      activity --lag--> the next one of its stream
crossing    the end of another stream's work just before a start that has no other explanation

Waiting time is not in the graph: the replay computes it. Lags are constants of the recording, one for each kind of
edge. A delay that no edge explains is kept, and counted as unexplained, or as contended if other work was running.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_steptime.metrics.data_loading.waits import is_multiprocess, loader_iterators
from tb_steptime.metrics.idle.gaps import ENOUGH_LAUNCHES, REACHED_AT_MOST_NS
from tb_steptime.replay.host import AFTER_NS, Host, Role, batch_edges, find_host, handover_edges, host_edges
from tb_steptime.replay.sweep import EdgeKind, Edges, edges_of, joined
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches
from tb_steptime.trace.table import Bool, Int32, Int64, UInt8, is_in, median, values_at

#: Maximum delay of the hardware between two activities of a stream, or from a launch to its start.
LAG_NS = 10_000
#: Work that begins at least this long before its call returns does not wait for the return.
EARLY_NS = 10_000
#: The delays of most launches are alike if their upper quartile is at most this many times the lower one. Delays of a
#: device that others use are not.
ALIKE = 2
#: An instant before all others, far enough from the least number that times can be subtracted from it.
_BEFORE_ALL = -(1 << 62)


class Activities(msgspec.Struct, frozen=True, eq=False):
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

    def __len__(self) -> int:
        return len(self.row)


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


#: A synchronize returns within this time after the work for which it waits; one that waits for nothing takes no longer.
RETURN_NS = 30_000
#: A call returns up to this time before its copy of pageable memory ends, as soon as the last part is staged: 12 to
#: 90 us in the 31 such calls of more than 1 ms in real recordings.
STAGED_NS = 100_000


class Graph(msgspec.Struct, frozen=True, eq=False):
    """Nodes in the order of their recorded starts; int64 columns in ns.

    start_ns, end_ns   as recorded; a waiting call starts where it waits no longer
    own_ns             duration of the node if it waits for nothing
    release_ns         earliest start: the recorded one, for nodes whose start nothing in the recording explains
    unexplained_ns     the delay that no edge explains, part of the lags of edges into the node
    contended_ns       likewise, while other work was running
    event              int32, row of the event table; -1 for the host's own time between items
    role               uint8, a `Role`
    track              row of `Trace.threads`: the host's lane, or the stream
    """

    start_ns: Int64
    end_ns: Int64
    own_ns: Int64
    release_ns: Int64
    unexplained_ns: Int64
    contended_ns: Int64
    event: Int32
    role: UInt8
    track: Int64
    edges: Edges

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def on_device(self) -> Bool:
        return np.asarray(self.role == Role.ACTIVITY, bool)

    @property
    def waits(self) -> Bool:
        """A mask of the calls that wait for a device."""
        return np.asarray(self.role == Role.WAIT, bool)

    @property
    def recorded_ns(self) -> int:
        return int(self.end_ns.max(initial=0) - self.start_ns.min(initial=1 << 62)) if len(self) else 0

    def with_own(self, own_ns: Int64) -> Graph:
        """Returns the graph with these durations of its nodes. Returns itself if no duration differs."""
        return self if np.array_equal(own_ns, self.own_ns) else replace(self, own_ns=own_ns)

    def subgraph(self, nodes: Int64, edges: Edges) -> Graph:
        """Returns some nodes, ascending, and some edges between them, renumbered."""
        before, after = (np.searchsorted(nodes, each).astype(np.int32) for each in (edges.before, edges.after))
        edges = replace(edges, before=before, after=after)
        return replace(self, **{name: getattr(self, name).take(nodes) for name in COLUMNS}, edges=edges)


#: Names of the graph's columns with one value per node.
COLUMNS = tuple(name for name in Graph.__struct_fields__ if name != "edges")


def build_graph(trace: Trace) -> Graph:
    """Returns the graph of the whole recording. Nodes are numbered by recorded start, and edges that lead backward
    because of inaccurate clocks are left out."""
    columns, edges = _by_kind(trace)
    # host nodes at one instant keep the order of their lane: a stretch, its item, the next stretch
    hosts = np.count_nonzero(columns["role"] != Role.ACTIVITY) // 2
    size = len(columns["role"])
    sequence = np.concatenate((2 * np.arange(hosts), 2 * np.arange(hosts) + 1, np.full(size - 2 * hosts, 2 * hosts)))
    order = np.lexsort((sequence, columns["start_ns"]))
    del sequence
    number = np.empty(size, np.int32)
    number[order] = np.arange(size, dtype=np.int32)
    edges = _with_numbers(edges, number)
    for name in COLUMNS:  # one after the other, so that only one of them is in memory twice
        columns[name] = columns[name].take(order)
    return Graph(**columns, edges=edges)


def _by_kind(trace: Trace) -> tuple[dict[str, Any], Edges]:
    """Returns the columns of the nodes, and the edges between them, with the stretches first, then the calls and ranges
    that end them, then the activities."""
    host = find_host(trace)
    work = find_activities(trace, host)
    count, size = len(host), len(work)
    start_times = start_edges(trace, host, work)
    waits, returns, after_ns = _returns(host, work)
    start = np.concatenate((host.begin_ns, host.start_ns, work.start_ns))
    end = np.concatenate((host.start_ns, host.end_ns, work.end_ns))
    release = np.zeros(len(start), np.int64)
    start[count : 2 * count] += np.minimum(host.queue_ns, host.end_ns - host.start_ns)
    own = end - start
    heads = np.flatnonzero(host.first)
    orphans = np.flatnonzero((work.item < 0) & (work.previous < 0)) + 2 * count
    release[heads], release[orphans] = start[heads], start[orphans]
    of_workers = is_multiprocess(loader_iterators(trace)) is True
    paced, batches = batch_edges(host, of_workers)
    # a waiting call is what the host does in it after its wait; a wait for a batch that workers make is empty
    rest = np.concatenate((np.flatnonzero(waits), paced)) + count
    own[rest] = 0
    own[count : 2 * count] += after_ns
    start[rest] = end[rest] - own[rest]
    hidden, hiding = _hidden_waits(host, work)
    own[hidden], start[hidden] = 0, end[hidden]
    handed, handing = handover_edges(trace, host)
    start[handed] = np.maximum(start[handed], host.end_ns[handing.before - count] + AFTER_NS)
    own[handed] = np.minimum(own[handed], end[handed] - start[handed])
    unpaced = paced[~is_in(paced + count, batches.after)] + count
    release[unpaced] = start[unpaced]
    unexplained = np.zeros(len(start), np.int64)
    idle = np.flatnonzero((host.role == Role.WAIT) & host.drains & ~waits) + count
    unexplained[idle] = np.maximum(own[idle] - RETURN_NS, 0)
    own[idle] -= unexplained[idle]
    start[idle] += unexplained[idle]
    unexplained[2 * count :] = start_times.unexplained_ns
    contended = np.append(np.zeros(2 * count, np.int64), start_times.contended_ns)
    lanes = host_edges(host)
    lanes.lag_ns[lanes.after >= count] += unexplained[lanes.after[lanes.after >= count]]
    parts = [
        lanes,
        *start_times.edges,
        returns,
        hiding,
        handing,
        batches,
        _room(host, work),
        _would_wait(host, work, waits),
    ]
    del lanes, start_times, returns, batches
    edges = joined(parts)
    del parts
    role = np.concatenate((np.full(count, Role.STRETCH, np.uint8), host.role, np.full(size, Role.ACTIVITY, np.uint8)))
    event = np.concatenate((np.full(count, -1, np.int32), host.row.astype(np.int32), work.row.astype(np.int32)))
    track = np.concatenate((host.lane, host.lane, work.track))
    columns = (start, end, own, release, unexplained, contended, event, role, track)
    return dict(zip(COLUMNS, columns, strict=True)), edges


def _returns(host: Host, work: Activities) -> tuple[Bool, Edges, Int64]:
    """Returns the items that return because work of a device has ended, the edges from that work to them, and how long
    each goes on after that work, ns."""
    ends = np.argsort(work.end_ns, kind="stable")
    allocates = host.role == Role.ALLOCATE
    calls = np.flatnonzero((host.role == Role.WAIT) | (allocates & (host.end_ns - host.start_ns > RETURN_NS)))
    back = host.end_ns[calls]
    last = np.searchsorted(work.end_ns[ends], back, side="right") - 1
    work_row = ends[np.maximum(last, 0)] if len(ends) else last
    ended = np.where(last >= 0, work.end_ns[work_row], 0) if len(ends) else np.zeros(len(calls), np.int64)
    # calls that free memory wait until the device has no more work, or not at all
    drained = np.searchsorted(np.sort(work.start_ns), back, side="right") == last + 1
    holds = (last >= 0) & (ended > host.start_ns[calls]) & (back - ended < RETURN_NS) & (drained | ~allocates[calls])
    lag = round(float((back - ended)[holds].mean())) if holds.any() else 0
    copies, base = _staged_copies(host, work), 2 * len(host)
    staged = work.item[copies]
    holds &= ~is_in(calls, staged)
    waits = np.zeros(len(host), bool)
    waits[calls[holds]] = waits[staged] = True
    staging = edges_of(EdgeKind.RETURN, copies + base, staged + len(host), host.end_ns[staged] - work.end_ns[copies])
    copies = _finished_copies(host, work)
    copies = copies[~waits[work.item[copies]]]
    finished, after_ns = work.item[copies], np.zeros(len(host), np.int64)
    waits[finished], after_ns[finished] = True, host.end_ns[finished] - work.end_ns[copies]
    finishing = edges_of(EdgeKind.RETURN, copies + base, finished + len(host))
    returning = edges_of(EdgeKind.RETURN, work_row[holds] + base, calls[holds] + len(host), lag)
    return waits, joined([returning, staging, finishing]), after_ns


#: Minimum length of a wait that no call shows, minimum share of it in which a device works, and minimum number of such
#: waits: one or two may end then by chance.
_LONG_NS, _WORKING, _FEWEST = 100_000, 0.9, 3
#: After a wait the host may make no call for this share of its length, if that is more than `RETURN_NS`. A host that
#: works for tens of milliseconds does not end that soon after a device again and again.
_AFTER = 0.005


def _hidden_waits(host: Host, work: Activities) -> tuple[Int64, Edges]:
    """Returns stretches of the host without a call that end when all devices become idle, and the edges to them from
    the last work of the devices. The host waits in these stretches although no call shows it. Kineto records the
    launches but no waits of CUDA's driver (CuptiActivityProfiler.cpp: handleDriverActivity), which Numba, Warp and
    PhysX use, and until 2023 it recorded no waits for events. Both are empty if most long stretches beside work of a
    device end at another time, as those of a slow host do.

    host     |l|............|l|............|l|     waits     |l|........|l|........|l|     works
    device      kkkkkkkkkkkk   kkkkkkkkkkkk                     kkkkkkkkkkkk kkkkkkkkkkkk
    """
    works = Intervals.union(work.start_ns, work.end_ns)
    ends = np.argsort(work.end_ns, kind="stable")
    long = np.flatnonzero(host.start_ns - host.begin_ns >= _LONG_NS)
    length = (host.start_ns - host.begin_ns)[long]
    beside = works.overlap_ns(host.begin_ns[long], host.start_ns[long]) >= _WORKING * length
    long, length = long[beside], length[beside]
    since = host.start_ns[long] - works.end[np.searchsorted(works.start, host.start_ns[long]) - 1]
    waits = (since >= 0) & (since < np.maximum(RETURN_NS, _AFTER * length))
    if np.count_nonzero(waits) < _FEWEST or 2 * length[waits].sum() <= length.sum():
        waits[:] = False
    last = ends[np.searchsorted(work.end_ns[ends], host.start_ns[long[waits]], side="right") - 1]
    return long[waits], edges_of(EdgeKind.RETURN, last + 2 * len(host), long[waits], since[waits])


def _finished_copies(host: Host, work: Activities) -> Int64:
    """Returns the last copy of each waiting call that goes on long after the copy has ended. Such a call returns only
    once the copy is done (CUDA's "API synchronization behavior"), and then empties the staging memory, which takes 30
    to 40 % of the copy's time in real recordings.

    call     [waits for the stream and its copy   , empties the staging memory]
    stream      kkkkkkkkkkkkkkkkkkkkcccccccccccccccc
    """
    if not len(host):
        return np.empty(0, np.int64)
    item = work.item
    within = (item >= 0) & (host.role[item] == Role.WAIT) & (host.end_ns[item] - work.end_ns >= RETURN_NS)
    copies = np.flatnonzero(within & (work.start_ns >= host.start_ns[item]))
    copies = copies[np.lexsort((work.end_ns[copies], item[copies]))]
    return copies[np.append(np.diff(item[copies]) != 0, True)[: len(copies)]]


def _staged_copies(host: Host, work: Activities) -> Int64:
    """Returns the copies whose calls wait until their stream has no other work, and return before the copy ends.

    call     [waits for the stream, stages the memory ]
    stream      kkkkkkkkkkkkkkkkkkkkcccccccccccccccccccccc

    A call that finds an idle stream does not wait: it stages the memory for as long as it lasts.
    """
    if not len(host):
        return np.empty(0, np.int64)
    returned = host.end_ns[work.item]
    waits = behind_others(host, work) & (host.role[work.item] == Role.WAIT)
    early = returned - work.start_ns > EARLY_NS
    return np.flatnonzero(waits & early & (work.end_ns > returned) & (work.end_ns - returned < STAGED_NS))


def _would_wait(host: Host, work: Activities, waits: Bool) -> Edges:
    """Returns the edges from the last work that a thread launched to its calls that wait for a device but found that
    work done. They would wait if the work ended later, or if the call came earlier."""
    has_call = np.flatnonzero(work.item >= 0)
    in_turn = has_call[np.lexsort((work.end_ns[has_call], work.item[has_call]))]
    calls = np.flatnonzero((host.role == Role.WAIT) & ~waits)
    place = np.searchsorted(work.item[in_turn], calls, side="right") - 1
    calls, work_row = calls[place >= 0], in_turn[place[place >= 0]]
    done = (host.lane[work.item[work_row]] == host.lane[calls]) & (work.end_ns[work_row] <= host.start_ns[calls])
    calls, work_row = calls[done], work_row[done]
    return edges_of(EdgeKind.DONE, work_row + 2 * len(host), calls + len(host))


def _room(host: Host, work: Activities) -> Edges:
    """Returns the edges from the work that ended last to a launch that then found room in the full queue."""
    calls = np.flatnonzero(host.queue_ns)
    room_ns = host.start_ns[calls] + host.queue_ns[calls]
    ends = np.argsort(work.end_ns, kind="stable")
    last = np.searchsorted(work.end_ns[ends], room_ns, side="right") - 1
    calls = calls[last >= 0]
    room_ns = room_ns[last >= 0]
    work_row = ends[last[last >= 0]]
    lag = room_ns - work.end_ns[work_row]
    near = lag < RETURN_NS
    return edges_of(EdgeKind.QUEUE, work_row[near] + 2 * len(host), calls[near] + len(host), lag[near])


def _with_numbers(edges: Edges, number: Int32) -> Edges:
    """Returns the edges that lead forward, with these numbers of their nodes."""
    before, after = number[edges.before], number[edges.after]
    forward = np.flatnonzero(before < after)
    forward = forward[np.argsort(after[forward], kind="stable")]
    return replace(edges, before=before, after=after).where(forward)
