"""What happens once in a job and not in every step: compiling, capturing, setting up, loading, first memory.

host    [ compile ]   [addmm, the first: 981 ms ]  [load k]     disjoint: the first of these causes has an instant
device                                        kkkk        kkkk
idle    iiiiiiiiiii   iiiiiiiiiiiiiiiiiiiiiiii    iiiiiiii      what of them leaves the device idle
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.host.blocking_calls import Blocks, blocking_calls
from tb_steptime.metrics.set_aside.compilation import capture_intervals, captures, compilations
from tb_steptime.metrics.set_aside.first_calls import first_calls
from tb_steptime.metrics.set_aside.loading import loading_rows
from tb_steptime.metrics.set_aside.start_up import set_up_calls, starts_up
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.quality.memory_calls import allocation_retries
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64

#: What makes a cost come once, in the order in which one instant is charged.
OneTimeCause = Literal["compilation", "graph_capture", "first_call", "set_up", "loading", "allocation"]

#: With fewer steps it is not known whether memory that is allocated in the first is allocated in each.
LEAST_STEPS = 3


class OneTime(msgspec.Struct, frozen=True, eq=False):
    """Costs of one cause. rows: of the event table; when: the time that they take, of which no other cause has any."""

    cause: OneTimeCause
    rows: Int64
    when: Intervals


@shared
def one_time_costs(trace: Trace) -> tuple[OneTime, ...]:
    """Of every cause that has any, within the steps. The loader's waits are none of them."""
    steps = find_steps(trace)
    rest = Intervals.union(steps.start_ns, steps.end_ns) - loader_intervals(trace)
    costs = []
    for cause, rows, when in _found(trace):
        own = rest & when
        if len(own):
            costs.append(OneTime(cause, rows, own))
            rest = rest - own
    return tuple(costs)


def once(trace: Trace) -> Intervals:
    """When the host does what comes once."""
    costs = one_time_costs(trace)
    return Intervals.union(*(np.concatenate([getattr(cost.when, side) for cost in costs] or [[]]) for side in _SIDES))


_SIDES = ("start", "end")


def _found(trace: Trace) -> Iterator[tuple[OneTimeCause, Int64, Intervals]]:
    yield "compilation", *_of(trace, compilations(trace))
    yield "graph_capture", captures(trace), capture_intervals(trace)
    yield "first_call", *_of(trace, first_calls(trace))
    yield "set_up", *_of(trace, set_up_calls(trace))
    yield "loading", *_of(trace, loading_rows(trace))
    yield "allocation", *_of(trace, _first_memory(trace))


def _of(trace: Trace, rows: Int64) -> tuple[Int64, Intervals]:
    return rows, Intervals.union(trace.events.start_ns[rows], trace.events.ends(rows))


def _first_memory(trace: Trace) -> Int64:
    """Calls for memory, where all are in the first of several steps, or the process begins in the recording: later
    steps find theirs in the cache of the allocator."""
    calls, steps = blocking_calls(trace), find_steps(trace)
    rows: Int64 = calls.row[calls.kind == Blocks.ALLOCATOR]
    again = allocation_retries(trace).rows  # that memory ran short may happen in any step
    rows = rows[np.isin(rows, again, invert=True)] if len(again) else rows
    if starts_up(trace) and len(steps.steps) == 1:
        return rows
    first = trace.events.start_ns[rows] < steps.end_ns[0]
    return rows if len(steps.steps) >= LEAST_STEPS and first.all() else rows[:0]
