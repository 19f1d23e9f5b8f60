"""The table of kernels: launches grouped by name, op, module or line of code."""

from __future__ import annotations

from tb_steptime.metrics.gpu.occupancy import EST_ACHIEVED_OCCUPANCY, KINETO_ACHIEVED_OCCUPANCY, SLOT_EFFICIENCY
from tb_steptime.metrics.kernels.table import KernelGroup
from tb_steptime.tables.base import EVERYWHERE, Column, Surface, Table, of_metric
from tb_steptime.text import Unit

_TAB, _TEXT, _EXPORT, _AGENT = Surface.TAB, Surface.TEXT, Surface.EXPORT, Surface.AGENT
_ROWS = Surface.ROWS

KERNELS: Table[KernelGroup] = Table(
    "kernels",
    "Kernels by name, those with most time; the others of a GPU are one row without a name.",
    KernelGroup,
    (
        Column("device", "GPU", Unit.COUNT, "The GPU that runs it.", on=_ROWS | _EXPORT | _AGENT),
        Column("name", "Name", Unit.TEXT, "As the trace has it; empty: all others.", on=_ROWS | _EXPORT),
        Column(
            "short", "Kernel", Unit.TEXT, "As the tab has it.", lambda row: row.short or row.name,
            on=_ROWS | _EXPORT | _AGENT, names={_EXPORT: "short_name", _AGENT: "kernel"},
        ),
        Column(
            "count", "Launches", Unit.COUNT, "How often the kernels of this row are launched.",
            names={_EXPORT: "launches", _AGENT: "launches"},
        ),
        Column(
            "total_ns", "Total", Unit.NS, "Sum of their lengths; kernels that run at the same time both count.",
        ),
        Column("mean_ns", "Mean", Unit.NS, "Mean length of a launch.", on=_TAB | _TEXT | _ROWS),
        Column("share", "Share", Unit.FRACTION, "Total as a share of the GPU's kernel time in the span."),
        Column("min_ns", "Shortest", Unit.NS, "Length of the shortest launch.", on=_TAB | _ROWS | _EXPORT),
        Column("max_ns", "Longest", Unit.NS, "Length of the longest launch.", on=_TAB | _ROWS | _EXPORT),
        Column(
            "tensor_core", "Tensor cores", Unit.TEXT,
            "Whether the kernels run on tensor cores (AMD: matrix cores), and what shows it. Where the kernels "
            "of a row differ, it is the answer for most of their time.",
        ),
        Column("op", "Op", Unit.TEXT, "The op with most of its time.", on=_ROWS | _EXPORT | _AGENT),
        Column("module", "Module", Unit.TEXT, "The nn.Module with most of its time.", on=_ROWS | _EXPORT | _AGENT),
        Column(
            "source", "Line", Unit.TEXT,
            "The line of Python code that launches the kernel: the innermost one outside torch and Python's own "
            "library. A kernel of the backward pass has the line of the forward pass that made it.",
            on=_TAB | _ROWS | _AGENT, names={_AGENT: "line"},
        ),
        Column(
            "blocks_per_sm", "Blocks per SM", Unit.NUMBER,
            "Blocks of a launch / multiprocessors (SMs) of the GPU. Below 1, some SMs have nothing to do. Here and in "
            "the columns to the right, long launches count more in the mean.",
            on=EVERYWHERE & ~_AGENT, names={_TEXT: "blocks/SM"}, short="Blocks/SM",
        ),
        Column(
            "waves", "Waves", Unit.NUMBER,
            "The GPU holds a limited number of blocks at once, so the blocks of a launch run in rounds. This is how "
            "many rounds.", on=EVERYWHERE & ~_AGENT,
        ),
        Column(
            "tail_fraction", "Last wave", Unit.FRACTION,
            "How full the last wave is: its blocks / the blocks that the GPU holds at once. While a small last wave "
            "runs, most of the GPU is empty. This costs most where there are few waves.", on=_TAB | _ROWS,
        ),
        Column(
            "sm_active_share", "SMs with work", Unit.FRACTION,
            "Share of the SMs that have at least one block, averaged over the waves.", on=_TAB | _ROWS,
        ),
        of_metric(SLOT_EFFICIENCY, _TAB | _TEXT | _ROWS, {_TEXT: "slot eff."}),
        of_metric(EST_ACHIEVED_OCCUPANCY, EVERYWHERE, {_TEXT: "est. occupancy", _AGENT: "est_occupancy"}),
        of_metric(KINETO_ACHIEVED_OCCUPANCY, _TAB | _ROWS),
    ),
)  # fmt: skip
