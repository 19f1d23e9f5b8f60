"""Python functions of the training loop that compute no ops, such as metrics, logging and checkpoints, and another
thread that runs Python meanwhile. This is for jobs without a GPU that were recorded with call stacks.

step     [                                    ]
frame     |-------------- train.py: main ------------...    most of it is ops
frame       |--- model.py: forward ---| |-- metrics.py: count --|
op             |mm|  |add|  |mm|          |argmax|
counted                                           =============     outside ops, calls and the loader

A call in which a step begins is the loop itself, and does not belong to a step. If the inner calls of one function take
most of a function's time, the time counts for the inner one (`gc.collect`); if it waits, it is counted separately
(`time.sleep`). All calls of a function decide together whether it is Python alone, and in which steps it runs, because
another process may have interrupted a single call. A function that contains a pass, such as `training_step`, is the
step itself, and only what it calls may be listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.idle.host_activity import MOSTLY
from tb_steptime.metrics.idle.outside_ops import calls_by_name, recorded
from tb_steptime.metrics.phases.threads import training_threads
from tb_steptime.metrics.steady.device import find_excess
from tb_steptime.metrics.steady.excess import ExcessKind
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.frames import (
    CALLED_BY_LOOPS,
    is_helper,
    is_outside_torch,
    is_source,
    module_frames,
    package,
    script_package,
    short_frame,
)
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.nesting import innermost, parent_places, top_level
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import optimizer_marks
from tb_steptime.trace.table import Bool, Columns, Int64, Kind, distinct_in, is_in

#: A function that spends more than this share in ops, calls of a runtime or waits is not Python code to speed up.
MOST_OTHER = 0.25
#: Maximum number of functions returned.
MOST_FUNCTIONS = 5
#: A function that takes more than this share of another one is what that one does. A function that contains more than
#: this share of a pass contains the pass.
MOST_INSIDE = 0.5
#: Minimum share of a function in the time of all such functions for its inner calls to be examined.
WORTH_LOOKING = 0.01
#: A function that is called in a smaller share of the steps is listed with those steps, unless only the first or the
#: last step has no call of it, and at least so many others have: an inferred first step begins at the recording's first
#: op, so that what the loop calls before that op is in none, and the last step may be cut off.
IN_EVERY, FEWEST = 0.9, 3
#: Built-in functions that wait.
_WAITS = expression(
    r"<built-in (?:method|function) (?:sleep|acquire|select|poll|epoll|recv\w*|accept|wait\w*|read\w*)\b"
)
#: Functions that pass a lock on take no time themselves. While they last, another thread runs Python.
_LOCKS = expression(r"<built-in method (?:release|__enter__|__exit__) of _thread\.")
#: Built-in functions, and functions of torch that no op explains and that a training loop calls explicitly.
_LIBRARY = expression(rf"<built-in |{CALLED_BY_LOOPS.pattern}")
_MODULE_LEVEL = expression(r": <module>$")
#: Comprehensions and similar frames have no names of their own.
_ADDRESS = expression(r" at 0x[0-9a-fA-F]+")
_UNNAMED = expression(r".*: <(?!module)\w+>$")


class PythonWork(msgspec.Struct, frozen=True):
    """The calls of one function on the training thread.

    caller             the user's function that calls it, if the function belongs to torch or another package, is built
                       in, or has no name; otherwise None
    ns                 time outside ops, calls and waits and without interruptions, mean over the steps that are judged
    start_ns, end_ns   the longest call
    steps              names of the steps with a call; empty if nearly all have one
    waits              whether the function waits for something other than a batch
    """

    name: str
    caller: str | None
    calls: int
    ns: int
    start_ns: int
    end_ns: int
    steps: list[str]
    waits: bool = False


def python_work(trace: Trace) -> list[PythonWork]:
    """Returns the functions, most time first; none without call stacks. Calls inside another such call count for the
    outer one."""
    threads = training_threads(trace)
    if not threads or not len(trace.events.rows(Kind.PYTHON)):
        return []
    events, steps = trace.events, find_steps(trace)
    busy = recorded(trace, threads[0]) | loader_intervals(trace)
    waits = top_level(trace, _frames_on(trace, threads[0], _WAITS))
    waited = Intervals.of_events(events, waits)
    judged = steps.intervals - excluded_time(trace, None).total - busy
    judged = judged - Intervals.of_events(events, _frames_on(trace, threads[0], _LOCKS))
    interrupted = find_excess(trace).on(threads[0]).intervals(ExcessKind.INTERRUPTED, ExcessKind.PROFILER)
    chosen = _timed(trace, _chosen(trace, threads[0]), judged - waited, interrupted)
    alone = _python_alone(trace, chosen, busy | waited, interrupted) & ~_hold_a_pass(trace, chosen, threads[0])
    start, end = _ranges(trace, chosen.row)
    steps_begun = np.searchsorted(steps.host_start_ns, start, side="right")
    # A call in which a step begins is the loop.
    alone &= steps_begun == np.searchsorted(steps.host_start_ns, end, side="left")
    waiting = _timed(trace, waits, judged, interrupted)
    functions = [
        *_by_function(trace, chosen, _what_they_do(trace, chosen, alone), waits=False),
        *_by_function(trace, waiting, np.arange(len(waiting.row)), waits=True),
    ]
    return sorted((function for function in functions if function.ns), key=lambda each: -each.ns)[:MOST_FUNCTIONS]


class _Calls(Columns, frozen=True, eq=False):
    """Calls of functions of one thread.

    row        row of the event table, ascending
    function   a number that all calls of one function share, even built-in methods of different objects
    whole_ns   length without interruptions
    ns         the part of it that is judged and outside ops, calls and waits
    """

    row: Int64
    function: Int64
    whole_ns: Int64
    ns: Int64


def _by_function(trace: Trace, calls: _Calls, counted: Int64, *, waits: bool) -> Iterator[PythonWork]:
    """Yields a result for each function. counted: places of the calls whose time counts."""
    for function in distinct_in(calls.function[counted]).tolist():
        of_function = calls.where(counted[calls.function[counted] == function])
        yield _function(trace, of_function, calls.row[calls.function == function], waits=waits)


def _function(trace: Trace, calls: _Calls, every: Int64, *, waits: bool) -> PythonWork:
    """Returns the calls of one function as a result. calls: those whose time counts. every: all calls of the function,
    which show in which steps it is called."""
    steps, longest = find_steps(trace).steps, int(calls.row[calls.ns.argmax()])
    place = find_steps(trace).begun_on_host(trace.events.start_ns[every])
    of_steps = distinct_in(place[place >= 0])
    name = trace.name_of(longest)
    named = rows_named(trace, (Kind.PYTHON,), is_named)
    (caller,) = innermost(trace, named[named < longest], np.array([longest])).tolist()
    by = trace.name_of(caller) if caller >= 0 else ""
    by_script = package(by) == script_package(trace) != package(name)
    return PythonWork(
        name=short_frame(name),
        caller=short_frame(by) if by and (by_script or not is_named(name)) else None,
        calls=int((calls.ns > 0).sum()),
        ns=int(calls.ns.sum()) // len(steps),
        start_ns=int(trace.events.start_ns[longest]),
        end_ns=int(trace.events.start_ns[longest] + trace.events.dur_ns[longest]),
        steps=[] if _in_every(of_steps, len(steps)) else [steps[step].name for step in of_steps.tolist()],
        waits=waits,
    )


def _in_every(places: Int64, steps: int) -> bool:
    """
    >>> _in_every(np.array([1, 2, 3]), 4), _in_every(np.array([0, 1, 3]), 4), _in_every(np.array([1, 2]), 3)
    (True, False, False)
    """
    but_an_edge = len(places) == steps - 1 and len(places) >= FEWEST and places[-1] - places[0] == len(places) - 1
    return len(places) >= IN_EVERY * steps or bool(but_an_edge)


def _chosen(trace: Trace, thread: int) -> Int64:
    """Returns the calls on this thread of what the user wrote or calls. These are the user's functions, and functions
    of Python and its library, such as `next`, that a user's function calls and that do not call one."""
    events, rows = trace.events, trace.events.rows(Kind.PYTHON)
    rows = rows[events.thread[rows] == thread]
    parent = parent_places(trace, rows)
    own, waits = are_named(trace, rows, is_source), are_named(trace, rows, is_wait)
    # A call may be one of Python and its library, or one of torch's functions that a loop calls explicitly.
    any_call = are_named(trace, rows, lambda frame: _LIBRARY.match(frame) is not None or is_outside_torch(frame))
    calls_own = np.zeros(len(rows), bool)
    calls_own[parent[own & (parent >= 0)]] = True
    by_own = (parent >= 0) & own[parent]
    script = are_named(trace, rows, _MODULE_LEVEL.search)
    chosen: Int64 = rows[(own & ~script) | (any_call & by_own & ~calls_own & ~waits)]
    return chosen


def is_wait(frame: str) -> bool:
    """Returns whether this is a built-in function that waits."""
    return _WAITS.match(frame) is not None


def _timed(trace: Trace, rows: Int64, judged: Intervals, interrupted: Intervals) -> _Calls:
    """Returns the calls with their functions and times. An interruption is left out of a call as far as it makes the
    call longer than the function's usual one, because what a function always takes is its own."""
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    function, ns = _functions(trace, rows), judged.overlap_ns(start, end)
    excess = (judged & interrupted).overlap_ns(start, end)
    for each in distinct_in(function[excess > 0]).tolist():
        of_function = function == each
        usual = np.sort(ns[of_function])[(of_function.sum() - 1) // 2]
        excess[of_function] = np.clip(ns[of_function] - usual, 0, excess[of_function])
    return _Calls(rows, function, end - start - excess, ns - excess)


def _functions(trace: Trace, rows: Int64) -> Int64:
    names = trace.events.name[rows]
    distinct_names = distinct_in(names)
    functions = [_ADDRESS.sub("", trace.strings[name]) for name in distinct_names.tolist()]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(functions))}
    return np.array([numbers[word] for word in functions], np.int64)[np.searchsorted(distinct_names, names)]


def _python_alone(trace: Trace, calls: _Calls, busy: Intervals, interrupted: Intervals) -> Bool:
    """Returns which calls are of functions that contain hardly anything but Python, in all of their calls together,
    because a single call may be interrupted."""
    start, end = trace.events.start_ns[calls.row], trace.events.ends(calls.row)
    other = (busy - interrupted).overlap_ns(start, end)
    whole = end - start - interrupted.overlap_ns(start, end)
    other_ns, whole_ns = (np.bincount(calls.function, weights=weights) for weights in (other, whole))
    return np.asarray((other_ns <= MOST_OTHER * np.maximum(whole_ns, 1))[calls.function], bool)


def _hold_a_pass(trace: Trace, calls: _Calls, thread: int) -> Bool:
    """Returns which calls are of functions in which most of a forward pass, a backward pass or the optimizer runs,
    which no loop can do without. Without a backward pass, functions with most of the time of ops count."""
    nodes, events = backward_nodes(trace), trace.events
    forward, ops = nodes.forward[nodes.forward >= 0], events.rows(Kind.CPU_OP)
    optimizer = optimizer_marks(trace)
    passes = (nodes.event, distinct_in(forward), optimizer) if len(nodes.event) else (ops, optimizer)
    holds = np.zeros(len(calls.row), bool)
    for rows in passes:
        top_rows = top_level(trace, rows[events.thread[rows] == thread].astype(np.int64))
        total = np.append(0, np.cumsum(events.dur_ns[top_rows]))
        first, end = (np.searchsorted(events.start_ns[top_rows], at) for at in _ranges(trace, calls.row))
        of_functions = np.bincount(calls.function, weights=total[end] - total[first])
        holds |= (of_functions > MOST_INSIDE * total[-1])[calls.function]
    return holds


def _ranges(trace: Trace, rows: Int64) -> tuple[Int64, Int64]:
    return trace.events.start_ns[rows], trace.events.ends(rows)


def _what_they_do(trace: Trace, calls: _Calls, alone: Bool) -> Int64:
    """Returns the places of the outermost of these calls. If the inner calls of one function take most of their time,
    it is the places of those of the innermost such function."""
    top = np.flatnonzero(alone)[is_in(calls.row[alone], top_level(trace, calls.row[alone]))]
    source = are_named(trace, calls.row, is_source)
    of_script, parent = script_package(trace), parent_places(trace, calls.row)
    own = source & are_named(trace, calls.row, lambda frame: package(frame) == of_script)
    of_package = (source & ~own) | are_named(trace, calls.row, CALLED_BY_LOOPS.match)
    by_script = of_package & ((parent < 0) | own[parent])  # the script's own level is no call
    worth_ns = WORTH_LOOKING * calls.ns[top].sum()
    result = [np.empty(0, np.int64)]
    for function in distinct_in(calls.function[top]).tolist():
        frames = top[calls.function[top] == function]
        least_ns = MOST_INSIDE * calls.whole_ns[frames].sum()
        is_left = calls.function != function
        while calls.ns[frames].sum() > worth_ns:
            # The inner calls of a package that the script calls are not examined.
            inner = _busiest(trace, calls, frames, is_left & ~by_script[frames].all(), least_ns)
            if not len(inner):
                break
            frames = inner
            is_left &= calls.function != calls.function[inner[0]]
        result.append(frames)
    return distinct_in(np.concatenate(result))


def _busiest(trace: Trace, calls: _Calls, frames: Int64, is_left: Bool, least_ns: float) -> Int64:
    """Returns the places of the calls inside these frames of the one function that takes most of their time, if it
    takes more than `least_ns`; none otherwise. is_left: which calls count."""
    (start, end), (begin, frame_end) = _ranges(trace, calls.row), _ranges(trace, calls.row[frames])
    around = np.searchsorted(begin, start, side="right") - 1
    inside = np.flatnonzero((around >= 0) & (end <= frame_end[around]) & is_left)
    best, best_ns = inside[:0], least_ns
    sums = np.bincount(calls.function[inside], weights=calls.ns[inside])
    for function in np.flatnonzero(sums > least_ns).tolist():
        of_function = inside[calls.function[inside] == function]
        of_function = of_function[is_in(calls.row[of_function], top_level(trace, calls.row[of_function]))]
        if (ns := calls.ns[of_function].sum()) > best_ns:
            best, best_ns = of_function, ns
    return best


def is_named(frame: str) -> bool:
    """Returns whether this is a function with a name that a user knows."""
    return is_source(frame) and _UNNAMED.match(frame) is None and not is_helper(frame)


def _frames_on(trace: Trace, thread: int, names: re.Pattern[str]) -> Int64:
    """Returns the calls on this thread of functions with such names."""
    rows = rows_named(trace, (Kind.PYTHON,), names.match)
    on_thread: Int64 = rows[trace.events.thread[rows] == thread]
    return on_thread


#: Minimum share of a thread's time in functions that must be Python's own code. Built-in functions may release the
#: interpreter, such as one that decodes images.
OF_PYTHON = 0.5


class HeldInterpreter(msgspec.Struct, frozen=True):
    """Another thread that runs Python while the training thread runs no op.

    thread   its number in the operating system
    name     the innermost function of the user in which it spends most of that time
    ns       the time in which it runs Python and the training thread runs no op, mean over the steps
    share    this time / all time in which the training thread runs no op
    """

    thread: str
    name: str
    ns: int
    share: float


def held_interpreter(trace: Trace) -> HeldInterpreter | None:
    """Returns the thread that runs Python for most of the time in which the training thread runs no op; None if there
    is none, or if it runs a model, whose work is wanted there. Python runs one thread at a time, so the threads wait
    for each other.

    train   op    [mm]          [mm]         [mm]      ops need no interpreter
    other   frame |---- data.py: make ----|--- make --|
    other   call       |len|    |sleep|                waits need none either
    held                   .    ..   .......    ....   the training's thread runs no op, and the other one runs Python

    The profiler finds Python functions that run when it starts, but not the built-in ones in which these wait. So
    nothing is known of a thread until something on it returns, and nothing at all of a thread that waits from beginning
    to end.
    """
    threads = training_threads(trace)
    events = trace.events
    steps = find_steps(trace)
    rows = events.rows(Kind.PYTHON)
    if not threads or not len(rows):
        return None
    of_models = distinct_in(events.thread[module_frames(trace)]).tolist()
    outside = steps.intervals - _busy(trace, threads[0], rows) - loader_intervals(trace)
    for thread in distinct_in(events.thread[rows]).tolist():
        if thread in (*threads, *of_models):
            continue
        on_thread = rows[events.thread[rows] == thread]
        known = Intervals.of((int(events.ends(on_thread).min()), steps.end_ns[-1]))
        runs = (Intervals.of_events(events, on_thread) - _busy(trace, thread, rows)) & outside & known
        if runs.total_ns < max(MOSTLY * outside.total_ns, 1):
            continue
        built_in = on_thread[are_named(trace, on_thread, lambda name: name.startswith("<built-in "))]
        own = runs - Intervals.of_events(events, built_in)
        function = _holding(trace, on_thread, runs) if own.total_ns >= OF_PYTHON * runs.total_ns else None
        if function is not None:
            number, ns = trace.threads[thread].tid, runs.total_ns // len(steps.steps)
            return HeldInterpreter(number, function, ns, runs.total_ns / outside.total_ns)
    return None


def _busy(trace: Trace, thread: int, frames: Int64) -> Intervals:
    """Returns when this thread needs no interpreter, because it runs an op or a call of a runtime, or waits."""
    frames = frames[trace.events.thread[frames] == thread]
    waits = frames[are_named(trace, frames, is_wait)]
    return recorded(trace, thread) | Intervals.of_events(trace.events, waits)


def _holding(trace: Trace, frames: Int64, runs: Intervals) -> str | None:
    """Returns the innermost of the user's functions that contains most of this time; None if there is none."""
    frames = frames[are_named(trace, frames, is_named)]
    candidates = [
        (int(trace.events.dur_ns[calls].sum()), name)
        for name, calls, ns in calls_by_name(trace, frames, runs)
        if ns >= MOSTLY * runs.total_ns
    ]
    return short_frame(trace.strings[min(candidates)[1]]) if candidates else None
