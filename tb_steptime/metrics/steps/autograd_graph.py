"""Nodes of autograd that no backward pass runs, such as those of a teacher or an evaluation with a graph.

    op         [addmm 7][relu 8]  [addmm 9][relu 10]  [sum 11]  [SumBackward 11][ReluBackward 10][AddmmBackward 9]
               |--- teacher ---|  |---- model -----|            7 and 8 never run

An op has the number that the next node of its thread will have. It has therefore created a node if the next op has a
higher number. Without gradients, as under `no_grad` or in frozen layers, all ops have the same number.

The backward pass of a step may have more nodes each time, because it goes through the graphs of earlier steps, too.

step       1       2           3
forward    a b     a b         a b             the same ops each time
backward   B A     B A B A     B A B A B A     a hidden state, or a loss, still refers to the graph of the step before
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.waits import in_steps
from tb_steptime.metrics.excluded_time.ranges import judged_ns
from tb_steptime.metrics.job.purpose import MANY, purpose_of
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.host_ranges import compiling
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.ops import in_nodes
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in, median

#: Ops of which a model consists, one call per layer.
_LAYER = expression(r"aten::(addmm|mm|bmm|baddbmm|convolution|embedding|native_layer_norm|_scaled_dot_product_\w+)$")
#: Minimum number of layers per step, in the steps that have any. Fewer are a metric, or a small head.
FEWEST_LAYERS = 2
#: Minimum share of all nodes that never run. Below it, hardly anything is kept for them.
LEAST_SHARE = 0.1
#: Minimum number of steps. In a single one, the backward pass may have been left out.
FEWEST_STEPS = 2
#: Number of last steps that do not suffice. In a pipeline of ranks, their backward passes may come after the recording.
LAST = 2
#: The steps with unused nodes agree in their number up to this factor. If rows are lost, the numbers differ at random.
ALIKE = 2


class UnusedGraph(msgspec.Struct, frozen=True):
    """Nodes of the backward pass that no backward pass runs.

    unused, all        number of nodes without use and of all nodes of forward ops, per step that has any without use;
                       equal for an inference
    steps              names of these steps
    name               the op with the most time, among those that created the unused nodes
    ns                 time of all these ops, mean over all steps
    start_ns, end_ns   from the first to the last of these ops, in the step in which they take longest

    Ops after the last node of the recording do not count, because their backward pass may not be recorded. What a
    checkpoint computes again inside a node does not count either. In an inference all nodes count, because it has no
    backward pass.
    """

    unused: int
    all: int
    steps: list[str]
    name: str
    ns: int
    start_ns: int
    end_ns: int


def unused_graph(trace: Trace) -> UnusedGraph | None:
    """Returns the nodes that never run; None if there are hardly any."""
    created, ran = _created(trace)
    events, steps = trace.events, find_steps(trace).steps
    within, step = in_steps(trace, events.start_ns[created])
    created, ran = created[within], ran[within]
    unused, place = created[~ran], step[~ran]
    counts = np.bincount(place, minlength=len(steps))
    having = np.flatnonzero(counts)
    layers = int(are_named(trace, unused, _LAYER.match).sum())
    if layers < FEWEST_LAYERS * len(having) or len(unused) < LEAST_SHARE * len(created) or not len(unused):
        return None
    if not ran.any():
        if purpose_of(trace)[0] != "inference" or layers < MANY:
            return None
    elif not _are_apart(counts, having, ran[is_in(step, having)]):
        return None
    times = exact_sums(events.name[unused], events.dur_ns[unused], len(trace.strings))
    begins, ends = (
        np.array([edge(column[place == each]) for each in having.tolist()], np.int64)
        for edge, column in ((np.min, events.start_ns[unused]), (np.max, events.ends(unused)))
    )
    longest = int((ends - begins).argmax())
    return UnusedGraph(
        unused=round(len(unused) / len(having)),
        all=round(int(is_in(step, having).sum()) / len(having)),
        steps=[steps[each].name for each in having.tolist()],
        name=trace.strings[int(times.argmax())],
        ns=int(times.sum()) // len(steps),
        start_ns=int(begins[longest]),
        end_ns=int(ends[longest]),
    )


def _are_apart(counts: Int64, having: Int64, ran: Bool) -> bool:
    """Returns whether the steps with unused nodes are enough, agree in the number of these, and are not only the last
    ones, and whether other nodes of these steps run.

    counts  number of unused nodes of each step
    having  the steps with any
    ran     whether each node of these steps runs
    """
    enough = len(having) >= FEWEST_STEPS and bool(having[0] < len(counts) - LAST)
    return enough and bool(counts[having].max() <= ALIKE * counts[having].min()) and bool(ran.any())


def _created(trace: Trace) -> tuple[Int64, Bool]:
    """Returns the forward ops that created a node before the last recorded node begins, or at any time if none is
    recorded. Also returns whether a node of that number runs at any time, on any thread. Nodes that torch.compile
    creates while it traces are not meant to run."""
    table, events = trace.sequences, trace.events
    node = table.forward_thread > 0
    last_ns = events.start_ns[table.event[node]].max() if node.any() else NEVER
    op = np.flatnonzero(~node & (events.kind[table.event] == Kind.CPU_OP))
    start = events.start_ns[table.event[op]]
    traced = compiling(trace).overlap_ns(start, start + 1) > 0
    op = op[(start < last_ns) & ~traced & ~in_nodes(trace, table.event[op])]
    thread = events.thread[table.event[op]]
    creating = [np.empty(0, np.int64)]
    for each in distinct_in(thread).tolist():
        thread_ops = op[thread == each]
        creating.append(thread_ops[:-1][np.diff(table.number[thread_ops]) > 0])
    places = np.sort(np.concatenate(creating))
    return table.event[places].astype(np.int64), is_in(table.number[places], distinct_in(table.number[node]))


#: Minimum number of steps. In fewer, a backward pass can grow for other reasons.
FEWEST = 5
#: The backward pass of the last step has at least this many times as many nodes as that of the first.
GROWN = 1.3
#: Each step adds about the same number of nodes, between these multiples of the median.
LEAST_ADDED, MOST_ADDED = 0.5, 2.0
#: The number of all other ops of a step is about the same. It differs by at most this share of the median.
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
    """Returns by how much the backward pass grows; None if it does not, or if the rest of the steps grows as well."""
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
    """Returns the ops that begin outside of the nodes."""
    events = trace.events
    order = nodes[np.argsort(events.start_ns[nodes], kind="stable")]
    ends = np.maximum.accumulate(events.end_ns[order])
    ops = events.rows(Kind.CPU_OP)
    place = np.searchsorted(events.start_ns[order], events.start_ns[ops], side="right") - 1
    return ops[(place < 0) | (events.start_ns[ops] >= ends[place])]


def _per_step(trace: Trace, rows: Int64) -> Int64:
    """Returns how many of the rows begin in each step."""
    _, step = in_steps(trace, trace.events.start_ns[rows])
    return np.bincount(step, minlength=len(find_steps(trace).steps))
