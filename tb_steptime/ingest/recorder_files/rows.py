"""A recorder's rows -> columns of the batches that were made, and taken, in a trace's time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.record.file import format as layout
from tb_steptime.trace.loader_records import UNKNOWN_TIME
from tb_steptime.trace.table import Int64

_ROW = np.dtype(layout.ROW_FIELDS)


Rows = npt.NDArray[Any]


@dataclass(frozen=True)
class ReadFile:
    """A file that could be read. loader: 1, 2, ... of its process, over all recorders. rows: with times in epoch ns."""

    name: str
    loader: int
    header: dict[str, Any]
    rows: Rows
    file: layout.RecordedFile


def read_all(folder: Path, names: Sequence[str]) -> tuple[list[ReadFile], list[str]]:
    """The files that can be read, and the names of those that cannot. In neither are those that were not begun."""
    read: list[ReadFile] = []
    broken: list[str] = []
    for name in names:
        try:
            file = layout.read_file(folder / name)
        except layout.UnbegunError:
            continue
        except (OSError, layout.FormatError):
            broken.append(name)
        else:
            read.append(ReadFile(name, -1, file.header, _epoch_rows(file), file))
    return _numbered(read), broken


def _numbered(read: Sequence[ReadFile]) -> list[ReadFile]:
    """Each recorder of a process counts its loaders for itself."""
    keys = [(each.header.get("recorder_start_ns", 0), each.header.get("loader", 0)) for each in read]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)), 1)}
    return [replace(each, loader=numbers[key]) for each, key in zip(read, keys, strict=True)]


def _epoch_rows(file: layout.RecordedFile) -> Rows:
    """Rows with their times in epoch ns; unknown times are UNKNOWN_TIME."""
    rows: Rows = np.frombuffer(file.records, _ROW).copy()
    begin = np.array([position for position, _ in file.ahead] + [len(rows)], np.int64)
    ahead = np.repeat(np.array([ns for _, ns in file.ahead], np.int64), np.diff(begin))
    ahead = np.concatenate((np.zeros(len(rows) - len(ahead), np.int64), ahead))
    for kind, times in layout.TIMES.items():
        mine = np.flatnonzero(rows["kind"] == kind)
        values = rows["values"][mine, :times]
        rows["values"][mine, :times] = np.where(values == 0, UNKNOWN_TIME, values + ahead[mine, None])
    return rows


def received_rows(read: Sequence[ReadFile], low: int, high: int) -> list[Int64]:
    """Batches that the loop asked for in the trace's time, or that were under way at its end."""
    columns = _columns(read, layout.RECEIVED, ("pass_number", "batch"), range(8))
    columns = [np.concatenate(parts) for parts in zip(columns, _made_when_asked(read, columns), strict=True)]
    requested, asked, returned = columns[3], columns[4], columns[8]
    requested = np.where(requested == UNKNOWN_TIME, asked, requested)
    inside = np.flatnonzero((returned > low) & (np.minimum(requested, asked) < high))
    return _sorted([column[inside] for column in columns], by=8)


def _made_when_asked(read: Sequence[ReadFile], received: Sequence[Int64]) -> list[Int64]:
    """The columns of `received` for batches that a loader without workers made, and the loop had at once: they have no
    row of their own. They are pinned by the loop itself, or not at all."""
    loader, worker, passage, batch, flags, asked, end = _columns(
        read, layout.PRODUCED, ("worker", "pass_number", "batch", "flags"), (0, 3)
    )
    told = np.isin(batch_key(loader, passage, batch), batch_key(*received[:3]))
    rows = np.flatnonzero((worker == layout.NO_WORKER) & (flags == 0) & ~told)
    loader, passage, batch, asked, end = (column[rows] for column in (loader, passage, batch, asked, end))
    never = np.full(len(rows), UNKNOWN_TIME, np.int64)
    none = np.zeros(len(rows), np.int64)
    return [loader, passage, batch, asked, asked, end, end, never, end, none, none]


def produced_rows(read: Sequence[ReadFile], received: Sequence[Int64], low: int, high: int) -> list[Int64]:
    """Batches that were made in the trace's time, or were handed over in it."""
    columns = _columns(
        read, layout.PRODUCED, ("worker", "pid", "pass_number", "batch", "flags"), (0, 1, 2, 3, 4, 5, 6, 7, 8)
    )
    flags = columns.pop(5)
    loader, passage, batch = columns[0], columns[3], columns[4]
    wanted = (columns[8] > low) & (columns[6] < high)
    wanted |= np.isin(batch_key(loader, passage, batch), batch_key(*received[:3]))
    return _sorted([column[wanted & (flags == 0)] for column in columns], by=6)


def begun_rows(read: Sequence[ReadFile], low: int, high: int) -> list[Int64]:
    """Passes that the loop began in the trace's time."""
    loader, worker, begin, ready = _columns(read, layout.BEGAN, ("worker",), (0, 1))
    inside = (worker == layout.NO_WORKER) & (ready > low) & (begin < high)
    return _sorted([column[inside] for column in (loader, begin, ready)], by=1)


def _columns(read: Sequence[ReadFile], kind: int, fields: Sequence[str], values: Sequence[int]) -> list[Int64]:
    """int64 columns of all files: the loader's number, fields of a row, numbers of a row."""
    parts = [(each.loader, each.rows[each.rows["kind"] == kind]) for each in read]
    loader = np.concatenate([np.full(len(rows), number, np.int64) for number, rows in parts] or [np.empty(0, np.int64)])
    rows = np.concatenate([rows for _, rows in parts] or [np.empty(0, _ROW)])
    return [loader, *(rows[name].astype(np.int64) for name in fields), *(rows["values"][:, at] for at in values)]


def batch_key(loader: Int64, passage: Int64, batch: Int64) -> Int64:
    key: Int64 = (loader << 56) + (passage << 32) + batch
    return key


def _sorted(columns: list[Int64], by: int) -> list[Int64]:
    order = np.argsort(columns[by], kind="stable")
    return [column[order] for column in columns]


def shifted(columns: Sequence[Int64], times: range, origin_ns: int) -> list[Int64]:
    return [
        np.where(column == UNKNOWN_TIME, UNKNOWN_TIME, column - origin_ns) if place in times else column
        for place, column in enumerate(columns)
    ]
