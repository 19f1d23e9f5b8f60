"""The excess of a recording, on all of its host threads and streams."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals, devices_with_activity
from tb_steptime.metrics.host.blocking_calls import WAITING, blocking_calls
from tb_steptime.metrics.launches.blocked import blocked_intervals
from tb_steptime.metrics.phases.marks import autograd_threads, backward_passes, training_threads
from tb_steptime.metrics.steady.excess import Excess, ExcessKind, joined
from tb_steptime.metrics.steady.repeats import judge
from tb_steptime.metrics.steady.sites import activity_sites, stretch_sites
from tb_steptime.metrics.steady.stretches import HostEvents, Stretches, find_stretches, host_events
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.stops import LOADING_OVERHEAD
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, is_in

#: Calls of a first use, wherever in a recording that is.
FIRST_USE = expression(
    r"cu(Module|Library|Link|Kernel)\w*|cuda(Library|FuncGetAttributes|FuncSetAttribute)\w*|hip(Module|Library)\w*"
    r"|(cuda|hip)\w*(BeginCapture|EndCapture|GraphInstantiate)\w*"
)


def find_excess(trace: Trace) -> Excess:
    """Where calls took longer than the steady duration of their site."""
    host = host_events(trace)
    return joined((_on_host(trace, host), _on_devices(trace, host)))


def profiler_intervals(trace: Trace) -> Intervals:
    """When the profiler works. Its rows of loading are the job's: a first launch loads without a profiler, too."""
    rows = rows_named(trace, (Kind.OVERHEAD,), lambda name: LOADING_OVERHEAD.match(name) is None)
    return Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))


def _on_host(trace: Trace, host: HostEvents) -> Excess:
    """Stretches that are too long, less what their thread waits for in them. Threads that do not train rest between
    their events, which is no time of the job."""
    stretches = find_stretches(trace, host)
    trains = is_in(stretches.thread, training_threads(trace))
    stretches = stretches.where((stretches.inside >= 0) | trains)
    length = stretches.end_ns - stretches.start_ns
    length -= np.minimum(_waits_ns(trace, host, stretches), length)
    steps = find_steps(trace)
    begun = np.array([step.host_start_ns for step in steps.steps], np.int64)
    step = np.searchsorted(begun, stretches.start_ns, side="right")
    found = judge(length, step, stretch_sites(trace, host, stretches))
    long = np.flatnonzero(found.excess_ns)
    inside = stretches.inside[long]
    named = np.where(inside >= 0, inside, np.maximum(stretches.before[long], stretches.after[long]))
    event = np.where(named >= 0, host.row[named], -1).astype(np.int32)
    profiler = profiler_intervals(trace).overlap_ns(stretches.start_ns[long], stretches.end_ns[long])
    excess = found.excess_ns[long]
    first = (found.rank[long] == 0) | _of_first_use(trace, event)
    kind = np.where(first, ExcessKind.ONCE, ExcessKind.INTERRUPTED)
    kind = np.where(2 * profiler >= excess, ExcessKind.PROFILER, kind).astype(np.uint8)
    end = stretches.end_ns[long]
    return Excess(stretches.thread[long], end - excess, end, kind, event)


def _of_first_use(trace: Trace, event: Int32) -> Bool:
    calls = rows_named(trace, (Kind.RUNTIME, Kind.DRIVER), lambda name: FIRST_USE.match(name) is not None)
    return is_in(event, calls) if len(calls) else np.zeros(len(event), bool)


def _waits_ns(trace: Trace, host: HostEvents, stretches: Stretches) -> Int64:
    """Of each stretch what its thread waits: for the device in a call that blocks, for room in the queue, for a batch,
    or for the thread of the autograd engine."""
    start, end, inside = stretches.start_ns, stretches.end_ns, stretches.inside
    calls = blocking_calls(trace)
    waits = is_in(host.row, calls.row[is_in(calls.kind, WAITING)])
    here = (inside >= 0) & waits[inside] if len(host) else np.zeros(len(inside), bool)
    waiting = np.zeros(len(start), np.int64)
    for device in devices_with_activity(trace):
        busy = busy_intervals(trace, device).overlap_ns(start, end)
        waiting = np.maximum(waiting, np.where(here, busy, 0))
    full = blocked_intervals(trace) if devices_with_activity(trace) else Intervals.empty()
    is_call = (inside >= 0) & is_in(trace.events.kind[host.row], (Kind.RUNTIME, Kind.DRIVER))[inside]
    waiting = np.maximum(waiting, np.where(is_call & ~here, full.overlap_ns(start, end), 0))
    waiting = np.maximum(waiting, loader_intervals(trace).overlap_ns(start, end))
    if autograd_threads(trace):
        passes = backward_passes(trace).overlap_ns(start, end)
        waiting = np.maximum(waiting, np.where(is_in(stretches.thread, training_threads(trace)), passes, 0))
    return waiting


def _on_devices(trace: Trace, host: HostEvents) -> Excess:
    """Activities that are too long. Those that share the device with others for half of their time are contended, and
    take as long as that lets them."""
    events, launches = trace.events, find_launches(trace)
    if not len(launches.activity):
        return joined(())
    start, end = events.start_ns[launches.activity], events.ends(launches.activity)
    begun = np.where(launches.call >= 0, events.start_ns[launches.call], start)
    step = np.searchsorted(np.array([one.host_start_ns for one in find_steps(trace).steps]), begun, side="right")
    found = judge(end - start, step, activity_sites(trace, host))
    long = np.flatnonzero((found.excess_ns > 0) & ~_contended(trace, start, end))
    row, excess = launches.activity[long], found.excess_ns[long]
    kind = np.where(found.rank[long] == 0, ExcessKind.ONCE, ExcessKind.INTERRUPTED).astype(np.uint8)
    return _clipped(Excess(events.thread[row], end[long] - excess, end[long], kind, row))


def _contended(trace: Trace, start: Int64, end: Int64) -> Bool:
    """Which activities share their device for half of their time."""
    activity = find_launches(trace).activity
    device, track, found = trace.events.device[activity], trace.events.thread[activity], np.zeros(len(start), bool)
    for each in devices_with_activity(trace):
        mine = device == each
        tracks = sorted(set(track[mine].tolist()))
        if len(tracks) < 2:
            continue
        for one in tracks:
            here, others = mine & (track == one), mine & (track != one)
            shared = Intervals.union(start[others], end[others]).overlap_ns(start[here], end[here])
            found[here] = 2 * shared > end[here] - start[here]
    return found


def _clipped(excess: Excess) -> Excess:
    """Excess whose rows of one track are disjoint: kernels of one stream overlap by programmatic launches."""
    excess = joined((excess,))
    reach = np.maximum.accumulate(excess.end_ns + excess.track.astype(np.int64) * (1 << 48)) - (
        excess.track.astype(np.int64) * (1 << 48)
    )
    before = np.append(np.iinfo(np.int64).min, reach[:-1])
    same = np.append(False, excess.track[1:] == excess.track[:-1])
    start = np.where(same, np.maximum(excess.start_ns, before), excess.start_ns)
    clipped = Excess(excess.track, start, excess.end_ns, excess.kind, excess.event)
    return clipped.where(clipped.end_ns > clipped.start_ns)
