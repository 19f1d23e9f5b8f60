"""How other optimizers, sharding and host memory change parameters, gradients and optimizer state.

                    parameters    gradients    optimizer state    activations
AdamW                        1            1                  2         as recorded
SGD with momentum            1            1                  1         as recorded
FSDP over N                1/N          1/N                1/N         as recorded, plus the layers gathered at a time
state on the CPU             1            1                  -         as recorded
FSDP, parameters on the CPU  -            -                  -         as recorded, plus these layers

Parameters are counted by the shapes of their gradients, so frozen ones are not included.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import way
from tb_steptime.metrics.memory.allocations import PHASE, allocations, are_on, births, ends_ns, sizes, steps_at
from tb_steptime.metrics.memory.categories import CATEGORIES, CategoryId, categories
from tb_steptime.metrics.memory.curves import CPU, Place
from tb_steptime.metrics.memory.fit.checkpoints import (
    NO_MODULES,
    checkpoints,
    module_calls,
    saved_for,
)
from tb_steptime.metrics.memory.fit.fit import (
    PeakLine,
    SteadySteps,
    Tensor,
    bytes_alive,
    growing_sizes,
    highest_lines,
    parameter_shapes,
    peak_at,
    tensors_of,
)
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.intervals import NEVER
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.table import Int64, Kind, distinct, distinct_in, is_in

#: Margin in both directions. Temporaries of the new optimizer and of collectives are not recorded.
CATEGORY_MARGIN = 0.10
NO_TIME = Reason("memory_fit_no_time")
NO_STATE = Reason("memory_fit_needs_state")

_STEP = expression(r"^Optimizer\.step#(\w+)\.step$")
_RANKS = (2, 8)
_BYTES = 4
#: Adam keeps two moments of each gradient.
_OF_ADAM = 2
#: Maximum number of layers whose parameters or gradients are unsharded at a time.
_GATHERED = 3

_SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate{momentum})"
_ADAMW = "optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)"
_OFFLOAD = """\
from torchao.optim import CPUOffloadOptimizer

optimizer = CPUOffloadOptimizer(model.parameters(), torch.optim.{optimizer}, fused=True)"""
_FSDP = """\
from torch.distributed.fsdp import {policy}fully_shard

for block in model.blocks:  # the repeated layers
    fully_shard(block{given})
fully_shard(model{given})
# torchrun --nproc-per-node {ranks} train.py"""


class CopiedBytes(msgspec.Struct, frozen=True):
    """The bytes that each step copies. added: whether the copies lengthen the step by their own time, because the GPU
    does nothing else meanwhile. Otherwise unrecorded work of the CPU adds to it."""

    to_host: int
    to_device: int
    added: bool = False


class OtherSetting(msgspec.Struct, frozen=True):
    """A setting other than the recorded one.

    label    its name
    code     how to set it; None if the lines are unknown
    lines    the peak at any batch, or why it is not known
    copied   what the setting copies in each step; None if nothing
    """

    label: str
    code: str | None
    lines: list[PeakLine] | Reason
    copied: CopiedBytes | None = None


class States(msgspec.Struct, frozen=True):
    """The optimizer's state. parameters: bytes of the parameters. copies: bytes of the state / bytes of the
    parameters."""

    optimizer: str
    parameters: int
    copies: int


def other_settings(trace: Trace, place: Place, steady: SteadySteps, units: int) -> list[OtherSetting]:
    """Returns other optimizers, and FSDP, with the memory that each takes. units: number of parts of about equal size
    in which FSDP gathers the layers."""
    states = recorded_states(trace, place)
    if isinstance(states, Reason):
        return [OtherSetting("Other optimizers, and FSDP", None, states)]
    result = [
        OtherSetting(label, code, _with_state(trace, place, steady, states, copies))
        for label, code, optimizers, copies in (
            ("SGD", _SGD.format(momentum=""), ("SGD",), 0),
            ("SGD with momentum", _SGD.format(momentum=", momentum=0.9"), ("SGD",), 1),
            ("AdamW", _ADAMW, ("Adam", "AdamW"), _OF_ADAM),
        )
        if states.optimizer not in optimizers or states.copies != copies
    ]
    if place.type == CPU:
        return result
    if states.copies:
        code = _OFFLOAD.format(optimizer=states.optimizer)
        copied = CopiedBytes(to_host=states.parameters, to_device=states.parameters)
        result.append(
            OtherSetting("Optimizer state on the CPU", code, _with_state(trace, place, steady, states, 0), copied)
        )
    for ranks in _RANKS:
        lines = _sharded(trace, place, steady, states, ranks, units)
        result.append(OtherSetting(f"FSDP over {ranks} GPUs", _FSDP.format(ranks=ranks, policy="", given=""), lines))
    for ranks in (1, *_RANKS):
        lines = _sharded(trace, place, steady, states, ranks, units, kept=0)
        shard = states.parameters // ranks
        code = _FSDP.format(ranks=ranks, policy="CPUOffloadPolicy, ", given=", offload_policy=CPUOffloadPolicy()")
        label = f"FSDP over {ranks} GPU{'s' if ranks > 1 else ''}, parameters on the CPU"
        # The layers are gathered for the forward and again for the backward pass.
        result.append(OtherSetting(label, code, lines, CopiedBytes(to_host=shard, to_device=2 * shard)))
    return result


def recorded_states(trace: Trace, place: Place) -> States | Reason:
    """Returns the recorded states; the reason if they are not known. A GPU's total includes everything, the CPU's only
    what was allocated while recording."""
    steps = distinct_in(trace.events.name[_optimizer_steps(trace)]).tolist()
    optimizers = {_STEP.sub(r"\1", trace.strings[name]) for name in steps}
    parameters = sum(math.prod(shape) * count for shape, count in parameter_shapes(trace).items()) * _BYTES
    if len(optimizers) != 1 or not parameters:
        return NO_STATE
    (optimizer,) = optimizers
    copies = _copies(trace, optimizer)
    if copies is None:
        return NO_STATE
    seen = _bytes_of(trace, place, "optimizer_state")
    if place.type == CPU and copies and seen.max(initial=0) < copies * parameters:
        return NO_STATE
    return States(optimizer, parameters, copies)


def _copies(trace: Trace, optimizer: str) -> int | None:
    """Returns the number of copies by the optimizer's name, and for SGD by whether it multiplies a buffer by the
    momentum; None if it is unknown."""
    if optimizer in ("Adam", "AdamW", "NAdam", "RAdam"):
        return _OF_ADAM
    if optimizer != "SGD":
        return None
    ops = {trace.strings[name] for name in distinct_in(trace.events.name[trace.events.rows(Kind.CPU_OP)]).tolist()}
    if any("_fused_sgd" in op for op in ops):
        return None
    return 1 if ops & {"aten::_foreach_mul_", "aten::mul_"} else 0


def _bytes_of(trace: Trace, place: Place, category: CategoryId) -> Int64:
    """Returns the bytes of live allocations of a category after each event of the device."""
    return bytes_alive(trace, place, np.where(categories(trace) == CATEGORIES.index(category), sizes(trace), 0))


def _with_state(trace: Trace, place: Place, steady: SteadySteps, states: States, copies: int) -> list[PeakLine]:
    """Returns the lines without the temporaries of the recorded optimizer. AdamW temporarily takes another copy of all
    parameters on a GPU, and two copies of the largest one on the CPU."""
    steps = _optimizer_steps(trace)
    constant = steady.curve.allocated - steady.grown + (copies - states.copies) * states.parameters
    first, end = (
        np.searchsorted(steady.curve.ts, edge) for edge in (trace.events.start_ns[steps], trace.events.ends(steps))
    )
    inside = np.zeros(len(constant) + 1, np.int64)
    np.add.at(inside, first, 1)
    np.add.at(inside, end, -1)
    outside = steady.within & (np.cumsum(inside[:-1]) == 0)
    begins = first[(first > 0) & is_in(steps_at(trace, trace.events.start_ns[steps]), steady.steps)] - 1
    taken = 0
    if copies == _OF_ADAM:
        largest = max(math.prod(shape) for shape in parameter_shapes(trace)) * _BYTES
        taken = 2 * largest if place.type == CPU else states.parameters
    high = np.concatenate((constant[outside], constant[begins] + taken))
    return highest_lines(high, np.concatenate((steady.grown[outside], steady.grown[begins])), steady.batch)


def _optimizer_steps(trace: Trace) -> Int64:
    """Returns the rows of the ranges in which an optimizer steps, in time order."""
    return rows_named(trace, (Kind.USER,), _STEP.match)


def _sharded(
    trace: Trace, place: Place, steady: SteadySteps, states: States, ranks: int, units: int, kept: int = 1
) -> list[PeakLine]:
    """Returns the lines with shards. One layer is gathered while it computes, the next one arrives meanwhile, and the
    gradients of one are not reduced yet. kept: 0 if the CPU has the shards, otherwise 1."""
    gradients = _bytes_of(trace, place, "gradients")
    whole = (1 + states.copies) * states.parameters + gradients
    constant = steady.curve.allocated - steady.grown - whole + kept * (whole // ranks)
    constant += states.parameters * min(_GATHERED, units) // units
    return highest_lines(constant[steady.within], steady.grown[steady.within], steady.batch)


# A GPU needs less memory if the host keeps tensors, but each step copies these.
#
# setting                       leaves the GPU                              copied per step
# activations on the CPU        what the forward pass saves                 each saved tensor out, and back for its node
# optimizer state on the CPU    the state                                   gradients out, parameters back
# FSDP with offload             shards of parameters, gradients and state   parameters back twice, gradients out
#
# An activation leaves when the call of its module ends, and returns for the node that frees it and for the one before:
#
#     host        |--- Block_0 ---|--- Block_1 ---|-- loss --|-- node --|-- node --|-- node --|
#     recorded       +a...............................................................-a
#     on the CPU     +a          -a                                     +a            -a

NO_COPIES = Reason("memory_fit_no_copies")
#: Minimum bytes of a copy. Smaller ones take as long as their call, which says nothing about the link.
_LEAST_BYTES = 1_000_000
_PINNED = "Pinned"

_SAVE_ON_CPU = """\
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    loss = criterion(model(inputs), targets)
loss.backward()"""


class CopyRates(msgspec.Struct, frozen=True):
    """Bytes per second of the recorded copies between host and GPU of 1 MB or more; of those with pinned memory, if
    there are any. A direction without such copies has the rate of the other one."""

    to_device: float
    to_host: float
    pinned: bool

    def ns(self, copied: CopiedBytes) -> int:
        return round(1e9 * (copied.to_device / self.to_device + copied.to_host / self.to_host))


def copy_rates(trace: Trace, place: Place) -> CopyRates | None:
    """Returns the rates of the recorded copies; None if no copy is large enough, or their sizes were not recorded."""
    events = trace.events
    if events.bytes is None:
        return None
    rows = rows_named(trace, (Kind.MEMCPY,), lambda name: way(name).direction in ("HtoD", "DtoH"))
    rows = rows[(events.device[rows] == place.device) & (events.bytes[rows] >= _LEAST_BYTES)]
    rows = rows[events.dur_ns[rows] > 0]
    directions = [way(trace.strings[name]) for name in events.name[rows].tolist()]
    pinned = np.array([_PINNED in (each.source, each.target) for each in directions], bool)
    to_device = np.array([each.direction == "HtoD" for each in directions], bool)
    chosen = pinned if pinned.any() else ~pinned
    rates = [
        float(1e9 * events.bytes[copies].sum() / events.dur_ns[copies].sum())
        for copies in (rows[chosen & to_device], rows[chosen & ~to_device])
        if len(copies)
    ]
    return CopyRates(rates[0], rates[-1], bool(pinned.any())) if rates else None


def activations_on_cpu(trace: Trace, place: Place, steady: SteadySteps) -> OtherSetting:
    """Returns the setting that keeps activations on the CPU, without its time. It has a reason instead of lines if no
    module shows when an activation is no longer used."""
    label, modules = "Activations on the CPU", checkpoints(trace, place)
    if isinstance(modules, Reason):
        return OtherSetting(label, None, modules)
    if not modules:
        return OtherSetting(label, None, NO_MODULES)
    lowest = min(modules, key=lambda each: peak_at(each.lines, steady.batch))
    calls = module_calls(trace, steady)[lowest.module]
    absent, leaves, back = _absences(trace, place, steady, calls.start, calls.end, calls.thread)
    size = sizes(trace)
    whole, grown = (
        level - _bytes_between(leaves, back, part[absent], steady.curve.ts)
        for level, part in ((steady.curve.allocated, size), (steady.grown, growing_sizes(trace, steady.batch)))
    )
    lines = highest_lines((whole - grown)[steady.within], grown[steady.within], steady.batch)
    left = round(int(size[absent].sum()) / len(steady.steps))
    saved = max(left, _saved_bytes(trace, steady, absent))  # what leaves is copied, whichever op saves it
    return OtherSetting(label, _SAVE_ON_CPU, lines, CopiedBytes(saved, saved, added=True))


def _absences(
    trace: Trace, place: Place, steady: SteadySteps, start: Int64, end: Int64, threads: Int64
) -> tuple[Int64, Int64, Int64]:
    """Returns the saved ones of `allocations`, and when each leaves the GPU and when it returns, ns. Those made outside
    of the modules' calls leave when the backward pass begins."""
    lives = allocations(trace)
    table = trace.memory
    died = ends_ns(trace)
    events = trace.events
    node = backward_nodes(trace).event.astype(np.int64)
    node_start = events.start_ns[node]
    node_step = steps_at(trace, events.start_ns[node])
    start_ns, thread = table.ts[lives.born], table.thread[lives.born]
    step = steps_at(trace, start_ns)
    first, last = (np.full(max(steady.steps) + 1, NEVER, np.int64) for _ in range(2))
    for number in steady.steps:
        in_step = node[node_step == number]
        if len(in_step):
            first[number], last[number] = events.start_ns[in_step].min(), events.ends(in_step).max()
    is_steady = is_in(step, steady.steps)
    inside = np.where(is_steady, step, steady.steps[0])
    saved = are_on(trace, place) & is_steady
    saved &= (births(trace).phase != PHASE["backward"]) & (died >= first[inside]) & (died <= last[inside])
    saved &= died != NEVER
    with_bytes = np.flatnonzero(saved)
    call = np.maximum(np.searchsorted(start, start_ns[with_bytes], side="right") - 1, 0)
    within = (
        (start_ns[with_bytes] >= start[call])
        & (start_ns[with_bytes] < end[call])
        & (thread[with_bytes] == threads[call])
    )
    leaves = np.where(within, end[call], first[step[with_bytes]])
    starts = distinct(node_start)
    back = starts[np.maximum(np.searchsorted(starts, died[with_bytes], side="right") - 2, 0)]
    away = back > leaves
    return with_bytes[away], leaves[away], back[away]


def _bytes_between(leaves: Int64, back: Int64, size: Int64, ts: Int64) -> Int64:
    """Returns, at each of these times, the sum of the sizes that are away."""
    at, change = np.concatenate((leaves, back)), np.concatenate((size, -size))
    order = np.argsort(at, kind="stable")
    until: Int64 = np.append(0, np.cumsum(change[order]))
    return until[np.searchsorted(at[order], ts, side="right")]


def _saved_bytes(trace: Trace, steady: SteadySteps, absent: Int64) -> int:
    """Returns the bytes that the ops of a steady step save, as a mean. A tensor, also a weight, counts for each op that
    saves it, because it is copied for each."""
    nodes, events = backward_nodes(trace), trace.events
    has_forward = nodes.forward >= 0
    ops, first = np.unique(nodes.forward[has_forward].astype(np.int64), return_index=True)
    names = events.name[nodes.event[has_forward][first]]
    is_steady = is_in(steps_at(trace, events.start_ns[ops]), steady.steps)
    rows = allocations(trace).born[absent]
    order = np.argsort(trace.memory.ts[rows], kind="stable")
    start_ns = trace.memory.ts[rows][order]
    until = np.append(0, np.cumsum(trace.memory.bytes[rows][order]))
    ops, names = ops[is_steady], names[is_steady]
    own = until[np.searchsorted(start_ns, events.ends(ops))] - until[np.searchsorted(start_ns, events.start_ns[ops])]
    total = sum(
        _saved(trace.strings[name], tensors_of(trace, op), made_in)
        for op, name, made_in in zip(ops.tolist(), names.tolist(), own.tolist(), strict=True)
    )
    return round(total / len(steady.steps))


def _saved(node: str, inputs: list[Tensor], output_bytes: int) -> int:
    """Returns the bytes that an op saves. output_bytes: bytes that it allocated and its node needs.

    >>> x, w, b = Tensor((4, 8), 128, True), Tensor((8, 8), 256, True), Tensor((8,), 32, True)
    >>> _saved("AddmmBackward0", [b, x, w], 0), _saved("ReluBackward0", [x], 128), _saved("AddBackward0", [x, x], 0)
    (384, 128, 0)
    """
    saved = saved_for(node)
    if saved in ("view", "nothing"):
        return 0
    if saved == "lookup":
        return inputs[-1].bytes if inputs else 0
    if saved == "inputs":
        wide = [tensor.bytes for tensor in inputs if len(tensor.shape) > 1]
        return sum(wide or [tensor.bytes for tensor in inputs])
    if saved == "result" and len(inputs) == 1:
        return inputs[0].bytes
    return sum(tensor.bytes for tensor in inputs) + output_bytes
