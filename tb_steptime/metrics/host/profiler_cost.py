"""The cost of the profiler on the host per step, estimated from the events that it recorded.

op          aaaa bbb           2 ops, with shapes        each costs as much as was measured on ops of the CPU
python    |- forward -|        1 call
memory      x                  1 allocation

The time to record an event hardly depends on the event: it was measured on a CPU for each kind and flag. Calls of the
GPU's runtime were not measured, so the real cost is higher if there are many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.phases.marks import autograd_threads, training_threads
from tb_steptime.trace.model import Trace, shared
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind

#: Cost per event in ns, as (low, high): medians of a chain of ops and of a training on a 2-core x86-64 machine with
#: torch 2.13, as `python -m benchmarks.profiler_cost` printed them, see docs/recording.md. Shapes are added to an op.
OP_NS, SHAPES_NS, ALLOCATION_NS, PYTHON_NS = (290, 500), (180, 290), (70, 80), (300, 460)


class ProfilerCost(NamedTuple):
    """The profiler's cost in the mean step. low_ns, high_ns: CPU time; events: number of recorded events."""

    low_ns: int
    high_ns: int
    events: int


@shared
def profiler_cost(trace: Trace) -> ProfilerCost | None:
    """The cost on the threads of the training and its backward pass, which work one at a time. None if no host events
    were recorded in the steps."""
    events = trace.events
    rows = {kind: events.rows(kind) for kind in (Kind.CPU_OP, Kind.USER, Kind.PYTHON)}
    of_steps = {kind: mine[_counts(trace, events.thread[mine], events.start_ns[mine])] for kind, mine in rows.items()}
    ops = of_steps[Kind.CPU_OP]
    with_shapes = 0 if events.shapes is None else int((events.shapes[ops] >= 0).sum())
    number = {
        OP_NS: len(ops) + len(of_steps[Kind.USER]),
        SHAPES_NS: with_shapes,
        ALLOCATION_NS: int(_counts(trace, trace.memory.thread, trace.memory.ts).sum()),
        PYTHON_NS: len(of_steps[Kind.PYTHON]),
    }
    noted = sum(number.values()) - with_shapes
    if not noted:
        return None
    steps = len(find_steps(trace).steps)
    low, high = (sum(each[end] * count for each, count in number.items()) // steps for end in (0, 1))
    return ProfilerCost(low, high, round(noted / steps))


def _counts(trace: Trace, thread: Int32, at: Int64) -> Bool:
    """Which events begin in a step, on one of these threads."""
    on = np.zeros(len(trace.threads), bool)
    on[[*training_threads(trace), *autograd_threads(trace)]] = True
    inside: Bool = (find_steps(trace).holding(at) >= 0) & on[thread]
    return inside
