"""Columns in the order of a file -> tables in the order of time. Marks are told from ops, doubles are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.kineto.categories import is_mark
from tb_steptime.trace.kineto.columns import NO_DURATION, Columns
from tb_steptime.trace.kineto.numbers import UNKNOWN
from tb_steptime.trace.table import Bool, EventTable, Int64, KernelTable, Kind, StringTable

_EVENT_COLUMNS: tuple[tuple[str, type], ...] = (
    ("kind", np.uint8),
    ("name", np.int32),
    ("thread", np.int32),
    ("device", np.int32),
    ("stream", np.int32),
    ("correlation", np.int64),
    ("external", np.int64),
    ("bytes", np.int64),
)
_KERNEL_COLUMNS: tuple[tuple[str, type], ...] = (
    ("grid", np.int64),
    ("block", np.int64),
    ("registers", np.int32),
    ("shared_memory", np.int64),
    ("blocks_per_sm", np.float64),
    ("occupancy", np.float64),
)


class Tables:
    """Sorted tables out of columns, which are empty afterwards: nothing is held twice for long.

    origin_ns is what was taken off all times; the counts are of events that were repaired or left out on the way.
    """

    def __init__(self, columns: Columns) -> None:
        dur = columns.take("dur", np.int64)
        self.missing_duration_count = int((dur == NO_DURATION).sum())
        self.negative_duration_count = int((dur < 0).sum()) - self.missing_duration_count
        np.maximum(dur, 0, out=dur)
        start = columns.take("start", np.int64)
        self.origin_ns = int(start.min()) if len(start) else 0
        start -= self.origin_ns
        order = np.lexsort((-dur, start))
        self._of: dict[str, Any] = {"start": start[order], "dur": dur[order]}
        del start, dur
        for name, kind in _EVENT_COLUMNS:
            self._of[name] = columns.take(name, kind)[order]
        if not _says_anything(self._of["bytes"]):
            self._of["bytes"] = None
        self._name_marks(columns.strings())
        self._sort_kernels(columns, order)
        self.duplicate_count = self._drop_duplicates()

    def events(self) -> EventTable:
        of = self._of
        return EventTable(
            start_ns=of["start"],
            dur_ns=of["dur"],
            kind=of["kind"],
            name=of["name"],
            thread=of["thread"],
            device=of["device"],
            stream=of["stream"],
            correlation_id=of["correlation"],
            external_id=of["external"],
            bytes=of["bytes"],
        )

    def kernels(self) -> KernelTable:
        of = self._kernels
        return KernelTable(
            event=of["event"],
            grid=of["grid"],
            block=of["block"],
            registers=of["registers"],
            shared_memory=of["shared_memory"],
            blocks_per_sm=of["blocks_per_sm"],
            kineto_occupancy=None if of["occupancy"] is None else of["occupancy"] / 100,
        )

    def _name_marks(self, strings: StringTable) -> None:
        """2021 wrote marks as ops; here they are the user's, whatever the year."""
        marks = np.array([is_mark(name) for name in strings.strings], bool)
        if marks.any():
            kind = self._of["kind"]
            kind[(kind == Kind.CPU_OP) & marks[self._of["name"]]] = Kind.USER

    def _sort_kernels(self, columns: Columns, order: Int64) -> None:
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        event = place[columns.take("kernel", np.int64)]
        by_event = np.argsort(event, kind="stable")
        self._kernels: dict[str, Any] = {"event": event[by_event]}
        for name, kind in _KERNEL_COLUMNS:
            values = columns.take(name, kind)
            values = values.reshape(-1, 3) if name in ("grid", "block") else values
            self._kernels[name] = values[by_event] if _says_anything(values) else None

    def _drop_duplicates(self) -> int:
        """Producers have written each event twice."""
        again = _repeated(self._of)
        if again.any():
            kept = ~again
            kernels = kept[self._kernels["event"]]
            self._of = {name: _where(values, kept) for name, values in self._of.items()}
            self._kernels = {name: _where(values, kernels) for name, values in self._kernels.items()}
            self._kernels["event"] = (np.cumsum(kept) - 1)[self._kernels["event"]]
        return int(again.sum())


def _repeated(of: dict[str, Any]) -> Bool:
    """Rows that are the same as an earlier one in all columns.

    Rows without an id can be two short events within one tick of the clock; they are doubles only when they last.
    """
    start, dur = of["start"], of["dur"]
    same = (start[1:] == start[:-1]) & (dur[1:] == dur[:-1])
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False)) if same.any() else np.empty(0, np.int64)
    keys = [values[tied] for values in of.values() if values is not None]
    order = np.lexsort((tied, *keys))
    equal = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys])
    rows = tied[order[1:][equal]]
    known = (of["correlation"][rows] >= 0) | (of["external"][rows] >= 0) | (dur[rows] > 0)
    again = np.zeros(len(start), bool)
    again[rows[known]] = True
    return again


def _where(values: Any, kept: Bool) -> Any:
    return None if values is None else values[kept]


def _says_anything(values: npt.NDArray[Any]) -> bool:
    return bool((np.isfinite(values) if values.dtype.kind == "f" else values != UNKNOWN).any())
