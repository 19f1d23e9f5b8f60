"""What a CPU job computes: its ops by self time, and the number of threads that run them.

    thread 1   |---- aten::linear ----|          self time of linear: without addmm
                 |--- aten::addmm ---|           self time of addmm: all of it
    thread 2         |- MulBackward0 -|          counts in full: threads add up

An op belongs to the step in which it begins. No trace contains the threads of OpenMP, which share the work of one op.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_names
from tb_steptime.metrics.host.dimensions import DIMENSIONS, channels_last
from tb_steptime.metrics.host.embedding_tables import table_times
from tb_steptime.metrics.host.slow_half import SlowHalf, slow_half
from tb_steptime.metrics.means import usual_ns
from tb_steptime.metrics.memory.by_op import op_bytes
from tb_steptime.metrics.memory.curves import CPU, memory_devices
from tb_steptime.metrics.phases.assignment import host_courses, in_optimizer, optimizer_class, site_of
from tb_steptime.metrics.phases.sites import PHASES, SITE_PHASE
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import has_first_node
from tb_steptime.trace.groups import exact_sums
from tb_steptime.trace.host_ranges import COMPILES, loader_intervals, loader_names
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.model import Trace, are_named, rows_named
from tb_steptime.trace.nesting import innermost, parent_places, self_times
from tb_steptime.trace.ops import in_nodes
from tb_steptime.trace.steps import find_steps
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

CpuGroupId = Literal[
    "compiling",
    "compiled",
    "convolution",
    "pooling",
    "recurrent",
    "attention",
    "matmul",
    "unfused",
    "random",
    "reading",
    "other",
]

#: Ops of layers whose inputs autocast casts to 16 bits, and its casts.
_CAST_LAYER = expression(r"aten::(linear|matmul|conv[123]d)$")
_LAYER_OR_CAST = expression(rf"{_CAST_LAYER.pattern}|aten::to$")
#: Kinds of ops, by name; the first match counts. "unfused" are ops that no compiler fuses, such as indexing, sorting,
#: FFTs and 8-bit products. "random" is random input, without dropout. "reading" converts a tensor's values to Python's.
_GROUPS: dict[CpuGroupId, re.Pattern[str]] = {
    "compiling": COMPILES,
    "compiled": expression(r"CompiledFxGraph|CompiledFunction|Torch-Compiled Region|cpp_fused"),
    "unfused": expression(
        r"::_?(index\w*|gather\w*|scatter\w*|take\w*|embedding\w*|sort|argsort|topk|unique\w*|nonzero|masked_select"
        r"|coalesce|bincount|fft_\w+)$|^quantized::"
    ),
    "convolution": expression(r"conv", re.IGNORECASE),
    "pooling": expression(r"aten::(max|avg)_pool2d\w*$"),
    "recurrent": expression(r"mkldnn_rnn|::(lstm|gru|rnn_tanh|rnn_relu)(_cell)?$"),
    "attention": expression(r"scaled_dot_product|flash_attention"),
    "matmul": expression(r"::(_?addmm\w*|mm|bmm|baddbmm|addmv|mv|dot|matmul|linear|\w*_linear\w*)$"),
    "random": expression(r"::(normal_?|uniform_?|random_?|randn?|randint|randperm|exponential_)$"),
    "reading": expression(r"::(item|_local_scalar_dense|is_nonzero)$"),
}
#: The op with which Adam and Adagrad write each parameter if they are not fused.
_WRITES = "aten::addcdiv_"
_FUSED = expression(r"_fused_\w+_")
#: The names that all ops of an update have if it also takes sparse gradients, by optimizer. SGD with momentum adds the
#: indices of each step to those before, so each step takes longer. Weight decay, which uses `add`, and fused forms
#: refuse sparse gradients, and so do all other optimizers for dense ones.
_SPARSE_UPDATES = {
    "SGD": expression(r"aten::(_foreach_)?add_$"),
    "Adagrad": expression(r"(?!aten::(_foreach_)?add$|.*_fused_)"),
}
#: Layers that torch.compile does not compile. Some run as one op of a library, others as ops for each time step.
_RECURRENT_LAYER = expression(r"aten::(lstm|gru|rnn_tanh|rnn_relu)$")
#: Maximum number of ops in the table. The time of the rest is one number.
OP_ROWS = 30
#: Number of ops of a kind with the most self time. The one that usually takes longest is sought among these.
LONGEST = 8
#: Maximum length of the Python that calls the next op. It takes some us, and up to 20 with modules and their hooks.
#: Code that takes longer does something of its own, or waits.
SHORT_GAP_NS = 20_000
#: Maximum length of the Python between two ops of an update. A longer gap is a pause, or a user's hook.
LONG_GAP_NS = 1_000_000


class CpuOpRow(msgspec.Struct, frozen=True):
    """An op on the CPU; means per step.

    self_ns           its time without that of ops inside it and without one-time work, summed over the threads
    usual_ns          its time in a step in which each call takes its lower median time, which is not affected by one
                      interruption; no more than self_ns
    dtype             type of the first input in most of that time, in torch's words; None if not recorded
    allocated_bytes   bytes that it allocates on the CPU, without the ops inside it, whether or not they are freed; None
                      if memory was not recorded
    """

    op: str
    calls: float
    self_ns: int
    usual_ns: int
    dtype: str | None
    allocated_bytes: float | None = None


class CpuGroup(msgspec.Struct, frozen=True):
    """Ops of one kind, in the mean step.

    usual_ns     their time in a step in which each op takes its lower median time; no more than self_ns
    op, op_ns    the op with most of that time, and its time
    calls        number of calls
    dimensions   number of dimensions along which filters of convolutions, or windows of pooling, move for most of the
                 time, 2 for images; None if not recorded, and for other kinds
    """

    id: CpuGroupId
    self_ns: int
    usual_ns: int
    op: str
    op_ns: int
    calls: float
    dimensions: int | None = None


class CpuOptimizer(msgspec.Struct, frozen=True):
    """The work inside the optimizer's marks, in the mean step.

    name         class of the optimizer in the marks
    usual_ns     its time in a step in which each op takes its lower median time, which is not affected by other
                 processes that take the core; without making its state, as any form does in its first step
    pass_ns      the part of usual_ns in the op that writes the parameters, which passes once over them and their states
    between_ns   time of Python between the ops of an update, by the lower median over the steps, without long gaps
    fused        whether one op does the whole update of a parameter
    sparse       whether the update also takes sparse gradients
    """

    name: str
    self_ns: int
    usual_ns: int
    pass_ns: int
    between_ns: int
    calls: float
    fused: bool
    sparse: bool = False


class CpuWork(msgspec.Struct, frozen=True):
    """What a CPU job computes, in the mean step.

    ops               the ops with the most time, longest first
    ops_ns            self time of all ops together
    groups            all ops except the optimizer's, by kind
    optimizer         None if the optimizer has no marks
    step_ns           the mean step without one-time work
    busy_ns           the part of step_ns in which any op runs
    threads           number of threads that run ops
    cores             number of cores of the machine; None if no recorder states it
    recurrent_share   share of recurrent layers in the self time of the forward pass's ops of the kind "other"
    table_fill_ns     time to fill gradients of embeddings with zeros, in a step in which each op takes its
                      lower median time; without tables that get a dense gradient from elsewhere, too
    table_saved_ns    the part of it that sparse gradients save, with that of the optimizer's ops on these gradients and
                      of freeing them in `zero_grad`; None if shapes were not recorded
    slow_half         None if no product has 16 bits, if the CPU computes them fast, or if shapes were not recorded
    short_gaps_ns     time in which no op runs, in gaps of at most SHORT_GAP_NS between ops; without one-time work,
                      waits for batches and the optimizer
    autocast          whether autocast casts the inputs of most layers to 16 bits
    first_pass        whether the process makes its first node of autograd in the recording, so that it has run no pass
                      before it that makes any
    channels_last     whether oneDNN's convolutions spend most of their time on images whose channels come last; None if
                      there are none
    """

    ops: list[CpuOpRow]
    groups: list[CpuGroup]
    optimizer: CpuOptimizer | None
    ops_ns: int
    busy_ns: int
    step_ns: int
    threads: int
    cores: int | None
    recurrent_share: float = 0.0
    table_fill_ns: int = 0
    table_saved_ns: int | None = None
    slow_half: SlowHalf | None = None
    short_gaps_ns: int = 0
    channels_last: bool | None = None
    autocast: bool = False
    first_pass: bool = False

    @property
    def usual_ns(self) -> int:
        """The time of all ops if none is interrupted."""
        return sum(group.usual_ns for group in self.groups) + (self.optimizer.usual_ns if self.optimizer else 0)

    def lasting_ns(self, row: CpuOpRow | CpuGroup) -> int:
        """Returns the time of ops in the mean step, scaled by their share of a step in which no op is interrupted. That
        step consists of the usual time of all ops and the time outside of ops. The result is at most their own mean,
        which the tables show."""
        undisturbed_ns = self.usual_ns + self.step_ns - self.busy_ns
        return min(row.self_ns, row.usual_ns * self.step_ns // max(undisturbed_ns, 1))


def cpu_work(trace: Trace, left_out: Intervals, waiting: Int64) -> CpuWork:
    """Measures the ops that begin within the steps, except waits for batches and collectives. left_out: intervals of
    one-time work, which are no op's time; an op that begins in one is not counted. waiting: rows of ops whose self time
    is a wait (`holding_ops`)."""
    rows, own_ns = _of_steps(trace, waiting, left_out)
    start = trace.events.start_ns[rows]
    judged = left_out.overlap_ns(start, start + 1) == 0
    rows, own_ns = rows[judged], own_ns[judged]
    every, steps = find_steps(trace), len(find_steps(trace).steps)
    updates = SITE_PHASE[site_of(trace, rows)] == PHASES.index("optimizer")
    running = Intervals.of_events(trace.events, rows) - left_out
    records, tables = trace.loader_records, table_times(trace, rows, own_ns, updates)
    return CpuWork(
        ops=_op_rows(trace, rows, own_ns),
        groups=_groups(trace, rows[~updates], own_ns[~updates]),
        optimizer=_optimizer(trace, rows[updates], own_ns[updates], left_out),
        ops_ns=int(own_ns.sum()) // steps,
        busy_ns=int(every.overlap_ns(running).sum()) // steps,
        step_ns=int((every.duration_ns - every.overlap_ns(left_out)).sum()) // steps,
        threads=len(distinct_in(trace.events.thread[rows])),
        cores=records.cores if records else None,
        recurrent_share=_recurrent_share(trace, rows, own_ns),
        table_fill_ns=tables.fill_ns,
        table_saved_ns=tables.saved_ns,
        slow_half=slow_half(trace, rows, own_ns),
        short_gaps_ns=_short_gaps_ns(trace, left_out) // steps,
        channels_last=channels_last(trace, rows),
        autocast=_autocast_is_on(trace),
        first_pass=has_first_node(trace),
    )


def _op_rows(trace: Trace, rows: Int64, own_ns: Int64) -> list[CpuOpRow]:
    """Returns the ops with the most time, longest first."""
    steps, names = len(find_steps(trace).steps), trace.events.name[rows]
    total = np.bincount(names, weights=own_ns, minlength=len(trace.strings))
    number = np.bincount(names, minlength=len(trace.strings))
    most = [name for name in np.argsort(-total, kind="stable")[:OP_ROWS].tolist() if total[name] > 0]
    dtypes = _dtypes(trace, rows, own_ns, most)
    allocated = _allocated_bytes(trace, rows)
    usual = _usual_by_name(trace, rows, own_ns, most)
    return [
        CpuOpRow(
            trace.strings[name],
            int(number[name]) / steps,
            int(total[name]) // steps,
            usual[name],
            dtypes.get(name),
            None if allocated is None else int(allocated[name]) / steps,
        )
        for name in most
    ]


def _autocast_is_on(trace: Trace) -> bool:
    """Returns whether autocast casts the inputs of most layers, which is visible without types, too. Below its casts it
    calls the op once more (`WrapFunction_` in aten/src/ATen/autocast_mode.h). There is no cast if all inputs have 16
    bits.

    op    |------ linear ------|  relu  |--- linear ---|
    op     |-to-| |-- linear --|         |-- linear --|
    """
    calls = rows_named(trace, (Kind.CPU_OP,), _LAYER_OR_CAST.match)
    names, layer = trace.events.name[calls], are_named(trace, calls, _CAST_LAYER.match)
    parent = parent_places(trace, calls)
    below = (parent >= 0) & layer[parent]
    again = below & layer & (names == names[parent])
    cast = distinct_in(parent[below & ~layer])
    return bool(is_in(parent[again], cast).any()) and 2 * int(again.sum()) > int((layer & ~below).sum())


def _recurrent_share(trace: Trace, rows: Int64, own_ns: Int64) -> float:
    layers = rows_named(trace, (Kind.CPU_OP,), _RECURRENT_LAYER.match)
    if not len(layers):
        return 0.0
    forward = are_named(trace, rows, lambda name: group_of(name) == "other") & ~in_nodes(trace, rows)
    inside = innermost(trace, layers, rows[forward]) >= 0
    return float(own_ns[forward][inside].sum() / max(int(own_ns[forward].sum()), 1))


def _of_steps(trace: Trace, waiting: Int64, left_out: Intervals) -> tuple[Int64, Int64]:
    """Returns the rows of the ops that begin within the steps and do not wait, by thread, and the self time of each, as
    far as it is not left out."""
    events = trace.events
    excluded = loader_names(trace) | collective_names(trace)
    rows = np.flatnonzero((events.kind == Kind.CPU_OP) & ~excluded[events.name])
    rows = rows[np.argsort(events.thread[rows], kind="stable")]
    own_ns = self_times(trace, rows, left_out)
    inside = (find_steps(trace).holding(events.start_ns[rows]) >= 0) & ~is_in(rows, waiting)
    return rows[inside], own_ns[inside]


def _allocated_bytes(trace: Trace, rows: Int64) -> Int64 | None:
    """Returns the bytes that these ops allocate on the CPU, by name; None if memory was not recorded."""
    place = next((device for device in memory_devices(trace) if device.type == CPU), None)
    if place is None:
        return None
    op_memory = op_bytes(trace, place)
    counted = np.searchsorted(op_memory.op, rows)
    return exact_sums(trace.events.name[rows], op_memory.allocated[counted], len(trace.strings))


def _groups(trace: Trace, rows: Int64, own_ns: Int64) -> list[CpuGroup]:
    """Returns the groups that take any time, most time first."""
    kinds: list[CpuGroupId] = [*_GROUPS, "other"]
    kind_of = np.array([kinds.index(group_of(name)) for name in trace.strings.strings], np.int64)
    kind = kind_of[trace.events.name[rows]]
    places = distinct_in(kind).tolist()
    timed = [place for place in places if own_ns[kind == place].any()]  # a damaged file may have ops without a length
    groups = [_group(trace, kinds[each], rows[kind == each], own_ns[kind == each]) for each in timed]
    return sorted((group for group in groups if group.self_ns), key=lambda group: -group.self_ns)


def _group(trace: Trace, id: CpuGroupId, rows: Int64, own_ns: Int64) -> CpuGroup:
    steps = find_steps(trace)
    total = np.bincount(trace.events.name[rows], weights=own_ns)
    usual = _usual_by_name(trace, rows, own_ns, np.argsort(-total, kind="stable")[:LONGEST].tolist())
    longest, number = max(usual, key=lambda name: usual[name]), len(steps.steps)
    return CpuGroup(
        id,
        int(own_ns.sum()) // number,
        usual_ns(steps.start_ns, trace.events.start_ns[rows], own_ns),
        trace.strings[longest],
        usual[longest],
        len(rows) / number,
        DIMENSIONS[id](trace, rows) if id in DIMENSIONS else None,
    )


def group_of(op: str) -> CpuGroupId:
    """Returns the kind of an op.


    >>> group_of("aten::mkldnn_convolution"), group_of("aten::addmm"), group_of("aten::mul")
    ('convolution', 'matmul', 'other')
    >>> group_of("aten::max_pool2d_with_indices_backward")
    'pooling'
    >>> group_of("aten::_index_put_impl_"), group_of("aten::bernoulli_"), group_of("aten::mkldnn_rnn_layer_backward")
    ('unfused', 'other', 'recurrent')
    """
    return next((group for group, pattern in _GROUPS.items() if pattern.search(op)), "other")


#: The op with which torch's optimizers create the running averages of each gradient.
_MAKES_STATE = expression(r"aten::zeros_like$")


def _optimizer(trace: Trace, rows: Int64, own_ns: Int64, left_out: Intervals) -> CpuOptimizer | None:
    if not len(rows):
        return None
    names, windows = trace.events.name[rows], find_steps(trace)
    steps = len(windows.steps)
    different = distinct_in(names).tolist()
    writes = [each for each in different if trace.strings[each] == _WRITES]
    name = optimizer_class(trace) or ""
    takes = _SPARSE_UPDATES.get(name)
    start = trace.events.start_ns[rows]
    states = Intervals.of_events(trace.events, rows[are_named(trace, rows, _MAKES_STATE.match)])
    updates = states.overlap_ns(start, start + 1) == 0
    return CpuOptimizer(
        name,
        int(own_ns.sum()) // steps,
        usual_ns(windows.start_ns, start[updates], own_ns[updates]),
        sum(_usual_by_name(trace, rows, own_ns, writes).values()),
        _between_ns(trace, rows, left_out),
        len(names) / steps,
        any(_FUSED.search(trace.strings[each]) for each in different),
        takes is not None and all(takes.match(trace.strings[each]) for each in different),
    )


def _between_ns(trace: Trace, rows: Int64, left_out: Intervals) -> int:
    """Returns the usual time between the ops of an update per step, without long gaps and without what is before the
    first op and after the last one."""
    events, steps = trace.events, find_steps(trace)
    between_ns = np.zeros(len(steps.steps), np.int64)
    for thread in distinct_in(events.thread[rows]).tolist():
        ops = rows[events.thread[rows] == thread]
        update = host_courses(trace)[thread].when("optimizer")
        gaps = update - Intervals.of_events(events, ops)
        between = ~is_in(gaps.start, update.start) & ~is_in(gaps.end, update.end)
        short = between & (gaps.end - gaps.start <= LONG_GAP_NS)
        between_ns += steps.overlap_ns(Intervals(gaps.start[short], gaps.end[short]) - left_out)
    updated = np.sort(between_ns[distinct_in(steps.begun_at(events.start_ns[rows]))])
    return int(updated[(len(updated) - 1) // 2]) * len(updated) // len(between_ns)


def _short_gaps_ns(trace: Trace, left_out: Intervals) -> int:
    """Returns the time between successive ops of any thread that follow each other closely, summed over the steps."""
    busy = Intervals.of_events(trace.events, trace.events.rows(Kind.CPU_OP))
    start, end = busy.end[:-1], busy.start[1:]
    short = end - start <= SHORT_GAP_NS
    excluded = Intervals.joined([in_optimizer(trace), loader_intervals(trace), left_out])
    return int(find_steps(trace).overlap_ns(Intervals(start[short], end[short]) - excluded).sum())


def _usual_by_name(trace: Trace, rows: Int64, own_ns: Int64, names: list[int]) -> dict[int, int]:
    """Returns the usual time of the ops of each of these names."""
    events, steps = trace.events, find_steps(trace).start_ns
    chosen = {name: np.flatnonzero(events.name[rows] == name) for name in names}
    return {name: usual_ns(steps, events.start_ns[rows[at]], own_ns[at]) for name, at in chosen.items() if len(at)}


def _dtypes(trace: Trace, rows: Int64, own_ns: Int64, names: list[int]) -> dict[int, str]:
    """Returns by name the type of the first input with most of the op's time. Ops without recorded inputs are left
    out."""
    column = trace.events.dtypes
    if column is None:
        return {}
    dtypes: dict[int, str] = {}
    for name in names:
        of_name = (trace.events.name[rows] == name) & (column[rows] >= 0)
        if of_name.any():
            by_types = np.bincount(column[rows[of_name]], weights=own_ns[of_name])
            first = _first_type(trace.inputs[int(by_types.argmax())])
            dtypes |= {name: first} if first else {}
    return dtypes


def _first_type(inputs: str) -> str | None:
    """Returns the type of the first input; None if there is none.


    >>> _first_type('["float","Scalar"]'), _first_type("[]")
    ('float', None)
    """
    listed = msgspec.json.decode(inputs)
    return str(listed[0]) if isinstance(listed, list) and listed and listed[0] else None
