"""Converts drawn events to the columns of a Trace. `timeline` explains the drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from tb_steptime.text import Note
from tb_steptime.trace.model import Device, Job, Thread, Trace
from tb_steptime.trace.table import (
    CollectiveTable,
    EventTable,
    KernelTable,
    Kind,
    SequenceTable,
    StackTable,
    StringTable,
)


@dataclass(frozen=True)
class Drawn:
    """One event of a drawing: a run of `char` on a line."""

    char: str
    start_ns: int
    end_ns: int
    kind: Kind
    name: str
    thread: Thread
    device: int = -1
    stream: int = -1
    correlation_id: int = -1
    external_id: int = -1

    def encloses(self, other: Drawn) -> bool:
        return self.thread == other.thread and self.start_ns <= other.start_ns and other.end_ns <= self.end_ns


def trace_of(
    events: list[Drawn],
    kernels: Mapping[str, Mapping[str, Any]],
    nbytes: Mapping[str, int],
    given_devices: Mapping[int, Device],
    job: Job,
    notes: tuple[Note, ...],
    inputs: Mapping[str, tuple[str, ...]],
) -> Trace:
    """Events sorted by (start, longer first) as columns. kernels, nbytes, inputs: values for a character's events."""
    devices = _devices(events, given_devices)
    strings = list(dict.fromkeys(event.name for event in events))
    threads = list(dict.fromkeys(event.thread for event in events))
    sizes = [nbytes.get(event.char, -1) if event.kind in (Kind.MEMCPY, Kind.MEMSET) else -1 for event in events]
    texts = list(dict.fromkeys(text for inputs_of_events in inputs.values() for text in inputs_of_events if text))
    inputs_of_events = [inputs.get(event.char, ()) if event.kind == Kind.CPU_OP else () for event in events]
    shapes, dtypes, settings = (
        [texts.index(one[place]) if len(one) > place and one[place] else -1 for one in inputs_of_events]
        for place in range(3)
    )
    table = EventTable(
        start_ns=_column([event.start_ns for event in events], np.int64),
        dur_ns=_column([event.end_ns - event.start_ns for event in events], np.int64),
        kind=_column([event.kind for event in events], np.uint8),
        name=_column([strings.index(event.name) for event in events], np.int32),
        thread=_column([threads.index(event.thread) for event in events], np.int32),
        device=_column([event.device for event in events], np.int32),
        stream=_column([event.stream for event in events], np.int32),
        correlation_id=_column([event.correlation_id for event in events], np.int64),
        external_id=_column([event.external_id for event in events], np.int64),
        bytes=_column(sizes, np.int64) if any(size >= 0 for size in sizes) else None,
        shapes=_column(shapes, np.int32) if max(shapes, default=-1) >= 0 else None,
        dtypes=_column(dtypes, np.int32) if max(dtypes, default=-1) >= 0 else None,
        settings=_column(settings, np.int32) if max(settings, default=-1) >= 0 else None,
    )
    return Trace(
        path="drawn",
        origin_ns=0,
        events=table,
        kernels=_kernel_table(events, devices, kernels),
        strings=StringTable(strings),
        threads=threads,
        devices=devices,
        job=job,
        notes=notes,
        file_bytes=0,
        json_bytes=0,
        event_count=len(events),
        inputs=StringTable(texts),
    )


def with_sequences(trace: Trace, events: list[Drawn], given: Mapping[str, tuple[int, int]]) -> Trace:
    """given: the number and forward thread for the ops of a character."""
    rows = _ops_of(events, given)
    number, thread = ([given[events[row].char][place] for row in rows] for place in (0, 1))
    return replace(trace, sequences=SequenceTable(*(_column(one, np.int32) for one in (rows, number, thread))))


def with_stacks(trace: Trace, events: list[Drawn], given: Mapping[str, str]) -> Trace:
    """given: the call stack for the ops of a character."""
    rows = _ops_of(events, given)
    texts = list(dict.fromkeys(given.values()))
    stack = [texts.index(given[events[row].char]) for row in rows]
    table = StackTable(_column(rows, np.int32), _column(stack, np.int32))
    return replace(trace, stacks=table, stack_texts=StringTable(texts))


def with_hierarchies(trace: Trace, given: Mapping[str, str]) -> Trace:
    """given: by the name of an op, the TorchScript modules around it."""
    rows = [row for row, name in enumerate(trace.events.name.tolist()) if trace.strings[name] in given]
    texts = list(dict.fromkeys(given.values()))
    number = [texts.index(given[trace.strings[trace.events.name[row]]]) for row in rows]
    table = StackTable(_column(rows, np.int32), _column(number, np.int32))
    return replace(trace, hierarchies=table, hierarchy_texts=StringTable(texts))


class Exchange(NamedTuple):
    """What PyTorch records about a collective. None, -1: not recorded."""

    name: str
    dtype: str
    elements: int
    group: str
    group_size: int
    members: str | None = None
    description: str | None = None
    sequence: int = -1
    peer: int = -1
    rows_sent: str | None = None
    rows_received: str | None = None


def with_collectives(trace: Trace, events: list[Drawn], given: Mapping[str, tuple[str, str, int, str, int]]) -> Trace:
    """given: for the ops and kernels of a character, an `Exchange` or its first five fields."""
    kinds = (Kind.CPU_OP, Kind.KERNEL)
    rows = [row for row, event in enumerate(events) if event.kind in kinds and event.char in given]
    exchanges = {char: Exchange(*one) for char, one in given.items()}
    fields = ("name", "dtype", "group", "members", "description", "rows_sent", "rows_received")
    texts_of_fields = (getattr(one, field) for one in exchanges.values() for field in fields)
    texts = list(dict.fromkeys(text for text in texts_of_fields if text is not None))
    of_rows = [exchanges[events[row].char] for row in rows]

    def number(text: str | None) -> int:
        return -1 if text is None else texts.index(text)

    table = CollectiveTable(
        event=_column(rows, np.int32),
        name=_column([number(one.name) for one in of_rows], np.int32),
        dtype=_column([number(one.dtype) for one in of_rows], np.int32),
        group=_column([number(one.group) for one in of_rows], np.int32),
        members=_column([number(one.members) for one in of_rows], np.int32),
        description=_column([number(one.description) for one in of_rows], np.int32),
        rows_sent=_column([number(one.rows_sent) for one in of_rows], np.int32),
        rows_received=_column([number(one.rows_received) for one in of_rows], np.int32),
        elements=_column([one.elements for one in of_rows], np.int64),
        group_size=_column([one.group_size for one in of_rows], np.int32),
        sequence=_column([one.sequence for one in of_rows], np.int64),
        peer=_column([one.peer for one in of_rows], np.int32),
    )
    return replace(trace, collectives=table, collective_texts=StringTable(texts))


def _ops_of(events: list[Drawn], given: Mapping[str, Any]) -> list[int]:
    return [row for row, event in enumerate(events) if event.kind == Kind.CPU_OP and event.char in given]


def _kernel_table(
    events: list[Drawn], devices: Mapping[int, Device], given: Mapping[str, Mapping[str, Any]]
) -> KernelTable:
    rows = [row for row, event in enumerate(events) if event.kind == Kind.KERNEL]
    carried = [_carried(events[row], devices, given) for row in rows]

    def column(key: str, dtype: npt.DTypeLike, missing: Any) -> Any:
        if not any(key in one for one in carried):
            return None
        return _column([one.get(key, missing) for one in carried], dtype)

    return KernelTable(
        event=_column(rows, np.int64),
        grid=column("grid", np.int64, (-1, -1, -1)),
        block=column("block", np.int64, (-1, -1, -1)),
        registers=column("registers", np.int32, -1),
        shared_memory=column("shared_memory", np.int64, -1),
        blocks_per_sm=column("blocks_per_sm", np.float64, np.nan),
        kineto_occupancy=column("kineto_occupancy", np.float64, np.nan),
    )


def _carried(event: Drawn, devices: Mapping[int, Device], given: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    carried = dict(given.get(event.char, {}))
    sm_count = devices[event.device].sm_count
    if "grid" in carried and sm_count:
        carried.setdefault("blocks_per_sm", int(np.prod(carried["grid"], dtype=np.int64)) / sm_count)
    return carried


def _column(values: Sequence[Any], dtype: npt.DTypeLike) -> Any:
    return np.array(values, dtype)


def _devices(events: list[Drawn], given: Mapping[int, Device]) -> dict[int, Device]:
    drawn = sorted({event.device for event in events if event.device >= 0} | set(given))
    return {device: replace(given.get(device, Device(device, "drawn GPU")), id=device) for device in drawn}
