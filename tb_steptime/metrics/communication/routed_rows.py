"""The number of rows that each all-to-all sends to other ranks and receives from them. They are tokens if ranks share
experts.

"[102, 410]" of 2 ranks     102 rows to rank 0 and 410 to rank 1, 512 together; of 131,072 elements: 256 each
"[]"                        equally many to each rank; their number is not recorded
"[8, 4, 0, ..., 9]"         not known: of more than 30 ranks PyTorch leaves some out

Current releases of PyTorch write these splits on NCCL's kernels. For other backends they are inputs of the op that
requests the exchange, if shapes were recorded.
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import find_collectives, launching_calls
from tb_steptime.metrics.communication.kinds import KINDS
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.trace.model import Trace
from tb_steptime.trace.names import rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Int64, Kind, is_in

_ALL_TO_ALL = KINDS.index("all_to_all")
_REQUEST = "c10d::alltoall_base_"


class RoutedRows(msgspec.Struct, frozen=True, eq=False):
    """For each of `find_collectives` the number of rows that this rank sends and receives, including those to itself,
    and of elements in a row; -1 where not known."""

    sent: Int64
    received: Int64
    width: Int64


def routed_rows(trace: Trace) -> RoutedRows:
    """Finds the rows of the all-to-alls whose splits are recorded."""
    found = find_collectives(trace)
    rows = RoutedRows(*(np.full(len(found), -1, np.int64) for _ in range(3)))
    mine = np.flatnonzero(found.kind == _ALL_TO_ALL)
    for place, known in zip(mine.tolist(), _of_arguments(trace, mine), strict=True):
        _set(rows, place, known)
    for place, known in _of_ops(trace, mine[rows.sent[mine] < 0]):
        _set(rows, place, known)
    return rows


_Rows = tuple[int, int, int]


def _set(rows: RoutedRows, place: int, known: _Rows | None) -> None:
    if known is not None:
        rows.sent[place], rows.received[place], rows.width[place] = known


def _of_arguments(trace: Trace, mine: Int64) -> list[_Rows | None]:
    found, texts = find_collectives(trace), trace.collective_texts
    sent, received, elements = (
        column[mine].tolist() for column in (found.rows_sent, found.rows_received, found.elements)
    )
    read = {text: sum_of_splits(texts[text]) if text >= 0 else None for text in {*sent, *received}}
    return [_checked(read[out], read[back], size) for out, back, size in zip(sent, received, elements, strict=True)]


def _checked(sent: int | None, received: int | None, elements: int) -> _Rows | None:
    """The rows with their width. elements: of the larger of what is sent and received. None unless all rows have
    equally many."""
    if sent is None or received is None or max(sent, received) <= 0 or elements < 0:
        return None
    width, rest = divmod(elements, max(sent, received))
    return None if rest or not width else (sent, received, width)


def _of_ops(trace: Trace, mine: Int64) -> list[tuple[int, _Rows | None]]:
    """The rows according to the inputs of the op that requests the exchange, with the place of each collective."""
    events = trace.events
    if events.shapes is None or events.settings is None or not len(mine):
        return []
    op = _requesting_ops(trace)[mine]
    known = np.flatnonzero((op >= 0) & (events.settings[op] >= 0) & (events.shapes[op] >= 0))
    return [
        (int(mine[place]), rows_of_op(trace.inputs[events.shapes[op[place]]], trace.inputs[events.settings[op[place]]]))
        for place in known.tolist()
    ]


def _requesting_ops(trace: Trace) -> Int64:
    """For each of `find_collectives` the op that requests an all-to-all; -1 for none."""
    calls, ops = launching_calls(trace), rows_named(trace, (Kind.CPU_OP,), lambda name: name == _REQUEST)
    if has_device_activity(trace):
        return innermost(trace, ops, calls)
    return np.where(is_in(calls, ops), calls, -1)


def rows_of_op(shapes: str, values: str) -> _Rows | None:
    """The rows sent and received and their width. The inputs of the op, as compact JSON, are the tensor to fill, the
    one to send, the group, and the rows received and sent by rank. None if they do not fit together.

    >>> rows_of_op("[[820,256],[512,256],[],[],[]]", '["","","","[410, 410]","[102, 410]"]')
    (512, 820, 256)
    """
    try:
        received, sent, *_ = msgspec.json.decode(shapes, type=list[list[int]])
        splits = [sum_of_splits(text) for text in msgspec.json.decode(values, type=list[str])[3:5]]
    except (msgspec.MsgspecError, ValueError):
        return None
    if len(sent) < 2 or received[1:] != sent[1:] or splits != [received[0], sent[0]]:
        return None
    width = int(np.prod(sent[1:]))
    return (sent[0], received[0], width) if width else None


def sum_of_splits(text: str) -> int | None:
    """The sum of a list of splits; None if the text is no list, is empty, or leaves ranks out.

    >>> sum_of_splits("[102, 410]"), sum_of_splits("[]"), sum_of_splits("[8, 4, ..., 9]")
    (512, None, None)
    """
    try:
        splits = msgspec.json.decode(text, type=list[int])
    except msgspec.MsgspecError:
        return None
    return sum(splits) if splits and min(splits) >= 0 else None
