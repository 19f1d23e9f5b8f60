"""Steps whose backward pass has more nodes each time, because it goes through the graphs of earlier steps, too.

step       1       2           3
forward    a b     a b         a b             the same ops each time
backward   B A     B A B A     B A B A B A     a hidden state, or a loss, still refers to the graph of the step before
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.marks import in_steps
from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, median

#: Minimum number of steps: in fewer, a backward pass can grow for other reasons.
FEWEST = 5
#: From the first step to the last, the backward pass has at least this many times as many nodes.
GROWN = 1.3
#: Each step adds about the same number of nodes: between these times the median.
LEAST_ADDED, MOST_ADDED = 0.5, 2.0
#: All else that a step does has about the same number of ops: they differ by at most this share of the median.
STEADY = 0.05


class GrowingGraph(msgspec.Struct, frozen=True):
    """A backward pass that grows from step to step.

    first, last             number of its nodes in the first and the last step
    first_step, last_step   names of these steps
    more                    number of nodes that each step adds
    excess_ns               length of the mean step minus that of the first
    """

    first: int
    last: int
    first_step: str
    last_step: str
    more: int
    excess_ns: int


def growing_graph(trace: Trace, device: int | None) -> GrowingGraph | None:
    """What the backward pass grows by; None if it does not, or if the rest of the steps grows as well."""
    steps, lengths = find_steps(trace).steps, judged_ns(trace, device)
    nodes = rows_named(trace, (Kind.CPU_OP,), lambda name: name.startswith(NODE))
    if len(steps) < FEWEST or not len(nodes):
        return None
    counts, others = _per_step(trace, nodes), _per_step(trace, _outside(trace, nodes))
    added = np.diff(counts)
    usual = median(added)
    even = usual > 0 and added.min() >= LEAST_ADDED * usual and added.max() <= MOST_ADDED * usual
    if not even or counts[-1] < GROWN * counts[0] or np.ptp(others) > STEADY * median(others):
        return None
    return GrowingGraph(
        first=int(counts[0]),
        last=int(counts[-1]),
        first_step=steps[0].name,
        last_step=steps[-1].name,
        more=round(float(usual)),
        excess_ns=max(0, round(float(lengths.mean() - lengths[0]))),
    )


def _outside(trace: Trace, nodes: Int64) -> Int64:
    """The ops that begin outside of the nodes."""
    events = trace.events
    order = nodes[np.argsort(events.start_ns[nodes], kind="stable")]
    ends = np.maximum.accumulate(events.end_ns[order])
    ops = events.rows(Kind.CPU_OP)
    place = np.searchsorted(events.start_ns[order], events.start_ns[ops], side="right") - 1
    outside: Int64 = ops[(place < 0) | (events.start_ns[ops] >= ends[place])]
    return outside


def _per_step(trace: Trace, rows: Int64) -> Int64:
    """How many of the rows begin in each step."""
    _, step = in_steps(trace, trace.events.start_ns[rows])
    counts: Int64 = np.bincount(step, minlength=len(find_steps(trace).steps))
    return counts
