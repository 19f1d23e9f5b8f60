"""Which phase of the step launched each kernel, told from where its launch stands.

optimizer   inside a range "Optimizer.step#..."
backward    inside a node of the autograd engine, or elsewhere on a thread of its own
forward     everything else that is launched
unknown     the launch is not recorded
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.trace.model import Trace, per_trace
from tb_steptime.trace.ops import innermost, kernel_origins
from tb_steptime.trace.steps import step_marks
from tb_steptime.trace.table import Int64, Kind, UInt8

PHASES = ("forward", "backward", "optimizer", "unknown")
_FORWARD, _BACKWARD, _OPTIMIZER, _UNKNOWN = range(len(PHASES))


class Site(NamedTuple):
    """A place that work is launched from, within a phase. id is stable and public."""

    id: str
    phase: str
    label: str


#: Every place, in the order of a step. The last one is for work whose launch is not recorded.
SITES = (
    Site("data_loading", "data_loading", "Data loading"),
    Site("zero_grad", "zero_grad", "Zero gradients"),
    Site("forward.buffer_broadcast", "forward", "Forward: buffer broadcast"),
    Site("forward.model", "forward", "Forward: model"),
    Site("backward.loss", "backward", "Backward: before the engine"),
    Site("backward.nodes", "backward", "Backward: autograd nodes"),
    Site("backward.gradient_accumulation", "backward", "Backward: gradient accumulation"),
    Site("backward.hooks", "backward", "Backward: hooks"),
    Site("optimizer", "optimizer", "Optimizer"),
    Site("other", "other", "Other"),
    Site("unknown", "unknown", "Launch not recorded"),
)


class RangeRow(msgspec.Struct, frozen=True):
    """A named range of the host (record_function and its like) within the ranges around it; means per step.

    path: the names from the outermost range to this one. host_ns: time in which it is open (union), self_ns: less the
    ranges inside it. device_ns: time in which work launched inside it runs; idle_ns: idle time charged to such work.
    """

    path: list[str]
    phase: str
    count: float
    host_ns: int
    self_ns: int
    device_ns: int
    idle_ns: int
    launches: float


#: Marks of torch.optim and of the autograd engine, whose nodes had no mark but their own names before 2022.
OPTIMIZER_MARK = re.compile(r"Optimizer\.step#")
BACKWARD_MARK = re.compile(
    r"autograd::engine::evaluate_function|(?:torch::autograd::)?(?:\w+Backward\d*|AccumulateGrad)$"
)


@per_trace
def kernel_phases(trace: Trace) -> UInt8:
    """The phase of each row of the kernel table, a place in `PHASES`."""
    origins = kernel_origins(trace)
    anchor = np.where(origins.call >= 0, origins.call, origins.op)
    nodes = _marked(trace, Kind.CPU_OP, BACKWARD_MARK)
    marks = step_marks(trace)  # without steps nobody can tell which thread is the training loop's
    own_threads = np.setdiff1d(trace.events.thread[nodes], trace.events.thread[marks]) if len(marks) else marks
    backward = (innermost(trace, nodes, anchor) >= 0) | np.isin(trace.events.thread[anchor], own_threads)
    result = np.where(backward, _BACKWARD, _FORWARD)
    result = np.where(innermost(trace, optimizer_marks(trace), anchor) >= 0, _OPTIMIZER, result)
    return np.where(anchor >= 0, result, _UNKNOWN).astype(np.uint8)


@per_trace
def optimizer_marks(trace: Trace) -> Int64:
    """Rows of the ranges of optimizer steps, in time order."""
    return _marked(trace, Kind.USER, OPTIMIZER_MARK)


def _marked(trace: Trace, kind: Kind, mark: re.Pattern[str]) -> Int64:
    rows = trace.events.rows(kind)
    names = trace.events.name[rows]
    wanted = [name for name in np.unique(names).tolist() if mark.match(trace.strings[name])]
    return rows[np.isin(names, wanted)]
