"""What the host does once to make later steps fast: it compiles code, and captures graphs of the device's work.

range    [_compile.compile_inner (dynamo_timed)   ]          torch.compile's own marks; with call stacks its frames
runtime  [cudaStreamBeginCapture] ... [cudaGraphInstantiate] from the one to the other on a thread

Only where it is over in the first half of the steps. What compiles or captures in later ones does so again and again.
"""

from __future__ import annotations

import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct

#: Marks of torch.compile since 2.0, and the functions of Dynamo, Inductor and Triton that compile.
COMPILATION = expression(
    r".*\(dynamo_timed\)$|.*torch/_dynamo/convert_frame\.py\(\d+\): (_compile|compile_inner)$"
    r"|.*torch/_inductor/compile_fx\.py\(\d+\): compile_fx(_inner)?$|.*triton/compiler/compiler\.py\(\d+\): compile$"
)
_BEGINS = expression(r"(cuda|hip)StreamBeginCapture|cuStreamBeginCapture")
_CAPTURES = expression(r"(cuda|hip|cu)(StreamEndCapture|GraphInstantiate|GraphUpload)")


def compilations(trace: Trace) -> Int64:
    """Rows of the marks of compilation, in time order; of nested ones all."""
    rows = rows_named(trace, (Kind.CPU_OP, Kind.USER, Kind.PYTHON), lambda name: COMPILATION.match(name) is not None)
    return rows if _is_warm_up(trace, rows) else rows[:0]


def captures(trace: Trace) -> Int64:
    """Rows of the calls that end a capture or make a graph of it, in time order."""
    rows = rows_named(trace, (Kind.RUNTIME, Kind.DRIVER), lambda name: _CAPTURES.match(name) is not None)
    return rows if _is_warm_up(trace, rows) else rows[:0]


def capture_intervals(trace: Trace) -> Intervals:
    """From where each capture begins to the end of the calls that follow from it on its thread."""
    events, ends = trace.events, captures(trace)
    begins = rows_named(trace, (Kind.RUNTIME, Kind.DRIVER), lambda name: _BEGINS.match(name) is not None)
    start = events.start_ns[ends].copy()
    for thread in distinct(events.thread[ends]).tolist():
        mine, here = events.thread[ends] == thread, begins[events.thread[begins] == thread]
        place = np.searchsorted(here, ends[mine]) - 1
        start[mine] = np.where(place >= 0, events.start_ns[here[place]] if len(here) else start[mine], start[mine])
    return Intervals.union(start, events.ends(ends))


def _is_warm_up(trace: Trace, rows: Int64) -> bool:
    """Whether all of these end in the first half of the steps; of one step, in that. A step begins on the device: the
    host, which is ahead, may begin to compile for it in the step before."""
    steps = find_steps(trace)
    if not len(rows):
        return False
    step = int(np.searchsorted(steps.start_ns, trace.events.ends(rows).max(), side="right")) - 1
    return step < -(-len(steps.steps) // 2)
