"""What takes most of a step's time outside of ops, in jobs without a GPU. It is the Python function, and what that
calls most; or, if no call stack names one, the named range of the host.

step     [                                           ]
frame      |------ data.py(41): preprocess ------|          the innermost call that holds half of it or more
             |-norm-|   |crop|  |---norm---|                norm: what its time is mostly spent in
op                                                |mm|
outside  ooooooooooooooooooooooooooooooooooooooooo  oo
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.idle.host_activity import MOSTLY, busiest_of
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.trace.frames import is_helper, is_outside_torch, is_source, package, script_package, short_frame
from tb_steptime.trace.host_ranges import loader_intervals, loader_names, short_range
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import Step, find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

#: The kinds of host events that the profiler records besides Python.
_RECORDED = (Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)


class PythonFunction(msgspec.Struct, frozen=True):
    """A function in the step of median length, on the training thread.

    start_ns, end_ns   from the start of the first call of the function to the end of the last one
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
    """Returns the function; None without call stacks, and if no single function of the user's takes most of the time
    outside of ops."""
    threads = training_threads(trace)
    if not threads or not len(trace.events.rows(Kind.PYTHON)):
        return None
    steps = sorted(find_steps(trace).steps, key=lambda step: step.duration_ns)
    step = steps[(len(steps) - 1) // 2]
    first, end = np.searchsorted(trace.events.start_ns, [step.start_ns, step.end_ns])
    rows = int(first) + np.flatnonzero(trace.events.thread[first:end] == threads[0])
    busy = rows[is_in(trace.events.kind[rows], _RECORDED) | loader_names(trace)[trace.events.name[rows]]]
    outside = Intervals.of((step.start_ns, step.end_ns)) - Intervals.of_events(trace.events, busy)
    calls = _calls(trace, _frames(trace, rows, step, _says_what), outside)
    # If the script's own call is longer than the recording, only functions of Python's library remain, such as `get` of
    # a queue.
    if not len(calls):
        calls = _calls(trace, _frames(trace, rows, step, is_outside_torch), outside)
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


def _says_what(frame: str) -> bool:
    """Returns whether this is a function that a user knows."""
    return is_source(frame) and not is_helper(frame)


def recorded(trace: Trace, thread: int) -> Intervals:
    """Returns when this thread runs an op or a call of a runtime."""
    rows = trace.events.rows(*_RECORDED)
    return Intervals.of_events(trace.events, rows[trace.events.thread[rows] == thread])


def _calls(trace: Trace, frames: Int64, outside: Intervals) -> Int64:
    """Returns the innermost call that contains most of the time outside of ops. What the script calls of a package
    stands for what goes on inside it. If no call contains so much, returns all calls of the function whose calls do so
    together; nothing if no function does."""
    least_ns = MOSTLY * outside.total_ns
    within = _within(trace, frames, outside)
    alone = frames[(within >= least_ns) & (within > 0)]
    if len(alone):
        place = len(alone) - 1
        while place and _is_inside(trace, int(alone[place]), int(alone[place - 1]), outside):
            place -= 1
        return alone[place : place + 1]
    together = (calls for _, calls, ns in calls_by_name(trace, frames, outside) if ns >= max(least_ns, 1))
    return next(together, frames[:0])


def _is_inside(trace: Trace, call: int, caller: int, outside: Intervals) -> bool:
    """Returns whether both are functions of one package, not the script's, and the caller runs no op: `argwhere` of
    numpy calls `nonzero`, which calls a function that calls a built-in one."""
    inner, outer = (package(trace.name_of(each)) for each in (call, caller))
    runs_ops = _within(trace, np.array([caller]), outside)[0] < trace.events.dur_ns[caller]
    return inner == outer != script_package(trace) and not runs_ops


def calls_by_name(trace: Trace, rows: Int64, when: Intervals) -> Iterator[tuple[int, Int64, int]]:
    """Yields each name of these rows, its outermost calls, and how much of `when` these contain, ns."""
    names = trace.events.name[rows]
    for name in distinct_in(names).tolist():
        calls = top_level(trace, rows[names == name])
        yield name, calls, int(_within(trace, calls, when).sum())


def _frames(trace: Trace, rows: Int64, step: Step, matches: Callable[[str], bool]) -> Int64:
    events = trace.events
    python_rows = rows[(events.kind[rows] == Kind.PYTHON) & (events.ends(rows) <= step.end_ns)]
    frames: Int64 = python_rows[are_named(trace, python_rows, matches)]
    return frames


def _within(trace: Trace, rows: Int64, outside: Intervals) -> Int64:
    return outside.overlap_ns(trace.events.start_ns[rows], trace.events.ends(rows))


class OutsideRange(msgspec.Struct, frozen=True):
    """A range and its time, as a mean over the steps. ns: time outside of ops, calls and waits for batches while the
    range is open on the training thread."""

    name: str
    ns: int


def outside_range(trace: Trace) -> OutsideRange | None:
    """Returns the range; None if no name contains half of that time.

    step     [                                           ]
    range     |----------------- advance ---------------|        holds most of it, too, but so does a range inside it
    range       |------ training_step ------| |- step -|         the innermost range that holds half of it or more
    op           |mm| |add|                    |add|
    outside  oooo    o     oooooooooooooooooooo     oooooo
    """
    threads = training_threads(trace)
    events = trace.events
    steps = find_steps(trace)
    if not threads:
        return None
    outside = steps.intervals - loader_intervals(trace) - recorded(trace, threads[0])
    rows = events.rows(Kind.USER)  # named ranges; marks of steps and of loaders are removed next
    rows = rows[(events.thread[rows] == threads[0]) & ~loader_names(trace)[events.name[rows]]]
    rows = rows[is_in(rows, step_marks(trace), invert=True)]
    ranges = [
        (int(events.dur_ns[calls].sum()), -int(calls[0]), name, ns)
        for name, calls, ns in calls_by_name(trace, rows, outside)
        if ns >= max(MOSTLY * outside.total_ns, 1)
    ]
    if not ranges:
        return None
    _, _, name, ns = min(ranges)  # the shortest one is the innermost; of equals, it is the later one in the table
    return OutsideRange(short_range(trace.strings[name]), ns // len(steps.steps))
