"""The excess on the streams of devices, at the edges of the recording, and of the recording as a whole."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names, devices_with_activity
from tb_steptime.metrics.kernel_names.work_kinds import ANY_SIZE
from tb_steptime.metrics.steady.edges import before_recording, cut_off_intervals
from tb_steptime.metrics.steady.excess import REMOVED, Excess, ExcessKind, joined, judge, no_excess
from tb_steptime.metrics.steady.host import on_host, step_at
from tb_steptime.metrics.steady.sites import activity_sites
from tb_steptime.metrics.steady.trials import trials
from tb_steptime.trace.intervals import BEFORE_ALL, Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, recording_at, shared
from tb_steptime.trace.table import Bool, Int64, UInt8, distinct_in, is_in

#: No loop within a kernel of one launch shape makes it this many times as long as equal kernels. Only kernels whose
#: launch shape is the same for any size may be as long, and collectives, which wait for other ranks.
TIMES_SURE = 20


@shared
def find_excess(trace: Trace) -> Excess:
    """Returns when calls took longer than the steady duration of their site."""
    return joined((on_host(trace).excess, excess_on_devices(trace)))


@shared
def excess_on_devices(trace: Trace) -> Excess:
    """Returns activities that are too long, those that a library only tries, and the edges. Activities that share the
    device with others for half of their time are contended, so they are not judged by their length."""
    events, launches = trace.events, find_launches(trace)
    if not len(launches.activity):
        return no_excess()
    start, end = events.start_ns[launches.activity], events.ends(launches.activity)
    launched_ns = np.where(launches.call >= 0, events.start_ns[launches.call], start)
    step = step_at(trace, launched_ns)
    exchanges = collective_names(trace)[events.name[launches.activity]]
    judged = judge(end - start, step, *activity_sites(trace))
    tried = is_in(launches.activity, trials(trace).event)
    waits = exchanges & _shows_no_cause(step, recording_at(trace, launched_ns), judged.kind)
    excess = np.where(tried, end - start, judged.excess_ns)
    kind = np.where(tried, ExcessKind.ONCE, np.where(waits, ExcessKind.UNKNOWN, judged.kind))
    long = np.flatnonzero(tried | (excess > 0) & ~_contended(trace, start, end))
    row = launches.activity[long]
    excess = excess[long]
    kind = kind[long]
    sure = (kind == ExcessKind.UNKNOWN) & (end[long] - start[long] >= TIMES_SURE * (end[long] - start[long] - excess))
    sure &= ~exchanges[long] & ~are_named(trace, row, ANY_SIZE.search)
    kind = np.where(sure, ExcessKind.INTERRUPTED, kind).astype(np.uint8)
    calls = _clipped(Excess(events.thread[row], end[long] - excess, end[long], kind, row))
    edges = _edges(trace)
    return joined((_less(calls, edges), edges))


def _shows_no_cause(step: Int64, recording: Int64, kind: UInt8) -> Bool:
    """Returns which activities would not show why they are long if they wait for other ranks. If a recording has only
    one step, the collective in which this rank waits for a late one is equally long whether that happens in every step
    or once, and it is never the kernel itself that was interrupted. Another step shows whether the same collective is
    short there."""
    alone = np.zeros(len(step), bool)
    for each in distinct_in(recording).tolist():
        own = recording == each
        alone[own] = step[own].min() == step[own].max()
    return np.asarray(alone & is_in(kind, (ExcessKind.ONCE, ExcessKind.INTERRUPTED)), bool)


def _edges(trace: Trace) -> Excess:
    """Returns the edges, on the stream with the most activities of each device."""
    events, parts = trace.events, [no_excess()]
    activity = find_launches(trace).activity
    for device in devices_with_activity(trace):
        track = int(np.argmax(np.bincount(events.thread[activity[events.device[activity] == device]])))
        when = before_recording(trace, device) | cut_off_intervals(trace, device)
        count = len(when)
        columns = (np.full(count, track, np.int32), when.start, when.end)
        parts.append(Excess(*columns, np.full(count, ExcessKind.EDGE, np.uint8), np.full(count, -1, np.int32)))
    return joined(parts)


def _less(excess: Excess, edges: Excess) -> Excess:
    """Returns the excess of activities that is outside all edges of their track."""
    shared = np.zeros(len(excess), np.int64)
    for track in distinct_in(edges.track).tolist():
        on_track = excess.track == track
        shared[on_track] = edges.on(track).intervals().overlap_ns(excess.start_ns[on_track], excess.end_ns[on_track])
    return excess.where(shared == 0)


def _contended(trace: Trace, start: Int64, end: Int64) -> Bool:
    """Returns which activities share their device for half of their time."""
    activity = find_launches(trace).activity
    device, track = trace.events.device[activity], trace.events.thread[activity]
    is_contended = np.zeros(len(start), bool)
    for each in devices_with_activity(trace):
        on_device = device == each
        tracks = sorted(set(track[on_device].tolist()))
        if len(tracks) < 2:
            continue
        for own_track in tracks:
            on_track = on_device & (track == own_track)
            others = on_device & (track != own_track)
            shared = Intervals.union(start[others], end[others]).overlap_ns(start[on_track], end[on_track])
            is_contended[on_track] = 2 * shared > end[on_track] - start[on_track]
    return is_contended


def _clipped(excess: Excess) -> Excess:
    """Returns the excess with disjoint rows on each track. Kernels of one stream overlap in programmatic launches."""
    excess = joined((excess,))
    track = excess.track.astype(np.int64) << 48
    reach = np.maximum.accumulate(excess.end_ns + track) - track
    before = np.append(BEFORE_ALL, reach[:-1])
    same = np.append(False, excess.track[1:] == excess.track[:-1])
    start = np.where(same, np.maximum(excess.start_ns, before[: len(excess)]), excess.start_ns)
    clipped = Excess(excess.track, start, excess.end_ns, excess.kind, excess.event)
    return clipped.where(clipped.end_ns > clipped.start_ns)


def steady_activity_ns(trace: Trace, rows: Int64) -> Int64:
    """Returns the steady time of device activities, rows of the event table, in ns. Conclusions about kernels are based
    on it.

    If one of three equal products was interrupted for 2.4 ms, for example, that shows nothing about the gain of faster
    products.
    """
    excess = excess_on_devices(trace).of(*REMOVED)  # takes a tenth of the time of all excess
    excess = excess.where(excess.event >= 0)
    order = np.argsort(excess.event, kind="stable")
    event, sums = excess.event[order], np.append(0, np.cumsum(excess.dur_ns[order]))
    low, high = (np.searchsorted(event, rows, side) for side in ("left", "right"))
    return np.maximum(trace.events.dur_ns.take(rows) - (sums.take(high) - sums.take(low)), 0)
