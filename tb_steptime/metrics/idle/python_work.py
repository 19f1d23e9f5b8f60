"""Python functions of the training loop that compute no ops, such as metrics, logging and checkpoints: for jobs
without a GPU, recorded with call stacks.

step     [                                    ]
frame     |-------------- train.py: main ------------...    most of it is ops
frame       |--- model.py: forward ---| |-- metrics.py: count --|
op             |mm|  |add|  |mm|          |argmax|
counted                                           =============     outside ops, calls and the loader
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.idle.python_function import RECORDED
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.metrics.set_aside.ranges import set_aside
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import is_source, short_frame, source_frames
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.loader_marks import loader_intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.nesting import innermost, top_level
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Float64, Int64, Kind, distinct_in

#: A function whose calls are ops, calls of a runtime or waits for more than this share is no Python to speed up.
MOST_OTHER = 0.25
#: Functions that are returned.
MOST_FUNCTIONS = 5
#: A function that is called in fewer steps than this share of them has steps of its own.
IN_EVERY = 0.9
#: Built-in functions that wait.
_WAITS = expression(
    r"<built-in (?:method|function) (?:sleep|acquire|select|poll|epoll|recv\w*|accept|wait\w*|read\w*)\b"
)
#: torch's own functions that no op explains, and that a training loop calls by its own choice.
_OF_TORCH = expression(r"(?:.*/)?torch/serialization\.py\(\d+\): (?:save|load)$")
_MODULE_LEVEL = expression(r": <module>$")


class PythonWork(msgspec.Struct, frozen=True):
    """The calls of one function on the thread that trains. ns: outside ops, calls and waits, mean over the steps that
    are judged; steps: those with a call, empty where nearly all have one; start_ns, end_ns: of the longest call.
    caller: the user's function that calls one of torch's, else None."""

    name: str
    caller: str | None
    calls: int
    ns: int
    longest_ns: int
    start_ns: int
    end_ns: int
    steps: list[str]


def python_work(trace: Trace) -> list[PythonWork]:
    """Most time first; empty without call stacks. Calls inside such a call count for the outer one."""
    threads = training_threads(trace)
    if not threads or not len(trace.events.rows(Kind.PYTHON)):
        return []
    recorded, steps = _recorded(trace, threads[0]), find_steps(trace)
    frames = top_level(trace, _python_alone(trace, threads[0], recorded))
    names, events = trace.events.name[frames], trace.events
    judged = Intervals.union(steps.start_ns, steps.end_ns) - set_aside(trace, None).total
    within = (judged - recorded).overlap_ns(events.start_ns[frames], events.ends(frames))
    found = [_function(trace, frames[names == name], within[names == name]) for name in distinct_in(names).tolist()]
    return sorted((each for each in found if each.ns), key=lambda each: -each.ns)[:MOST_FUNCTIONS]


def _function(trace: Trace, calls: Int64, within: Int64) -> PythonWork:
    steps, longest = find_steps(trace).steps, int(calls[within.argmax()])
    place = np.searchsorted([step.host_start_ns for step in steps], trace.events.start_ns[calls], side="right") - 1
    of_steps = distinct_in(place[(place >= 0) & (within > 0)])
    name = trace.strings[int(trace.events.name[longest])]
    (caller,) = innermost(trace, source_frames(trace), np.array([longest])).tolist()
    by = short_frame(trace.strings[int(trace.events.name[caller])]) if caller >= 0 and not is_source(name) else None
    return PythonWork(
        name=short_frame(name),
        caller=by,
        calls=int((within > 0).sum()),
        ns=int(within.sum()) // len(steps),
        longest_ns=int(within.max()),
        start_ns=int(trace.events.start_ns[longest]),
        end_ns=int(trace.events.start_ns[longest] + trace.events.dur_ns[longest]),
        steps=[steps[each].name for each in of_steps.tolist()] if len(of_steps) < IN_EVERY * len(steps) else [],
    )


def _python_alone(trace: Trace, thread: int, recorded: Intervals) -> Int64:
    """Calls on this thread that are hardly anything but Python."""
    events = trace.events
    rows = rows_named(trace, (Kind.PYTHON,), _is_chosen)
    rows = rows[events.thread[rows] == thread]
    start, end = events.start_ns[rows], events.ends(rows)
    other: Float64 = recorded.overlap_ns(start, end) / np.maximum(end - start, 1)
    alone: Int64 = rows[other <= MOST_OTHER]
    return alone


def _is_chosen(frame: str) -> bool:
    chosen = is_source(frame) or _OF_TORCH.match(frame) is not None
    return chosen and _MODULE_LEVEL.search(frame) is None


def _recorded(trace: Trace, thread: int) -> Intervals:
    """When this thread runs an op or a call, or waits for a batch or in a built-in function."""
    events = trace.events
    waits = rows_named(trace, (Kind.PYTHON,), lambda name: _WAITS.match(name) is not None)
    rows = np.concatenate((events.rows(*RECORDED), waits))
    rows = np.sort(rows[events.thread[rows] == thread])
    return Intervals.union(events.start_ns[rows], events.ends(rows)) | loader_intervals(trace)
