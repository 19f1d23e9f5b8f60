"""The memory that checkpointing each class of modules would save at the peak, and the time for computing again.

A checkpoint drops what its module saved when the call ends, and recomputes it before the module's backward pass:

    host        |--- Block_0 ---|--- Block_1 ---|--- loss ---|-- backward of Block_1 --|-- backward of Block_0 --|
    activation     +a..............................................................................-a
    with it        +a          -a                                                       +a         -a
    again                                                     |Block_1|                |Block_0|

Instead it keeps the input of the module, if nothing else does, and the output, if the next op saves it. The instants of
the call occur a second time, on top of what is alive when its backward pass begins.

The names of ops' nodes show which tensors they save for the backward pass. A checkpoint without reentrant autograd
repeats the forward pass until the last needed tensor is available:

    linear   gelu   linear                 the last linear saves its input: it is not recomputed
    linear   batch_norm   relu             relu saves its result: everything is recomputed
"""

from __future__ import annotations

from collections import defaultdict
from operator import itemgetter
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.memory.allocations import PHASE, allocations, are_on, births, ends_ns, sizes, steps_at
from tb_steptime.metrics.memory.curves import CPU, Place
from tb_steptime.metrics.memory.fit.fit import (
    ROUNDED_TO,
    PeakLine,
    SteadySteps,
    growing_sizes,
    highest_lines,
    steady_steps,
    tensors_of,
)
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import NODE, backward_nodes
from tb_steptime.trace.frames import module_class, module_frames
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, find_launches, shared
from tb_steptime.trace.nesting import innermost, op_rows, parent_places
from tb_steptime.trace.table import Bool, Int64, distinct_in, is_in, median, ranges_from

NO_MODULES = Reason("memory_fit_needs_modules")
#: Host time of a checkpoint's own Python, ns: per call, and per op whose tensors its hooks save and restore.
#: `benchmarks/memory_fit.py --checkpoint` measures these times: about 260 calls of Python per checkpoint and 47 per
#: saved tensor, with caches that the ops between them have filled.
_PER_CALL_NS, _PER_OP_NS = 600_000, 65_000


class Checkpoint(msgspec.Struct, frozen=True):
    """Checkpoints of all modules of a class.

    calls      number of calls per step
    lines      the peak at any batch
    again_ns   time that they add to a step, on the GPU if the calls launch anything, otherwise on the host
    own_ns     estimated part of again_ns in the checkpoints' own Python
    """

    module: str
    calls: int
    lines: list[PeakLine]
    again_ns: int
    own_ns: int


@shared
def checkpoints(trace: Trace, place: Place) -> list[Checkpoint] | Reason:
    """Returns the checkpoints of each class of modules that the forward pass of the steady steps calls, in order of
    first appearance; the reason if modules are not recorded, or there is no steady step."""
    steady = steady_steps(trace, place)
    if isinstance(steady, Reason):
        return steady
    if not len(_forward_frames(trace, steady)):
        return NO_MODULES
    return [
        Checkpoint(
            name,
            round(len(calls.start) / len(steady.steps)),
            _lines(trace, place, steady, calls),
            *_longer_ns(trace, steady, calls),
        )
        for name, calls in module_calls(trace, steady).items()
    ]


def module_calls(trace: Trace, steady: SteadySteps) -> dict[str, Calls]:
    """Returns for each class of modules, in order of first appearance, its outermost calls whose backward pass needs
    anything."""
    by_class: dict[str, list[int]] = defaultdict(list)
    for row in _forward_frames(trace, steady).tolist():
        by_class[module_class(trace.name_of(row))].append(row)
    nodes, by_module = _nodes(trace), dict[str, Calls]()
    for name, rows in by_class.items():
        outermost = np.array(rows, np.int64)
        calls = _calls(trace, outermost[parent_places(trace, outermost) < 0], nodes)
        if calls is not None:
            by_module[name] = calls
    return by_module


def _forward_frames(trace: Trace, steady: SteadySteps) -> Int64:
    """Returns the module calls within the steady steps, without those that an existing checkpoint repeats inside a
    backward node."""
    frames = module_frames(trace)
    node_rows = backward_nodes(trace).event.astype(np.int64)
    first = innermost(trace, node_rows, frames) < 0
    return frames[first & is_in(steps_at(trace, trace.events.start_ns[frames]), steady.steps)]


class _Nodes(msgspec.Struct, frozen=True, eq=False):
    """Backward nodes of ops that are not views, in the order of these ops; times in ns.

    saves: whether anything is saved. after: when everything is saved, which is the op's start or its end. result:
    whether the op saves its own result.
    """

    thread: Int64
    op_start: Int64
    saves: Bool
    after: Int64
    result: Bool
    start: Int64
    end: Int64


def _nodes(trace: Trace) -> _Nodes:
    events, nodes = trace.events, backward_nodes(trace)
    has_forward = nodes.forward >= 0
    event = nodes.event[has_forward].astype(np.int64)
    op = nodes.forward[has_forward].astype(np.int64)
    saved_by_name = {number: saved_for(trace.strings[number]) for number in distinct_in(events.name[event]).tolist()}
    saved = [saved_by_name[number] for number in events.name[event].tolist()]
    nothing, inputs, result = (
        np.array([each in kinds for each in saved], bool) for kinds in (("nothing",), ("inputs", "lookup"), ("result",))
    )
    saves = np.flatnonzero([each != "view" for each in saved])
    order = saves[np.argsort(events.start_ns[op[saves]], kind="stable")]
    event, op = event[order], op[order]
    return _Nodes(
        thread=events.thread[op].astype(np.int64),
        op_start=events.start_ns[op],
        saves=~nothing[order],
        after=np.where(inputs[order], events.start_ns[op], events.ends(op)),
        result=result[order],
        start=events.start_ns[event],
        end=events.ends(event),
    )


class Calls(msgspec.Struct, frozen=True, eq=False):
    """Calls of modules, which are disjoint on each thread, with one entry each; times in ns.

    stop       when recomputation ends, because everything that the backward pass needs is saved
    ops        number of its ops that save anything
    first      its first op, a row of the event table
    following  when the next op on the thread begins
    begins     start of the first node of its backward pass that needs anything saved
    ends       end of the last such node
    result     whether its last op saves its result, and so does the next op, which has it as input
    """

    thread: Int64
    start: Int64
    end: Int64
    stop: Int64
    ops: Int64
    first: Int64
    following: Int64
    begins: Int64
    ends: Int64
    result: Bool


def _calls(trace: Trace, rows: Int64, nodes: _Nodes) -> Calls | None:
    """Returns the calls, out of these rows of the event table, whose backward pass needs anything; None if there is
    none."""
    events, calls = trace.events, list[tuple[int, ...]]()
    for thread in distinct_in(events.thread[rows]).tolist():
        on_thread = np.flatnonzero(nodes.thread == thread)
        op_start, ops = nodes.op_start[on_thread], op_rows(trace)
        ops = ops[events.thread[ops] == thread]
        ops_start = events.start_ns[ops]
        thread_rows = rows[events.thread[rows] == thread]
        for start, end in zip(events.start_ns[thread_rows].tolist(), events.ends(thread_rows).tolist(), strict=True):
            low, high = np.searchsorted(op_start, (start, end)).tolist()
            own = on_thread[low:high]
            own = own[nodes.saves[own]]
            if not len(own):
                continue
            last = own[nodes.after[own].argmax()]
            first, after = np.searchsorted(ops_start, (start, end)).tolist()
            follows = int(ops_start[after]) if after < len(ops) else end
            follows_end = int(events.ends(ops[after : after + 1])[0]) if after < len(ops) else end
            next_saves = (
                high < len(on_thread) and int(op_start[high]) < follows_end and bool(nodes.saves[on_thread[high]])
            )
            ends_saved = bool(nodes.result[on_thread[high - 1]]) and next_saves
            calls.append((
                thread, start, end, int(nodes.after[last]), len(own), int(ops[first]), follows,
                int(nodes.start[own].min()), int(nodes.end[own].max()), ends_saved,
            ))  # fmt: skip
    if not calls:
        return None
    thread, start, end, stop, ops_saved, op, following, begins, ends, result = np.array(
        sorted(calls, key=itemgetter(1)), np.int64
    ).T
    return Calls(thread, start, end, stop, ops_saved, op, following, begins, ends, result.astype(bool))


def _longer_ns(trace: Trace, steady: SteadySteps, calls: Calls) -> tuple[int, int]:
    """Returns the time that a step takes longer, and the part of it in the checkpoints themselves, as medians over the
    steps. On a device the calls' work runs again. On the host their ops do, and the checkpoint's own code. The code
    between ops runs again too, but takes little, and recorded stacks lengthen it several times."""
    device, host = np.zeros(len(calls.start), np.int64), np.zeros(len(calls.start), np.int64)
    events = trace.events
    launches = find_launches(trace)
    ops = op_rows(trace)
    at, length = events.start_ns[launches.call], events.dur_ns[launches.activity]
    for thread in distinct_in(calls.thread).tolist():
        here = calls.thread == thread
        start, stop = calls.start[here], calls.stop[here]
        on_thread = np.flatnonzero((launches.call >= 0) & (events.thread[launches.call] == thread))
        order = on_thread[np.argsort(at[on_thread], kind="stable")]
        until = np.append(0, np.cumsum(length[order]))
        device[here] = until[np.searchsorted(at[order], stop)] - until[np.searchsorted(at[order], start)]
        host[here] = _undisturbed_ns(trace, ops[events.thread[ops] == thread], start, stop)
    step = np.searchsorted(steady.steps, steps_at(trace, calls.start))
    if device.any():
        return int(median(exact_sums(step, device, len(steady.steps)))), 0
    own = _PER_CALL_NS + _PER_OP_NS * calls.ops
    longer, part = (exact_sums(step, each, len(steady.steps)) for each in (host + own, own))
    return int(median(longer)), int(median(part))


def _undisturbed_ns(trace: Trace, ops: Int64, start: Int64, stop: Int64) -> Int64:
    """Returns for each of these disjoint intervals the time of its outermost ops, each as long as the fastest one of
    its name and shapes in any interval. Computing again would not take the additional time of the others. In these the
    CPU worked for another process, or memory was touched for the first time, for example because the profiler's own
    events took what a step had freed."""
    events = trace.events
    ops = ops[parent_places(trace, ops) < 0]
    low, high = np.searchsorted(events.start_ns[ops], (start, stop))
    count = high - low
    call = np.repeat(np.arange(len(start)), count)
    rows = ops[ranges_from(low, count)]
    length = np.maximum(events.dur_ns[rows], 1)
    shapes = np.zeros(len(rows), np.int64) if events.shapes is None else events.shapes[rows].astype(np.int64)
    _, like = np.unique(np.column_stack((events.name[rows], shapes)), axis=0, return_inverse=True)
    fastest = np.full(len(rows), NEVER, np.int64)
    np.minimum.at(fastest, like.reshape(-1), length)
    inside = np.minimum(events.ends(rows), stop[call]) - events.start_ns[rows]
    return exact_sums(call, inside * fastest[like.reshape(-1)] // length, len(start))


def _lines(trace: Trace, place: Place, steady: SteadySteps, calls: Calls) -> list[PeakLine]:
    """Returns the lines of the curve without what is dropped, and of what is recomputed on top of it."""
    moved = _moved(trace, place, calls)
    whole, growing = (
        _Level(level, steady.curve.ts, moved, calls, ends_ns(trace), part)
        for level, part in ((steady.curve.allocated, sizes(trace)), (steady.grown, growing_sizes(trace, steady.batch)))
    )
    instants = [(whole.events[steady.within], growing.events[steady.within])]
    first, end = (np.searchsorted(steady.curve.ts, edge).tolist() for edge in (calls.start, calls.stop))
    for number, (low, high) in enumerate(zip(first, end, strict=True)):
        instants.append((whole.again(number, low, high), growing.again(number, low, high)))
    high_bytes, growing_bytes = (np.concatenate(columns) for columns in zip(*instants, strict=True))
    return highest_lines(high_bytes - growing_bytes, growing_bytes, steady.batch)


class _Level:
    """Bytes with checkpoints. events: after each event of the curve, and at each instant that is recomputed."""

    def __init__(self, level: Int64, ts: Int64, moved: _Moved, calls: Calls, died: Int64, part: Int64) -> None:
        changes = (
            (calls.end[moved.call], -part[moved.dropped]),
            (calls.begins[moved.call], part[moved.dropped]),
            (died[moved.kept], part[moved.kept]),
            (calls.ends[moved.keeper], -part[moved.kept]),
        )
        at, change = (np.concatenate(columns) for columns in zip(*changes, strict=True))
        order = np.argsort(at, kind="stable")
        at, until = at[order], np.append(0, np.cumsum(change[order]))
        self.events = level + until[np.searchsorted(at, ts, side="right")]
        self._recorded = np.append(level, level[:1])  # before the first event no module has memory
        self._base = self._recorded[np.searchsorted(ts, calls.begins) - 1] + until[np.searchsorted(at, calls.begins)]
        self._base -= np.where(moved.result >= 0, part[moved.result], 0)

    def again(self, call: int, first: int, end: int) -> Int64:
        """Returns the events [first, end) of a call, on top of what is alive when its backward pass begins."""
        return self._base[call] + self._recorded[first:end] - self._recorded[first - 1]


class _Moved(msgspec.Struct, frozen=True, eq=False):
    """Places of `allocations`. dropped: those that end with their `call`. kept: inputs that live until the backward
    pass of `keeper` ends. result: for each call its result, which the next op saves; -1 for none."""

    dropped: Int64
    call: Int64
    kept: Int64
    keeper: Int64
    result: Int64


def _moved(trace: Trace, place: Place, calls: Calls) -> _Moved:
    lives = allocations(trace)
    table = trace.memory
    died = ends_ns(trace)
    start_ns = table.ts[lives.born]
    thread = table.thread[lives.born]
    size = table.bytes[lives.born]
    of_device = are_on(trace, place)
    call = np.searchsorted(calls.start, start_ns, side="right") - 1
    inside = of_device & (call >= 0) & (thread == calls.thread[call])
    inside &= (start_ns < calls.stop[call]) & (died >= calls.begins[call]) & (died != NEVER)
    saved = np.flatnonzero(inside)
    last = np.full(len(calls.start), -1, np.int64)
    last[call[saved]] = saved  # they ascend, so the last one is kept
    result = np.where(calls.result, last, -1)
    dropped = saved[~is_in(saved, result)]
    forward = np.flatnonzero(of_device & (births(trace).phase != PHASE["backward"]))
    by_end = forward[np.argsort(died[forward], kind="stable")]
    low, high = (np.searchsorted(died[by_end], edge).tolist() for edge in (calls.start, calls.following))
    last_freed, keeper = list[int](), list[int]()
    for number, (first, end) in enumerate(zip(low, high, strict=True)):
        chosen = by_end[first:end]
        step = 1 if place.type == CPU else ROUNDED_TO
        sizes = np.array(
            [-(-tensor.bytes // step) * step for tensor in tensors_of(trace, int(calls.first[number]))], np.int64
        )
        chosen = chosen[(start_ns[chosen] < calls.start[number]) & is_in(size[chosen], sizes)]
        if len(chosen):
            last_freed.append(int(chosen[start_ns[chosen].argmax()]))
            keeper.append(number)
    return _Moved(dropped, call[dropped], np.array(last_freed, np.int64), np.array(keeper, np.int64), result)


_ENDING = expression(r"Backwards?\d*$")

#: What the op of a node saves for it. A "view" allocates no tensor of its own. "nothing": the node needs only sizes and
#: numbers. "inputs": everything is saved before the op runs. "lookup": only the indices among the inputs are saved.
Saved = Literal["view", "nothing", "inputs", "lookup", "result"]

_NODES: dict[Saved, str] = {
    "view": "View UnsafeView Reshape ReshapeAlias T Transpose Permute Expand Slice Select Squeeze Unsqueeze Unbind "
    "Split SplitWithSizes AsStrided Alias Unfold",
    "nothing": "Add Sub Neg Cat Stack Mean Sum Clone ToCopy Repeat Flip Roll ConstantPadNd",
    "inputs": "Addmm Mm Bmm Baddbmm Matmul Linear Mul Div Pow Convolution MkldnnConvolution Gelu Silu Softplus "
    "Hardswish Mish Hardtanh AvgPool2D AdaptiveAvgPool2D Where Abs Log Sin Cos",
    "lookup": "Embedding Index IndexSelect Gather",
    "result": "Relu LeakyRelu Elu Tanh Sigmoid Softmax LogSoftmax Exp Sqrt Rsqrt Reciprocal",
}
_SAVED: dict[str, Saved] = {node: saved for saved, nodes in _NODES.items() for node in nodes.split()}
#: Attention saves its result, whichever of its kernels it is.
_ATTENTION = expression(r"ScaledDotProduct\w*Attention\w*")


def saved_for(node: str) -> Saved | None:
    """Returns what an op saves for the node of this name; None if that is not known.

    >>> saved_for("autograd::engine::evaluate_function: ViewBackward0"), saved_for("EmbeddingBackward0")
    ('view', 'lookup')
    >>> saved_for("ReluBackward0"), saved_for("NativeBatchNormBackward0")
    ('result', None)
    """
    op = _ENDING.sub("", node.removeprefix(NODE))
    return "result" if _ATTENTION.fullmatch(op) else _SAVED.get(op)
