"""The named range of the host in which most of the time outside of ops passes: for jobs without a GPU, where no call
stack names the function.

step     [                                           ]
range     |----------------- advance ---------------|        holds most of it, too, but so does a range inside it
range       |------ training_step ------| |- step -|         the innermost range that holds half of it or more
op           |mm| |add|                    |add|
outside  oooo    o     oooooooooooooooooooo     oooooo
"""

from __future__ import annotations

import msgspec

from tb_steptime.metrics.idle.doing import MOSTLY
from tb_steptime.metrics.idle.python_function import recorded
from tb_steptime.metrics.phases.marks import training_threads
from tb_steptime.trace.host_ranges import loader_intervals, loader_names, short_range
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import top_level
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in


class OutsideRange(msgspec.Struct, frozen=True):
    """The range and its time, mean over the steps. ns: time outside of ops, calls and waits for batches while the range
    is open on the training thread."""

    name: str
    ns: int


def outside_range(trace: Trace) -> OutsideRange | None:
    """Returns the range; None where no name holds half of that time."""
    threads, events, steps = training_threads(trace), trace.events, find_steps(trace)
    if not threads:
        return None
    outside = steps.intervals - loader_intervals(trace) - recorded(trace, threads[0])
    rows, found = _ranges(trace, threads[0]), []
    names = events.name[rows]
    for name in distinct_in(names).tolist():
        mine = top_level(trace, rows[names == name])
        ns = int(outside.overlap_ns(events.start_ns[mine], events.ends(mine)).sum())
        if ns >= max(MOSTLY * outside.total_ns, 1):
            found.append((int(events.dur_ns[mine].sum()), -int(mine[0]), name, ns))
    if not found:
        return None
    _, _, name, ns = min(found)  # the shortest is the innermost; of equal ones, the later in the table
    return OutsideRange(short_range(trace.strings[name]), ns // len(steps.steps))


def _ranges(trace: Trace, thread: int) -> Int64:
    """Returns the rows of named ranges of this thread, without marks of steps and of loaders."""
    rows = trace.events.rows(Kind.USER)
    rows = rows[(trace.events.thread[rows] == thread) & ~loader_names(trace)[trace.events.name[rows]]]
    kept: Int64 = rows[is_in(rows, step_marks(trace), invert=True)]
    return kept
