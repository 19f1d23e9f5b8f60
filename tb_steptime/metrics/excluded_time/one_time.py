"""Work that happens once in a job and not in every step, by cause and by the op or call that contains it.

host    [ compile ]   [addmm, the first: 981 ms ]  [load k]     the excess of threads that train, of kind `ONCE`
device                              tttttt    kkkk        kkkk  t: what a library tries in it
idle    iiiiiiiiiii   iiiiiiiiiiiiii      iiii    iiiiiiii      what of it leaves the device idle
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import busy_intervals
from tb_steptime.metrics.host.blocking_calls import WAITING, Blocks, blocking_calls
from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import Excess, ExcessKind
from tb_steptime.metrics.steady.first_use import capture_intervals, compilations
from tb_steptime.metrics.steady.step import on_host_once
from tb_steptime.metrics.steady.trials import op_of_trial, trial_intervals, trials
from tb_steptime.trace.host_ranges import loader_intervals, loading_calls
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.ops import op_at, places
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import CALL_KINDS, Bool, Int64, Kind, is_in

#: Causes of one-time costs, in the order in which an instant is attributed to them.
OneTimeCause = Literal["compilation", "graph_capture", "loading", "allocation", "set_up", "first_call", "between_ops"]


#: Minimum share of the recorded steps: less changes no figure that anybody reads.
LEAST_FRACTION = 0.01

#: A head is a warm-up where costs fill at least this share of it: what is between them is no longer than they are.
COLD_FRACTION = 0.5
#: Minimum share of the device's activities behind a warm-up: what follows shows a step, and not only its end.
WARM_FRACTION = 1 / 3
#: Share of the time behind a warm-up for which the device may wait for launches: less is worth no card.
AHEAD_FRACTION = 0.01


class OneTime(msgspec.Struct, frozen=True, eq=False):
    """Costs of one cause, within the steps. excess: where they are; row: for each, the op that contains it, or the call
    or range if there is no op, or -1 between ops; when: their time, without the time of other causes."""

    cause: OneTimeCause
    excess: Excess
    row: Int64
    when: Intervals


@shared
def one_time_costs(trace: Trace, device: int | None) -> tuple[OneTime, ...]:
    """Returns the one-time costs of every cause within the steps, as far as they lengthen the steps for this device.
    Waits for the loader are not included."""
    steps, excess = find_steps(trace), find_excess(trace).of(ExcessKind.ONCE)
    host, on_device = (*training_threads(trace), *autograd_threads(trace)), trace.events.device[excess.event]
    excess = excess.where(
        is_in(excess.track, host) | (is_in(excess.event, trials(trace).event) & (on_device == device))
    )
    tried = trial_intervals(trace, device) if device is not None else Intervals.empty()
    rest = steps.intervals & ((on_host_once(trace, device) - loader_intervals(trace)) | tried)
    row, costs, left = _rows(trace, excess), [], np.ones(len(excess), bool)
    for cause, of_cause in _causes(trace, excess, row):
        selected = excess.where(of_cause & left)
        when = (selected.intervals() | tried if cause == "first_call" else selected.intervals()) & rest
        if len(when) and len(selected):
            costs.append(OneTime(cause, selected, row[of_cause & left], when))
            rest = rest - when
        left &= ~of_cause
    recorded_ns = int(steps.duration_ns.sum())
    return tuple(costs) if sum(cost.when.total_ns for cost in costs) >= LEAST_FRACTION * recorded_ns else ()


def once(trace: Trace, device: int | None) -> Intervals:
    """Returns when the host does one-time work, or the device runs what a library only tries."""
    return Intervals.joined(cost.when for cost in one_time_costs(trace, device))


def warm_up(trace: Trace, device: int) -> Intervals:
    """Returns the head of a recording without steps, from the first op with a cost to the end of the last cost, where
    the device never waits for a launch any more as soon as nothing comes once. So it is the warm-up that makes launches
    in between late. What the host waits for the device there is left out, as it may do so in every step.

    host    [ load k ]llll[ first mm ]ll[load q]llllllllllllllllllllllll       behind the costs the host is ahead
    device             k k k k        m m      qqqqqqkkkkkkkkkkkkkkkkkkkkkk
    head    ###################################
    """
    costs, busy = [cost for cost in one_time_costs(trace, device) if len(cost.when)], busy_intervals(trace, device)
    if len(find_steps(trace).steps) > 1 or find_steps(trace).by != "recording" or not costs or not len(busy):
        return Intervals.empty()
    first = min(costs, key=lambda cost: int(cost.when.start[0]))
    op = places(trace, first.row[first.excess.start_ns.argmin()][None]).outer_op[0]
    start, end = int(first.when.start[0]), max(int(cost.when.end[-1]) for cost in costs)
    start = min(start, int(trace.events.start_ns[op])) if op >= 0 else start
    cold = COLD_FRACTION * (end - start) <= Intervals.joined(cost.when for cost in costs).total_ns
    if not cold or not _ahead_from(trace, device, end):
        return Intervals.empty()
    calls = blocking_calls(trace)
    return Intervals.of((start, end)) - Intervals.of_events(trace.events, calls.row[is_in(calls.kind, WAITING)])


def _ahead_from(trace: Trace, device: int, instant_ns: int) -> bool:
    """Whether enough of the device's work comes later, and hardly waits for its launches once it has begun."""
    events, launches, busy = trace.events, find_launches(trace), busy_intervals(trace, device)
    rows = np.flatnonzero(events.device[launches.activity] == device)
    started = events.start_ns[launches.activity[rows]]
    later = started[started >= instant_ns]
    if len(later) < max(WARM_FRACTION * len(rows), 1):
        return False
    gaps = busy.gaps(int(later[0]), int(busy.end[-1]))
    call = launches.call[rows[np.searchsorted(started, gaps.end)]]
    late_ns = np.where(call >= 0, np.minimum(events.ends(call), gaps.end) - gaps.start, 0)
    return bool(np.maximum(late_ns, 0).sum() <= AHEAD_FRACTION * (int(busy.end[-1]) - int(later[0])))


def _rows(trace: Trace, excess: Excess) -> Int64:
    """Returns the innermost op that contains each cost; or the call or the user's range; -1 between ops."""
    events, event = trace.events, excess.event.astype(np.int64)
    inside = (event >= 0) & (events.start_ns[event] <= excess.start_ns) & (excess.end_ns <= events.ends(event))
    inside &= is_in(event, step_marks(trace), invert=True)
    row = np.full(len(event), -1, np.int64)
    op = op_at(trace, event[inside])
    row[inside] = np.where(op >= 0, op, event[inside])
    return op_of_trial(trace, event, row)


def _causes(trace: Trace, excess: Excess, row: Int64) -> Iterator[tuple[OneTimeCause, Bool]]:
    """Yields the costs of each cause, in the order of attribution."""
    events, calls = trace.events, blocking_calls(trace)
    compiled = compilations(trace)
    compiling = Intervals.of_events(events, compiled)
    yield "compilation", _within(compiling, excess)
    yield "graph_capture", _within(capture_intervals(trace), excess)
    yield "loading", is_in(excess.event, np.concatenate((loading_calls(trace), _launches(trace))))
    yield "allocation", is_in(excess.event, calls.row[calls.kind == Blocks.ALLOCATOR])
    kind = np.where(excess.event >= 0, events.kind[excess.event].astype(np.int64), -1)
    yield "set_up", is_in(kind, CALL_KINDS)
    yield "first_call", row >= 0
    yield "between_ops", row < 0


def _launches(trace: Trace) -> Int64:
    """Calls that launch kernels: a kernel's first call loads the kernel."""
    launches = find_launches(trace)
    launched = (launches.call >= 0) & (trace.events.kind[launches.activity] == Kind.KERNEL)
    calls: Int64 = launches.call[launched].astype(np.int64)
    return calls


def _within(when: Intervals, excess: Excess) -> Bool:
    return np.asarray(2 * when.overlap_ns(excess.start_ns, excess.end_ns) > excess.dur_ns, bool)
