"""Which op of the forward pass created each node of the backward pass.

    forward    |---- aten::linear 7 ----|  |- aten::relu 8 -|      an op has the number that its thread's next node
                [t 7]      [addmm 8]          ...                  will have, so several have the same
    backward                                 |- ReluBackward0 9 -|  |- AddmmBackward0 8 -|  |- TBackward0 7 -|

The op that created node 7 is the last one with the number 7: once the node exists, the next op gets 8. Each thread
counts separately. A node records the number of its forward thread, but identifies that thread by torch's own count; the
matching thread is the one whose ops fit the names of its nodes.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, rows_named, shared
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, distinct_in

#: Prefix of the range that the autograd engine opens around a node; torch has written these ranges since 2022.
NODE = "autograd::engine::evaluate_function: "
#: Prefix of nodes that C++ code created. They show only their own class, and their op has no sequence number.
_CREATED_IN_CPP = "torch::autograd::"
_ENDING = expression(r"Backwards?\d*$")
#: Maximum number of threads that are distinguished. nn.DataParallel uses a new thread per replica in each step. With
#: more threads, the latest op of any thread is taken.
_MOST_THREADS = 64


class Nodes(msgspec.Struct, frozen=True, eq=False):
    """Nodes of the backward pass, as rows of the event table.

    event     ascending: the engine's ranges and, inside them, the ops of the same number
    forward   the op that created the node; -1 where it is not known
    """

    event: Int32
    forward: Int32


@shared
def backward_nodes(trace: Trace) -> Nodes:
    """Returns the backward nodes of all threads, in time order."""
    table = trace.sequences
    numbered = np.flatnonzero(table.forward_thread > 0)
    forward = np.full(len(numbered), -1, np.int32)
    has_op = _named_for_ops(trace, table.event[numbered])
    forward[has_op] = _creators(trace, numbered[has_op])
    nodes = rows_named(trace, (Kind.CPU_OP,), lambda name: name.startswith(NODE))
    events = distinct_in(np.concatenate((nodes, table.event[numbered]))).astype(np.int32)
    result = np.full(len(events), -1, np.int32)
    result[np.searchsorted(events, table.event[numbered])] = forward
    return Nodes(events, result)


def has_first_node(trace: Trace) -> bool:
    """Returns whether a process makes its first node of autograd in the recording: nodes have numbers, counted from 0
    in each process, and each op has that of the next node. If no op has gradients, all have number 0, and no node is
    made."""
    table = trace.sequences
    numbers = table.number[table.forward_thread == 0]
    return len(numbers) > 0 and int(numbers.min()) == 0 and int(numbers.max()) > 0


def _named_for_ops(trace: Trace, rows: Int32) -> Bool:
    """Returns which of these rows have a name that names an op: all but the nodes that C++ code created."""
    names = trace.events.name[rows]
    by_name = np.ones(len(trace.strings), bool)
    for name in distinct_in(names).tolist():
        by_name[name] = not trace.strings[name].removeprefix(NODE).startswith(_CREATED_IN_CPP)
    return by_name[names]


def _creators(trace: Trace, nodes: Int64) -> Int32:
    """Returns for each node, a row of the sequence table, the event row of its op, -1 for none."""
    table, thread = trace.sequences, trace.events.thread
    ops = np.flatnonzero(table.forward_thread == 0)
    threads = distinct_in(thread[table.event[ops]]).tolist()
    if not 1 < len(threads) <= _MOST_THREADS:
        return _last_before(trace, ops, nodes)
    by_thread = [ops[thread[table.event[ops]] == one] for one in threads]
    creators = np.full(len(nodes), -1, np.int32)
    forward_of = table.forward_thread[nodes]
    for number in distinct_in(forward_of).tolist():
        of_thread = np.flatnonzero(forward_of == number)
        answers = [_last_before(trace, its_ops, nodes[of_thread]) for its_ops in by_thread]
        votes = [_fitting(trace, nodes[of_thread], answer) for answer in answers]
        best = [answer for answer, vote in zip(answers, votes, strict=True) if vote == max(votes)]
        creators[of_thread] = np.maximum.reduce(best)  # rows are in time order
    return creators


def _last_before(trace: Trace, ops: Int64, nodes: Int64) -> Int32:
    """Returns the last of these ops that had the node's number before it began; all are rows of the sequence table."""
    table = trace.sequences
    order = np.argsort(table.number[ops], kind="stable")
    op, size = table.event[ops][order], len(trace.events)
    at_op = table.number[ops][order].astype(np.int64) * size + op
    at_node = table.number[nodes].astype(np.int64) * size + table.event[nodes]
    place = np.searchsorted(at_op, at_node) - 1
    matches = (place >= 0) & (table.number[ops][order][place] == table.number[nodes]) if len(op) else place >= 0
    result = np.full(len(nodes), -1, np.int32)
    result[matches] = op[place[matches]]
    return result


def _fitting(trace: Trace, nodes: Int64, answer: Int32) -> int:
    """Returns how many of the nodes are named for the op that is assumed to have created them."""
    name, has_answer = trace.events.name, answer >= 0
    pairs = np.stack((name[trace.sequences.event[nodes[has_answer]]], name[answer[has_answer]]), axis=1)
    distinct, count = np.unique(pairs, axis=0, return_counts=True)
    fits = [named_for(trace.strings[node], trace.strings[op]) for node, op in distinct.tolist()]
    return int(count[fits].sum())


def named_for(node: str, op: str) -> bool:
    """Returns whether the node is named for the op.

    >>> named_for("autograd::engine::evaluate_function: NllLossBackward0", "aten::nll_loss_forward")
    True
    >>> named_for("TBackward0", "aten::tanh")
    False
    """
    return _plain(_ENDING.sub("", node.removeprefix(NODE))) == _plain(op).removesuffix("forward")


def _plain(name: str) -> str:
    """Returns the name without its namespace and underscores, in lower case."""
    return name.rpartition("::")[2].replace("_", "").lower()
