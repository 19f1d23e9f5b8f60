"""The Python function that takes most of a step's time outside of ops, and what it calls most: for jobs without a GPU.

step     [                                           ]
frame      |------ data.py(41): preprocess ------|          the innermost call that holds half of it or more
             |-norm-|   |crop|  |---norm---|                norm: what its time is mostly spent in
op                                                |mm|
outside  ooooooooooooooooooooooooooooooooooooooooo  oo
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tb_steptime.metrics.idle.busiest import busiest_of
from tb_steptime.metrics.idle.doing import MOSTLY
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.trace.frames import is_outside_torch, is_source, short_frame
from tb_steptime.trace.host_ranges import loader_names
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.steps import Step, find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

#: Kinds of host events that the profiler records besides Python.
_RECORDED = (Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)


class PythonFunction(msgspec.Struct, frozen=True):
    """A function in the step of median length, on the training thread.

    start_ns, end_ns   from the start of the first call of the function to the end of the last
    outside_ns         time of the step in which no op, call or loader runs; most of it is in calls of the function
    in_ns              time in calls of the function, including their ops
    busiest, busiest_ns   the name of the calls that take more than half of the function's time, and their time; None
                       and 0 if no single name does
    """

    step: str
    start_ns: int
    end_ns: int
    outside_ns: int
    name: str
    in_ns: int
    busiest: str | None = None
    busiest_ns: int = 0


def python_function(trace: Trace) -> PythonFunction | None:
    """Returns the function; None without call stacks, and if no single function of the user's takes most of that
    time."""
    threads = training_threads(trace)
    if not threads or not len(trace.events.rows(Kind.PYTHON)):
        return None
    step = _median_step(trace)
    first, past = np.searchsorted(trace.events.start_ns, [step.start_ns, step.end_ns])
    rows = int(first) + np.flatnonzero(trace.events.thread[first:past] == threads[0])
    outside = Intervals.of((step.start_ns, step.end_ns)) - _recorded(trace, rows)
    calls = _function(trace, rows, step, outside)
    if not len(calls):
        return None
    called = busiest_of(trace, calls, step.start_ns, step.end_ns)
    return PythonFunction(
        step=step.name,
        start_ns=int(trace.events.start_ns[calls[0]]),
        end_ns=int(trace.events.ends(calls[-1:])[0]),
        outside_ns=outside.total_ns,
        name=short_frame(trace.name_of(calls[0])),
        in_ns=int(trace.events.dur_ns[calls].sum()),
        busiest=called.name if called else None,
        busiest_ns=called.ns if called else 0,
    )


def recorded(trace: Trace, thread: int) -> Intervals:
    """Returns when this thread runs an op or a call of a runtime."""
    rows = trace.events.rows(*_RECORDED)
    return Intervals.of_events(trace.events, rows[trace.events.thread[rows] == thread])


def _median_step(trace: Trace) -> Step:
    """Returns the step of median length; the lower one of two."""
    steps = sorted(find_steps(trace).steps, key=lambda step: step.duration_ns)
    return steps[(len(steps) - 1) // 2]


def _recorded(trace: Trace, rows: Int64) -> Intervals:
    """Returns when one of these rows is an op, a call, or a wait of the loader."""
    events = trace.events
    mine = rows[is_in(events.kind[rows], _RECORDED) | loader_names(trace)[events.name[rows]]]
    return Intervals.of_events(events, mine)


def _function(trace: Trace, rows: Int64, step: Step, outside: Intervals) -> Int64:
    """Returns the calls of a function of the user's; if the script itself is longer than the recording, of one in
    Python's library instead, such as the `get` of a queue."""
    mine = _calls(trace, _frames(trace, rows, step, is_source), outside)
    return mine if len(mine) else _calls(trace, _frames(trace, rows, step, is_outside_torch), outside)


def _calls(trace: Trace, frames: Int64, outside: Intervals) -> Int64:
    """Returns the innermost call that contains most of the time outside of ops; else all calls of the function whose
    calls together do; empty if no function does."""
    least_ns = MOSTLY * outside.total_ns
    within = _within(trace, frames, outside)
    alone = frames[(within >= least_ns) & (within > 0)]
    if len(alone):
        return alone[-1:]
    names = trace.events.name[frames]
    for name in distinct_in(names).tolist():
        calls = top_level(trace, frames[names == name])
        if _within(trace, calls, outside).sum() >= max(least_ns, 1):
            return calls
    return frames[:0]


def _frames(trace: Trace, rows: Int64, step: Step, wanted: Callable[[str], bool]) -> Int64:
    """Returns the frames that end in the step, by name."""
    events = trace.events
    mine = rows[(events.kind[rows] == Kind.PYTHON) & (events.ends(rows) <= step.end_ns)]
    frames: Int64 = mine[are_named(trace, mine, wanted)]
    return frames


def _within(trace: Trace, rows: Int64, outside: Intervals) -> Int64:
    ns: Int64 = outside.overlap_ns(trace.events.start_ns[rows], trace.events.ends(rows))
    return ns
