"""Dense gradients of embeddings, and the time that goes into rows of their tables that a batch does not need.

node      |--- EmbeddingBackward0 ---|                            .
op           |- fill_ [100000,64] -|     |- add_ [100000,64] -|   the optimizer's
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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

#: Nodes that write a dense gradient for all rows of a table, of which a batch uses few. If an op inside adds another
#: gradient of the same table, which may also be the output layer, the sum is dense in any case.
_OF_TABLES = expression(r"autograd::engine::evaluate_function: Embedding\w*Backward\d*$")
_FILLS = expression(r"aten::(fill_|zero_)$")
_ADDS = expression(r"aten::add_?$")
#: Ops that compute such a gradient. Their second input is the indices of the batch.
_DENSE_BACKWARD = expression(r"aten::(embedding|_embedding_bag)_dense_backward$")
#: Number of indices, as a share of a table's rows, from which on sparse gradients gain nothing. With torch 2.13 on one
#: core, SGD and Adagrad, and tables of 20,000 to 200,000 rows, they saved 68 to 97 % of the step at a share of 1/32, 46
#: to 86 % at 1/8, 15 to 79 % at 1/4, and -21 to 27 % at 1/2.
_NO_GAIN = 0.5


class TableTimes(msgspec.Struct, frozen=True):
    """Times in a step in which each op takes its lower median time, ns.

    fill_ns    time to fill gradients of embeddings with zeros, without tables that get a dense gradient from elsewhere
    saved_ns   time that sparse gradients save of this, of the optimizer's ops on these gradients, and of freeing them;
               None if shapes were not recorded
    """

    fill_ns: int
    saved_ns: int | None


class SparedRows(msgspec.Struct, frozen=True, eq=False):
    """What sparse gradients save of some ops.

    fills     places of the ops that fill a gradient of a table
    written   places of the optimizer's ops with recorded shapes
    share     share of each op's time that sparse gradients save
    tables    number of gradients of tables
    rows      number of rows of the largest table
    indices   number of indices of a batch in the largest table
    """

    fills: Int64
    written: Int64
    share: Float64
    tables: int
    rows: int
    indices: int

    def saved_ns(self, trace: Trace, rows: Int64, own_ns: Int64) -> int:
        """Returns the time that they save of these ops in a step in which each takes its lower median time."""
        own = own_ns * self.share
        return sum(_usual_ns(trace, rows[each], own[each]) for each in (self.fills, self.written))


def table_times(trace: Trace, rows: Int64, own_ns: Int64, updates: Bool) -> TableTimes:
    """Returns the times that gradients of embeddings take. rows: rows of ops. own_ns: the self time of each. updates:
    which of them are the optimizer's."""
    node = _table_nodes(trace, rows)
    fills = np.flatnonzero(node >= 0)
    if not len(fills):
        return TableTimes(0, None)
    fill_ns = _usual_ns(trace, rows[fills], own_ns[fills])
    spared = spared_rows(trace, rows, updates)
    if spared is None:
        return TableTimes(fill_ns, None)
    own = own_ns[spared.written]
    share = float((own * spared.share[spared.written]).sum() / max(int(own.sum()), 1))
    return TableTimes(fill_ns, spared.saved_ns(trace, rows, own_ns) + _freed_ns(trace, rows, share))


def has_tables(trace: Trace) -> bool:
    """Returns whether a dense gradient of a table is recorded."""
    return len(rows_named(trace, (Kind.CPU_OP,), _OF_TABLES.match)) > 0


def spared_rows(trace: Trace, rows: Int64, updates: Bool) -> SparedRows | None:
    """Returns what sparse gradients save of these ops; None if no gradient of a table is filled, or shapes are not
    recorded. updates: which of the ops are the optimizer's."""
    shapes, node = trace.events.shapes, _table_nodes(trace, rows)
    fills = np.flatnonzero(node >= 0)
    if not len(fills) or shapes is None or (shapes[rows[fills]] < 0).any():
        return None
    indices = _indices(trace, node[fills], shapes)
    groups = Groups.of(shapes[rows[fills]], indices)
    keys = zip(shapes[rows[fills[groups.first]]].tolist(), indices[groups.first].tolist(), strict=True)
    tables = [_table(trace, *key) for key in keys]
    # The node of an EmbeddingBag also fills short lists, such as the number of indices in each bag. Its table is the
    # largest.
    size = np.array([prod(table.shape) for table in tables])[groups.place]
    largest_first = np.lexsort((-size, node[fills]))
    of_tables = largest_first[np.unique(node[fills][largest_first], return_index=True)[1]]
    filled, saved = Counter[Shape](), Counter[Shape]()
    for table, nodes in zip(tables, np.bincount(groups.place[of_tables], minlength=len(groups)), strict=True):
        filled[table.shape] += nodes
        saved[table.shape] += nodes * table.saved
    share, written = np.zeros(len(rows)), np.flatnonzero(updates & (shapes[rows] >= 0))
    share[fills] = np.array([table.saved for table in tables])[groups.place]
    share[written] = _table_shares(trace, rows[written], shapes[rows[written]], filled, saved)
    largest = tables[int(groups.place[size.argmax()])]
    return SparedRows(fills, written, share, len(of_tables), max(largest.shape[:1], default=0), largest.indices)


def _freed_ns(trace: Trace, rows: Int64, share: float) -> int:
    """Returns the tables' share of the time in which `zero_grad` sets gradients to None and so frees them, without the
    ops that run meanwhile. This time depends on bytes, as the optimizer's pass does. share: that of the tables in the
    optimizer's pass."""
    marks = rows_named(trace, (Kind.USER,), ZERO_GRAD.match)
    marks = marks[find_steps(trace).holding(trace.events.start_ns[marks]) >= 0]
    start, end = trace.events.start_ns[marks], trace.events.ends(marks)
    free_ns: Int64 = end - start - Intervals.of_events(trace.events, rows).overlap_ns(start, end)
    return _usual_ns(trace, marks, np.multiply(free_ns, share, dtype=np.float64))


def _usual_ns(trace: Trace, rows: Int64, own_ns: Int64 | Float64) -> int:
    steps, start = find_steps(trace).start_ns, trace.events.start_ns[rows]
    return usual_ns(steps, start, own_ns.astype(np.int64)) if len(rows) else 0


def _table_nodes(trace: Trace, rows: Int64) -> Int64:
    """Returns the row of the node of each op that fills a gradient of a table; -1 for all other ops."""
    nodes = rows_named(trace, (Kind.CPU_OP,), _OF_TABLES.match)
    if not len(nodes):
        return np.full(len(rows), -1, np.int64)
    summed = innermost(trace, nodes, rows_named(trace, (Kind.CPU_OP,), _ADDS.match))
    alone = nodes[~is_in(nodes, summed[summed >= 0])]
    return np.where(are_named(trace, rows, _FILLS.match), innermost(trace, alone, rows), -1).astype(np.int64)


def _indices(trace: Trace, nodes: Int64, shapes: Int32) -> Int64:
    """Returns for each node the inputs of the op that computes its gradient, as a row of `Trace.inputs`; -1 for
    none."""
    ops = rows_named(trace, (Kind.CPU_OP,), _DENSE_BACKWARD.match)
    each_node = distinct(nodes)
    around = innermost(trace, each_node, ops)
    index_shape = np.full(len(each_node), -1, np.int64)
    index_shape[np.searchsorted(each_node, around[around >= 0])] = shapes[ops[around >= 0]]
    return index_shape[np.searchsorted(each_node, nodes)]


class _Table(msgspec.Struct, frozen=True):
    """The shape of a table, the number of indices of a batch, and the share of the table's time that sparse gradients
    save; 0 if the number of indices is not known."""

    shape: Shape
    indices: int
    saved: float


def _table(trace: Trace, filled: int, backward: int) -> _Table:
    """Returns a table. filled, backward: rows of `Trace.inputs`, of the ops that fill the table's gradient and that
    compute it."""
    (shape, *_), (_, indices, *_) = _shapes(trace, filled), _shapes(trace, backward)
    if not shape or not shape[0] or not indices:
        return _Table(shape, 0, 0.0)
    return _Table(shape, prod(indices), max(0.0, 1.0 - min(prod(indices), shape[0]) / shape[0] / _NO_GAIN))


def _shapes(trace: Trace, inputs: int) -> list[Shape]:
    """Returns the shapes of the inputs, () for an input that is missing or no tensor, followed by two more ()."""
    return [*((shapes_of(trace.inputs[inputs]) if inputs >= 0 else None) or ()), (), ()]


def _table_shares(
    trace: Trace, rows: Int64, shapes: Int32, filled: Counter[Shape], saved: Mapping[Shape, float]
) -> Float64:
    """Returns for each op of the optimizer the share of its elements that sparse gradients save. shapes: those of each
    op. filled: how often gradients of tables of a shape are filled. saved: the sum of the shares that these fills save.
    Such ops also handle other parameters of that shape, as that of an output layer, so they count with the tables'
    share of these parameters. If gradients of several batches add up before an update, it needs the rows of all of
    them."""
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
        spared = (_spared(filled[shape] / handled[name, shape], saved[shape], filled[shape]) for shape in each)
        shares.append(sum(prod(shape) / whole * share for shape, share in zip(each, spared, strict=True)))
    return np.array(shares, np.float64)[groups.place]


def _spared(batches: float, saved: float, filled: int) -> float:
    """Returns the share of an update's time that is saved. batches: the number of gradients of a table for each update.
    saved: the sum of the shares that so many fills save.

    >>> _spared(0.5, 3.0, 4), _spared(1, 3.0, 4), _spared(2, 3.0, 4)
    (0.375, 0.75, 0.5)
    """
    each = saved / max(filled, 1)
    return batches * each if batches <= 1 else max(0.0, 1 - batches * (1 - each))


def _tensors(trace: Trace, inputs: int) -> list[Shape]:
    """Returns the shape of the first input, () if it is no tensor. If it is a list of tensors, as that of a foreach op,
    all of their shapes are returned."""
    try:
        listed = msgspec.json.decode(trace.inputs[inputs], type=list[msgspec.Raw])
        tensors = msgspec.json.decode(listed[0], type=list[Shape])
    except (msgspec.MsgspecError, IndexError):
        return _shapes(trace, inputs)[:1]
    return [each if min(each, default=0) >= 0 else () for each in tensors]
