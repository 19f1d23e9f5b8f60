"""Finds every collective of a trace: when and where it runs, what it does, its group of ranks, and its bytes.

thread      |-- c10d::allreduce_ --|
              |- record_param_comms: allreduce, 2049000 x Float, group 0 of 2 ranks -|
                |call|
stream 40             [ncclDevKernel_Generic ........]        an all-reduce of 8.2 MB

Current releases of PyTorch write the exchanged data on the kernel too; earlier ones only on the op around the launch. A
kernel's time on one rank includes its wait for the other ranks: the kernel starts when this rank is ready and ends when
all are.

A collective is launched by a call of the host, or by the op that requests it from a backend of the host. FSDP's ranges
enclose these calls and ops.

training thread   |-- c10d::allreduce_ --|      |-- c10d::_reduce_scatter_base_ --|
gloo's thread          |-- gloo:all_reduce --|        |-- gloo:all_reduce --|     in the same order
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import msgspec
import numpy as np

from tb_steptime.metrics.gpu.utilization import collective_kernels, collective_names, has_device_activity
from tb_steptime.text.patterns import expression
from tb_steptime.trace.groups import Groups
from tb_steptime.trace.host_ranges import FSDP, is_host_range
from tb_steptime.trace.model import Trace, find_launches, rows_named, shared
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import (
    Bool,
    Columns,
    Int32,
    Int64,
    Kind,
    StringTable,
    UInt8,
    distinct,
    distinct_in,
    is_in,
    places_in,
    values_at,
)

# The kind of a collective is read from any of its names: that of its arguments, its op, its mark or its kernel.
#
# "allreduce"  "nccl:all_reduce"  "c10d::allreduce_"  "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"   ->   all_reduce

#: Every kind with its name in PyTorch's documentation.
KIND_LABELS = {
    "all_reduce": "all-reduce",
    "reduce_scatter": "reduce-scatter",
    "all_gather": "all-gather",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
    "send_receive": "send and receive",
    "barrier": "barrier",
    "gather": "gather",
    "scatter": "scatter",
    "reduce": "reduce",
    "unknown": "collective",
}
KINDS = tuple(KIND_LABELS)
UNKNOWN_KIND = KINDS.index("unknown")
BARRIER = KINDS.index("barrier")

#: Words that show the kind in a name in lower case without underscores. The first kind with a matching word counts,
#: because "reduce", "gather" and "scatter" are also parts of words of earlier kinds.
_WORDS = {
    "all_reduce": ("allreduce", "crossdevicereduce", "lamport"),
    "reduce_scatter": ("reducescatter",),
    "all_gather": ("allgather",),
    "all_to_all": ("alltoall", "moea2a", "dispatch", "combine", "notify"),
    "broadcast": ("broadcast",),
    "send_receive": ("sendrecv",),
    "barrier": ("barrier",),
    "gather": ("gather",),
    "scatter": ("scatter",),
    "reduce": ("reduce",),
}
#: A send or a receive alone must begin a word of the name.
_MESSAGE = expression(r"(?<![a-z])(?:i?send|i?recv)")


@lru_cache(maxsize=1024)
def kind_of(name: str) -> int:
    """Returns the place in KINDS of a collective with this name; that of "unknown" if the name does not show the kind.

    >>> KINDS[kind_of("nccl:_all_gather_base")], KINDS[kind_of("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096>)")]
    ('all_gather', 'unknown')
    """
    squashed = name.replace("(anonymous namespace)", "").partition("(")[0].lower().replace("_", "")
    for kind, words in _WORDS.items():
        if any(word in squashed for word in words) or (kind == "send_receive" and _MESSAGE.search(squashed)):
            return KINDS.index(kind)
    return UNKNOWN_KIND


#: Backends that run on the host: the mark of a collective lasts as long as the collective.
_HOST_BACKEND = expression(r"(?:gloo|mpi):")
#: PyTorch's row for the arguments of a collective; its name does not show the kind.
_ARGUMENTS = "record_param_comms"
_SEND = expression(r"(?:gloo:|mpi:|c10d::)?i?send(?:_coalesced)?")
#: Ops that request a message from a backend of the host. Their third input is the rank of the peer.
_MESSAGE_REQUEST = expression(r"c10d::(?:send|recv_)")
_PEER_INPUT = expression(r'\["?[^,]*,[^,]*, ?"?(?P<rank>\d{1,7})"?[,\]]')


class Collectives(Columns, frozen=True, eq=False):
    """One entry per collective, in the order of starts. A number that is not recorded is -1.

    event        row of the event table: a kernel or, without a GPU, a mark of the host
    kind         place in KINDS
    bytes        the larger of the amounts that this rank sends and receives
    group, members, description, dtype   rows of `Trace.collective_texts`
    group_size   number of ranks
    elements, rows_sent, rows_received, sequence, peer   as in `CollectiveTable`
    sends        whether it sends to the peer; otherwise it receives
    batched      whether it exchanges several messages; if these are for several ranks, peer is -1
    """

    event: Int64
    start: Int64
    end: Int64
    kind: UInt8
    bytes: Int64
    group: Int32
    group_size: Int32
    dtype: Int32
    members: Int32
    description: Int32
    elements: Int64
    rows_sent: Int32
    rows_received: Int32
    sequence: Int64
    peer: Int32
    sends: Bool
    batched: Bool


@shared
def find_collectives(trace: Trace) -> Collectives:
    """Returns all collectives of the recording: kernels on any device of the process; without a device, marks of gloo
    or MPI."""
    on_device = has_device_activity(trace)
    # NCCL's marks last only as long as its launch, and do not show the exchange.
    event = collective_kernels(trace) if on_device else _named(trace, _HOST_BACKEND.match)
    call = find_launches(trace).calls_of(event) if on_device else event
    mark = innermost(trace, _named(trace, lambda name: name != _ARGUMENTS), call)
    row, op_row = _arguments(trace, event, call)
    table = trace.collectives
    peer = _either(table.peer, row, op_row).astype(np.int32)
    elements, dtype = values_at(trace.collectives.elements, row), values_at(trace.collectives.dtype, row)
    sizes = [element_bytes(text) or 0 for text in trace.collective_texts.strings]
    exchanged = elements * np.array([*sizes, 0], np.int64)[dtype]
    collectives = Collectives(
        event=event,
        start=trace.events.start_ns[event],
        end=trace.events.ends(event),
        kind=_kinds(trace, event, mark, values_at(table.name, row)),
        bytes=np.where((elements >= 0) & (exchanged > 0), exchanged, _bytes_of_inputs(trace, mark)),
        group=values_at(table.group, row).astype(np.int32),
        group_size=values_at(table.group_size, row).astype(np.int32),
        dtype=values_at(table.dtype, row).astype(np.int32),
        members=_either(table.members, row, op_row).astype(np.int32),
        description=_either(table.description, row, op_row).astype(np.int32),
        elements=values_at(table.elements, row),
        rows_sent=values_at(table.rows_sent, row).astype(np.int32),
        rows_received=values_at(table.rows_received, row).astype(np.int32),
        sequence=_either(table.sequence, row, op_row),
        peer=peer if on_device else _requested_peers(trace, event, peer),
        sends=_sends(trace.collective_texts, values_at(table.name, row))
        | _sends(trace.strings, values_at(trace.events.name, mark)),
        batched=np.zeros(len(event), bool),
    )
    return _with_batches(trace, collectives, call, op_row) if on_device else collectives


def _named(trace: Trace, is_one: Callable[[str], object]) -> Int64:
    """Returns the rows of the host's collective calls whose name satisfies `is_one`."""
    judged = collective_names(trace).copy()
    for name in np.flatnonzero(judged).tolist():
        judged[name] = bool(is_one(trace.strings[name]))
    if not judged.any():
        return np.empty(0, np.int64)
    return np.flatnonzero(is_host_range(trace) & judged[trace.events.name])


def _arguments(trace: Trace, event: Int64, call: Int64) -> tuple[Int64, Int64]:
    """Returns two rows of the table of collectives for each collective, -1 for none. The first one has its arguments,
    and is its own or that of the op around its call; the second one is that of the op."""
    rows = trace.collectives.event.astype(np.int64)
    around = innermost(trace, rows, call)
    return places_in(rows, np.where(is_in(event, rows), event, around)), places_in(rows, around)


def _either(column: Int32 | Int64, row: Int64, op_row: Int64) -> Int64:
    """Returns the column's value in the row, or that of the op if the row has none. Newer releases of PyTorch write
    more columns on kernels."""
    own = values_at(column, row)
    return np.where(own >= 0, own, values_at(column, op_row))


def _kinds(trace: Trace, event: Int64, mark: Int64, argument: Int64) -> UInt8:
    """Returns the kind that the arguments show, or else the mark around the call, or else the kernel's own name."""
    by_mark = _kind_of_each(trace.strings, values_at(trace.events.name, mark))
    by_argument = _kind_of_each(trace.collective_texts, argument)
    own = _kind_of_each(trace.strings, trace.events.name[event].astype(np.int64))
    is_known = [by_argument != UNKNOWN_KIND, by_mark != UNKNOWN_KIND]
    return np.select(is_known, [by_argument, by_mark], default=own).astype(np.uint8)


def _kind_of_each(texts: StringTable, name: Int64) -> Int64:
    """Returns the kind shown by each name; -1 gives the unknown kind."""
    kinds = np.full(len(texts) + 1, UNKNOWN_KIND, np.int64)
    for text in distinct_in(name[name >= 0]).tolist():
        kinds[text] = kind_of(texts[text])
    return kinds[name]


def _sends(texts: StringTable, name: Int64) -> Bool:
    names = [_SEND.fullmatch(text) is not None for text in texts.strings]
    return np.array([*names, False], bool)[name]


def _requested_peers(trace: Trace, event: Int64, recorded: Int32) -> Int32:
    """Returns the peer of each collective: the recorded one or, in a job with at most one group, the one that the op
    around the host's mark names."""
    peer: Int32 = recorded.copy()
    settings, groups = trace.events.settings, trace.job.groups
    if settings is None or len(groups) > 1:
        return peer
    around = innermost(trace, rows_named(trace, (Kind.CPU_OP,), _MESSAGE_REQUEST.fullmatch), event)
    inputs = values_at(settings, around)
    ranks = dict(enumerate(groups[0].ranks)) if groups else {}
    for each in distinct_in(inputs[inputs >= 0]).tolist():
        if match := _PEER_INPUT.match(trace.inputs[each]):
            number = int(match["rank"])
            peer[(inputs == each) & (recorded < 0)] = ranks.get(number, number)
    return peer


def _bytes_of_inputs(trace: Trace, mark: Int64) -> Int64:
    shapes, dtypes = trace.events.shapes, trace.events.dtypes
    if shapes is None or dtypes is None:
        return np.full(len(mark), -1, np.int64)
    shape, dtype = values_at(shapes, mark), values_at(dtypes, mark)
    alike = Groups.of(shape, dtype)
    pairs = zip(shape[alike.first].tolist(), dtype[alike.first].tolist(), strict=True)
    return np.array([_input_bytes(trace, *pair) for pair in pairs], np.int64)[alike.place]


def _input_bytes(trace: Trace, shapes: int, dtypes: int) -> int:
    nbytes = input_bytes(trace.inputs[shapes], trace.inputs[dtypes]) if min(shapes, dtypes) >= 0 else None
    return -1 if nbytes is None else nbytes


#: Bytes of an element by its type, however a trace spells it: Float, BFloat16, Float8_e4m3fn, Long, "long int",
#: "c10::Half", "unsigned char". The first match counts.
_ELEMENT_BYTES = (
    (expression(r"float8|char|byte|bool|int8"), 1),
    (expression(r"bfloat16|half|short|int16"), 2),
    (expression(r"double|long|int64|complexfloat"), 8),
    (expression(r"float|int"), 4),
)


def element_bytes(dtype: str) -> int | None:
    """Returns the bytes of an element of a type; None for an unknown type.

    >>> element_bytes("BFloat16"), element_bytes("long int"), element_bytes("Float8_e4m3fn")
    (2, 8, 1)
    """
    return next((size for words, size in _ELEMENT_BYTES if words.search(dtype.lower())), None)


def input_bytes(shapes: str, dtypes: str) -> int | None:
    """Returns the bytes of all inputs that are tensors; None if a type is unknown or no input is a tensor. Shapes and
    types are compact JSON.

    >>> input_bytes("[[1024,8],[]]", '["float",""]')
    32768
    """
    try:
        sizes = msgspec.json.decode(shapes, type=list[list[int]])
        types = msgspec.json.decode(dtypes, type=list[str])
        pairs = [(size, element_bytes(dtype)) for size, dtype in zip(sizes, types, strict=True) if dtype and size]
        byte_counts = [math.prod(size) * each for size, each in pairs if each is not None]
    except (msgspec.MsgspecError, ValueError):
        return None
    return sum(byte_counts) if byte_counts and len(byte_counts) == len(pairs) else None


# NCCL exchanges the messages that `batch_isend_irecv` collects in one kernel, whose launch follows all their ops.
#
# thread    [send to 1, 64 kB] [receive from 1, 64 kB]  |nccl:coalesced [launch]|
# stream                                                                  [ncclDevKernel_SendRecv ....]
#
# The kernel does not name the peer. Its messages are those that were requested since the previous such launch.

_SEND_RECEIVE = KINDS.index("send_receive")


def _with_batches(trace: Trace, collectives: Collectives, call: Int64, op_row: Int64) -> Collectives:
    """Adds the exchanged messages to kernels that do not name their peer. call: the launch of each kernel. op_row: the
    row of the op around that launch in the table of collectives, -1 for none."""
    events, table = trace.events, trace.collectives
    rows = table.event.astype(np.int64)
    bare = np.flatnonzero((collectives.kind == _SEND_RECEIVE) & (call >= 0) & (collectives.peer < 0))
    if not len(bare) or not len(rows):
        return collectives
    requests = np.flatnonzero(
        _messages(trace) & (events.kind[rows] == Kind.CPU_OP) & ~is_in(np.arange(len(rows)), op_row)
    )
    columns = {name: getattr(collectives, name).copy() for name in _OF_BATCH}
    for thread in distinct_in(events.thread[call[bare]]).tolist():
        unbatched = bare[events.thread[call[bare]] == thread]
        unbatched = unbatched[np.argsort(events.start_ns[call[unbatched]], kind="stable")]
        on_thread = requests[events.thread[rows[requests]] == thread]
        launch = np.searchsorted(events.start_ns[call[unbatched]], events.ends(rows[on_thread]))
        for place in distinct(launch[launch < len(unbatched)]).tolist():
            _add_batch(trace, columns, int(unbatched[place]), on_thread[launch == place])
    return msgspec.structs.replace(collectives, **columns)


_OF_BATCH = ("bytes", "group", "group_size", "dtype", "members", "description", "peer", "sends", "batched")


def _messages(trace: Trace) -> Bool:
    """Returns which rows of the table are sends or receives between two ranks."""
    kinds = np.array([kind_of(text) for text in trace.collective_texts.strings] + [UNKNOWN_KIND])
    name: Int32 = trace.collectives.name
    return (kinds[name] == _SEND_RECEIVE) & (trace.collectives.peer >= 0)


def _add_batch(trace: Trace, columns: dict[str, Int64], at: int, messages: Int64) -> None:
    """Fills the columns at one collective from its messages, rows of the table of collectives. Messages in both
    directions between two ranks count as one, sent by the rank with the lower number, so that both ranks agree."""
    table, texts = trace.collectives, trace.collective_texts
    peers = distinct(table.peer[messages].astype(np.int64)).tolist()
    sends = _sends(texts, table.name[messages].astype(np.int64))
    sizes = [element_bytes(texts[dtype]) if dtype >= 0 else None for dtype in table.dtype[messages].tolist()]
    elements = table.elements[messages].tolist()
    both, rank = bool(sends.any() and not sends.all()), trace.job.rank
    single = len(peers) == 1 and not (both and rank is None)
    for name in ("group", "group_size", "dtype", "members", "description"):
        of_all = getattr(table, name)[messages]
        columns[name][at] = of_all[0] if (of_all == of_all[0]).all() else -1
    sizes_known = [size * count for size, count in zip(sizes, elements, strict=True) if size is not None and count >= 0]
    columns["bytes"][at] = sum(sizes_known) if len(sizes_known) == len(messages) else -1
    columns["peer"][at] = peers[0] if single else -1
    columns["sends"][at] = rank is not None and rank < peers[0] if both else bool(sends[0])
    columns["batched"][at] = len(messages) > 1


_REQUEST = "c10d::"
#: gloo runs a reduce-scatter as an all-reduce.
_RUN_AS = {KINDS.index("reduce_scatter"): KINDS.index("all_reduce")}


def launching_calls(trace: Trace) -> Int64:
    """Returns the row of the call or op that launched each of `find_collectives`; -1 if it is not recorded."""
    collectives = find_collectives(trace)
    on_device = has_device_activity(trace)
    return find_launches(trace).calls_of(collectives.event) if on_device else _requesting_ops(trace, collectives)


def launched_by_fsdp(trace: Trace, calls: Int64) -> Bool:
    """Returns whether a range of FSDP encloses each call. calls: rows of the event table, -1 for none."""
    return innermost(trace, rows_named(trace, (Kind.USER,), FSDP.match), calls) >= 0


#: Autograd functions of torch, apex and mmcv that exchange the statistics of a batch, forwards and backwards.
_SYNC_NORM = expression(r"(?i)sync_?batch_?norm")


def launched_by_sync_norm(trace: Trace, calls: Int64) -> Bool:
    """Returns whether an op of SyncBatchNorm encloses each call. calls: rows of the event table, -1 for none."""
    return innermost(trace, rows_named(trace, (Kind.CPU_OP,), _SYNC_NORM.search), calls) >= 0


def _requesting_ops(trace: Trace, collectives: Collectives) -> Int64:
    """Returns the op that requests each collective; -1 if it is unknown. Requests and collectives of a kind are
    matched in order if they are equally many and each request comes before its collective."""
    ops = rows_named(trace, (Kind.CPU_OP,), lambda name: name.startswith(_REQUEST))
    requested = [kind_of(trace.strings[name]) for name in trace.events.name[ops].tolist()]
    kinds = np.array([_RUN_AS.get(kind, kind) for kind in requested], np.int64)
    calls = np.full(len(collectives), -1, np.int64)
    for kind in distinct_in(collectives.kind).tolist():
        of_kind, requests = np.flatnonzero(collectives.kind == kind), ops[kinds == kind]
        if len(of_kind) == len(requests) and (trace.events.start_ns[requests] <= collectives.start[of_kind]).all():
            calls[of_kind] = requests
    return calls
