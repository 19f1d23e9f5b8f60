"""The bubbles of blocking calls: each group of calls leaves one in the device's work.

thread   |-- aten::item --|                     one group: copy + synchronize
           [copy][ sync  ]    [launch]
device   kkkkkkkkkc                  kkkk
blocked    hhhhhhhhhhhhhh                       how long the host is blocked
bubble             iiiiiiiiiiiiiiiiii           what it costs: the device idles from its drain (or the call's start)
                                                to the next activity that was launched after the call returned

The drain is the end of the work that was launched before the group began. The group's own copy is work and not part of
a bubble, but the time in which it stages pageable memory is. A bubble contains at most as much idle time as the calls'
length. A host that had not waited would be ahead by no more, so a short call on an idle device costs next to nothing.
Bubbles are disjoint: one ends where the next group begins. They do not include waits for the loader, unrecorded work,
or time after the device's last activity. A wait that has to stay (`token_waits`) has no bubble, nor has one in a thread
that launches no kernels, unless those that launch go on when it ends (`host/handovers`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.host.blocking_calls import BlockingGroups, blocking_groups
from tb_steptime.metrics.host.handovers import background_waits, handovers
from tb_steptime.metrics.idle.gaps import idle_outside_loader, launch_rows, unrecorded_work
from tb_steptime.metrics.idle.host_stalls import pause_intervals
from tb_steptime.metrics.idle.token_waits import token_waits
from tb_steptime.trace.intervals import BEFORE_ALL, NEVER, Intervals
from tb_steptime.trace.model import Trace, find_launches, in_order_of_calls, shared
from tb_steptime.trace.steps import Steps
from tb_steptime.trace.table import Bool, Int64, distinct_in, is_in


class Bubbles(NamedTuple):
    """The bubble of each group, from start to end. Bubbles are disjoint. idle_ns: the device's idle time in the bubble,
    for which the group is responsible."""

    start: Int64
    end: Int64
    idle_ns: Int64


def bubbles(trace: Trace, device: int, steps: Steps | None = None) -> Bubbles:
    """Returns the bubble of each of `blocking_groups`, which is empty for many groups. steps: those whose idle time
    counts; None for all."""
    idle, start, end = _bounds(trace, device)
    counted = idle if steps is None else idle & steps.intervals
    return Bubbles(start, end, counted.overlap_ns(start, end))


@shared
def _bounds(trace: Trace, device: int) -> tuple[Intervals, Int64, Int64]:
    """Returns when the device is idle in a way that a call can cause, and when the bubble of each group starts and
    ends."""
    groups = blocking_groups(trace)
    idle = idle_outside_loader(trace, device) - unrecorded_work(trace, device)
    start, end = _stalls(trace, device, groups)
    end = np.minimum(end, _next_pause(trace, device, start))
    lasts = _when_covered(idle, idle.covered_before(start) + blocked_ns(trace, device))
    end = np.maximum(np.minimum(end, lasts), start)
    return idle, start, np.where(token_waits(trace) | _delays_nothing(trace), start, end)


def _delays_nothing(trace: Trace) -> Bool:
    """Says which of `blocking_groups` wait in a thread that launches no kernels, while no other one waits for it."""
    call, background = blocking_groups(trace).call, background_waits(trace)
    awaited = is_in(trace.events.thread[call], distinct_in(trace.events.thread[handovers(trace).wait]))
    return is_in(trace.events.thread[call], distinct_in(trace.events.thread[background])) & ~awaited


def _next_pause(trace: Trace, device: int, instants: Int64) -> Int64:
    """Returns when the host next pauses after each instant; in a pause, the instant itself. A bubble ends there,
    because a rare pause behind a call causes the idle time in it. Without the pause, the call would cost less."""
    pauses = pause_intervals(trace, device)
    following = np.searchsorted(pauses.end, instants, side="right")
    begins: Int64 = np.append(pauses.start, NEVER)[following]
    return np.maximum(begins, instants)


def blocked_ns(trace: Trace, device: int) -> Int64:
    """Returns how long each of `blocking_groups` blocks the host, without time excluded from judgement."""
    groups = blocking_groups(trace)
    left_out = excluded_time(trace, device).total.overlap_ns(groups.start, groups.end)
    blocked: Int64 = np.maximum(groups.blocked_ns - left_out, 0)
    return blocked


def _stalls(trace: Trace, device: int, groups: BlockingGroups) -> tuple[Int64, Int64]:
    """Returns when each group's stall begins and ends. It begins with the drain, or with the group if that starts
    later. It ends with the next activity that was launched after the group, or with the start of the next group."""
    events, launches = trace.events, find_launches(trace)
    rows = in_order_of_calls(trace, launch_rows(trace, device))
    if not len(rows) or not len(groups):
        return groups.start, groups.start
    call_starts = events.start_ns.take(launches.call.take(rows))
    activity = launches.activity[rows]
    reach = np.maximum.accumulate(events.ends(activity))
    coming = np.minimum.accumulate(events.start_ns[activity][::-1])[::-1]
    drained = np.append(BEFORE_ALL, reach)[np.searchsorted(call_starts, groups.start)]
    follows = np.append(coming, reach[-1])[np.searchsorted(call_starts, groups.end)]
    start = np.maximum(groups.start, drained)
    cut = np.append(groups.start[1:], NEVER)
    return start, np.maximum(np.minimum(follows, cut), start)


def _when_covered(intervals: Intervals, amounts: Int64) -> Int64:
    """Returns when the intervals have covered each amount of time, counted from the first interval; NEVER if they never
    do."""
    covered = np.cumsum(intervals.end - intervals.start)
    place = np.searchsorted(covered, amounts)
    is_covered = place < len(covered)
    when = np.full(len(amounts), NEVER)
    when[is_covered] = intervals.end[place[is_covered]] - (covered[place[is_covered]] - amounts[is_covered])
    return when
