r"""The graph of one process: what its host threads and its devices do, and what each of them waits for.

host     --[launch]------[launch]--[synchronize]--      calls, and the host's own time before each of them
stream       \-> kkkkkkk     \-> kkkkk ----^            activities, in the order of their stream

The time of a wait is not in the graph: it is what the replay finds. Lags are constants of the recording, one for each
kind of edge. A delay that no edge explains is kept, and counted as unexplained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.replay.sweep import Edges
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Bool, Int64, distinct_in, is_in, median

#: The hardware takes no longer between two activities of a stream, or from a launch to its start.
LAG_NS = 10_000
#: A synchronize returns within this time after the work that it waits for.
RETURN_NS = 30_000


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in the order of their recorded starts; int64 columns in ns.

    start_ns, end_ns   as recorded
    own_ns             what the node takes when it waits for nothing
    release_ns         no earlier start: the recorded one of what nothing in the recording explains
    unexplained_ns     the delay before its start that no edge explains, part of its edges' lags
    event              row of the event table; -1 for the host's own time between calls
    on_device, waits   bool: activities of a device, and calls that wait for one
    """

    start_ns: Int64
    end_ns: Int64
    own_ns: Int64
    release_ns: Int64
    unexplained_ns: Int64
    event: Int64
    on_device: Bool
    waits: Bool
    edges: Edges


def build_graph(trace: Trace) -> Graph:
    """The graph of the whole recording."""
    events, launches = trace.events, find_launches(trace)
    activity, launched_by = launches.activity.astype(np.int64), launches.call.astype(np.int64)
    block = blocking_calls(trace)
    syncs = block.row[is_in(block.kind, WAITING)]
    call = distinct_in(np.concatenate((launched_by[launched_by >= 0], syncs)))
    lane = _lanes(trace)[events.thread[call]]
    order = np.lexsort((events.start_ns[call], lane))
    call, lane = call[order], lane[order]
    new_lane = np.append(True, lane[1:] != lane[:-1])[: len(call)]
    reach = _reach(events.ends(call), lane)
    begin = np.where(new_lane, events.start_ns[call], np.append(0, reach)[: len(call)])
    call_start = np.maximum(events.start_ns[call], begin)
    # stretches first, then calls, then activities; renumbered by time at the end
    count, size = len(call), len(activity)
    start = np.concatenate((begin, call_start, events.start_ns[activity]))
    end = np.concatenate((call_start, reach, events.ends(activity)))
    own, release = end - start, np.zeros(len(start), np.int64)
    is_sync = is_in(call, syncs)
    heads = np.flatnonzero(new_lane)
    release[heads] = start[heads]
    stretch, of_call, of_activity = (np.arange(n) + at for n, at in ((count, 0), (count, count), (size, 2 * count)))
    later = np.flatnonzero(~new_lane)
    parts = [
        (stretch, of_call, np.zeros(count, np.int64)),
        (of_call[later - 1], stretch[later], np.zeros(len(later), np.int64)),
    ]
    place = np.zeros(len(events), np.int64)
    place[call] = np.arange(count)
    # of each activity the call, and the one before on its stream
    known = launched_by >= 0
    caller = np.where(known, of_call[place[launched_by]] if count else -1, -1)
    by_stream = np.lexsort((start[of_activity], events.stream[activity], events.device[activity]))
    same = np.append(
        False, (np.diff(events.stream[activity[by_stream]]) == 0) & (np.diff(events.device[activity[by_stream]]) == 0)
    )[:size]
    previous = np.full(size, -1, np.int64)
    previous[by_stream[same]] = of_activity[by_stream[np.flatnonzero(same) - 1]]
    begun = start[of_activity]
    ended_before = np.where(previous >= 0, end[previous], begun - 10 * LAG_NS)
    returned = np.where(known, end[caller], begun - 10 * LAG_NS)
    idle = known & (ended_before < np.where(known, start[caller], 0)) & (begun - returned < LAG_NS)
    launch_lag = round(median((begun - returned)[idle])) if idle.any() else 0
    gap = begun - ended_before
    queued = (previous >= 0) & (gap >= 0) & (gap < LAG_NS) & (returned < ended_before)
    stream_lag = round(float(gap[queued].mean())) if queued.any() else 0
    order_lag = np.where(gap < 0, gap, stream_lag)
    ready = np.maximum(
        np.where(known, returned + launch_lag, -(1 << 62)),
        np.where(previous >= 0, ended_before + order_lag, -(1 << 62)),
    )
    residual = np.where(ready > -(1 << 61), begun - ready, 0)
    # another stream's work that ended just before the start is what was waited for
    ends_order = np.argsort(end[of_activity], kind="stable")
    latest = np.searchsorted(end[of_activity][ends_order], begun + 1) - 1
    other = np.where(latest >= 0, of_activity[ends_order[np.maximum(latest, 0)]], -1)
    crossing = (
        (residual > stream_lag)
        & (other >= 0)
        & (other != previous)
        & (begun - end[other] < LAG_NS)
        & (begun > start[other])
    )
    lag_cross = round(float((begun - end[other])[crossing].mean())) if crossing.any() else 0
    unexplained = np.where((residual > LAG_NS) & ~crossing, residual, 0)
    release[of_activity[~known & (previous < 0)]] = begun[~known & (previous < 0)]
    graphs = np.bincount(caller[known], minlength=2 * count) if known.any() else np.zeros(0, np.int64)
    in_graph = known & (previous >= 0) & (graphs[np.maximum(caller, 0)] > 1 if len(graphs) else False)
    in_graph &= np.where(previous >= 0, caller[np.maximum(previous - 2 * count, 0)], -1) == caller
    order_lag = np.where(in_graph | (~known & (previous >= 0)), gap, order_lag + unexplained)
    unexplained = np.where(
        in_graph, 0, np.where(~known & (previous >= 0), np.maximum(gap - stream_lag, 0), unexplained)
    )
    parts += [
        (caller[known], of_activity[known], launch_lag + unexplained[known]),
        (previous[previous >= 0], of_activity[previous >= 0], order_lag[previous >= 0]),
        (other[crossing], of_activity[crossing], np.full(int(crossing.sum()), lag_cross)),
    ]
    # calls that wait are empty nodes at their return, which the work that they wait for holds back
    waiting = np.flatnonzero(is_sync)
    last = np.searchsorted(end[of_activity][ends_order], reach[waiting], side="right") - 1
    held_by = np.where(last >= 0, of_activity[ends_order[np.maximum(last, 0)]] if size else -1, -1)
    held_end = np.where(held_by >= 0, end[held_by], 0)
    holds = (held_by >= 0) & (held_end > call_start[waiting]) & (reach[waiting] - held_end < RETURN_NS)
    return_lag = round(float((reach[waiting] - held_end)[holds].mean())) if holds.any() else 0
    waits = np.zeros(len(start), bool)
    waits[of_call[waiting[holds]]] = True
    # node of the call: the wait is over at its start, so it takes nothing itself; its launches begin with the call
    own[of_call[waiting[holds]]] = 0
    recorded_start = start.copy()
    recorded_start[of_call[waiting[holds]]] = reach[waiting[holds]]
    parts.append((held_by[holds], of_call[waiting[holds]], np.full(int(holds.sum()), return_lag)))
    before, after, lag = (np.concatenate(column) for column in zip(*parts, strict=True))
    early = waits[before] & (recorded_start[before] > recorded_start[after])  # its own copy, which it waits for
    before[early] -= count
    lag[early] = np.maximum(recorded_start[after[early]] - end[before[early]], 0)
    return _numbered(
        recorded_start,
        end,
        own,
        release,
        np.concatenate((np.zeros(2 * count, np.int64), unexplained)),
        np.concatenate((np.full(count, -1), call, activity)),
        np.arange(len(start)) >= 2 * count,
        waits,
        before,
        after,
        lag,
    )


def _lanes(trace: Trace) -> Int64:
    """For each thread the one whose order it follows: the autograd engine works while the training thread waits."""
    lane = np.arange(len(trace.threads), dtype=np.int64)
    training = training_threads(trace)
    if len(training) == 1:
        lane[list(autograd_threads(trace))] = training[0]
    return lane


def _reach(ends: Int64, lane: Int64) -> Int64:
    """The latest end so far on the same lane; lanes follow each other."""
    if not len(ends):
        return ends
    span = int(ends.max()) + 1
    place = np.cumsum(np.append(0, lane[1:] != lane[:-1]))
    reach: Int64 = np.maximum.accumulate(ends + place * span) - place * span
    return reach


def _numbered(
    start: Int64,
    end: Int64,
    own: Int64,
    release: Int64,
    unexplained: Int64,
    event: Int64,
    on_device: Bool,
    waits: Bool,
    before: Int64,
    after: Int64,
    lag: Int64,
) -> Graph:
    """Number the nodes by recorded start, and leave out edges that clocks turn round."""
    # of host nodes at one instant the order of the lane counts: a stretch, its call, the next stretch
    hosts = np.count_nonzero(~on_device) // 2
    sequence = np.concatenate(
        (2 * np.arange(hosts), 2 * np.arange(hosts) + 1, np.full(len(start) - 2 * hosts, 2 * hosts))
    )
    order = np.lexsort((sequence, start))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    before, after = number[before], number[after]
    kept = before < after
    before, after, lag = before[kept], after[kept], lag[kept]
    by_node = np.argsort(after, kind="stable")
    edges = Edges(before[by_node], after[by_node], lag[by_node].astype(np.int64))
    return Graph(
        start[order],
        end[order],
        own[order],
        release[order],
        unexplained[order],
        event[order],
        on_device[order],
        waits[order],
        edges,
    )
