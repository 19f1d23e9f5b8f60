"""The cost of the profiler on the host per step, estimated from the events that it recorded.

op          aaaa bbb           2 ops, with shapes        each costs as much as was measured on ops of the CPU
python    |- forward -|        1 call
memory      x                  1 allocation

The time to record an event hardly depends on the event, and was measured on a CPU for each kind and flag. Calls of the
GPU's runtime were not measured, so the real cost is higher if there are many.

Something else may observe the ops as well, such as torch's `ExecutionTraceObserver`, which writes each op with its
tensors. The recording itself shows this: ops that compute nothing take as long as launches, although they take less
than a microsecond otherwise.

Autograd's anomaly detection also has a cost. It checks each gradient for NaN, and keeps the stack of each forward op.

op       [evaluate_function: AddmmBackward0                           ]
op         [AddmmBackward0   ] [isnan] [_is_any_true] [item]    a check of each gradient that the node returns
op       [aten::addmm              ]
python       [traceback.py: format_stack]                       kept for the message of an error; with call stacks only
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.phases.threads import step_threads
from tb_steptime.text import Finding, Trust, fraction, ns
from tb_steptime.text.patterns import expression
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, find_launches, rows_named, shared
from tb_steptime.trace.nesting import parent_places, self_times
from tb_steptime.trace.steps import Steps, find_steps
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, median

#: Cost per event in ns, as (low, high). These are medians of a chain of ops and of a training on a 2-core x86-64
#: machine with torch 2.13, as `python -m benchmarks.profiler_cost` printed them (docs/recording.md). The cost of shapes
#: is added to that of an op.
OP_NS = (290, 500)
SHAPES_NS = (180, 290)
ALLOCATION_NS = (70, 80)
PYTHON_NS = (300, 460)


#: Ops that compute nothing. They only describe a tensor in another way.
_EMPTY_OPS = frozenset({"aten::view", "aten::_unsafe_view", "aten::as_strided", "aten::detach_", "detach_"})
#: Minimum number of such ops, and of launches to compare them with.
FEWEST = 50
#: Minimum time of an observed op, and its share of a launch, because launches also take longer on a slow CPU. In 35
#: recordings of 2022 and later, ops take 0.3 to 2.5 us and 0.07 to 0.5 of a launch. In the three that were observed
#: twice, they take 6 to 21 us and 0.54 to 2.3 of a launch.
OBSERVED_NS, OBSERVED_SHARE = 5_000, 0.5
#: Percentile of the empty ops' times that counts. Interruptions do not lengthen the shortest ones.
_SHORTEST = 0.05

#: Share of the steps from which on the observer makes conclusions about the host uncertain, and very uncertain.
OBSERVED_FRACTION, MOSTLY_OBSERVED = 0.05, 0.2

#: Number of rows that are counted at once. Columns of all rows of a large trace would take much memory.
_AT_ONCE = 1 << 20


class ProfilerCost(msgspec.Struct, frozen=True):
    """The profiler's cost in the mean step. low_ns, high_ns: bounds of its CPU time. events: number of recorded
    events."""

    low_ns: int
    high_ns: int
    events: int


@shared
def profiler_cost(trace: Trace) -> ProfilerCost | None:
    """Returns the cost on the threads of the training and its backward pass, which work one at a time; None if no host
    events were recorded in the steps."""
    events, count, with_shapes = trace.events, np.zeros(256, np.int64), 0
    for first in range(0, len(events), _AT_ONCE):
        block = slice(first, first + _AT_ONCE)
        rows = first + np.flatnonzero(_counts(trace, events.thread[block], events.start_ns[block]))
        count += np.bincount(events.kind[rows], minlength=len(count))
        if events.shapes is not None:
            with_shapes += int((events.shapes[rows[events.kind[rows] == Kind.CPU_OP]] >= 0).sum())
    number = {
        OP_NS: int(count[Kind.CPU_OP] + count[Kind.USER]),
        SHAPES_NS: with_shapes,
        ALLOCATION_NS: int(_counts(trace, trace.memory.thread, trace.memory.ts).sum()),
        PYTHON_NS: int(count[Kind.PYTHON]),
    }
    noted = sum(number.values()) - with_shapes
    if not noted:
        return None
    steps = len(find_steps(trace).steps)
    low, high = (sum(each[end] * count for each, count in number.items()) // steps for end in (0, 1))
    return ProfilerCost(low, high, round(noted / steps))


def _counts(trace: Trace, thread: Int32, at: Int64, chosen: Steps | None = None) -> Bool:
    """Returns which events begin in a step on one of the threads that train. chosen: None for all steps."""
    on = np.zeros(len(trace.threads), bool)
    on[[*step_threads(trace)]] = True
    return ((chosen or find_steps(trace)).holding(at) >= 0) & on[thread]


@shared
def observed_op_ns(trace: Trace) -> int:
    """Returns how long each op takes because something besides the profiler observes it, ns; 0 if nothing shows that.
    It is a lower bound, because ops with more tensors take longer to observe. Nothing observes simulated ops."""
    if trace.job.simulated:
        return 0
    events = trace.events
    calls = events.dur_ns[find_launches(trace).call[find_launches(trace).call >= 0]]
    empty = rows_named(trace, (Kind.CPU_OP,), _EMPTY_OPS.__contains__)
    if len(calls) < FEWEST or len(empty) < FEWEST:
        return 0
    took = int(np.quantile(self_times(trace, empty), _SHORTEST, method="lower"))
    usual = median(calls)
    return took if took >= OBSERVED_NS and took >= OBSERVED_SHARE * usual else 0


@shared
def _observed_ns(trace: Trace) -> int:
    """Returns `observed_op_ns` of the ops of all steps together."""
    return _observed_in(trace, find_steps(trace))


def _observed_in(trace: Trace, steps: Steps) -> int:
    each_ns, ops = observed_op_ns(trace), trace.events.rows(Kind.CPU_OP)
    if not each_ns:
        return 0
    return each_ns * int(_counts(trace, trace.events.thread[ops], trace.events.start_ns[ops], steps).sum())


def observed_step_ns(trace: Trace, chosen: Steps | None = None) -> int:
    """Returns by how much something besides the profiler at least lengthens the mean step, because it observes the ops,
    ns; 0 if that is little of all steps. chosen: the steps of the mean; None for all."""
    if _observed_ns(trace) < OBSERVED_FRACTION * max(1, int(find_steps(trace).duration_ns.sum())):
        return 0
    if chosen is None:
        return _observed_ns(trace) // len(find_steps(trace).steps)
    return _observed_in(trace, chosen) // len(chosen.steps)


def observed_ops(trace: Trace) -> Finding | None:
    """Returns the finding that something besides the profiler observes each op; None if that takes little of the
    steps."""
    step_ns = observed_step_ns(trace)
    if not step_ns:
        return None
    share = _observed_ns(trace) / int(find_steps(trace).duration_ns.sum())
    values = {"each": ns(observed_op_ns(trace)), "cost": ns(step_ns), "share": fraction(share)}
    trust: Trust = "low" if share >= MOSTLY_OBSERVED else "medium"
    return Finding("ops_observed", "said", ("host_time", "launches"), trust, share=share, values=values)


#: The op that the engine calls only for these checks. A user's hook that looks for NaN calls `any`.
_CHECK = "aten::_is_any_true"
_OF_CHECK = (_CHECK, "aten::isnan", "aten::item")
_NODE = expression(r"autograd::engine::evaluate_function: (?!torch::autograd::AccumulateGrad)")
_KEPT_STACK = expression(r"(?:.*/)?traceback\.py\(\d+\): format_stack$")
#: Minimum share of nodes with a check. Anomaly detection checks each node that returns a gradient.
MOST_NODES = 0.5


class AnomalyChecks(msgspec.Struct, frozen=True):
    """Autograd's anomaly checks in the mean step.

    checks   number of gradients that are checked
    ns       recorded time in these checks and in keeping stacks; with a GPU the checks wait for it
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
    parent = parent_places(trace, ops)
    tests = (_NODE.match, _OF_CHECK.__contains__, _CHECK.__eq__)
    node, of_check, check = (are_named(trace, ops, test) for test in tests)
    of_node = (parent >= 0) & node[parent]
    checked = np.zeros(len(ops), bool)
    checked[parent[check & of_node]] = True
    if not checked.any() or checked.sum() < MOST_NODES * node.sum():
        return None
    stacks = rows_named(trace, (Kind.PYTHON,), _KEPT_STACK.match)
    rows = np.sort(np.concatenate((ops[of_check & of_node], stacks)))
    steps, taken = chosen or find_steps(trace), Intervals.of_events(events, rows)
    number = len(steps.steps)
    checks = check & of_node & (steps.holding(events.start_ns[ops]) >= 0)
    return AnomalyChecks(
        checks=round(int(checks.sum()) / number),
        ns=int(steps.overlap_ns(taken).sum()) // number,
    )
