"""Origin of each device activity: its launching call, the ops around the call, its range, module and source line.

    thread   |---- nn.Module: Linear_0 ----|
              |---- aten::linear ----|           outermost op
                |-- aten::addmm --|              innermost op
                      |call|
    device                    kkkkkkkkk

An activity without an op has a reason for that, and is never dropped.
"""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from tb_steptime.text.patterns import expression
from tb_steptime.trace.backward import backward_nodes
from tb_steptime.trace.frames import module_frames, source_frames
from tb_steptime.trace.host_ranges import user_ranges
from tb_steptime.trace.kernel_labels import kernel_labels
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost, op_rows, outermost
from tb_steptime.trace.table import CALL_KINDS, Bool, Int32, Int64, Kind, UInt8, is_in, values_at

#: Calls that launch a whole captured graph: cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch.
GRAPH_CALL = expression(r"GraphLaunch")
#: Prefixes in runtimes that have CUDA's names: of NVIDIA, AMD, MetaX, Moore Threads and Enflame.
RUNTIME = "(?:cuda|hip|mc|musa|tops)"
#: Libraries of exchanges with whose names PyTorch's backends mark their work: "nccl:all_reduce". After those for GPUs,
#: hosts, XPUs and HPUs: Moore Threads' and MetaX' MCCL, Cambricon's CNCL, Enflame's ECCL.
BACKEND = "(?:nccl|rccl|gloo|mpi|ucc|xccl|hccl|mccl|cncl|eccl)"
#: Calls that return only when a device, a stream or an event has finished; of these, those that wait for all work of a
#: device. Cambricon's names are other ones, and so are those of Intel's XPU: Unified Runtime, the plugin interface
#: before it, Level Zero. EventQuery and StreamWaitEvent do not block the host.
SYNC_CALL = expression(
    rf"(cu|{RUNTIME})(Device|Ctx|Stream|Event)Synchronize|cnrt(QueueSync|SyncDevice|WaitNotifier)$"
    r"|(ur|pi)QueueFinish$|urEventWait$|piEventsWait$|ze(CommandQueue|CommandListHost|EventHost|FenceHost)Synchronize"
)
SYNC_DEVICE_CALL = expression(rf"(cu|{RUNTIME})(Device|Ctx)Synchronize|cnrtSyncDevice$")
#: Calls that a kernel always follows; a set or copy of nothing has none. Whether each launch of an XPU has a row is
#: not known.
KERNEL_CALL = expression(r"(cuda|cu|hip)\w*Launch(Cooperative)?Kernel")
#: Between these calls of a thread, what is launched is captured into a graph and does not run.
BEGINS_CAPTURE, ENDS_CAPTURE = (expression(rf"(cu|{RUNTIME})Stream{edge}Capture") for edge in ("Begin", "End"))


#: Rows of the event table.
Rows = Int32 | Int64


class NoOp(enum.IntEnum):
    """Why an activity has no op."""

    LINKED = 0  # the activity has an op
    NO_LAUNCH = 1  # launched before the recording, or by a call that the trace has lost
    GRAPH = 2  # launched with a captured graph, outside any op
    OUTSIDE = 3  # launched by a call outside any recorded op


#: Shown in place of an op's name.
NO_OP_WORDS = {
    NoOp.NO_LAUNCH: "no launch in this trace",
    NoOp.GRAPH: "launched by a graph, outside any op",
    NoOp.OUTSIDE: "launched outside any op",
}


class KernelOrigins(msgspec.Struct, frozen=True, eq=False):
    """Origins of kernels, one entry per row of the kernel table: rows of the event table in 32 bits, -1 for none.

    call: the launching call. op: the innermost op around it; `places` finds the other enclosing events. reason: a
    `NoOp`.
    """

    call: Int32
    op: Int32
    reason: UInt8

    @property
    def place(self) -> Int64:
        """The row on the host from which each kernel comes: its call, or else its op."""
        return np.where(self.call >= 0, self.call, self.op).astype(np.int64)


@shared
def activity_ops(trace: Trace) -> Int32:
    """Returns for each row of `find_launches` the innermost op that launched it: the one with its external id, or else
    the one around its launch, or -1 for none."""
    launches = find_launches(trace)
    op = op_by_id(trace, op_rows(trace), launches.activity, launches.call)
    return np.where(op >= 0, op, innermost(trace, op_rows, np.where(op >= 0, -1, launches.call))).astype(np.int32)


@shared
def kernel_origins(trace: Trace) -> KernelOrigins:
    """Returns the call and the op of every kernel."""
    launches, op = find_launches(trace), activity_ops(trace)
    place = np.searchsorted(launches.activity, trace.kernels.event)
    return KernelOrigins(launches.call[place], op[place], _reasons(trace, launches.call, op)[place])


def kernel_op_names(trace: Trace, rows: Rows) -> Int32:
    """Returns for each of these kernels the name of the innermost op that it works for, as a row of the string table:
    the op in its label, or the op that launched it. A kernel without an op gets minus its `NoOp`."""
    origins, labels = kernel_origins(trace), kernel_labels(trace)
    op, reason = origins.op[rows], origins.reason[rows].astype(np.int32)
    named = np.where(op >= 0, trace.events.name[op], -reason).astype(np.int32)
    return named if labels is None else np.where(labels.op[rows] >= 0, labels.op[rows], named)


class Places(msgspec.Struct, frozen=True, eq=False):
    """What encloses each of some calls or ops: rows of the event table, -1 for none.

    op, outer_op       the innermost and the outermost op around it (for an op, the innermost is itself)
    user_range         the innermost named range around it that is not a step mark
    module, source     the innermost frame of an nn.Module and of a file of the user, in traces that have frames;
                       `sources` and `modules` have more details, and their names
    """

    op: Int64
    outer_op: Int64
    user_range: Int64
    module: Int64
    source: Int64


def places(trace: Trace, rows: Rows) -> Places:
    """Returns the places of calls, ops or any other host events. Rows of -1 get places of -1."""
    rows = rows.astype(np.int64)
    op = op_at(trace, rows)
    return Places(
        op,
        outermost(trace, op_rows, op),
        innermost(trace, user_ranges, rows),
        innermost(trace, module_frames, rows),
        innermost(trace, source_frames, rows),
    )


def op_at(trace: Trace, rows: Int64) -> Int64:
    """Returns the row of an op for the op itself, and for a call the op with its external id, or else the innermost op
    around it. The row is -1 if there is no op."""
    op: Int64 = rows.copy()
    others = np.flatnonzero((rows >= 0) & (trace.events.kind[rows] != Kind.CPU_OP))
    if len(others):
        calls = rows[others]
        by_id = op_by_id(trace, op_rows(trace), calls, calls)
        op[others] = np.where(by_id >= 0, by_id, innermost(trace, op_rows, np.where(by_id >= 0, -1, calls)))
    return op


def forward_of(trace: Trace, rows: Rows) -> Int32:
    """Returns for each host row inside a node of the backward pass the op that created the node, or -1 if unknown, or
    if a checkpoint recomputes the row there. The result is less than the row: no op creates its own node."""
    nodes = backward_nodes(trace)
    node = _node(trace, rows)
    forward = np.full(len(rows), -1, np.int32)
    inside = (node >= 0) & ~_again(trace, rows, node)
    forward[inside] = nodes.forward[np.searchsorted(nodes.event, node[inside])]
    return np.where(forward < rows, forward, -1)  # at equal times a node may lie inside what seems to be inside it


def computed_again(trace: Trace, rows: Rows) -> Bool:
    """Returns which host rows are forward work that a checkpoint recomputes inside a node of the backward pass, as far
    as module calls are recorded.

    engine   |------ ReluBackward0 ------|     the node needs what its block kept, so the block is called again.
               |- Block_0 -|                   conv: the op that created the node has not made it
                 |conv|       |relu|           relu: it has
    """
    return _again(trace, rows, _node(trace, rows))


def in_nodes(trace: Trace, rows: Rows) -> Bool:
    """Returns which host rows are inside a node of the backward pass."""
    return _node(trace, rows) >= 0


def _node_rows(trace: Trace) -> Int64:
    return backward_nodes(trace).event.astype(np.int64)


def _node(trace: Trace, rows: Rows) -> Int64:
    return innermost(trace, _node_rows, rows.astype(np.int64))


def _again(trace: Trace, rows: Rows, node: Int64) -> Bool:
    """Returns which rows run in a module call inside their node: there the forward pass is computed again. node: the
    innermost node of each row."""
    return innermost(trace, module_frames, np.where(node >= 0, rows, -1)) > node


def kernel_modules(trace: Trace) -> Int64:
    """Returns the row of the innermost module frame around each kernel's launch, or -1 for none."""
    return innermost(trace, module_frames, kernel_origins(trace).place)


def op_by_id(trace: Trace, ops: Int64, rows: Rows, call: Rows) -> Int64:
    """Returns for each activity or call the op with its external id, if that id can be trusted, and -1 otherwise.

    call: the call that launched the activity, -1 if unknown. For a call it is the call itself.

    Producers of 2022 and 2023 wrote the correlation id in its place, which may happen to equal some op's number. So the
    op must contain the launch; and if no launch is known, the id must differ from the correlation id.
    """
    events = trace.events
    op = _numbered(trace, ops, values_at(events.external_id, rows))
    launched = events.start_ns[np.where(call >= 0, call, rows)]
    holds = (op >= 0) & (events.start_ns[op] <= launched)
    in_thread = (events.thread[op] == events.thread[call]) & (launched <= events.start_ns[op] + events.dur_ns[op])
    own = events.external_id[rows] != events.correlation_id[rows]
    return np.where(holds & np.where(call >= 0, in_thread, own), op, -1)


def _numbered(trace: Trace, ops: Int64, ids: Int32 | Int64) -> Int64:
    """Returns the row of the op with each external id, or -1 for none."""
    numbers = trace.events.external_id.take(ops)
    with_id = np.flatnonzero((numbers >= 0) & is_in(numbers, ids))
    ops, numbers = ops[with_id], numbers[with_id]
    if not len(ops):
        return np.full(len(ids), -1, np.int64)
    distinct, first = np.unique(numbers, return_index=True)
    place = np.minimum(np.searchsorted(distinct, ids), len(distinct) - 1)
    return np.where(distinct[place] == ids, ops[first[place]], -1)


@shared
def graph_calls(trace: Trace) -> Int64:
    """Returns the rows of the calls that launch a whole graph, in time order."""
    return rows_named(trace, CALL_KINDS, GRAPH_CALL.search)


def graph_kernels(trace: Trace) -> Bool:
    """Returns which rows of the kernel table were launched by a call that launches a whole graph."""
    return is_in(kernel_origins(trace).call, graph_calls(trace))


def _reasons(trace: Trace, call: Rows, op: Rows) -> UInt8:
    without = np.where(is_in(call, graph_calls(trace)), NoOp.GRAPH, NoOp.OUTSIDE)
    without = np.where(call < 0, NoOp.NO_LAUNCH, without)
    return np.where(op >= 0, NoOp.LINKED, without).astype(np.uint8)
