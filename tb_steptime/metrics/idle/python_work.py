"""Python functions of the training loop that compute no ops, such as metrics, logging and checkpoints. For jobs without
a GPU that were recorded with call stacks.

step     [                                    ]
frame     |-------------- train.py: main ------------...    most of it is ops
frame       |--- model.py: forward ---| |-- metrics.py: count --|
op             |mm|  |add|  |mm|          |argmax|
counted                                           =============     outside ops, calls and the loader

A call in which a step begins is the loop itself, and does not belong to a step. If an inner call takes most of a call,
the time is that of the inner one (`gc.collect`); if it waits, it is counted separately (`time.sleep`).
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.excluded_time.ranges import excluded_time
from tb_steptime.metrics.idle.python_function import RECORDED
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import is_file, is_source, short_frame
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import named_in, rows_named
from tb_steptime.trace.nesting import innermost, parent_places, top_level
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64, Kind, distinct_in

#: A function that spends more than this share in ops, calls of a runtime or waits is not Python code to speed up.
MOST_OTHER = 0.25
#: Maximum number of functions returned.
MOST_FUNCTIONS = 5
#: An inner call that takes more than this share of another call is what that call does.
MOST_INSIDE = 0.5
#: A function that is called in a smaller share of the steps is listed with those steps.
IN_EVERY = 0.9
#: Built-in functions that wait.
_WAITS = expression(
    r"<built-in (?:method|function) (?:sleep|acquire|select|poll|epoll|recv\w*|accept|wait\w*|read\w*)\b"
)
#: torch's own functions that no op explains, and that a training loop calls explicitly.
_OF_TORCH = expression(r"(?:.*/)?torch/serialization\.py\(\d+\): (?:save|load)$")
_MODULE_LEVEL = expression(r": <module>$")
_BUILT_IN = expression(r"<built-in ")
#: Comprehensions and similar frames have no name of their own.
_UNNAMED = expression(r".*: <(?!module)\w+>$")


class PythonWork(msgspec.Struct, frozen=True):
    """The calls of one function on the thread that trains. ns: outside ops, calls and waits, mean over the steps that
    are judged; steps: those with a call, empty where nearly all have one; start_ns, end_ns: of the longest call.
    caller: the user's function that calls it, where it is one of torch's, a built-in one or has no name, else None.
    waits: it waits for something else than a batch."""

    name: str
    caller: str | None
    calls: int
    ns: int
    longest_ns: int
    start_ns: int
    end_ns: int
    steps: list[str]
    waits: bool = False


def python_work(trace: Trace) -> list[PythonWork]:
    """The functions with the most time first; empty without call stacks. Calls inside another such call count for the
    outer one."""
    threads = training_threads(trace)
    if not threads or not len(trace.events.rows(Kind.PYTHON)):
        return []
    events, steps, calls, waits = trace.events, find_steps(trace), _calls(trace, threads[0]), _waits(trace, threads[0])
    waited = Intervals.union(events.start_ns[waits], events.ends(waits))
    judged = Intervals.union(steps.start_ns, steps.end_ns) - excluded_time(trace, None).total - calls
    chosen = _chosen(trace, threads[0])
    alone = _what_they_do(trace, top_level(trace, _python_alone(trace, chosen, calls | waited)), chosen)
    found = []
    for rows, when, are_waits in ((alone, judged - waited, False), (waits, judged, True)):
        names, within = events.name[rows], when.overlap_ns(events.start_ns[rows], events.ends(rows))
        for name in distinct_in(names).tolist():
            found.append(_function(trace, rows[names == name], within[names == name], waits=are_waits))
    return sorted((each for each in found if each.ns), key=lambda each: -each.ns)[:MOST_FUNCTIONS]


def _function(trace: Trace, calls: Int64, within: Int64, *, waits: bool) -> PythonWork:
    steps, longest = find_steps(trace).steps, int(calls[within.argmax()])
    place = np.searchsorted([step.host_start_ns for step in steps], trace.events.start_ns[calls], side="right") - 1
    of_steps = distinct_in(place[(place >= 0) & (within > 0)])
    name = trace.strings[int(trace.events.name[longest])]
    named = rows_named(trace, (Kind.PYTHON,), _is_named)
    (caller,) = innermost(trace, named, np.array([longest])).tolist()
    by = None if caller < 0 or _is_named(name) else short_frame(trace.strings[int(trace.events.name[caller])])
    return PythonWork(
        name=short_frame(name),
        caller=by,
        calls=int((within > 0).sum()),
        ns=int(within.sum()) // len(steps),
        longest_ns=int(within.max()),
        start_ns=int(trace.events.start_ns[longest]),
        end_ns=int(trace.events.start_ns[longest] + trace.events.dur_ns[longest]),
        steps=[steps[each].name for each in of_steps.tolist()] if len(of_steps) < IN_EVERY * len(steps) else [],
        waits=waits,
    )


def _chosen(trace: Trace, thread: int) -> Int64:
    """Calls on this thread of what the user wrote or calls: the user's functions, and functions of Python and its
    library that a user's function calls and that do not call one, such as `next`."""
    events, rows = trace.events, trace.events.rows(Kind.PYTHON)
    rows = rows[events.thread[rows] == thread]
    parent = parent_places(trace, rows)
    names = events.name[rows]
    own, any_call, waits = (named_in(trace, rows, wanted)[names] for wanted in (is_source, _is_library, _is_wait))
    calls_own = np.zeros(len(rows), bool)
    calls_own[parent[own & (parent >= 0)]] = True
    by_own = (parent >= 0) & own[parent]
    script = named_in(trace, rows, lambda name: _MODULE_LEVEL.search(name) is not None)[names]
    chosen: Int64 = rows[(own & ~script) | (any_call & by_own & ~calls_own & ~waits)]
    return chosen


def _is_library(frame: str) -> bool:
    """Whether code belongs to Python and its library, or is one of torch's functions that a loop chooses to call."""
    if _BUILT_IN.match(frame) is not None or _OF_TORCH.match(frame) is not None:
        return True
    return is_file(frame) and not short_frame(frame).startswith("torch/")


def _is_wait(frame: str) -> bool:
    return _WAITS.match(frame) is not None


def _python_alone(trace: Trace, rows: Int64, recorded: Intervals) -> Int64:
    """Those of these calls that contain hardly anything but Python, without the loop itself."""
    start, end = trace.events.start_ns[rows], trace.events.ends(rows)
    begun = np.array([step.host_start_ns for step in find_steps(trace).steps])
    of_a_step = np.searchsorted(begun, start, side="right") == np.searchsorted(begun, end, side="left")
    other: Float64 = recorded.overlap_ns(start, end) / np.maximum(end - start, 1)
    alone: Int64 = rows[of_a_step & (other <= MOST_OTHER)]
    return alone


def _what_they_do(trace: Trace, frames: Int64, chosen: Int64) -> Int64:
    """Returns for each of these calls the innermost call in it that takes most of its time."""
    events = trace.events
    place = np.searchsorted(events.start_ns[frames], events.start_ns[chosen], side="right") - 1
    inner, place = chosen[place >= 0], place[place >= 0]
    most = (events.dur_ns[inner] > MOST_INSIDE * events.dur_ns[frames][place]) & (
        events.ends(inner) <= events.ends(frames)[place]
    )
    deepest: Int64 = frames.copy()
    deepest[place[most]] = inner[most]  # the last write stays: rows are ordered by their begin
    return deepest


def _is_named(frame: str) -> bool:
    return is_source(frame) and _UNNAMED.match(frame) is None


def _calls(trace: Trace, thread: int) -> Intervals:
    """When this thread runs an op or a call of a runtime, or waits for a batch."""
    events, rows = trace.events, trace.events.rows(*RECORDED)
    rows = rows[events.thread[rows] == thread]
    return Intervals.union(events.start_ns[rows], events.ends(rows)) | loader_intervals(trace)


def _waits(trace: Trace, thread: int) -> Int64:
    """Calls on this thread of built-in functions that wait."""
    rows = rows_named(trace, (Kind.PYTHON,), lambda name: _WAITS.match(name) is not None)
    return top_level(trace, rows[trace.events.thread[rows] == thread])
