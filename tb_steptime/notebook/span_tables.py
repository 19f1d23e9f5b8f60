"""Turns results of a span into tables: steps, idle time, kernels, blocking calls, copies, cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

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
from tb_steptime.tables.base import Surface, kinds_of
from tb_steptime.tables.base import Table as Declared
from tb_steptime.tables.blocking import BLOCKING
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.host import COPIES
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.lines import LINES
from tb_steptime.tables.operators import OPERATORS
from tb_steptime.tables.steps import IDLE, STEPS, idle_lines, step_lines

R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)


def steps_table(overview: OverviewResult, loading: DataLoadingResult) -> Table:
    """A row for each step; its parts sum to duration_ns, and wait_ns = exposed_ns + hidden_ns."""
    return _declared(STEPS, step_lines(overview, loading))


def idle_table(host: HostResult) -> Table:
    """A row for each GPU and step: busy_ns and the time for each reason to be idle sum to the step."""
    return _declared(IDLE, idle_lines(host))


def _declared(table: Declared[R], rows: Iterable[R]) -> Table:
    """Builds a table with the columns that its declaration has for rows."""
    return Table(table.id, table.kinds_on(Surface.ROWS), (table.values(row, Surface.ROWS) for row in rows))


def _whole(table: Declared[S], rows: Iterable[S]) -> Table:
    """Builds a table with every field of the rows, and the further columns of its declaration."""
    return Table(table.id, table.kinds(), map(table.whole_row, rows))


def kernels_table(rows: Sequence[KernelGroup]) -> Table:
    """A row for each group of kernels of a GPU, those with most time first; see KernelGroup."""
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
    """A row for each op and its key, those with most time first; sums over the steps. See OperatorRow."""
    rows = next((table.rows for table in operators.tables if (table.by, table.where) == (by, "ran")), [])
    return _whole(OPERATORS, rows)


def lines_table(operators: OperatorsResult) -> Table:
    """A row for each line of the user's code, those before which a GPU is idle longest first; see CodeLine."""
    return _whole(LINES, operators.lines.rows if operators.lines else [])


def modules_table(operators: OperatorsResult, folded: bool) -> Table:
    """A row for each module, in the order of the tree, with its path and the row of the module around it; see
    ModuleRow."""
    rows = operators.folded if folded else operators.modules
    paths = (" / ".join(path) for path in paths_of_rows(rows))
    cells = ((path, *msgspec.structs.astuple(row)) for path, row in zip(paths, rows, strict=True))
    return Table("modules", {"path": "text", **kinds_of(ModuleRow)}, cells)


def blocking_table(host: HostResult) -> Table:
    """A row for calls that are alike, those that cost most first; see BlockingRow."""
    return _whole(BLOCKING, host.blocking)


def copies_table(host: HostResult) -> Table:
    """A row for each way of copies between host and GPU, per step; see CopyRow."""
    return _whole(COPIES, host.copies)


def cards_table(cards: Sequence[Insight]) -> Table:
    """A row for each card, in their order: what to do, what was measured, setting or code, gain per step at most."""
    return _declared(CARDS, cards)
