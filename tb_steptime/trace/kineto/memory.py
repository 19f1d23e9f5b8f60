"""The allocator's events, one for each allocation and each free: rows of instants -> columns sorted by time.

    {"ph": "i", "name": "[memory]", "ts": 12.345, "args": {"Addr": 4096, "Bytes": 512, "Total Allocated": 1024, ...}}
    {"ph": "i", "name": "[OutOfMemory]", "ts": 23.456, "args": {"Bytes": 8589934592, "Total Allocated": 1024, ...}}

The profiler writes them with `profile_memory=True`. For a trace without such events these columns cost nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tb_steptime.trace.kineto.numbers import (
    TOO_MANY_BYTES,
    UNKNOWN,
    integers,
    number_of,
    small_integers,
    time_ns,
    to_ns,
    uniform_ns,
)
from tb_steptime.trace.kineto.row_types import MemoryArgs
from tb_steptime.trace.kineto.rows import MEMORY
from tb_steptime.trace.table import Int64, MemoryTable

_NO_ARGS = MemoryArgs()
#: Names of the int64 columns of `MemoryTable`.
_LONG = ("bytes", "addr", "allocated", "reserved")


class MemoryColumns:
    """Columns that grow while a file is read, in its order. A row without a time or a size is left out.

    refused: sizes in bytes of requested allocations for which there was no memory; None if the file does not give the
    size.
    """

    def __init__(self) -> None:
        self._ts, self._bytes, self._addr, self._allocated, self._reserved = (array("q") for _ in range(5))
        self._thread, self._device_type, self._device = (array("i") for _ in range(3))
        self.refused: list[int | None] = []

    def add(self, rows: Sequence[Any], thread: Callable[[object, object], int]) -> None:
        """Keeps the events of the allocator among these rows. thread: maps a pid and a tid to the number of their
        thread."""
        memory = [row for row in rows if row.name == MEMORY]
        if len(memory) < len(rows):
            self.refused += [_signed((row.args or _NO_ARGS).bytes) for row in rows if row.name != MEMORY]
        times: list[int | None] = _times(memory)
        sizes = _sizes([(row.args or _NO_ARGS).bytes for row in memory])
        if None in times or None in sizes:
            complete = [each for each in zip(memory, times, sizes, strict=True) if None not in each[1:]]
            memory, times, sizes = ([each[column] for each in complete] for column in range(3))
        args = [row.args for row in memory]
        self._ts += array("q", times)  # type: ignore[arg-type]
        self._bytes += array("q", sizes)  # type: ignore[arg-type]
        self._thread += array("i", _threads(memory, thread))
        self._addr += integers([arg.addr for arg in args])
        self._allocated += integers([arg.allocated for arg in args])
        self._reserved += integers([arg.reserved for arg in args])
        self._device_type += small_integers([arg.device_type for arg in args])
        self._device += small_integers([arg.device for arg in args])

    def table(self, origin_ns: int) -> MemoryTable:
        """Returns the rows sorted by time, in the written order within one instant. Rows that were written twice are
        kept once."""
        ts = np.frombuffer(self._ts, np.int64) - origin_ns if self._ts else np.empty(0, np.int64)
        order = np.argsort(ts, kind="stable")
        long = {name: np.frombuffer(getattr(self, f"_{name}"), np.int64)[order] if self._ts else ts for name in _LONG}
        thread, kind, device = (
            np.frombuffer(column, np.int32)[order] if self._ts else ts.astype(np.int32)
            for column in (self._thread, self._device_type, self._device)
        )
        table = MemoryTable(ts[order], thread, kind, device, **long)
        return table.where(~_again(table))


def _times(rows: Sequence[Any]) -> list[int | None]:
    """Returns the time of each row in ns, from floats or from the written text, or None if it has none."""
    if rows and isinstance(rows[0].ts, float):
        return to_ns(np.array([row.ts for row in rows], np.float64)).tolist()  # type: ignore[no-any-return]
    times = None if any(isinstance(row.ts, str) for row in rows) else uniform_ns([bytes(row.ts) for row in rows])
    return [time_ns(row.ts) for row in rows] if times is None else times.tolist()


def _sizes(values: Sequence[Any]) -> list[int | None]:
    try:
        plain = np.frombuffer(array("q", values), np.int64)
    except (TypeError, OverflowError):
        return list(map(_signed, values))
    fine = plain.min(initial=0) > -TOO_MANY_BYTES and plain.max(initial=0) < TOO_MANY_BYTES
    return plain.tolist() if fine and bool not in map(type, values) else list(map(_signed, values))


def _threads(rows: Sequence[Any], thread: Callable[[object, object], int]) -> list[int]:
    """Returns the thread numbers of the rows, looking up each track once. The types are part of the key, since 1, 1.0
    and True are equal keys."""
    by_track: dict[tuple[object, ...], int] = {}
    numbers = []
    for row in rows:
        pid, tid = row.pid, row.tid
        track = pid, tid, pid.__class__, tid.__class__
        number = by_track.get(track)
        if number is None:
            number = by_track[track] = thread(pid, tid)
        numbers.append(number)
    return numbers


def _signed(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < TOO_MANY_BYTES else None
    number = number_of(value)
    return int(number) if number is not None and number == int(number) and abs(number) < TOO_MANY_BYTES else None


def _again(table: MemoryTable) -> Any:
    """Returns the rows that repeat the one before them. No two allocations leave the same total, so such a row was
    written twice."""
    columns = (table.ts, table.thread, table.device, table.bytes, table.addr, table.allocated)
    same: Int64 = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    complete = (table.allocated != UNKNOWN) & (table.bytes != 0)
    return np.insert(same, 0, False) & complete if len(table) else np.zeros(0, bool)
