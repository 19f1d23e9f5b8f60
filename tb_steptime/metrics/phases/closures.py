"""The closures that optimizers call: a closure runs the model inside the optimizer's own mark.

Optimizer.step#LBFGS  |------------------------------------------------------|
ops                    z ff =backward= uuuuu z ff =backward= uuu z ff =back= uu
closures              |---------------|     |---------------|   |-----------|

The first closure begins with the mark. A later one begins where the first one's first event comes again. Each ends with
its last backward pass; what follows is the optimizer's update. A recording may end within a closure.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int64, Kind, is_in


def closures(trace: Trace, thread: int, start: Int64, end: Int64, passes: Intervals) -> Iterator[tuple[int, int]]:
    """When closures run inside these optimizer marks of the thread. They are in the order of the marks; those of nested
    marks overlap."""
    first, past = np.searchsorted(passes.start, start), np.searchsorted(passes.end, end, side="right")
    for mark in np.flatnonzero(past > first).tolist():
        inside = Intervals(passes.start[first[mark] : past[mark]], passes.end[first[mark] : past[mark]])
        repeats = len(inside) > 1
        calls = _calls(trace, thread, int(start[mark]), int(end[mark])) if repeats else np.empty(0, np.int64)
        yield from _of_mark(int(start[mark]), inside, calls)
    if len(start) and (past > first).any() and past[-1] <= first[-1] and _is_cut(trace, thread, int(end[-1])):
        yield int(start[-1]), int(end[-1])


def _of_mark(start: int, passes: Intervals, calls: Int64) -> Iterator[tuple[int, int]]:
    """Yields start and end of each closure inside one optimizer mark. start: of the first closure; passes: the backward
    passes inside the mark, one for each closure; calls: when an event begins that has the name of the first one of a
    closure."""
    for end, begins in zip(passes.end[:-1].tolist(), passes.start[1:].tolist(), strict=True):
        again = calls[np.searchsorted(calls, end) : np.searchsorted(calls, begins)]
        if len(again):
            yield start, end
            start = int(again[0])
    yield start, int(passes.end[-1])


def _calls(trace: Trace, thread: int, start: int, end: int) -> Int64:
    """When ops and ranges begin inside the mark that have the name of the first one in it."""
    events = trace.events
    rows = np.arange(*np.searchsorted(events.start_ns, (start, end)))
    rows = rows[(events.thread[rows] == thread) & is_in(events.kind[rows], (Kind.CPU_OP, Kind.USER))]
    rows = rows[(events.start_ns[rows] > start) | (events.ends(rows) < end)]  # without the mark and what encloses it
    found: Int64 = events.start_ns[rows[events.name[rows] == events.name[rows[:1]]]]
    return found


def _is_cut(trace: Trace, thread: int, end: int) -> bool:
    """Whether the recording ends with this mark: its thread calls no op after it."""
    later = slice(int(np.searchsorted(trace.events.start_ns, end)), None)
    return not ((trace.events.thread[later] == thread) & (trace.events.kind[later] == Kind.CPU_OP)).any()
