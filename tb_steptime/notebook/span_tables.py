"""Results of a span -> tables: steps, idle time, kernels, blocking calls, copies, cards."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tb_steptime.analyses.data_loading import DataLoadingResult
from tb_steptime.analyses.gpu import GpuResult
from tb_steptime.analyses.host import HostResult
from tb_steptime.analyses.operators import OperatorsResult
from tb_steptime.analyses.overview import OverviewResult, StepRow
from tb_steptime.insights.base import Insight
from tb_steptime.metrics.data_loading.waits import LoaderStep
from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.reasons import IdleNs
from tb_steptime.metrics.kernels.table import By, KernelGroup, order_of
from tb_steptime.metrics.operators.keys import By as OpsBy
from tb_steptime.metrics.operators.module_tree import ModuleRow, paths_of_rows
from tb_steptime.metrics.steps.parts import Parts
from tb_steptime.notebook.tables import Table, table_of
from tb_steptime.tables.base import Surface
from tb_steptime.tables.blocking import BLOCKING
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.kinds import Cell, Kind, kinds_of
from tb_steptime.tables.operators import OPERATORS

STEPS: dict[str, Kind] = {
    "name": "text",
    "start_ns": "int",
    "duration_ns": "int",
    "host_ns": "int",
    **dict.fromkeys((f"{part}_ns" for part in Parts.__struct_fields__), "int"),
    "gpu_busy_ns": "int",
    "wait_ns": "int",
    "exposed_ns": "int",
    "hidden_ns": "int",
    "before_recording_ns": "int",
    "once_ns": "int",
    "after_recording_ns": "int",
    "profiler_ns": "int",
    "slow": "bool",
}
IDLE: dict[str, Kind] = {
    "step": "text",
    "device": "int",
    "busy_ns": "int",
    **dict.fromkeys((f"{reason}_ns" for reason in IdleNs.__struct_fields__), "int"),
}


def steps_table(overview: OverviewResult, loading: DataLoadingResult) -> Table:
    """A row for each step; its parts sum to duration_ns, and wait_ns = exposed_ns + hidden_ns."""
    waits = {row.name: row for row in loading.steps}
    return Table("steps", STEPS, [_step(row, waits.get(row.name)) for row in overview.steps])


def _step(row: StepRow, wait: LoaderStep | None) -> tuple[Cell, ...]:
    waits = (wait.wait_ns, wait.exposed_ns, wait.hidden_ns) if wait else (None, None, None)
    return (
        row.name, row.start_ns, row.duration_ns, row.host_ns, *msgspec.structs.astuple(row.parts_ns), row.gpu_busy_ns,
        *waits, row.before_recording_ns, row.once_ns, row.after_recording_ns, row.profiler_ns, row.slow,
    )  # fmt: skip


def idle_table(host: HostResult) -> Table:
    """A row for each GPU and step: busy_ns and the time for each reason to be idle sum to the step."""
    rows = [
        (step.name, each.device, busy, *msgspec.structs.astuple(idle))
        for each in host.devices
        for step, busy, idle in zip(host.steps, each.busy_ns, each.steps, strict=True)
    ]
    return Table("idle", IDLE, rows)


def kernels_table(rows: Sequence[KernelGroup]) -> Table:
    """A row for each group of kernels of a GPU, those with most time first; see KernelGroup."""
    return Table("kernels", KERNELS.kinds(), map(KERNELS.whole_row, rows))


def stored_kernels(gpu: GpuResult, by: By) -> list[KernelGroup] | None:
    """The groups as a summary holds them; None where it does not hold them all."""
    groupings = [table for device in gpu.devices for table in device.tables if table.by == by]
    if any(grouping.more_rows for grouping in groupings):
        return None
    return kept_kernels(gpu, by)


def kept_kernels(gpu: GpuResult, by: By) -> list[KernelGroup]:
    """Those of the groups that a summary holds."""
    rows = [row for device in gpu.devices for table in device.tables if table.by == by for row in table.rows]
    return sorted(rows, key=order_of)


def operators_table(operators: OperatorsResult, by: OpsBy) -> Table:
    """A row for each op and its key, those with most time first; sums over the steps. See OperatorRow."""
    rows = next((table.rows for table in operators.tables if (table.by, table.where) == (by, "ran")), [])
    return Table("operators", OPERATORS.kinds(), map(OPERATORS.whole_row, rows))


def modules_table(operators: OperatorsResult, folded: bool) -> Table:
    """A row for each module, in the order of the tree, with its path and the row of the module around it; see
    ModuleRow."""
    rows = operators.folded if folded else operators.modules
    paths = (" / ".join(path) for path in paths_of_rows(rows))
    cells = ((path, *msgspec.structs.astuple(row)) for path, row in zip(paths, rows, strict=True))
    return Table("modules", {"path": "text", **kinds_of(ModuleRow)}, cells)


def blocking_table(host: HostResult) -> Table:
    """A row for calls that are alike, those that cost most first; see BlockingRow."""
    return Table("blocking calls", BLOCKING.kinds(), map(BLOCKING.whole_row, host.blocking))


def copies_table(host: HostResult) -> Table:
    """A row for each way of copies between host and GPU, per step; see CopyRow."""
    return table_of("copies", CopyRow, host.copies)


def cards_table(cards: Sequence[Insight]) -> Table:
    """A row for each card, in their order: what to do, what was measured, setting or code, gain per step at most."""
    return Table("cards", CARDS.kinds_on(Surface.ROWS), (CARDS.values(card, Surface.ROWS) for card in cards))
