"""The single events of a trace as numpy columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tb_steptime.notebook.tables import Table
from tb_steptime.tables.base import Kind
from tb_steptime.trace import table as trace_table
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int32, Int64, UInt8, distinct

_COLUMNS: dict[str, Kind] = {
    "start_ns": "int", "dur_ns": "int", "kind": "text", "name": "text", "thread": "text", "device": "int",
    "stream": "int", "correlation_id": "int", "external_id": "int",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Events:
    """Complete events in time order, an enclosing one before what it encloses; every column has the shape (events,).

    start_ns, dur_ns   int64; from the span's t = 0 on, which is `origin_ns` since the epoch
    kind               uint8, an index of `kinds`: "cpu_op", "kernel", "runtime", ...
    name               int32, an index of `names`;  thread  likewise, of `threads`
    device, stream     int32, -1 where the event is not on a GPU
    correlation_id     joins a runtime call with what it launched, -1 for none;  external_id  an op likewise

    >>> import tb_steptime
    >>> events = tb_steptime.open("demo_logs/cpu_baseline")[0].events
    >>> ops = events.of_kind("cpu_op")
    >>> events.dur_ns[ops].dtype, events.names[events.name[ops[0]]]
    (dtype('int64'), 'aten::empty')
    """

    trace: Trace

    @property
    def origin_ns(self) -> int:
        return self.trace.origin_ns

    @property
    def start_ns(self) -> Int64:
        return self.trace.events.start_ns

    @property
    def dur_ns(self) -> Int64:
        return self.trace.events.dur_ns

    @property
    def kind(self) -> UInt8:
        return self.trace.events.kind

    @property
    def name(self) -> Int32:
        return self.trace.events.name

    @property
    def thread(self) -> Int32:
        return self.trace.events.thread

    @property
    def device(self) -> Int32:
        return self.trace.events.device

    @property
    def stream(self) -> Int32:
        return self.trace.events.stream

    @property
    def correlation_id(self) -> Int32 | Int64:
        return self.trace.events.correlation_id

    @property
    def external_id(self) -> Int32 | Int64:
        return self.trace.events.external_id

    @property
    def names(self) -> Sequence[str]:
        return self.trace.strings.strings

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind.name.lower() for kind in trace_table.Kind)

    @cached_property
    def threads(self) -> tuple[str, ...]:
        """Names threads as the trace does: process, thread, and label."""
        return tuple(f"{each.pid} {each.tid} {each.name}".rstrip() for each in self.trace.threads)

    def __len__(self) -> int:
        return len(self.trace.events)

    def of_kind(self, *kinds: str) -> Int64:
        """Returns the row numbers of the events of these kinds, in time order. ValueError for one that is not in
        `kinds`."""
        known = self.kinds
        return self.trace.events.rows(*(trace_table.Kind(known.index(kind)) for kind in kinds))

    def table(self, rows: Int64 | None = None) -> Table:
        """Returns these rows, or all, with names in place of their numbers. Times are ns from the span's t = 0."""
        rows = np.arange(len(self)) if rows is None else rows
        columns = [getattr(self, column)[rows].tolist() for column in _COLUMNS]
        texts = {"kind": self.kinds, "name": self.names, "thread": self.threads}
        for place, column in enumerate(_COLUMNS):
            if column in texts:
                columns[place] = [texts[column][number] for number in columns[place]]
        return Table("events", _COLUMNS, zip(*columns, strict=True))

    def __repr__(self) -> str:
        return f"Events({len(self)}: {', '.join(f'{len(self.of_kind(kind))} {kind}' for kind in self._seen())})"

    def _seen(self) -> list[str]:
        return [self.kinds[number] for number in distinct(self.kind).tolist()]
