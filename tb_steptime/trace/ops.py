"""Where each device activity comes from: its launching call, the ops around that, range, module and source line.

    thread   |---- nn.Module: Linear_0 ----|
              |---- aten::linear ----|           outermost op
                |-- aten::addmm --|              innermost op
                      |call|
    device                    kkkkkkkkk

An activity without an op has a reason for that and is never dropped.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tb_steptime.record.frames import is_of_user
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.intervals import Intervals
from tb_steptime.trace.launches import find_launches
from tb_steptime.trace.model import Trace
from tb_steptime.trace.nesting import parents
from tb_steptime.trace.shared import shared
from tb_steptime.trace.steps import step_marks
from tb_steptime.trace.table import Bool, Int32, Int64, Kind, UInt8, distinct_in

#: How a Python frame that calls a module is named: "nn.Module: Linear_3".
MODULE_FRAME = "nn.Module: "
#: Calls that launch a whole captured graph: cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch.
GRAPH_CALL = re.compile(r"GraphLaunch")
_LOADER_MARKS = ("enumerate(DataLoader)#", "enumerate(DataPipe)#")
_OPTIMIZER_MARK = re.compile(r"^Optimizer\.(\w+)#.*$", re.DOTALL)
_FRAME = re.compile(r"(?P<file>[^<].*\.py)\(\d+\): ")
_INSTALLED = re.compile(r"^.*/(?:site|dist)-packages/|^.*/lib/python3\.\d+/")


#: Instants are few where there are as many intervals for each of them.
_FEW = 8

#: Rows of the event table.
Rows = Int32 | Int64


class NoOp(enum.IntEnum):
    """Why an activity has no op."""

    LINKED = 0  # it has one
    NO_LAUNCH = 1  # launched before the recording, or by a call that the trace has lost
    GRAPH = 2  # launched with a captured graph, outside any op
    OUTSIDE = 3  # launched by a call outside any recorded op


#: What stands in place of an op's name.
NO_OP_WORDS = {
    NoOp.NO_LAUNCH: "no launch in this trace",
    NoOp.GRAPH: "launched by a graph, outside any op",
    NoOp.OUTSIDE: "launched outside any op",
}


@dataclass(frozen=True, eq=False)
class KernelOrigins:
    """Where kernels come from, one entry per row of the kernel table: rows of the event table in 32 bits, -1 for none.

    call: the launching one. op: the innermost around it; `places` knows what else is. reason: a `NoOp`.
    """

    call: Int32
    op: Int32
    reason: UInt8


@shared(find_launches)
def kernel_origins(trace: Trace) -> KernelOrigins:
    """The call and the op of every kernel."""
    launches = find_launches(trace)
    place = np.searchsorted(launches.activity, trace.kernels.event)
    op = _ops(trace, trace.events.rows(Kind.CPU_OP))
    reason = _reasons(trace, launches.call, op)[place]
    return KernelOrigins(launches.call[place], op[place].astype(np.int32), reason)


@dataclass(frozen=True, eq=False)
class Places:
    """What encloses some calls or ops: one entry for each, rows of the event table, -1 for none.

    op, outer_op       the innermost op around it, for an op itself, and the outermost
    user_range         the innermost named range around it that is no step mark
    module, source     the innermost frame of an nn.Module and of a file of the user, of traces that have frames;
                       `sources` and `modules` know more, and their names
    """

    op: Int64
    outer_op: Int64
    user_range: Int64
    module: Int64
    source: Int64


def places(trace: Trace, rows: Rows) -> Places:
    """Of calls, ops or any other events of the host; -1 in `rows` stays -1."""
    rows = rows.astype(np.int64)
    op = op_at(trace, rows)
    return Places(
        op,
        outermost(trace, trace.events.rows(Kind.CPU_OP), op),
        innermost(trace, user_ranges(trace), rows),
        innermost(trace, module_frames(trace), rows),
        innermost(trace, source_frames(trace), rows),
    )


def op_at(trace: Trace, rows: Int64) -> Int64:
    """Row of the op itself; of a call that of the op which its id names, else of the innermost around it; or -1."""
    events, ops = trace.events, trace.events.rows(Kind.CPU_OP)
    is_op = (rows >= 0) & (events.kind[rows] == Kind.CPU_OP)
    op = np.where(is_op, rows, op_by_id(trace, ops, np.where(is_op, -1, rows), rows))
    return np.where(op >= 0, op, innermost(trace, ops, np.where(op >= 0, -1, rows)))


def forward_of(trace: Trace, rows: Rows) -> Int32:
    """For each row of the host inside a node of the backward pass the op that created the node; -1: not known."""
    nodes = backward_nodes(trace)
    node = innermost(trace, nodes.event.astype(np.int64), rows.astype(np.int64))
    forward = np.full(len(rows), -1, np.int32)
    inside = node >= 0
    forward[inside] = nodes.forward[np.searchsorted(nodes.event, node[inside])]
    return forward


def kernel_modules(trace: Trace) -> Int64:
    """Row of the innermost module frame around each kernel's launch; -1 for none."""
    origins = kernel_origins(trace)
    anchor = np.where(origins.call >= 0, origins.call, origins.op)
    return innermost(trace, module_frames(trace), anchor)


def _ops(trace: Trace, ops: Int64) -> Int64:
    """Row of the innermost op of every activity: the one that its id names, else the one around its launch."""
    launches = find_launches(trace)
    op = op_by_id(trace, ops, launches.activity, launches.call)
    return np.where(op >= 0, op, innermost(trace, ops, np.where(op >= 0, -1, launches.call)))


def innermost(trace: Trace, around: Int64, inside: Int64) -> Int64:
    """For each row of `inside` the innermost row of `around` that is open on its thread when it starts; -1 for none.

    Both are rows of the event table, `around` ascending; -1 in `inside` stays -1.
    """
    events = trace.events
    result = np.full(len(inside), -1, np.int64)
    known = np.flatnonzero(inside >= 0)
    for thread in np.flatnonzero(np.bincount(events.thread[inside[known]])).tolist():
        mine = around[events.thread[around] == thread]
        here = known[events.thread[inside[known]] == thread]
        start = events.start_ns[mine]
        place = open_at(start, start + events.dur_ns[mine], events.start_ns[inside[here]])
        found = place >= 0
        result[here[found]] = mine[place[found]]
    return result


def open_at(start: Int64, end: Int64, instants: Int64) -> Int64:
    """The innermost of some intervals, sorted by (start, longer first), that is open at each instant; -1 for none."""
    if len(instants) * _FEW > len(start):
        return _open_at(start, end, instants)
    near = _near(start, end, instants)
    place = _open_at(start[near], end[near], instants)
    return np.where(place >= 0, near[place], -1) if len(near) else place


def _open_at(start: Int64, end: Int64, instants: Int64) -> Int64:
    place = np.searchsorted(start, instants, side="right") - 1
    if not len(start):
        return place
    over = np.flatnonzero((place >= 0) & (end[place] <= instants))
    parent = parents(start, end) if len(over) else place
    while len(over):
        place[over] = parent[place[over]]
        over = over[place[over] >= 0]
        over = over[end[place[over]] <= instants[over]]
    return place


def _near(start: Int64, end: Int64, instants: Int64) -> Int64:
    """Rows of the intervals that are open at some instant. Few calls have few of a million frames around them, and what
    nests in what is costly to find."""
    instants = np.sort(instants)
    return np.flatnonzero(np.searchsorted(instants, start) < np.searchsorted(instants, end))


def outermost(trace: Trace, around: Int64, rows: Int64) -> Int64:
    """For each of `rows`, which are among `around`, the row of `around` that encloses it and is in no other."""
    events = trace.events
    result = np.full(len(rows), -1, np.int64)
    known = np.flatnonzero(rows >= 0)
    for thread in distinct_in(events.thread[rows[known]]).tolist():
        mine = around[events.thread[around] == thread]
        here = known[events.thread[rows[known]] == thread]
        if len(here) * _FEW <= len(mine):
            near = mine[_near(events.start_ns[mine], events.ends(mine), events.start_ns[rows[here]])]
            mine = distinct_in(np.concatenate((near, rows[here])))  # an empty one is never open
        root = _roots(parents(events.start_ns[mine], events.ends(mine)))
        result[here] = mine[root[np.searchsorted(mine, rows[here])]]
    return result


def _roots(parent: Int64) -> Int64:
    """Follow parents to the top, twice as far in each round."""
    root = np.where(parent < 0, np.arange(len(parent)), parent)
    while not np.array_equal(further := root[root], root):
        root = further
    return root


def op_by_id(trace: Trace, ops: Int64, rows: Rows, call: Rows) -> Int64:
    """For each activity or call the op that its external id names, where that can be believed; else -1.

    call: what launched the activity, -1 where it is not known; of a call itself.

    Producers of 2022 and 2023 wrote the correlation id in its place, which may happen to be some op's number. So the op
    must hold the launch; and where no launch is known, the id must not be the correlation id.
    """
    events = trace.events
    op = _numbered(trace, ops, np.where(rows >= 0, events.external_id[rows], -1))
    launched = events.start_ns[np.where(call >= 0, call, rows)]
    holds = (op >= 0) & (events.start_ns[op] <= launched)
    in_thread = (events.thread[op] == events.thread[call]) & (launched <= events.start_ns[op] + events.dur_ns[op])
    own = events.external_id[rows] != events.correlation_id[rows]
    return np.where(holds & np.where(call >= 0, in_thread, own), op, -1)


def _numbered(trace: Trace, ops: Int64, ids: Int32 | Int64) -> Int64:
    """The row of the op with each external id; -1 for none."""
    numbers = trace.events.external_id[ops]
    asked = np.flatnonzero((numbers >= 0) & np.isin(numbers, ids))
    ops, numbers = ops[asked], numbers[asked]
    if not len(ops):
        return np.full(len(ids), -1, np.int64)
    distinct, first = np.unique(numbers, return_index=True)
    place = np.minimum(np.searchsorted(distinct, ids), len(distinct) - 1)
    return np.where(distinct[place] == ids, ops[first[place]], -1)


def _reasons(trace: Trace, call: Rows, op: Int64) -> UInt8:
    is_graph = _named(trace, trace.events.rows(Kind.RUNTIME, Kind.DRIVER), lambda name: bool(GRAPH_CALL.search(name)))
    without = np.where(is_graph[trace.events.name[call]], NoOp.GRAPH, NoOp.OUTSIDE)
    without = np.where(call < 0, NoOp.NO_LAUNCH, without)
    return np.where(op >= 0, NoOp.LINKED, without).astype(np.uint8)


def user_ranges(trace: Trace) -> Int64:
    """Rows of the named ranges of the host but step marks, in time order."""
    return np.setdiff1d(trace.events.rows(Kind.USER), step_marks(trace), assume_unique=True)


def named_ranges(trace: Trace) -> dict[str, Intervals]:
    """When each named range of the host is open, by its name; step marks and the loader's are left out."""
    events, rows = trace.events, user_ranges(trace)
    named: dict[str, Intervals] = {}
    for name in distinct_in(events.name[rows]).tolist():
        mine = rows[events.name[rows] == name]
        if not trace.strings[name].startswith(_LOADER_MARKS):
            named[trace.strings[name]] = Intervals.union(events.start_ns[mine], events.ends(mine))
    return named


def short_range(name: str) -> str:
    """The word for a range: torch marks an optimizer's as `Optimizer.zero_grad#SGD.zero_grad`.

    >>> short_range("Optimizer.zero_grad#SGD.zero_grad")
    'zero_grad'
    """
    return _OPTIMIZER_MARK.sub(r"\1", name)


def module_frames(trace: Trace) -> Int64:
    """Rows of the Python frames that call an nn.Module, in time order."""
    return rows_named(trace, (Kind.PYTHON,), lambda name: name.startswith(MODULE_FRAME))


def source_frames(trace: Trace) -> Int64:
    """Rows of the Python frames of files outside torch and Python's library, in time order."""
    return rows_named(trace, (Kind.PYTHON,), is_source)


def short_frame(frame: str) -> str:
    """Without the path to the environment that its package is installed in.

    >>> short_frame("/home/me/env/lib/python3.11/site-packages/timm/layers.py(3): forward")
    'timm/layers.py(3): forward'
    """
    return _INSTALLED.sub("", frame)


def is_file(frame: str) -> bool:
    """Is this frame of a Python file? That of a built-in function or of a module's call is not.

    >>> is_file("torch/nn/functional.py(9): gelu"), is_file("<built-in function sleep>")
    (True, False)
    """
    return _FRAME.match(frame) is not None


def is_source(frame: str) -> bool:
    """Is this frame of a file that the user may have written? torch's, Python's and the recorder's own are not.

    >>> is_source("tb_steptime/record/loaders/measurements.py(9): fetch")
    False
    >>> [is_source(f) for f in ("train.py(54): step", "torch/nn/functional.py(9): gelu", "contextlib.py(8): inner")]
    [True, False, False]
    """
    match = _FRAME.match(frame)
    return match is not None and is_of_user(short_frame(match["file"]))


def rows_named(trace: Trace, kinds: Sequence[Kind], wanted: Callable[[str], bool]) -> Int64:
    """Rows of these kinds whose name is wanted, in time order."""
    rows = trace.events.rows(*kinds)
    return rows[_named(trace, rows, wanted)[trace.events.name[rows]]]


def _named(trace: Trace, rows: Int64, wanted: Callable[[str], bool]) -> Bool:
    """For each string of the table: is it the name of one of these rows, and wanted? Each is asked once."""
    result = np.zeros(len(trace.strings), bool)
    names = distinct_in(trace.events.name[rows])
    result[names] = [wanted(trace.strings[name]) for name in names.tolist()]
    return result
