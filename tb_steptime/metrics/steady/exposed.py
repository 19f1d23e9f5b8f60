"""The excess that makes steps longer: on the host while the device has no other work, and on the device while nothing
else runs.

host     [  mm  |#### once ####]        [ mm ]
device        kkkk                kkkk##   kkkk        ##: a kernel that was interrupted
exposed         .......#######         ##
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import REMOVED, Excess, ExcessKind
from tb_steptime.metrics.steady.first_use import backward_start, first_uses
from tb_steptime.metrics.steady.trials import op_of_trial, trial_intervals
from tb_steptime.trace.intervals import NEVER, Intervals, Segments
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.ops import op_at
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Float64, Int64, Kind, is_in

#: Kinds in the order in which an instant is attributed to them.
_ORDER = (
    ExcessKind.EDGE,
    ExcessKind.PROFILER,
    ExcessKind.ONCE,
    ExcessKind.PERIODIC,
    ExcessKind.INTERRUPTED,
    ExcessKind.UNKNOWN,
)
#: Kinds that may be hidden behind something else that sets the pace.
_HIDES = (ExcessKind.ONCE, ExcessKind.PERIODIC, ExcessKind.INTERRUPTED)
#: Minimum number of steps. With fewer, no step shows how long the others would be.
LEAST_STEPS = 3


@shared
def exposed_excess(trace: Trace, device: int | None) -> Mapping[ExcessKind, Intervals]:
    """Returns for each kind when it makes a step longer, as seen by one device. The intervals of different kinds are
    disjoint. `device` is None for a process without one."""
    by_kind, share = _uncovered(trace, device), _share_that_shows(trace, device)
    return {kind: _shortened(trace, when, share) if kind in _HIDES else when for kind, when in by_kind.items()}


@shared
def _uncovered(trace: Trace, device: int | None) -> Mapping[ExcessKind, Intervals]:
    """Returns for each kind when there is excess while the device has no other work. The intervals of different kinds
    are disjoint."""
    by_kind = {}
    rest = Intervals.of((np.iinfo(np.int64).min // 2, np.iinfo(np.int64).max // 2))
    for kind in _ORDER:
        by_kind[kind] = _excess_times(trace, device, kind) & rest
        rest = rest - by_kind[kind]
    return by_kind


def _share_that_shows(trace: Trace, device: int | None) -> Float64:
    """Returns for each step the share of its excess that really makes it longer, in recordings of several steps.

    If batches come slowly, a slower host waits less for the next one. No step is therefore assumed to be shorter
    without its excess than the shortest other recorded step. Work of a first use that the recording identifies is never
    a cost of later steps, however long these are.
    """
    steps, by_kind = find_steps(trace), _uncovered(trace, device)
    length = steps.duration_ns
    if len(length) < LEAST_STEPS:
        return np.ones(len(length))
    named = _named(trace)
    hides = sum(steps.overlap_ns(by_kind[kind] - named) for kind in _HIDES)
    rest = [by_kind[kind] if kind not in _HIDES else by_kind[kind] & named for kind in REMOVED]
    whole = length - sum(steps.overlap_ns(each) for each in rest)
    shortest = np.argsort(whole, kind="stable")
    others = np.where(np.arange(len(whole)) == shortest[0], whole[shortest[1]], whole[shortest[0]])
    shows = np.clip(whole - others, 0, hides)
    return np.where(hides > 0, shows / np.maximum(hides, 1), 1.0)


def _named(trace: Trace) -> Intervals:
    """Returns when any thread does work of a first use that the recording identifies."""
    return Intervals.joined(when for _, when in first_uses(trace))


def _shortened(trace: Trace, when: Intervals, share: Float64) -> Intervals:
    """Returns the first part of each interval. For an interval in a step this is the step's share of it. Identified
    work, and intervals outside the steps, are returned whole."""
    if (share == 1).all():
        return when
    steps, named = find_steps(trace), when & _named(trace)
    when = when - named
    cut = Segments.numbered(steps.start_ns, steps.end_ns).cut(when.start, when.end)
    part = np.where(cut.label >= 0, share[cut.label], 1.0)
    return named | Intervals.union(cut.start, cut.start + np.floor((cut.end - cut.start) * part).astype(np.int64))


def on_host_once(trace: Trace, device: int | None) -> Intervals:
    """Returns when the host does one-time work, as far as it makes steps longer, whatever the device does meanwhile."""
    excess = find_excess(trace).of(ExcessKind.ONCE)
    return _shortened(trace, host_excess(trace, excess), _share_that_shows(trace, device))


def _excess_times(trace: Trace, device: int | None, kind: ExcessKind) -> Intervals:
    excess = find_excess(trace).of(kind)
    host = host_excess(trace, excess)
    if device is None:
        return host
    on_device = _on_device(trace, device, excess)
    own_ranges = on_device.intervals()
    alone = own_ranges - _busy_without(trace, device, on_device) if len(on_device) else own_ranges
    tried = trial_intervals(trace, device) if kind == ExcessKind.ONCE else Intervals.empty()
    return (host - busy_intervals(trace, device)) | alone | tried


def host_excess(trace: Trace, excess: Excess) -> Intervals:
    """Returns when there is excess on a thread that trains, or that computes gradients."""
    return excess.on(*step_threads(trace)).intervals()


def _on_device(trace: Trace, device: int, excess: Excess) -> Excess:
    events, activity = trace.events, find_launches(trace).activity
    tracks = np.zeros(len(trace.threads), bool)
    tracks[events.thread.take(activity[events.device.take(activity) == device])] = True
    return excess.where(tracks[excess.track])


def _busy_without(trace: Trace, device: int, excess: Excess) -> Intervals:
    """Returns when the device would still work without this excess of its activities."""
    events, activity = trace.events, find_launches(trace).activity
    rows = activity[events.device[activity] == device]
    rows = rows[is_in(rows, excess.event, invert=True)]
    long = excess.event[excess.event >= 0]
    start = np.concatenate((events.start_ns[rows], events.start_ns[long]))
    end = np.concatenate((events.ends(rows), excess.start_ns[excess.event >= 0]))
    return Intervals.union(start, np.maximum(start, end))


#: In place of an event for the start of the first backward pass, which no event shows.
BACKWARD_STARTS = -2


def named_rows(trace: Trace, excess: Excess) -> Int64:
    """Returns the event that names each excess: the innermost op around it or, without one, its call, range or kernel;
    -1 for Python code between ops, and `BACKWARD_STARTS`."""
    events, event = trace.events, excess.event.astype(np.int64)
    if not len(event):
        return event
    op = op_at(trace, event)
    inside = (event >= 0) & (events.start_ns[event] <= excess.start_ns) & (excess.end_ns <= events.ends(event))
    inside &= is_in(event, step_marks(trace), invert=True) & ~_around_steps(trace, event)
    root, starts = backward_start(trace)
    in_start = is_in(excess.track, trace.events.thread[root]) & (starts.overlap_ns(excess.start_ns, excess.end_ns) > 0)
    outside = np.where(in_start, BACKWARD_STARTS, -1)
    return op_of_trial(trace, event, np.where(inside, np.where(op >= 0, op, event), outside))


def _around_steps(trace: Trace, event: Int64) -> Bool:
    """Returns which events are ranges that contain one of several steps as a whole. The name of an epoch says nothing
    about a cost."""
    steps = find_steps(trace)
    if len(steps.steps) < 2:
        return np.zeros(len(event), bool)
    first = np.searchsorted(steps.host_start_ns, trace.events.start_ns[event])
    end_ns = np.append(steps.host_end_ns, NEVER)[first]
    is_range = (event >= 0) & (trace.events.kind[event] == Kind.USER)
    return np.asarray(is_range & (end_ns <= trace.events.ends(event)), bool)
