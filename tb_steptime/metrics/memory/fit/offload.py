"""How much less memory a GPU needs if the host keeps tensors, and what each step copies for it.

setting                       leaves the GPU                              copied per step
activations on the CPU        what the forward pass saves                 each saved tensor out, and back for its node
optimizer state on the CPU    the state                                   gradients out, parameters back
FSDP with offload             shards of parameters, gradients and state   parameters back twice, gradients out

An activation leaves when the call of its module ends, and is back for the node that frees it and for the one before:

    host        |--- Block_0 ---|--- Block_1 ---|-- loss --|-- node --|-- node --|-- node --|
    recorded       +a...............................................................-a
    on the CPU     +a          -a                                     +a            -a
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.activities import way
from tb_steptime.metrics.memory.allocations import NEVER, PHASE, allocations, are_on, births, ends_ns, sizes, steps_at
from tb_steptime.metrics.memory.devices import Place
from tb_steptime.metrics.memory.fit.checkpoints import (
    NO_MODULES,
    checkpoints,
    is_lookup,
    is_view,
    module_calls,
    saves_inputs_only,
    saves_nothing,
    saves_result,
)
from tb_steptime.metrics.memory.fit.fit import Steady
from tb_steptime.metrics.memory.fit.growing import Tensor, growing_sizes, highest_lines, peak_at, tensors_of
from tb_steptime.metrics.memory.fit.states import CopiedBytes, Other
from tb_steptime.text import Reason
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.table import Int64, Kind, distinct, is_in

NO_COPIES = Reason("memory_fit_no_copies")
#: Smaller copies take as long as their call, which says nothing about the link.
_LEAST_BYTES = 1_000_000
_PINNED = "Pinned"

_SAVE_ON_CPU = """\
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    loss = criterion(model(inputs), targets)
loss.backward()"""


class CopyRates(msgspec.Struct, frozen=True):
    """Bytes per second of the recorded copies between host and GPU of 1 MB or more; from pinned memory, where some are.
    A direction without such copies has the rate of the other one."""

    to_device: float
    to_host: float
    pinned: bool

    def ns(self, copied: CopiedBytes) -> int:
        return round(1e9 * (copied.to_device / self.to_device + copied.to_host / self.to_host))


def copy_rates(trace: Trace, place: Place) -> CopyRates | None:
    """The rates of the recorded copies; None where no copy is large enough, or their sizes were not recorded."""
    events = trace.events
    if events.bytes is None:
        return None
    rows = rows_named(trace, (Kind.MEMCPY,), lambda name: way(name).direction in ("HtoD", "DtoH"))
    rows = rows[(events.device[rows] == place.device) & (events.bytes[rows] >= _LEAST_BYTES)]
    rows = rows[events.dur_ns[rows] > 0]
    ways = [way(trace.strings[name]) for name in events.name[rows].tolist()]
    pinned = np.array([_PINNED in (each.source, each.target) for each in ways], bool)
    to_device = np.array([each.direction == "HtoD" for each in ways], bool)
    chosen = pinned if pinned.any() else ~pinned
    rates = [
        float(1e9 * events.bytes[some].sum() / events.dur_ns[some].sum())
        for some in (rows[chosen & to_device], rows[chosen & ~to_device])
        if len(some)
    ]
    return CopyRates(rates[0], rates[-1], bool(pinned.any())) if rates else None


def activations_on_cpu(trace: Trace, place: Place, of: Steady) -> Other:
    """The setting that keeps activations on the CPU, without its time. It has a reason instead of lines where no module
    shows when an activation is no longer used."""
    label, found = "Activations on the CPU", checkpoints(trace, place)
    if isinstance(found, Reason):
        return Other(label, None, found)
    if not found:
        return Other(label, None, NO_MODULES)
    lowest = min(found, key=lambda each: peak_at(each.lines, of.batch))
    calls = module_calls(trace, of)[lowest.module]
    absent, leaves, back = _absences(trace, place, of, calls.start, calls.end, calls.thread)
    size = sizes(trace)
    whole, grown = (
        level - _bytes_between(leaves, back, part[absent], of.curve.ts)
        for level, part in ((of.curve.allocated, size), (of.grown, growing_sizes(trace, of.batch)))
    )
    lines = highest_lines((whole - grown)[of.within], grown[of.within], of.batch)
    left = round(int(size[absent].sum()) / len(of.steps))
    saved = max(left, _saved_bytes(trace, of, absent))  # what leaves is copied, whichever op saves it
    return Other(label, _SAVE_ON_CPU, lines, CopiedBytes(saved, saved, added=True))


def _absences(
    trace: Trace, place: Place, of: Steady, start: Int64, end: Int64, threads: Int64
) -> tuple[Int64, Int64, Int64]:
    """The saved ones of `allocations`, and when each leaves the GPU and is back, ns. Those made outside of the modules'
    calls leave when the backward pass begins."""
    found, table, died, events = allocations(trace), trace.memory, ends_ns(trace), trace.events
    node = backward_nodes(trace).event.astype(np.int64)
    node_start, node_step = events.start_ns[node], steps_at(trace, events.start_ns[node])
    born, thread = table.ts[found.born], table.thread[found.born]
    step = steps_at(trace, born)
    first, last = (np.full(max(of.steps) + 1, NEVER, np.int64) for _ in range(2))
    for number in of.steps:
        here = node[node_step == number]
        if len(here):
            first[number], last[number] = events.start_ns[here].min(), events.ends(here).max()
    steady = is_in(step, of.steps)
    inside = np.where(steady, step, of.steps[0])
    saved = are_on(trace, place) & steady
    saved &= (births(trace).phase != PHASE["backward"]) & (died >= first[inside]) & (died <= last[inside])
    saved &= died != NEVER
    some = np.flatnonzero(saved)
    call = np.maximum(np.searchsorted(start, born[some], side="right") - 1, 0)
    within = (born[some] >= start[call]) & (born[some] < end[call]) & (thread[some] == threads[call])
    leaves = np.where(within, end[call], first[step[some]])
    starts = distinct(node_start)
    back = starts[np.maximum(np.searchsorted(starts, died[some], side="right") - 2, 0)]
    away = back > leaves
    return some[away], leaves[away], back[away]


def _bytes_between(leaves: Int64, back: Int64, size: Int64, ts: Int64) -> Int64:
    """At each of these times, the sum of the sizes that are away."""
    at, change = np.concatenate((leaves, back)), np.concatenate((size, -size))
    order = np.argsort(at, kind="stable")
    until: Int64 = np.append(0, np.cumsum(change[order]))
    return until[np.searchsorted(at[order], ts, side="right")]


def _saved_bytes(trace: Trace, of: Steady, absent: Int64) -> int:
    """Bytes that the ops of a steady step save, a mean. A tensor counts for each op that saves it, as it is copied for
    each; so do weights."""
    nodes, events = backward_nodes(trace), trace.events
    known = nodes.forward >= 0
    ops, first = np.unique(nodes.forward[known].astype(np.int64), return_index=True)
    names = events.name[nodes.event[known][first]]
    steady = is_in(steps_at(trace, events.start_ns[ops]), of.steps)
    made = allocations(trace).born[absent]
    order = np.argsort(trace.memory.ts[made], kind="stable")
    born, until = trace.memory.ts[made][order], np.append(0, np.cumsum(trace.memory.bytes[made][order]))
    ops, names = ops[steady], names[steady]
    own = until[np.searchsorted(born, events.ends(ops))] - until[np.searchsorted(born, events.start_ns[ops])]
    total = sum(
        _saved(trace.strings[name], tensors_of(trace, op), made_in)
        for op, name, made_in in zip(ops.tolist(), names.tolist(), own.tolist(), strict=True)
    )
    return round(total / len(of.steps))


def _saved(node: str, given: list[Tensor], made: int) -> int:
    """Bytes that an op saves. made: of what it allocated and its node needs.

    >>> x, w, b = Tensor((4, 8), 128, True), Tensor((8, 8), 256, True), Tensor((8,), 32, True)
    >>> _saved("AddmmBackward0", [b, x, w], 0), _saved("ReluBackward0", [x], 128), _saved("AddBackward0", [x, x], 0)
    (384, 128, 0)
    """
    if is_view(node) or saves_nothing(node):
        return 0
    if is_lookup(node):
        return given[-1].bytes if given else 0
    if saves_inputs_only(node):
        wide = [tensor.bytes for tensor in given if len(tensor.shape) > 1]
        return sum(wide or [tensor.bytes for tensor in given])
    if saves_result(node) and len(given) == 1:
        return given[0].bytes
    return sum(tensor.bytes for tensor in given) + made
