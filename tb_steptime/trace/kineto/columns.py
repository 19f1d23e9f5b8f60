"""Rows of events -> columns that grow in place, and in the end are sorted into the trace's tables.

No Python object outlives the stretch of text that it was decoded from, but one string per distinct name.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.kineto.categories import LEFT_OUT, is_mark, kind_of
from tb_steptime.trace.kineto.rows import NO_ARGS, Begin, Complete, End, Meta, microseconds_to_ns, number_of, times_ns
from tb_steptime.trace.model import Thread
from tb_steptime.trace.table import DEVICE_KINDS, EventTable, Int64, KernelTable, Kind, StringTable

_ON_A_DEVICE = (*DEVICE_KINDS, Kind.GPU_USER, Kind.SYNC)
_NO_TIME = int(np.iinfo(np.int64).min)
#: Stands for a duration that the file does not give, until the end of the file may have given it.
_NO_DURATION = -(2**62)
_UNKNOWN = -1


class _Numbers(dict[Any, int]):
    """Numbers keys in order of first appearance, or as `number` says."""

    def __init__(self, number: Callable[[Any], int] | None = None) -> None:
        super().__init__()
        self._number = number

    def __missing__(self, key: Any) -> int:
        number = self[key] = self._number(key) if self._number else len(self)
        return number


class Columns:
    """Everything about events that is kept while a file is read.

    Durations are kept as the file has them, -2**62 for none. The counts are of events that were repaired or lost.
    """

    def __init__(self) -> None:
        self.start, self.dur = array("q"), array("q")
        self.kind = array("B")
        self.name, self.thread, self.device, self.stream = (array("i") for _ in range(4))
        self.correlation, self.external, self.bytes = array("q"), array("q"), array("q")
        self.kernel = array("q")  # row of each kernel
        self.grid, self.block, self.shared_memory = array("q"), array("q"), array("q")
        self.registers = array("i")
        self.blocks_per_sm, self.occupancy = array("d"), array("d")
        self.says_bytes = False
        self.timeless_count = 0
        self.unpaired_end_count = 0
        self._names, self._tracks, self._kinds = _Numbers(), _Numbers(), _Numbers(kind_of)
        self._threads, self._thread_of_track = _Numbers(), _Numbers(self._thread)
        self._process_names: dict[str, str] = {}
        self._thread_names: dict[tuple[str, str], str] = {}
        self._open: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.start)

    def add(self, rows: Sequence[Any]) -> None:
        """Take the rows of a stretch of events, all of one kind of time."""
        timed = [row for row in rows if isinstance(row, Complete)]
        if timed:
            self._add_timed(timed)
        if len(timed) < len(rows):
            self._add_others(rows)

    def _add_others(self, rows: Sequence[Any]) -> None:
        ends = []
        for row in rows:
            if isinstance(row, Meta):
                self._add_name(row)
            elif isinstance(row, End):
                ends.append(row)
        if ends:
            self._add_ends(ends)

    def _thread(self, track: tuple[object, object]) -> int:
        return self._threads[_text(track[0]), _text(track[1])]

    def _add_timed(self, rows: list[Any]) -> None:
        kinds = [self._kinds[row.cat] for row in rows]
        if LEFT_OUT in kinds:
            rows = [row for row, kind in zip(rows, kinds, strict=True) if kind != LEFT_OUT]
            kinds = [kind for kind in kinds if kind != LEFT_OUT]
        start, timeless = times_ns(rows)
        if timeless:
            self.timeless_count += timeless
            kept = [row for row, time in zip(rows, start, strict=True) if time != _NO_TIME]
            return self._add_timed(kept)
        first = len(self.start)
        self._add_columns(rows, kinds, start)
        self._add_kernels(rows, kinds, first)
        for index, row in enumerate(rows):
            if isinstance(row, Begin):
                self._open.setdefault(self.thread[first + index], []).append(first + index)
        return None

    def _add_columns(self, rows: list[Any], kinds: list[int], start: Int64) -> None:
        args = [row.args or NO_ARGS for row in rows]
        names, threads = self._names, self._thread_of_track
        self.start.frombytes(start.tobytes())
        self.dur.frombytes(_durations([row.dur for row in rows]).tobytes())
        self.kind.extend(kinds)
        self.name.extend([names[row.name] for row in rows])
        self.thread.extend([threads[row.pid, row.tid] for row in rows])
        self.correlation.extend(_integers([arg.correlation for arg in args]))
        self.external.extend(
            _integers([arg.external_id_2021 if arg.external_id is None else arg.external_id for arg in args])
        )
        on_device = [index for index, kind in enumerate(kinds) if kind in _ON_A_DEVICE]
        for column, values in (
            (self.device, [_first(args[index].device, rows[index].pid) for index in on_device]),
            (self.stream, [_first(args[index].stream, rows[index].tid) for index in on_device]),
        ):
            column.frombytes(_scatter(len(rows), on_device, _narrow(values)).tobytes())
        self._add_bytes([args[index].bytes for index in on_device], on_device, len(rows))

    def _add_bytes(self, said: list[Any], on_device: list[int], count: int) -> None:
        """The column begins with the first event that says a size; all before it say none."""
        if not self.says_bytes and any(size is not None for size in said):
            self.says_bytes = True
            self.bytes = array("q", [_UNKNOWN]) * (len(self.start) - count)
        if self.says_bytes:
            self.bytes.frombytes(_scatter(count, on_device, np.array(_integers(said), np.int64)).tobytes())

    def _add_kernels(self, rows: list[Any], kinds: list[int], first: int) -> None:
        kernels = [index for index, kind in enumerate(kinds) if kind == Kind.KERNEL]
        args = [rows[index].args or NO_ARGS for index in kernels]
        self.kernel.extend([first + index for index in kernels])
        self.grid.extend(_triples([arg.grid for arg in args]))
        self.block.extend(_triples([arg.block for arg in args]))
        self.registers.extend(_narrow([arg.registers for arg in args]).tolist())
        self.shared_memory.extend(_integers([arg.shared_memory for arg in args]))
        self.blocks_per_sm.extend(_floats([arg.blocks_per_sm for arg in args]))
        self.occupancy.extend(_floats([arg.occupancy_percent for arg in args]))

    def _add_name(self, row: Meta) -> None:
        name = row.args.name if row.args else None
        if not isinstance(name, str):
            return
        if row.name == "process_name":
            self._process_names[_text(row.pid)] = name
        elif row.name == "thread_name":
            self._thread_names[_text(row.pid), _text(row.tid)] = name

    def _add_ends(self, rows: list[Any]) -> None:
        times, _ = times_ns(rows)
        for row, time in zip(rows, times.tolist(), strict=True):
            begun = self._open.get(self._thread_of_track[row.pid, row.tid])
            if begun:
                index = begun.pop()
                self.dur[index] = time - self.start[index]
            else:
                self.unpaired_end_count += 1

    def threads(self) -> list[Thread]:
        return [
            Thread(pid, tid, self._thread_names.get((pid, tid), ""), self._process_names.get(pid, ""))
            for pid, tid in self._threads
        ]

    def strings(self) -> StringTable:
        return StringTable(["" if name is None else str(name) for name in self._names])

    def release(self) -> Tables:
        """Sorted tables; the columns are empty afterwards, so that nothing is held twice."""
        return Tables(self)


class Tables:
    """Sorted columns, and counts of what was repaired on the way."""

    def __init__(self, columns: Columns) -> None:
        dur = _taken(columns, "dur", np.int64)
        missing = dur == _NO_DURATION
        self.missing_duration_count = int(missing.sum())
        self.negative_duration_count = int((dur < 0).sum()) - self.missing_duration_count
        np.maximum(dur, 0, out=dur)
        start = _taken(columns, "start", np.int64)
        self.origin_ns = int(start.min()) if len(start) else 0
        start -= self.origin_ns
        order = np.lexsort((-dur, start))
        self.columns: dict[str, Any] = {"start": start[order], "dur": dur[order]}
        del start, dur
        for name, kind in _EVENT_COLUMNS:
            self.columns[name] = _taken(columns, name, kind)[order]
        self.columns["bytes"] = _taken(columns, "bytes", np.int64)[order] if columns.says_bytes else None
        self._name_marks(columns.strings())
        self._sort_kernels(columns, order)
        self.duplicate_count = 0
        self._drop_duplicates()

    def _name_marks(self, strings: StringTable) -> None:
        """2021 wrote marks as ops; here they are the user's, whatever the year."""
        marks = np.array([is_mark(name) for name in strings.strings], bool)
        kind = self.columns["kind"]
        if marks.any():
            kind[(kind == Kind.CPU_OP) & marks[self.columns["name"]]] = Kind.USER

    def _sort_kernels(self, columns: Columns, order: Int64) -> None:
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        event = place[_taken(columns, "kernel", np.int64)]
        by_event = np.argsort(event, kind="stable")
        self.kernels: dict[str, Any] = {"event": event[by_event]}
        for name, kind in _KERNEL_COLUMNS:
            values = _taken(columns, name, kind)
            values = values.reshape(-1, 3) if name in ("grid", "block") else values
            self.kernels[name] = values[by_event] if _says_anything(values) else None
        if self.kernels["occupancy"] is not None:
            self.kernels["occupancy"] /= 100

    def _drop_duplicates(self) -> None:
        """Producers have written each event twice. Of two rows that are the same in all columns the first is kept.

        Rows without an id may truly happen twice within a clock tick; they are dropped only when they last.
        """
        again = _repeated(self.columns)
        self.duplicate_count = int(again.sum())
        if not self.duplicate_count:
            return
        kept = ~again
        place = np.cumsum(kept) - 1
        kernels = kept[self.kernels["event"]]
        self.columns = {name: _where(values, kept) for name, values in self.columns.items()}
        self.kernels = {name: _where(values, kernels) for name, values in self.kernels.items()}
        self.kernels["event"] = place[self.kernels["event"]]

    def events(self) -> EventTable:
        of = self.columns
        return EventTable(
            start_ns=of["start"], dur_ns=of["dur"], kind=of["kind"], name=of["name"], thread=of["thread"],
            device=of["device"], stream=of["stream"], correlation_id=of["correlation"], external_id=of["external"],
            bytes=of["bytes"],
        )  # fmt: skip

    def kernel_table(self) -> KernelTable:
        of = self.kernels
        return KernelTable(
            event=of["event"], grid=of["grid"], block=of["block"], registers=of["registers"],
            shared_memory=of["shared_memory"], blocks_per_sm=of["blocks_per_sm"], kineto_occupancy=of["occupancy"],
        )  # fmt: skip


_EVENT_COLUMNS: tuple[tuple[str, type], ...] = (
    ("kind", np.uint8),
    ("name", np.int32),
    ("thread", np.int32),
    ("device", np.int32),
    ("stream", np.int32),
    ("correlation", np.int64),
    ("external", np.int64),
)
_KERNEL_COLUMNS: tuple[tuple[str, type], ...] = (
    ("grid", np.int64),
    ("block", np.int64),
    ("registers", np.int32),
    ("shared_memory", np.int64),
    ("blocks_per_sm", np.float64),
    ("occupancy", np.float64),
)


def _taken(columns: Columns, name: str, kind: type) -> npt.NDArray[Any]:
    """A column as numpy sees it, without a copy; the array no longer belongs to the columns."""
    values = getattr(columns, name)
    setattr(columns, name, array(values.typecode))
    return np.frombuffer(values, kind) if len(values) else np.empty(0, kind)


def _where(values: Any, kept: npt.NDArray[np.bool_]) -> Any:
    return None if values is None else values[kept]


def _says_anything(values: npt.NDArray[Any]) -> bool:
    return bool((np.isfinite(values) if values.dtype.kind == "f" else values != _UNKNOWN).any())


def _repeated(columns: dict[str, Any]) -> npt.NDArray[np.bool_]:
    """Rows that repeat an earlier one. Only rows that share start and duration with a neighbour are compared."""
    start, dur = columns["start"], columns["dur"]
    same = (start[1:] == start[:-1]) & (dur[1:] == dur[:-1])
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    again = np.zeros(len(start), bool)
    if not len(tied):
        return again
    keys = [values[tied] for values in columns.values() if values is not None]
    order = np.lexsort((tied, *keys))
    equal = np.logical_and.reduce([key[order][1:] == key[order][:-1] for key in keys])
    rows = tied[order[1:][equal]]
    known = (columns["correlation"][rows] >= 0) | (columns["external"][rows] >= 0) | (dur[rows] > 0)
    again[rows[known]] = True
    return again


def _text(track: object) -> str:
    if isinstance(track, float) and track.is_integer():
        track = int(track)
    return "" if track is None else str(track)


def _first(said: Any, otherwise: Any) -> Any:
    return otherwise if said is None else said


def _durations(us: list[float | None]) -> Int64:
    if None in us:
        known = microseconds_to_ns([0.0 if value is None else value for value in us])
        known[[value is None for value in us]] = _NO_DURATION
        return known
    return microseconds_to_ns(us)  # type: ignore[arg-type]


def _integers(values: list[Any]) -> list[int]:
    """Integers out of what should be some; -1 for what is none."""
    if _UNKNOWN in values or not all(map(_is_id, values)):
        return [value if _is_id(value) else _integer(value) for value in values]
    return values


def _is_id(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _integer(value: Any) -> int:
    number = number_of(value)
    if number is None or number != int(number) or not 0 <= number < 2**63:
        return _UNKNOWN
    return int(number)


def _narrow(values: Iterable[Any]) -> npt.NDArray[np.int32]:
    """int32; -1 for what is no such number. Kineto writes 2**32 - 1 for "no stream"."""
    numbers = np.array([_integer(value) for value in values], np.int64)
    numbers[(numbers < 0) | (numbers >= 2**31)] = _UNKNOWN
    return numbers.astype(np.int32)


def _scatter(count: int, places: list[int], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    column = np.full(count, _UNKNOWN, values.dtype)
    column[places] = values
    return column


def _triples(values: list[Any]) -> list[int]:
    return [number for value in values for number in _triple(value)]


def _triple(value: Any) -> list[int]:
    if isinstance(value, list) and len(value) == 3 and all(map(_is_id, value)):
        return value
    return [_UNKNOWN] * 3


def _floats(values: list[Any]) -> list[float]:
    return [value if type(value) in (int, float) else _float(value) for value in values]


def _float(value: Any) -> float:
    number = number_of(value)
    return float("nan") if number is None else float(number)
