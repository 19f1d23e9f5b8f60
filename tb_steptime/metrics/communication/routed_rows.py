"""The rows that all-to-alls send to other ranks and receive from them. They are tokens if ranks share experts.

"[102, 410]" of 2 ranks     102 rows to rank 0 and 410 to rank 1, 512 together; of 131,072 elements: 256 each
"[]"                        equally many to each rank; their number is not recorded
"[8, 4, 0, ..., 9]"         not known: of more than 30 ranks PyTorch leaves some out

Current releases of PyTorch write these splits on NCCL's kernels. For other backends they are inputs of the op that
requests the exchange, if shapes were recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from tb_steptime.metrics.communication.collectives import KINDS, find_collectives, launching_calls
from tb_steptime.metrics.gpu.utilization import has_device_activity
from tb_steptime.trace.model import Trace, rows_named
from tb_steptime.trace.nesting import innermost
from tb_steptime.trace.table import Int64, Kind, is_in

_ALL_TO_ALL = KINDS.index("all_to_all")
_REQUEST = "c10d::alltoall_base_"


class RoutedRows(msgspec.Struct, frozen=True, eq=False):
    """The number of rows that this rank sends and receives in each of `find_collectives`, including those to itself,
    and the number of elements of a row; -1 if not known."""

    sent: Int64
    received: Int64
    width: Int64


def routed_rows(trace: Trace) -> RoutedRows:
    """Finds the rows of the all-to-alls whose splits are recorded."""
    collectives = find_collectives(trace)
    rows = RoutedRows(*(np.full(len(collectives), -1, np.int64) for _ in range(3)))
    all_to_all = np.flatnonzero(collectives.kind == _ALL_TO_ALL)
    for place, counts in zip(all_to_all.tolist(), _rows_in_arguments(trace, all_to_all), strict=True):
        _set(rows, place, counts)
    for place, counts in _rows_in_ops(trace, all_to_all[rows.sent[all_to_all] < 0]):
        _set(rows, place, counts)
    return rows


class RowCounts(NamedTuple):
    """The rows that one all-to-all sends and receives, and the elements of a row."""

    sent: int
    received: int
    width: int


def _set(rows: RoutedRows, place: int, counts: RowCounts | None) -> None:
    if counts is not None:
        rows.sent[place], rows.received[place], rows.width[place] = counts


def _rows_in_arguments(trace: Trace, rows: Int64) -> list[RowCounts | None]:
    collectives, texts = find_collectives(trace), trace.collective_texts
    sent, received, elements = (
        column[rows].tolist() for column in (collectives.rows_sent, collectives.rows_received, collectives.elements)
    )
    read = {text: sum_of_splits(texts[text]) if text >= 0 else None for text in {*sent, *received}}
    return [_checked(read[out], read[back], size) for out, back, size in zip(sent, received, elements, strict=True)]


def _checked(sent: int | None, received: int | None, elements: int) -> RowCounts | None:
    """Returns the rows sent and received and their width; None if not all rows are equally wide. elements: those of the
    larger of what is sent and what is received."""
    if sent is None or received is None or max(sent, received) <= 0 or elements < 0:
        return None
    width, rest = divmod(elements, max(sent, received))
    return None if rest or not width else RowCounts(sent, received, width)


def _rows_in_ops(trace: Trace, rows: Int64) -> list[tuple[int, RowCounts | None]]:
    """Returns the place of each collective, and its rows according to the inputs of the op that requests it."""
    events = trace.events
    if events.shapes is None or events.settings is None or not len(rows):
        return []
    calls = launching_calls(trace)
    ops = rows_named(trace, (Kind.CPU_OP,), lambda name: name == _REQUEST)
    op = (innermost(trace, ops, calls) if has_device_activity(trace) else np.where(is_in(calls, ops), calls, -1))[rows]
    with_inputs = np.flatnonzero((op >= 0) & (events.settings[op] >= 0) & (events.shapes[op] >= 0))
    return [
        (
            int(rows[place]),
            rows_of_op(trace.inputs[events.shapes[op[place]]], trace.inputs[events.settings[op[place]]]),
        )
        for place in with_inputs.tolist()
    ]


def rows_of_op(shapes: str, values: str) -> RowCounts | None:
    """Returns the rows sent and received and their width; None if the inputs of the op do not fit together. These
    inputs, as compact JSON, are the tensor to fill, the one to send, the group, and the rows received and sent by rank.

    >>> rows_of_op("[[820,256],[512,256],[],[],[]]", '["","","","[410, 410]","[102, 410]"]')
    RowCounts(sent=512, received=820, width=256)
    """
    try:
        received, sent, *_ = msgspec.json.decode(shapes, type=list[list[int]])
        splits = [sum_of_splits(text) for text in msgspec.json.decode(values, type=list[str])[3:5]]
    except (msgspec.MsgspecError, ValueError):
        return None
    if len(sent) < 2 or received[1:] != sent[1:] or splits != [received[0], sent[0]]:
        return None
    width = int(np.prod(sent[1:]))
    return RowCounts(sent[0], received[0], width) if width else None


def sum_of_splits(text: str) -> int | None:
    """Returns the sum of a list of splits; None if the text is no list, is empty, or omits ranks.

    >>> sum_of_splits("[102, 410]"), sum_of_splits("[]"), sum_of_splits("[8, 4, ..., 9]")
    (512, None, None)
    """
    try:
        splits = msgspec.json.decode(text, type=list[int])
    except msgspec.MsgspecError:
        return None
    return sum(splits) if splits and min(splits) >= 0 else None
