"""Another thread that runs Python while the training's thread runs no op: Python runs one thread at a time, so they
wait for each other. For jobs without a GPU that were recorded with call stacks.

train   op    [mm]          [mm]         [mm]      ops need no interpreter
other   frame |---- data.py: make ----|--- make --|
other   call          |sleep|                      waits need none either
held        ....       ......   .......    ....    the training's thread runs no op, and the other one runs Python
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.idle.doing import MOSTLY
from tb_steptime.metrics.idle.python_function import recorded
from tb_steptime.metrics.idle.python_work import is_named, is_wait
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.trace.frames import module_frames, short_frame
from tb_steptime.trace.host_ranges import loader_intervals
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in

#: Minimum share of a thread's time in functions that must be Python's own code. Built-in functions may release the
#: interpreter, such as one that decodes images.
OF_PYTHON = 0.5


class HeldInterpreter(msgspec.Struct, frozen=True):
    """Another thread that runs Python while the training thread runs no op.

    thread   its number in the system
    name     the innermost function of the user in which it spends most of that time
    ns       the time in which it runs Python and the training thread runs no op, mean over the steps
    share    this time / all time in which the training thread runs no op
    """

    thread: str
    name: str
    ns: int
    share: float


def held_interpreter(trace: Trace) -> HeldInterpreter | None:
    """Returns the thread that runs Python during most of the time in which the training's thread runs no op; None where
    none does, or where it runs a model: that work is wanted there."""
    threads, events, steps = training_threads(trace), trace.events, find_steps(trace)
    rows = events.rows(Kind.PYTHON)
    if not threads or not len(rows):
        return None
    of_models = distinct_in(events.thread[module_frames(trace)]).tolist()
    outside = steps.intervals - _busy(trace, threads[0], rows) - loader_intervals(trace)
    for thread in distinct_in(events.thread[rows]).tolist():
        if thread in (*threads, *of_models):
            continue
        mine = rows[events.thread[rows] == thread]
        runs = (Intervals.of_events(events, mine) - _busy(trace, thread, rows)) & outside
        if runs.total_ns < max(MOSTLY * outside.total_ns, 1):
            continue
        own = runs - Intervals.of_events(
            events, mine[are_named(trace, mine, lambda name: name.startswith("<built-in "))]
        )
        function = _function(trace, mine, runs) if own.total_ns >= OF_PYTHON * runs.total_ns else None
        if function is not None:
            number, ns = trace.threads[thread].tid, runs.total_ns // len(steps.steps)
            return HeldInterpreter(number, function, ns, runs.total_ns / outside.total_ns)
    return None


def _busy(trace: Trace, thread: int, frames: Int64) -> Intervals:
    """Returns when this thread runs an op or a call of a runtime, or waits: then it needs no interpreter."""
    frames = frames[trace.events.thread[frames] == thread]
    waits = frames[are_named(trace, frames, is_wait)]
    return recorded(trace, thread) | Intervals.of_events(trace.events, waits)


def _function(trace: Trace, frames: Int64, runs: Intervals) -> str | None:
    """Returns the innermost of the user's functions that holds most of this time."""
    frames = frames[are_named(trace, frames, is_named)]
    names, found = trace.events.name[frames], []
    for name in distinct_in(names).tolist():
        calls = top_level(trace, frames[names == name])
        within_ns = int(runs.overlap_ns(trace.events.start_ns[calls], trace.events.ends(calls)).sum())
        if within_ns >= MOSTLY * runs.total_ns:
            found.append((int(trace.events.dur_ns[calls].sum()), name))
    return short_frame(trace.strings[min(found)[1]]) if found else None
