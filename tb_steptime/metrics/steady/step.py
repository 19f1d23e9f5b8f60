"""The part of each recorded step that is excess, and the remaining steady step; as integers they sum to the recorded
step.

host     [  mm  |#### once ####]        [ mm ]
device        kkkk                kkkk##   kkkk        ##: a kernel that was interrupted
step     |        #############       ##      |        excess of a step: on the host while the device is idle, on the
                                                       device where nothing else runs

Excess as rows of a result: for each step by kind, and for the span by kind, with the largest contributors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.kernel_names.short_names import short_name
from tb_steptime.metrics.phases.forward_only import comparable, forward_only
from tb_steptime.metrics.phases.marks import step_threads
from tb_steptime.metrics.steady.device import excess_on_devices, find_excess
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.metrics.steady.first_use import first_uses
from tb_steptime.metrics.steady.trials import op_of_trial
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import Intervals, Segments
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.ops import op_at
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int32, Int64, Kind, distinct_in, is_in, median, values_at

#: Kinds in the order in which an instant is attributed to them. Time that is not known to be excess stays in the steady
#: step.
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
#: Minimum number of steps; with fewer, no step shows how long the others would be.
LEAST_STEPS = 3
REMOVED = tuple(kind for kind in _ORDER if kind != ExcessKind.UNKNOWN)


@shared
def excess_by_kind(trace: Trace, device: int | None) -> Mapping[ExcessKind, Intervals]:
    """Returns for each kind, when it makes a step longer, as seen by one device; disjoint. device: None for a process
    without one."""
    by_kind, share = _uncovered(trace, device), _share_that_shows(trace, device)
    return {kind: _shortened(trace, when, share) if kind in _HIDES else when for kind, when in by_kind.items()}


@shared
def _uncovered(trace: Trace, device: int | None) -> Mapping[ExcessKind, Intervals]:
    """Returns for each kind when there is excess while the device has no other work, disjoint."""
    by_kind, rest = {}, Intervals.of((np.iinfo(np.int64).min // 2, np.iinfo(np.int64).max // 2))
    for kind in _ORDER:
        by_kind[kind] = _excess_times(trace, device, find_excess(trace).of(kind)) & rest
        rest = rest - by_kind[kind]
    return by_kind


def _share_that_shows(trace: Trace, device: int | None) -> Float64:
    """Returns for each step the share of its excess that really makes it longer; for recordings of several steps.

    If batches come slowly, a slower host waits less for the next one. So no step, without its excess, is taken to be
    shorter than the shortest other recorded step. Work of a first use that the recording identifies is never a cost of
    later steps, however long these are.
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
    """Returns the first part of each interval: for intervals in a step that step's share; for others, and for
    identified work, the whole."""
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


def _excess_times(trace: Trace, device: int | None, excess: Excess) -> Intervals:
    host = host_excess(trace, excess)
    if device is None:
        return host
    on_device = _on_device(trace, device, excess)
    own_ranges = on_device.intervals()
    return (host - busy_intervals(trace, device)) | (
        own_ranges - _busy_without(trace, device, on_device) if len(on_device) else own_ranges
    )


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


def excess_ns(trace: Trace, device: int | None) -> dict[ExcessKind, Int64]:
    """Returns for each kind how much longer it makes each step, ns."""
    steps = find_steps(trace)
    by_kind = excess_by_kind(trace, device)
    return {kind: steps.overlap_ns(when) for kind, when in by_kind.items()}


def steady_ns(trace: Trace, device: int | None) -> Int64:
    """Returns the length of each step without excess, ns. Time that is not known to be excess remains."""
    steps, excess = find_steps(trace), excess_ns(trace, device)
    return steps.duration_ns - sum(excess[kind] for kind in REMOVED)


def steady_activity_ns(trace: Trace, rows: Int64) -> Int64:
    """Returns the steady time of device activities, rows of the event table, in ns, on which conclusions about kernels
    are based.

    If one of three equal products was interrupted for 2.4 ms, that shows nothing about the gain of faster products.
    """
    excess = excess_on_devices(trace).of(*REMOVED)  # takes a tenth of the time of all excess
    excess = excess.where(excess.event >= 0)
    order = np.argsort(excess.event, kind="stable")
    event, sums = excess.event[order], np.append(0, np.cumsum(excess.dur_ns[order]))
    low, high = (np.searchsorted(event, rows, side) for side in ("left", "right"))
    steady: Int64 = np.maximum(trace.events.dur_ns.take(rows) - (sums.take(high) - sums.take(low)), 0)
    return steady


ExcessId = Literal["once", "interrupted", "periodic", "profiler", "edge", "unknown"]
#: Each kind and its id, in the order of `ExcessNs`.
KINDS: dict[ExcessKind, ExcessId] = {ExcessKind[id.upper()]: id for id in get_args(ExcessId)}

#: Maximum number of names, as many as fit in a sentence.
NAMES = 3
#: Maximum number of intervals in a picture.
MOST_SHOWN = 10_000


class ExcessNs(msgspec.Struct, frozen=True):
    """How much longer each kind of excess makes a step, in ns; the kinds are disjoint. The steady step and all kinds
    except unknown sum to the step: unknown excess counts as a part of the steady step."""

    once: int = 0
    interrupted: int = 0
    periodic: int = 0
    profiler: int = 0
    edge: int = 0
    unknown: int = 0


class ExcessName(msgspec.Struct, frozen=True):
    """The excess of one op, call, range or kernel. name: None for Python code between ops."""

    name: str | None
    ns: int


class ExcessRow(msgspec.Struct, frozen=True):
    """Excess of one kind over the steps.

    total_ns   how much longer it makes the steps
    count      number of calls with such excess
    step, start_ns, end_ns   the longest excess
    names      events with the most of it, the most first
    """

    kind: ExcessId
    total_ns: int
    count: int
    step: str
    start_ns: int
    end_ns: int
    names: list[ExcessName]


def step_excess(trace: Trace, device: int | None) -> list[ExcessNs]:
    """Returns the excess of each step."""
    by_kind = excess_ns(trace, device)
    columns = [by_kind[kind].tolist() for kind in KINDS]
    return [ExcessNs(*row) for row in zip(*columns, strict=True)]


def steady_step_ns(trace: Trace, device: int | None) -> int:
    """Returns the median step length without excess, ns."""
    lengths = steady_ns(trace, device)
    return round(median(lengths[comparable(lengths, forward_only(trace))]))


def excess_rows(trace: Trace, device: int | None) -> list[ExcessRow]:
    """Returns a row for every kind that makes a step longer, most first."""
    within, rows, activity = find_steps(trace).intervals, [], find_launches(trace).activity
    activity = activity[trace.events.device[activity] == device] if device is not None else activity[:0]
    for kind, id in KINDS.items():
        when = excess_by_kind(trace, device)[kind] & within
        if when.total_ns:
            rows.append(_row(trace, id, when, _excess_on(trace, find_excess(trace).of(kind), activity)))
    return sorted(rows, key=lambda row: -row.total_ns)


def _excess_on(trace: Trace, excess: Excess, streams: Int32) -> Excess:
    """Returns the excess on threads that train, and on streams of these activities."""
    tracks = distinct_in(np.append(trace.events.thread[streams], np.array(step_threads(trace), np.int64)))
    return excess.where(is_in(excess.track, tracks))


def _row(trace: Trace, kind: ExcessId, when: Intervals, excess: Excess) -> ExcessRow:
    length = when.end - when.start
    worst = int(length.argmax())
    own_ns = when.overlap_ns(excess.start_ns, excess.end_ns)
    start = int(when.start[worst])
    return ExcessRow(
        kind=kind,
        total_ns=when.total_ns,
        count=int((own_ns > 0).sum()),
        step=find_steps(trace).at(start).name,
        start_ns=start,
        end_ns=int(when.end[worst]),
        names=_names(trace, excess.where(own_ns > 0), own_ns[own_ns > 0]),
    )


def _names(trace: Trace, excess: Excess, own_ns: Int64) -> list[ExcessName]:
    """Returns the largest contributors. Excess without an event beside it is not named."""
    named = np.flatnonzero(excess.event >= 0)
    if not len(named):
        return []
    row = named_rows(trace, excess.where(named))
    groups = Groups.of(values_at(trace.events.name, row))
    sums = groups.sum(own_ns[named])
    most = np.argsort(-sums, kind="stable")[:NAMES].tolist()
    return [ExcessName(_name(trace, int(row[groups.first[each]])), int(sums[each])) for each in most]


@shared
def longest_excess(trace: Trace) -> Excess:
    """Returns the excess on training threads and on streams, without the shortest intervals if there are too many."""
    excess = _excess_on(trace, find_excess(trace), find_launches(trace).activity)
    return excess.where(np.sort(np.argsort(-excess.dur_ns, kind="stable")[:MOST_SHOWN]))


def excess_names(trace: Trace, excess: Excess) -> list[tuple[ExcessId, str | None]]:
    """Returns for each its kind and its op, call, range or kernel; None stands for Python code between ops."""
    row = named_rows(trace, excess)
    ids = [KINDS[ExcessKind(kind)] for kind in excess.kind.tolist()]
    return [(id, _name(trace, each)) for id, each in zip(ids, row.tolist(), strict=True)]


def named_rows(trace: Trace, excess: Excess) -> Int64:
    """Returns the event that names each excess: the innermost op around it, or else its call, range or kernel; -1 for
    none."""
    events, event = trace.events, excess.event.astype(np.int64)
    if not len(event):
        return event
    op = op_at(trace, event)
    inside = (event >= 0) & (events.start_ns[event] <= excess.start_ns) & (excess.end_ns <= events.ends(event))
    inside &= is_in(event, step_marks(trace), invert=True)
    return op_of_trial(trace, event, np.where(inside, np.where(op >= 0, op, event), -1))


def _name(trace: Trace, row: int) -> str | None:
    if row < 0:
        return None
    name = trace.name_of(row)
    return short_name(name) if trace.events.kind[row] == Kind.KERNEL else name
