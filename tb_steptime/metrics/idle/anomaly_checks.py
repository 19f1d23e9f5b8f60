"""The cost of autograd's anomaly detection: it checks each gradient for NaN, and keeps the stack of each forward op.

op       [evaluate_function: AddmmBackward0                           ]
op         [AddmmBackward0   ] [isnan] [_is_any_true] [item]    a check of each gradient that the node returns
op       [aten::addmm              ]
python       [traceback.py: format_stack]                       kept for the message of an error; with call stacks only
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.nesting import parent_places
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Kind

#: An op that the engine calls only for these checks; a user's hook that looks for NaN calls `any`.
_CHECK = "aten::_is_any_true"
_OF_CHECK = (_CHECK, "aten::isnan", "aten::item")
_NODE = expression(r"autograd::engine::evaluate_function: (?!torch::autograd::AccumulateGrad)")
_KEPT_STACK = expression(r"(?:.*/)?traceback\.py\(\d+\): format_stack$")
#: Minimum share of nodes with a check. Anomaly detection checks each node that returns a gradient.
MOST_NODES = 0.5


class AnomalyChecks(msgspec.Struct, frozen=True):
    """Autograd's anomaly checks in the mean step.

    checks   number of gradients that are checked
    ns       recorded time in these checks and in keeping stacks; on a GPU the checks wait for it
    """

    checks: int
    ns: int


def anomaly_checks(trace: Trace, chosen: Steps | None = None) -> AnomalyChecks | None:
    """Returns the checks; None if gradients are not checked this way. chosen: the steps whose checks count; None for
    all."""
    events = trace.events
    if not len(rows_named(trace, (Kind.CPU_OP,), lambda name: name == _CHECK)):
        return None
    ops = events.rows(Kind.CPU_OP)
    parent, tests = parent_places(trace, ops), (_NODE.match, _OF_CHECK.__contains__, _CHECK.__eq__)
    node, of_check, check = (are_named(trace, ops, each) for each in tests)
    of_node = (parent >= 0) & node[parent]
    checked = np.zeros(len(ops), bool)
    checked[parent[check & of_node]] = True
    if not checked.any() or checked.sum() < MOST_NODES * node.sum():
        return None
    stacks = rows_named(trace, (Kind.PYTHON,), _KEPT_STACK.match)
    rows = np.sort(np.concatenate((ops[of_check & of_node], stacks)))
    steps, taken = chosen or find_steps(trace), Intervals.of_events(events, rows)
    number, checks = len(steps.steps), check & of_node & (steps.holding(events.start_ns[ops]) >= 0)
    return AnomalyChecks(
        checks=round(int(checks.sum()) / number),
        ns=int(steps.overlap_ns(taken).sum()) // number,
    )
