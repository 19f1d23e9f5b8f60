"""Long pauses of the host that no op explains: garbage collection, loaders that begin an epoch, interrupted calls, and
rare unexplained pauses.

thread   --op--[garbage collection]--op--      what the trace names comes first (trace/host_ranges.py)
         (seed)------[wait]--op--              then loaders that start their workers for a new epoch
         [op, 20 ms; others 20 us ]--op--      then ops and calls that are interrupted, far longer than all like them
         --op--                     --op--     then nothing at all, in a few steps only
device   kkkk                         kk
idle         iiiiiiiiiiiiiiiiiiiiii            what of the stop the device spends idle

The stops of different causes are disjoint. A stop counts for the first of these causes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.loaders import setup_intervals
from tb_steptime.metrics.gpu.activities import way
from tb_steptime.metrics.idle.attribution import idle_segments
from tb_steptime.metrics.idle.gaps import find_gaps, idle_outside_loader
from tb_steptime.metrics.idle.host_activity import is_explained
from tb_steptime.metrics.idle.reasons import REASONS
from tb_steptime.metrics.means import whole_mean
from tb_steptime.metrics.phases.threads import step_threads, training_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.text.patterns import expression
from tb_steptime.trace.host_ranges import garbage_collections
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, shared
from tb_steptime.trace.quality.memory_calls import allocation_retries
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, distinct, distinct_in, is_in, median

#: The causes of the host's pauses.
PauseCause = Literal["garbage_collection", "loader", "interrupted", "unexplained"]

CAUSE_WORDS: dict[PauseCause, str] = {
    "garbage_collection": "Garbage collection",
    "loader": "Setting up a loader for a new epoch",
    "interrupted": "Interrupted op or call",
    "unexplained": "No cause recorded",
}

#: Minimum length of an unexplained stop. Python between two ops takes microseconds, and a training loop that reads a
#: file or prints takes less than this.
UNEXPLAINED_NS = 2_000_000
#: Minimum length of an interruption. An op or a call that normally takes microseconds did not run for so long by
#: itself.
INTERRUPTED_NS = 1_000_000
#: A stop in more than this share of the steps is normal for the program, and not a pause.
RARE_FRACTION = 0.25
#: Ops that run no Python have a namespace, or are nodes of autograd with a number. Python's functions have neither.
_NATIVE_OP = expression(r".*::|\w+Backward\d+$")
#: Bytes per second that a shared file system or a hard disk writes. A pause that is longer than the copies before it
#: would take at that rate does more than writing them.
SLOW_WRITE = 1e8
#: Copies before a pause are those of a checkpoint if they move more than this many times what a step usually moves to
#: the host. An optimizer on the CPU gets its gradients in every step.
MORE_THAN_USUAL = 2
#: Minimum number of steps. With fewer it is unknown which stops are rare.
LEAST_STEPS = 3


class Pause(msgspec.Struct, frozen=True):
    """Pauses of one cause in the steps.

    sure              whether the trace names the cause; otherwise it is inferred from the pattern
    name              name of the longest pause in the trace; None if it has none
    count, total_ns   number and total length over the span
    idle_ns           idle time of the device during the pauses, mean per step
    worst_*           the longest pause
    native_ns         the part of total_ns in calls and ops that run no Python, and so collect no garbage
    copied_ns         the part of total_ns in pauses that may write to a file what was copied to the host before
    steps             number of the steps in which they begin
    """

    cause: PauseCause
    sure: bool
    name: str | None
    count: int
    total_ns: int
    idle_ns: int
    worst_step: str
    worst_start_ns: int
    worst_end_ns: int
    native_ns: int = 0
    copied_ns: int = 0
    steps: int = 1


class _Stops(msgspec.Struct, frozen=True, eq=False):
    """The stops of one cause.

    rows       the event of each stop; None if stops have no event
    least_ns   a stop counts if at least this much of it remains without the stops of other causes
    """

    cause: PauseCause
    sure: bool
    start: Int64
    end: Int64
    rows: Int64 | None
    least_ns: int = 0


def pauses(trace: Trace, device: int, steps: Steps | None = None) -> list[Pause]:
    """Returns the pauses within the steps, by the idle time of the device, most first. steps: None for all."""
    idle, chosen = idle_outside_loader(trace, device), steps or find_steps(trace)
    within = ((stops, stopped & chosen.intervals) for stops, stopped in _own_stops(trace, device))
    result = [
        _pause(trace, device, stops, stopped, stopped & idle, len(chosen.steps))
        for stops, stopped in within
        if len(stopped)
    ]
    return sorted(result, key=lambda pause: (-pause.idle_ns, -pause.total_ns))


def pause_intervals(trace: Trace, device: int) -> Intervals:
    """Returns when the host pauses, whatever the cause."""
    return Intervals.joined(stopped for _, stopped in _own_stops(trace, device))


@shared
def _own_stops(trace: Trace, device: int) -> tuple[tuple[_Stops, Intervals], ...]:
    """Returns the stops of each cause that has any, without those of earlier causes."""
    found, rest = [], find_steps(trace).intervals
    for stops in _stops(trace, device):
        stopped = rest & Intervals.union(stops.start, stops.end)
        long = stopped.end - stopped.start >= stops.least_ns
        stopped = Intervals(stopped.start[long], stopped.end[long])
        if len(stopped):
            found.append((stops, stopped))
            rest = rest - stopped
    return tuple(found)


def _stops(trace: Trace, device: int) -> Iterator[_Stops]:
    rows = garbage_collections(trace)
    yield _Stops("garbage_collection", True, trace.events.start_ns[rows], trace.events.ends(rows), rows)
    setup = setup_intervals(trace)
    yield _Stops("loader", True, setup.start, setup.end, None, UNEXPLAINED_NS)
    # Time between ops does not belong to them. It is Python, which may have had something to do.
    excess = find_excess(trace).of(ExcessKind.INTERRUPTED).on(*step_threads(trace))
    excess = excess.where((excess.dur_ns >= INTERRUPTED_NS) & _is_in_code(trace, excess))
    excess = excess.where(is_in(excess.event, allocation_retries(trace).rows, invert=True))  # these have their own card
    yield _Stops("interrupted", False, excess.start_ns, excess.end_ns, excess.event.astype(np.int64))
    yield _Stops("unexplained", False, *_unexplained(trace, device), None, UNEXPLAINED_NS)


def _is_in_code(trace: Trace, excess: Excess) -> Bool:
    """Returns which excess is within an op or a call. Other excess is in a range, or its event is only the nearest
    one."""
    events, named = trace.events, np.flatnonzero(excess.event >= 0)
    rows, within = excess.event[named], np.zeros(len(excess), bool)
    within[named] = (events.start_ns[rows] <= excess.start_ns[named]) & (excess.end_ns[named] <= events.ends(rows))
    within[named] &= is_in(events.kind[rows], (Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER))
    return within


def _pause(trace: Trace, device: int, stops: _Stops, stopped: Intervals, idle: Intervals, steps: int) -> Pause:
    worst = int((stopped.end - stopped.start).argmax())
    start, end = int(stopped.start[worst]), int(stopped.end[worst])
    shared_ns = np.minimum(stops.end, end) - np.maximum(stops.start, start)
    return Pause(
        cause=stops.cause,
        sure=stops.sure,
        name=None if stops.rows is None else trace.name_of(stops.rows[int(shared_ns.argmax())]),
        count=len(stopped),
        total_ns=stopped.total_ns,
        idle_ns=whole_mean(idle.total_ns, steps),
        worst_step=find_steps(trace).at(start).name,
        worst_start_ns=start,
        worst_end_ns=end,
        native_ns=(stopped & _native(trace, stops)).total_ns,
        copied_ns=_behind_copies_ns(trace, device, stopped) if stops.cause == "unexplained" else 0,
        steps=len(distinct(find_steps(trace).holding(stopped.start))),
    )


def _behind_copies_ns(trace: Trace, device: int, pauses: Intervals) -> int:
    """Returns the length of the pauses that may be writing what the device copied to the host just before, as a step
    that saves a checkpoint does.

    device  kkkkk cccccc cccccc              kkkkk     c: to the host, 4 GB
    pause                      |------------|          written in 900 ms
    """
    events = trace.events
    steps = find_steps(trace)
    activity = find_launches(trace).activity
    if events.bytes is None:
        return 0
    rows = np.sort(activity[events.device[activity] == device])
    to_host = are_named(trace, rows, lambda name: way(name).direction == "DtoH")
    nbytes = np.where(to_host, np.maximum(events.bytes[rows], 0), 0)
    step = steps.holding(events.start_ns[rows]) + 1
    usual = median(np.bincount(step, nbytes, len(steps.steps) + 1)[1:])
    copied = np.append(0, np.cumsum(nbytes))
    computes = np.maximum.accumulate(np.append(0, np.where(events.kind[rows] == Kind.KERNEL, np.arange(len(rows)), 0)))
    before = np.searchsorted(events.start_ns[rows], pauses.start)
    copied_bytes, length = copied[before] - copied[computes[before]], pauses.end - pauses.start
    behind = (copied_bytes > MORE_THAN_USUAL * usual) & (copied_bytes >= SLOW_WRITE * 1e-9 * length)
    return int(length[behind].sum())


def _native(trace: Trace, stops: _Stops) -> Intervals:
    """Returns when the host stops in calls and in ops that run no Python."""
    if stops.rows is None:
        return Intervals.union(stops.start[:0], stops.end[:0])
    call = is_in(trace.events.kind[stops.rows], CALL_KINDS)
    native = call | are_named(trace, stops.rows, lambda name: _NATIVE_OP.match(name) is not None)
    return Intervals.union(stops.start[native], stops.end[native])


def _unexplained(trace: Trace, device: int) -> tuple[Int64, Int64]:
    """Returns long idle times of the device in which nothing is recorded on the thread that launches next, if they
    occur in few steps, or else those that are far longer than usual, if these do. The recording's first moments belong
    to the profiler. Times that a recorded function or range explains, such as the writing of a checkpoint, are left
    out."""
    steps, gaps = find_steps(trace), find_gaps(trace, device)
    none = np.empty(0, np.int64)
    if len(steps.steps) < LEAST_STEPS or not (gaps.end - gaps.start >= UNEXPLAINED_NS).any():
        return none, none
    nothing = REASONS.index("nothing_recorded")
    low = steps.window[0]
    first, *others = (
        segments.where(
            (segments.reason == nothing) & (segments.end - segments.start >= UNEXPLAINED_NS) & (segments.start > low)
        )
        for segments in idle_segments(trace, device)
    )
    stops = first.followed_by(*others)
    most = max(1, RARE_FRACTION * len(steps.steps))
    if len(distinct_in(stops.step)) > most:  # usual stops must not hide rare ones that are far longer
        excess = find_excess(trace).of(ExcessKind.INTERRUPTED).on(*training_threads(trace))
        longer_ns = excess.where(~_is_in_code(trace, excess)).intervals().overlap_ns(stops.start, stops.end)
        stops = stops.where(2 * longer_ns >= stops.end - stops.start)
    if len(distinct_in(stops.step)) > most:
        return none, none
    ends = zip(stops.start.tolist(), stops.end.tolist(), strict=True)
    explained = np.array([is_explained(trace, *each) for each in ends], bool)
    return stops.start[~explained], stops.end[~explained]
