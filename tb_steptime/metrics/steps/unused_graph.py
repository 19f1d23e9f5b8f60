"""Forward ops whose nodes autograd records, and that no backward pass runs: a teacher or an evaluation with a graph.

    op         [addmm 7][relu 8]  [addmm 9][relu 10]  [sum 11]  [SumBackward 11][ReluBackward 10][AddmmBackward 9]
               |--- teacher ---|  |---- model -----|            7 and 8 never run

An op has the number that the next node of its thread will have. So it has created a node if the next op has a higher
number: without gradients, as under `no_grad` or in frozen layers, all ops have the same one.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.data_loading.marks import in_steps
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import are_named
from tb_steptime.trace.ops import in_nodes
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Bool, Int64, Kind, distinct_in, is_in

#: Ops of which a model consists, one call per layer.
_LAYER = expression(r"aten::(addmm|mm|bmm|baddbmm|convolution|embedding|native_layer_norm|_scaled_dot_product_\w+)$")
#: Minimum number of layers a step, in the steps that have any: fewer are a metric, or a small head.
FEWEST_LAYERS = 2
#: Minimum share of all nodes that never run. Below it, hardly anything is kept for them.
LEAST_SHARE = 0.1
#: Minimum number of steps: in one, the backward pass may have been left out.
FEWEST_STEPS = 2
#: The last steps do not suffice: in a pipeline of ranks their backward passes may come after the recording.
LAST = 2
#: The steps that have any agree in their number up to this factor. Where rows are lost, they differ at random.
ALIKE = 2


class UnusedGraph(msgspec.Struct, frozen=True):
    """Nodes of the backward pass that no backward pass runs.

    unused, all        number of nodes without use and of all nodes of forward ops, per step that has any without use
    steps              names of these steps
    name               the op with the most time, among those that created the unused nodes
    ns                 time of all these ops, mean over all steps
    start_ns, end_ns   from the first to the last of these ops, in the step in which they take longest

    Ops after the last node of the recording do not count, since their backward pass may not be recorded; nor does what
    a checkpoint computes again inside a node.
    """

    unused: int
    all: int
    steps: list[str]
    name: str
    ns: int
    start_ns: int
    end_ns: int


def unused_graph(trace: Trace) -> UnusedGraph | None:
    """The nodes that never run; None if there are hardly any, or if no backward pass is recorded.

    The ops after the last node of the recording do not count: their backward pass may not be recorded. What a
    checkpoint computes again inside a node does not count either.
    """
    created, ran = _created(trace)
    events, steps = trace.events, find_steps(trace).steps
    kept, step = in_steps(trace, events.start_ns[created])
    created, ran = created[kept], ran[kept]
    unused, place = created[~ran], step[~ran]
    counts = np.bincount(place, minlength=len(steps))
    having = np.flatnonzero(counts)
    if not ran.any() or len(having) < FEWEST_STEPS or having[0] >= len(steps) - LAST:
        return None
    if counts[having].max() > ALIKE * counts[having].min():
        return None
    layers = int(are_named(trace, unused, _LAYER.match).sum())
    if layers < FEWEST_LAYERS * len(having) or len(unused) < LEAST_SHARE * len(created):
        return None
    if not ran[is_in(step, having)].any():
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


def _created(trace: Trace) -> tuple[Int64, Bool]:
    """The forward ops that created a node before the last recorded node begins, and whether a node of that number runs
    at any time, whichever thread's it is."""
    table, events = trace.sequences, trace.events
    node = table.forward_thread > 0
    last_ns = events.start_ns[table.event[node]].max(initial=0)
    op = np.flatnonzero(~node & (events.kind[table.event] == Kind.CPU_OP))
    op = op[(events.start_ns[table.event[op]] < last_ns) & ~in_nodes(trace, table.event[op])]
    thread = events.thread[table.event[op]]
    creating = [np.empty(0, np.int64)]
    for each in distinct_in(thread).tolist():
        mine = op[thread == each]
        creating.append(mine[:-1][np.diff(table.number[mine]) > 0])
    places = np.sort(np.concatenate(creating))
    return table.event[places].astype(np.int64), is_in(table.number[places], distinct_in(table.number[node]))
