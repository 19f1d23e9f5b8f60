"""The threads that run the steps, of the training loop and of the autograd engine, and the backward passes on them."""

from __future__ import annotations

import numpy as np

from tb_steptime.metrics.phases.sites import NO_MARK, node_sites
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.step_marks import step_marks
from tb_steptime.trace.steps import inferred_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in

#: Number of rows that are processed at once. Whole columns of a large trace would take tens of MB each.
ROWS_AT_ONCE = 1 << 18


@shared
def engine_nodes(trace: Trace) -> Int64:
    """Returns the rows of the nodes of the autograd engine."""
    is_node = node_sites(trace) != NO_MARK
    if not is_node.any():
        return np.empty(0, np.int64)
    return np.flatnonzero((trace.events.kind == Kind.CPU_OP) & is_node[trace.events.name])


@shared
def training_threads(trace: Trace) -> tuple[int, ...]:
    """Returns the threads that run the training loop: those of the step marks, or of the calls that show steps. If
    there are none, it is the thread with the most ops outside of the autograd engine's nodes. The engine runs nodes of
    the CPU on that thread, and nodes of a GPU on threads of its own."""
    marks = step_marks(trace)
    if len(marks):
        return tuple(distinct_in(trace.events.thread[marks]).tolist())
    inferred = inferred_steps(trace)
    if inferred:
        return (inferred.thread,)
    ops = _ops_outside_nodes(trace)
    return (int(ops.argmax()),) if ops.any() else ()


def _ops_outside_nodes(trace: Trace) -> Int64:
    """Returns the number of ops of each thread outside of the autograd engine's nodes. If nothing else ran, nodes
    count."""
    events, nodes = trace.events, engine_nodes(trace)
    ops = np.bincount(events.thread[events.kind == Kind.CPU_OP], minlength=1)
    outside = ops.copy()
    for thread in distinct_in(events.thread[nodes]).tolist():
        thread_nodes = nodes[events.thread[nodes] == thread]
        inside = Intervals.of_events(events, thread_nodes)
        start = events.start_ns[(events.kind == Kind.CPU_OP) & (events.thread == thread)]
        place = np.searchsorted(inside.start, start, side="right") - 1
        outside[thread] -= np.count_nonzero((place >= 0) & (start < inside.end[place])) if len(inside) else 0
    return outside if outside.any() else ops


@shared
def autograd_threads(trace: Trace) -> tuple[int, ...]:
    """Returns the threads of the autograd engine, which run nodes but not the training loop. All their work is
    backward."""
    training = training_threads(trace)
    with_nodes = distinct_in(trace.events.thread[engine_nodes(trace)]).tolist()
    return tuple(thread for thread in with_nodes if thread not in training)


def step_threads(trace: Trace) -> tuple[int, ...]:
    """Returns the threads that run the steps, of which one works at a time: those of the training loop and of the
    autograd engine."""
    return (*training_threads(trace), *autograd_threads(trace))


@shared
def backward_passes(trace: Trace) -> Intervals:
    """Returns the time from the first to the last node of each backward pass, on whichever threads they run."""
    nodes = engine_nodes(trace)
    union = Intervals.of_events(trace.events, nodes)
    if len(union) < 2:
        return union
    is_apart = _work_in(trace, Intervals(union.end[:-1], union.start[1:]))
    return Intervals(union.start[np.append(True, is_apart)], union.end[np.append(is_apart, True)])


def _work_in(trace: Trace, gaps: Intervals) -> Bool:
    """Returns in which of the gaps a training thread begins an op, a range, or a call."""
    events = trace.events
    works = np.zeros(256, bool)
    works[[Kind.CPU_OP, Kind.USER, Kind.RUNTIME, Kind.DRIVER]] = True
    trains = np.zeros(len(trace.threads), bool)
    trains[list(training_threads(trace))] = True
    has_work = np.zeros(len(gaps), bool)
    for first in range(0, len(events), ROWS_AT_ONCE):
        piece = slice(first, first + ROWS_AT_ONCE)
        start = events.start_ns[piece][works[events.kind[piece]] & trains[events.thread[piece]]]
        place = np.searchsorted(gaps.start, start, side="right") - 1
        has_work[place[(place >= 0) & (start < gaps.end[place])]] = True
    return has_work
