"""The effect of other optimizers, of sharding and of host memory, by parameters, gradients and optimizer state.

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
from typing import NamedTuple

import numpy as np

from tb_steptime.metrics.memory.allocations import sizes, steps_at
from tb_steptime.metrics.memory.categories import CATEGORIES, CategoryId, categories
from tb_steptime.metrics.memory.devices import CPU, Place
from tb_steptime.metrics.memory.fit.fit import Steady, bytes_alive
from tb_steptime.metrics.memory.fit.growing import PeakLine, highest_lines, parameter_shapes
from tb_steptime.text import Reason
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.table import Int64, Kind, distinct_in, is_in

#: Margin in both directions: temporaries of the new optimizer and of collectives are not recorded.
CATEGORY_MARGIN = 0.10
NO_TIME = Reason("memory_fit_no_time")
NO_STATE = Reason("memory_fit_needs_state")

_STEP = expression(r"^Optimizer\.step#(\w+)\.step$")
_RANKS = (2, 8)
_BYTES = 4
#: Adam keeps two moments of each gradient.
_OF_ADAM = 2
#: Number of layers whose parameters or gradients are unsharded at a time.
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


class CopiedBytes(NamedTuple):
    """Bytes that each step copies. added: the copies lengthen the step by their own time, because the GPU does nothing
    else meanwhile; otherwise work of the CPU that is not recorded adds to it."""

    to_host: int
    to_device: int
    added: bool = False


class Other(NamedTuple):
    """Another setting.

    label    its name
    code     how to set it; None if the lines are unknown
    lines    the peak at any batch, or why it is not known
    copied   what the setting copies in each step; None if nothing
    """

    label: str
    code: str | None
    lines: list[PeakLine] | Reason
    copied: CopiedBytes | None = None


class States(NamedTuple):
    """The optimizer's state. parameters: bytes of the parameters; copies: the recorded state / bytes of the
    parameters."""

    optimizer: str
    parameters: int
    copies: int


def other_settings(trace: Trace, place: Place, of: Steady, units: int) -> list[Other]:
    """Other optimizers, and FSDP, with the memory that each takes. units: number of parts of about equal size in which
    FSDP gathers the layers."""
    states = recorded_states(trace, place)
    if isinstance(states, Reason):
        return [Other("Other optimizers, and FSDP", None, states)]
    found = [
        Other(label, code, _with_state(trace, place, of, states, copies))
        for label, code, optimizers, copies in (
            ("SGD", _SGD.format(momentum=""), ("SGD",), 0),
            ("SGD with momentum", _SGD.format(momentum=", momentum=0.9"), ("SGD",), 1),
            ("AdamW", _ADAMW, ("Adam", "AdamW"), _OF_ADAM),
        )
        if states.optimizer not in optimizers or states.copies != copies
    ]
    if place.type == CPU:
        return found
    if states.copies:
        code = _OFFLOAD.format(optimizer=states.optimizer)
        copied = CopiedBytes(to_host=states.parameters, to_device=states.parameters)
        found.append(Other("Optimizer state on the CPU", code, _with_state(trace, place, of, states, 0), copied))
    for ranks in _RANKS:
        lines = _sharded(trace, place, of, states, ranks, units)
        found.append(Other(f"FSDP over {ranks} GPUs", _FSDP.format(ranks=ranks, policy="", given=""), lines))
    for ranks in (1, *_RANKS):
        lines = _sharded(trace, place, of, states, ranks, units, kept=0)
        shard = states.parameters // ranks
        code = _FSDP.format(ranks=ranks, policy="CPUOffloadPolicy, ", given=", offload_policy=CPUOffloadPolicy()")
        label = f"FSDP over {ranks} GPU{'s' if ranks > 1 else ''}, parameters on the CPU"
        # The layers are gathered for the forward and again for the backward pass.
        found.append(Other(label, code, lines, CopiedBytes(to_host=shard, to_device=2 * shard)))
    return found


def recorded_states(trace: Trace, place: Place) -> States | Reason:
    """The recorded states. A GPU's total includes everything; the CPU's only what was allocated while recording."""
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
    """Number of copies by the optimizer's name; for SGD by whether it multiplies a buffer by the momentum. None:
    unknown."""
    if optimizer in ("Adam", "AdamW", "NAdam", "RAdam"):
        return _OF_ADAM
    if optimizer != "SGD":
        return None
    ops = {trace.strings[name] for name in distinct_in(trace.events.name[trace.events.rows(Kind.CPU_OP)]).tolist()}
    if any("_fused_sgd" in op for op in ops):
        return None
    return 1 if ops & {"aten::_foreach_mul_", "aten::mul_"} else 0


def _bytes_of(trace: Trace, place: Place, category: CategoryId) -> Int64:
    """Bytes of live allocations of a category after each event of the device."""
    return bytes_alive(trace, place, np.where(categories(trace) == CATEGORIES.index(category), sizes(trace), 0))


def _with_state(trace: Trace, place: Place, of: Steady, states: States, copies: int) -> list[PeakLine]:
    """Lines without the temporaries of the recorded optimizer. AdamW temporarily takes another copy of all parameters
    on a GPU, and two copies of the largest one on the CPU."""
    steps = _optimizer_steps(trace)
    constant = of.curve.allocated - of.grown + (copies - states.copies) * states.parameters
    first, past = (
        np.searchsorted(of.curve.ts, edge) for edge in (trace.events.start_ns[steps], trace.events.ends(steps))
    )
    inside = np.zeros(len(constant) + 1, np.int64)
    np.add.at(inside, first, 1)
    np.add.at(inside, past, -1)
    outside = of.within & (np.cumsum(inside[:-1]) == 0)
    begins = first[(first > 0) & is_in(steps_at(trace, trace.events.start_ns[steps]), of.steps)] - 1
    taken = 0
    if copies == _OF_ADAM:
        largest = max(math.prod(shape) for shape in parameter_shapes(trace)) * _BYTES
        taken = 2 * largest if place.type == CPU else states.parameters
    high = np.concatenate((constant[outside], constant[begins] + taken))
    return highest_lines(high, np.concatenate((of.grown[outside], of.grown[begins])), of.batch)


def _optimizer_steps(trace: Trace) -> Int64:
    """Rows of the ranges in which an optimizer steps, in time order."""
    return rows_named(trace, (Kind.USER,), _STEP.match)


def _sharded(
    trace: Trace, place: Place, of: Steady, states: States, ranks: int, units: int, kept: int = 1
) -> list[PeakLine]:
    """Lines with shards: one layer is gathered while it computes, the next one arrives meanwhile, and the gradients of
    one are not reduced yet. kept: 0 where the CPU has the shards, else 1."""
    gradients = _bytes_of(trace, place, "gradients")
    whole = (1 + states.copies) * states.parameters + gradients
    constant = of.curve.allocated - of.grown - whole + kept * (whole // ranks)
    constant += states.parameters * min(_GATHERED, units) // units
    return highest_lines(constant[of.within], of.grown[of.within], of.batch)
