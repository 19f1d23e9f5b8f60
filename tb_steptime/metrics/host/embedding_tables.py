"""Dense gradients of embeddings: time that goes into rows of their tables that a batch does not need.

node      |--- EmbeddingBackward0 ---|                            .
op           |- fill_ [100000,64] -|     |- add_ [100000,64] -|   the optimizer's
"""

from __future__ import annotations

from collections import Counter
from math import prod

import msgspec
import numpy as np

from tb_steptime.metrics.flops.op_flops import Shape, shapes_of
from tb_steptime.metrics.means import usual_ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.steps.calls import ZERO_GRAD
from tb_steptime.trace.table import Bool, Float64, Int32, Int64, Kind, distinct, is_in

#: Nodes that write a dense gradient for all rows of a table, of which a batch uses few. Where an op inside adds another
#: gradient of the same table, as where it is the output layer too, the sum is dense in any case.
_OF_TABLES = expression(r"autograd::engine::evaluate_function: Embedding\w*Backward\d*$")
_FILLS = expression(r"aten::(fill_|zero_)$")
_ADDS = expression(r"aten::add_?$")
#: Ops that compute such a gradient. Their second input has the indices of the batch.
_DENSE_BACKWARD = expression(r"aten::(embedding|_embedding_bag)_dense_backward$")
#: Number of indices, as a share of a table's rows, from which on sparse gradients gain nothing. Measured with torch
#: 2.13 on one core, SGD and Adagrad, tables of 20,000 to 200,000 rows: of the step they save 68 to 97 % where it is
#: 1/32, 46 to 86 % at 1/8, 15 to 79 % at 1/4, -21 to 27 % at 1/2.
_NO_GAIN = 0.5


class TableTimes(msgspec.Struct, frozen=True):
    """Times in a step in which each op takes its lower median time, ns.

    fill_ns    gradients of embeddings are filled with zeros, without tables that get a dense gradient from elsewhere
    saved_ns   what sparse gradients save of that, of the optimizer's ops on these gradients, and of freeing them; None
               if shapes were not recorded
    """

    fill_ns: int
    saved_ns: int | None


def table_times(trace: Trace, rows: Int64, own_ns: Int64, updates: Bool) -> TableTimes:
    """rows: of ops; own_ns: the self time of each; updates: which of them are the optimizer's."""
    shapes, node = trace.events.shapes, _table_nodes(trace, rows)
    fills = np.flatnonzero(node >= 0)
    if not len(fills):
        return TableTimes(0, None)
    fill_ns = _usual_ns(trace, rows[fills], own_ns[fills])
    if shapes is None or (shapes[rows[fills]] < 0).any():
        return TableTimes(fill_ns, None)
    indices = _indices(trace, node[fills], shapes)
    groups = Groups.of(shapes[rows[fills]], indices)
    keys = zip(shapes[rows[fills[groups.first]]].tolist(), indices[groups.first].tolist(), strict=True)
    tables = [_table(trace, *key) for key in keys]
    # A bag's node fills short lists, too, such as the number of indices in each bag: its table is the largest.
    size = np.array([prod(shape) for shape, _ in tables])[groups.place]
    largest_first = np.lexsort((-size, node[fills]))
    of_tables = largest_first[np.unique(node[fills][largest_first], return_index=True)[1]]
    by_shape = Counter[Shape]()
    for (shape, share), nodes in zip(tables, np.bincount(groups.place[of_tables], minlength=len(groups)), strict=True):
        by_shape[shape] += nodes * share
    spared = np.array([share for _, share in tables])[groups.place]
    written = np.flatnonzero(updates & (shapes[rows] >= 0))
    shares = _table_shares(trace, rows[written], shapes[rows[written]], by_shape)
    saved_ns = _usual_ns(trace, rows[fills], own_ns[fills] * spared)
    saved_ns += _usual_ns(trace, rows[written], own_ns[written] * shares)
    share = float((own_ns[written] * shares).sum() / max(int(own_ns[written].sum()), 1))
    return TableTimes(fill_ns, saved_ns + _freed_ns(trace, rows, share))


def _freed_ns(trace: Trace, rows: Int64, share: float) -> int:
    """Returns the tables' share of the time in which `zero_grad` sets gradients to None, and so frees them, apart from
    the ops that run meanwhile. It goes by bytes, as the optimizer's pass does. share: that of the tables in this pass.
    """
    marks = rows_named(trace, (Kind.USER,), ZERO_GRAD.match)
    marks = marks[find_steps(trace).holding(trace.events.start_ns[marks]) >= 0]
    start, end = trace.events.start_ns[marks], trace.events.ends(marks)
    free_ns: Int64 = end - start - Intervals.of_events(trace.events, rows).overlap_ns(start, end)
    return _usual_ns(trace, marks, np.multiply(free_ns, share, dtype=np.float64))


def _usual_ns(trace: Trace, rows: Int64, own_ns: Int64 | Float64) -> int:
    steps, start = find_steps(trace).start_ns, trace.events.start_ns[rows]
    return usual_ns(steps, start, own_ns.astype(np.int64)) if len(rows) else 0


def _table_nodes(trace: Trace, rows: Int64) -> Int64:
    """For each op that fills a gradient of a table, the row of its node; -1 for all others."""
    nodes = rows_named(trace, (Kind.CPU_OP,), _OF_TABLES.match)
    if not len(nodes):
        return np.full(len(rows), -1, np.int64)
    summed = innermost(trace, nodes, rows_named(trace, (Kind.CPU_OP,), _ADDS.match))
    alone = nodes[~is_in(nodes, summed[summed >= 0])]
    return np.where(are_named(trace, rows, _FILLS.match), innermost(trace, alone, rows), -1).astype(np.int64)


def _indices(trace: Trace, nodes: Int64, shapes: Int32) -> Int64:
    """For each node the inputs of the op that computes its gradient, as a row of `Trace.inputs`; -1 for none."""
    ops, each_node = rows_named(trace, (Kind.CPU_OP,), _DENSE_BACKWARD.match), distinct(nodes)
    around = innermost(trace, each_node, ops)
    index_shape = np.full(len(each_node), -1, np.int64)
    index_shape[np.searchsorted(each_node, around[around >= 0])] = shapes[ops[around >= 0]]
    return index_shape[np.searchsorted(each_node, nodes)]


def _table(trace: Trace, filled: int, backward: int) -> tuple[Shape, float]:
    """The shape of a table, and the share of its time that sparse gradients save; 0 where the number of indices is not
    known. filled, backward: rows of `Trace.inputs`, of the ops that fill its gradient and that compute it."""
    (shape, *_), (_, indices, *_) = _shapes(trace, filled), _shapes(trace, backward)
    if not shape or not shape[0] or not indices:
        return shape, 0.0
    return shape, max(0.0, 1.0 - min(prod(indices), shape[0]) / shape[0] / _NO_GAIN)


def _shapes(trace: Trace, inputs: int) -> list[Shape]:
    """The shapes of the inputs, () for what is no tensor or is missing, and two more of these."""
    return [*((shapes_of(trace.inputs[inputs]) if inputs >= 0 else None) or ()), (), ()]


def _table_shares(trace: Trace, rows: Int64, shapes: Int32, by_shape: Counter[Shape]) -> Float64:
    """For each op of the optimizer the share of its elements that sparse gradients spare it. shapes: of each op;
    by_shape: how often gradients of tables of a shape are filled. Other parameters of that shape, as of an output
    layer, are handled by such ops, too, so these count with the tables' share of them."""
    groups = Groups.of(trace.events.name[rows], shapes)
    names = trace.events.name[rows[groups.first]].tolist()
    tensors = [_tensors(trace, each) for each in shapes[groups.first].tolist()]
    handled = Counter[tuple[int, Shape]]()
    for name, each, calls in zip(names, tensors, groups.count().tolist(), strict=True):
        for shape in each:
            handled[name, shape] += calls
    shares = []
    for name, each in zip(names, tensors, strict=True):
        whole = max(sum(map(prod, each)), 1)
        shares.append(sum(prod(shape) / whole * min(1.0, by_shape[shape] / handled[name, shape]) for shape in each))
    return np.array(shares, np.float64)[groups.place]


def _tensors(trace: Trace, inputs: int) -> list[Shape]:
    """The shape of the first input, () if it is no tensor; of a list of tensors, as of a foreach op, all of them."""
    try:
        listed = msgspec.json.decode(trace.inputs[inputs], type=list[msgspec.Raw])
        tensors = msgspec.json.decode(listed[0], type=list[Shape])
    except (msgspec.MsgspecError, IndexError):
        return _shapes(trace, inputs)[:1]
    return [each if min(each, default=0) >= 0 else () for each in tensors]
