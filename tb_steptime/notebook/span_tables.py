"""Turns results of a span into tables: steps, idle time, kernels, blocking calls, copies, cards; and its trace into one
of events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import msgspec
import numpy as np

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult
from tb_steptime.insights.base import Insight
from tb_steptime.metrics.kernels.table import By, KernelGroup, order_of
from tb_steptime.metrics.operators.keys import By as OpsBy
from tb_steptime.metrics.operators.module_tree import ModuleRow, paths_of_rows
from tb_steptime.notebook.tables import Table
from tb_steptime.tables.base import Kind, Surface, kinds_of
from tb_steptime.tables.base import Table as Declared
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.host import BLOCKING, COPIES
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.operators import LINES, OPERATORS
from tb_steptime.tables.recordings import IDLE, STEPS, idle_lines, step_lines
from tb_steptime.trace import table as trace_table
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Int32, Int64, UInt8, distinct

R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)


def steps_table(overview: OverviewResult, loading: DataLoadingResult) -> Table:
    """Returns a row for each step; its parts sum to duration_ns, and wait_ns = exposed_ns + hidden_ns."""
    return _declared(STEPS, step_lines(overview, loading))


def idle_table(host: HostResult) -> Table:
    """Returns a row for each GPU and step: busy_ns and the time for each reason to be idle sum to the step."""
    return _declared(IDLE, idle_lines(host))


def _declared(table: Declared[R], rows: Iterable[R]) -> Table:
    """Builds a table with the columns that its declaration has for rows."""
    return Table(table.id, table.kinds_on(Surface.ROWS), (table.values(row, Surface.ROWS) for row in rows))


def _whole(table: Declared[S], rows: Iterable[S]) -> Table:
    """Builds a table with every field of the rows, and the further columns of its declaration."""
    return Table(table.id, table.kinds(), map(table.whole_row, rows))


def kernels_table(rows: Sequence[KernelGroup]) -> Table:
    """Returns a row for each group of kernels of a GPU, those with most time first; see KernelGroup."""
    return _whole(KERNELS, rows)


def stored_kernels(gpu: GpuResult, by: By) -> list[KernelGroup] | None:
    """Returns the groups from a summary, or None where the summary does not hold all of them."""
    groupings = [table for device in gpu.devices for table in device.tables if table.by == by]
    if any(grouping.more_rows for grouping in groupings):
        return None
    return kept_kernels(gpu, by)


def kept_kernels(gpu: GpuResult, by: By) -> list[KernelGroup]:
    """Returns the groups that a summary holds, which may not be all."""
    rows = [row for device in gpu.devices for table in device.tables if table.by == by for row in table.rows]
    return sorted(rows, key=order_of)


def operators_table(operators: OperatorsResult, by: OpsBy) -> Table:
    """Returns a row for each op and its key, those with most time first; sums over the steps. See OperatorRow."""
    rows = next((table.rows for table in operators.tables if (table.by, table.where) == (by, "ran")), [])
    return _whole(OPERATORS, rows)


def lines_table(operators: OperatorsResult) -> Table:
    """Returns a row for each line of the user's code, those before which a GPU is idle longest first; see CodeLine."""
    return _whole(LINES, operators.lines.rows if operators.lines else [])


def modules_table(operators: OperatorsResult, folded: bool) -> Table:
    """Returns a row for each module, in the order of the tree, with its path and the row of the module around it; see
    ModuleRow."""
    rows = operators.folded if folded else operators.modules
    paths = (" / ".join(path) for path in paths_of_rows(rows))
    cells = ((path, *msgspec.structs.astuple(row)) for path, row in zip(paths, rows, strict=True))
    return Table("modules", {"path": "text", **kinds_of(ModuleRow)}, cells)


def blocking_table(host: HostResult) -> Table:
    """Returns a row for calls that are alike, those that cost most first; see BlockingRow."""
    return _whole(BLOCKING, host.blocking)


def copies_table(host: HostResult) -> Table:
    """Returns a row for each way of copies between host and GPU, per step; see CopyRow."""
    return _whole(COPIES, host.copies)


def cards_table(cards: Sequence[Insight]) -> Table:
    """Returns a row for each card, in their order: what to do, what was measured, setting or code, gain per step at
    most."""
    return _declared(CARDS, cards)


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
