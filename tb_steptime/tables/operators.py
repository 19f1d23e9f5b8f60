"""The tables of PyTorch ops, of lines of the user's code, and of modules, as they nest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from tb_steptime.metrics.operators.lines import CodeLine
from tb_steptime.metrics.operators.module_tree import ModuleRow, paths_of_rows
from tb_steptime.metrics.operators.table import OperatorRow
from tb_steptime.tables.base import EVERYWHERE, Column, Surface, Table
from tb_steptime.text import Unit

_TAB, _TEXT, _EXPORT, _AGENT = Surface.TAB, Surface.TEXT, Surface.EXPORT, Surface.AGENT

OPERATORS: Table[OperatorRow] = Table(
    "operators",
    "PyTorch ops by name, those with most time, over all steps; the others are one row without a name.",
    OperatorRow,
    (
        Column(
            "name", "Op", Unit.TEXT, "The op; empty: all others.", on=_EXPORT | _AGENT, names={_AGENT: "op"}
        ),
        Column("key", "By", Unit.TEXT, "What ops are grouped by beside their name.", on=_AGENT),
        Column(
            "calls", "Calls", Unit.COUNT,
            "How often the op runs. An op whose only op inside has the same name is one call: one overload calls "
            "another.", figure="op_calls",
        ),
        Column(
            "host_self_ns", "Host, self", Unit.NS,
            "Time in the op on the CPU without the ops and runtime calls inside it, as in key_averages() and in the "
            "PyTorch Profiler tab.", figure="op_host_self", short="Host self", names={_TEXT: "host self"},
        ),
        Column(
            "host_total_ns", "Host, total", Unit.NS, "Time in the op on the CPU, with the ops inside it.",
            figure="op_host_total", short="Host total", names={_TEXT: "host total"},
        ),
        Column(
            "runtime_ns", "Runtime calls", Unit.NS,
            "Time in calls of the CUDA or HIP runtime that the op makes itself: launches, copies, waits.",
            on=EVERYWHERE & ~_AGENT, figure="op_runtime", names={_TEXT: "runtime"},
        ),
        Column(
            "device_self_ns", "Device, self", Unit.NS,
            "Lengths of the kernels, copies and memory sets that the op itself launches, without those of ops inside "
            "it. The rows, and what no op launched, sum to all work of the GPUs.",
            figure="op_device_self", short="GPU self", names={_TEXT: "device self", _AGENT: "gpu_self_ms"},
        ),
        Column(
            "device_total_ns", "Device, total", Unit.NS,
            "Lengths of the kernels, copies and memory sets that the op, and the ops inside it, launch.",
            figure="op_device_total", short="GPU total", names={_TEXT: "device total", _AGENT: "gpu_total_ms"},
        ),
        Column(
            "launches", "Launches", Unit.COUNT,
            "Number of kernels, copies and memory sets that the op, and the ops inside it, launch.",
            figure="op_launches",
        ),
        Column(
            "idle_ns", "GPU idle before", Unit.NS,
            "How long a GPU had nothing to do until a kernel, copy or memory set that is launched here began: where a "
            "wait ends, which is not always what causes it. Waits for batches, and what is not judged, are left out.",
            figure="op_idle", short="GPU idle", names={_TEXT: "GPU idle"},
        ),
        Column(
            "tensor_share", "Tensor cores", Unit.FRACTION,
            "Share of its kernel time on tensor cores (AMD: matrix cores). A range, where some kernels do not tell.",
            on=_TAB, figure="op_tensor_share",
        ),
        Column(
            "allocated_bytes", "Allocated, total", Unit.BYTES,
            "Memory that the op, and the ops inside it, allocate on the GPU, freed or not; on the CPU where no GPU's "
            "memory was recorded.", figure="op_allocated", short="Allocated",
            names={_TEXT: "allocated", _AGENT: "allocated_total_mb"},
        ),
        Column(
            "allocated_self_bytes", "Allocated, self", Unit.BYTES,
            "Memory that the op itself allocates, without that of ops inside it.",
            figure="op_allocated_self", short="Allocated self", on=EVERYWHERE & ~_TEXT,
        ),
    ),
)  # fmt: skip


LINES: Table[CodeLine] = Table(
    "source_lines",
    "Lines of your code, those before which a GPU is idle longest first, over all steps; what a line calls counts for "
    "the lines that are called.",
    CodeLine,
    (
        Column(
            "source", "Line", Unit.CODE,
            "File, line and function. Traces since 2022 name the line where a function begins, so its figures are of "
            "the whole function; those before name the line that ran.",
            on=EVERYWHERE & ~_TEXT, figure="line_source", names={_AGENT: "line"},
        ),
        Column("calls", "Calls", Unit.COUNT, "How often the function is called.", figure="line_calls"),
        Column(
            "idle_ns", "GPU idle before", Unit.NS,
            "How long a GPU had nothing to do until a kernel, copy or memory set that the line launches began. Waits "
            "for batches, and what is not judged, are left out.",
            figure="line_idle", short="GPU idle", names={_TEXT: "GPU idle"},
        ),
        Column(
            "device_ns", "Device", Unit.NS,
            "Lengths of the kernels, copies and memory sets that the line launches; of the backward pass those for "
            "what the line computed, where the trace tells that.",
            figure="line_device", short="GPU", names={_AGENT: "gpu_ms"},
        ),
        Column(
            "launches", "Launches", Unit.COUNT, "Kernels, copies and memory sets that it launches.",
            figure="line_launches",
        ),
        Column(
            "host_self_ns", "Host, self", Unit.NS,
            "Time of the main thread in this line, without other lines of your code that it calls; torch and "
            "Python below it count. All lines, and what no line is around, sum to the steps.",
            figure="line_host_self", short="Host self", names={_TEXT: "host self"},
        ),
        Column(
            "host_total_ns", "Host, total", Unit.NS, "The same with all that it calls.",
            figure="line_host_total", short="Host total", names={_TEXT: "host total"},
        ),
        Column(
            "allocated_bytes", "Allocated", Unit.BYTES,
            "Memory that the line allocates on the GPU, freed or not; on the CPU where no GPU's memory was recorded.",
            figure="line_allocated",
        ),
    ),
)  # fmt: skip


class PlacedModule(NamedTuple):
    """A module with its place. path: the names from the outermost module to this one."""

    path: str
    row: ModuleRow


def placed_modules(rows: Sequence[ModuleRow]) -> list[PlacedModule]:
    """Returns all rows of a tree, in its order."""
    return [PlacedModule(" / ".join(path), row) for path, row in zip(paths_of_rows(rows), rows, strict=True)]


def _column(
    id: str,
    label: str,
    unit: Unit,
    meaning: str,
    *,
    on: Surface = _EXPORT,
    figure: str = "",
    short: str = "",
    names: Mapping[Surface, str] | None = None,
) -> Column[PlacedModule]:
    return Column(
        id, label, unit, meaning, of=attrgetter(f"row.{id}"), on=on, names=names or {}, figure=figure, short=short
    )


MODULES: Table[PlacedModule] = Table(
    "modules",
    "Modules as they nest, those with most time; what is inside them counts too.",
    PlacedModule,
    (
        Column(
            "path", "Module", Unit.TEXT, "Names from the outermost module to its own.", attrgetter("path"), on=_EXPORT
        ),
        _column(
            "occurrences", "Calls", Unit.COUNT, "How often modules of this row are called.", on=_TAB | _EXPORT,
            names={_EXPORT: "calls"}, figure="module_occurrences",
        ),
        _column("host_total_ns", "Host, total", Unit.NS, "On the CPU, forward pass."),
        _column("host_self_ns", "Host, self", Unit.NS, "Without the modules inside."),
        _column(
            "python_ns", "Python", Unit.NS, "Time of the module's own on the CPU in which no op runs: Python code.",
            on=_TAB | _EXPORT, figure="module_python",
        ),
        _column(
            "backward_host_ns", "Backward, host", Unit.NS,
            "Time of the nodes of the backward pass that ops of the module made, on the CPU.",
            short="Host backward", on=_TAB | _EXPORT, figure="module_backward_host",
        ),
        _column(
            "device_total_ns", "Device, total", Unit.NS, "What it launches in the forward pass; empty without a GPU."
        ),
        _column("device_self_ns", "Device, self", Unit.NS, "Without the modules inside."),
        _column(
            "backward_device_ns", "Backward, device", Unit.NS,
            "Lengths of the kernels, copies and memory sets that these nodes launch.",
            short="GPU backward", on=_TAB | _EXPORT, figure="module_backward_device",
        ),
        _column("launches", "Launches", Unit.COUNT, "Of kernels, copies and sets in the forward pass."),
        _column("idle_ns", "GPU idle before", Unit.NS, "The GPU had nothing to do until what it launched began."),
        _column(
            "allocated_bytes", "Allocated, total", Unit.BYTES,
            "Memory that the module, and the modules inside it, allocate on the GPU in the forward pass, freed or "
            "not; on the CPU where no GPU's memory was recorded.",
            short="Allocated", on=_TAB | _EXPORT, figure="module_allocated",
        ),
        _column(
            "allocated_self_bytes", "Allocated, self", Unit.BYTES, "The same without the modules inside it.",
            short="Allocated self", on=_TAB | _EXPORT, figure="module_allocated_self",
        ),
        _column(
            "backward_allocated", "Backward, allocated", Unit.BYTES,
            "Memory that the nodes of the backward pass which ops of the module made allocate, freed or not: "
            "gradients and what is computed on the way. The outermost modules, forward and backward, and what is "
            "allocated outside any module sum to all recorded allocations of the steps.",
            short="Allocated backward", on=_TAB, figure="module_backward_allocated",
        ),
        _column(
            "share", "Of the step", Unit.FRACTION,
            "Device time of forward and backward as a share of the steps; without a GPU, time on the CPU. GPU work "
            "that runs at the same time counts twice.",
            on=_TAB, figure="module_share",
        ),
        _column(
            "each", "Each", Unit.NS,
            "Mean of a call of the forward pass: on the GPU, or on the CPU where it launches nothing.",
            on=_TAB, figure="module_each",
        ),
        _column(
            "slowest", "Slowest", Unit.NS,
            "The same time for the slowest of the modules that are folded here.",
            on=_TAB, figure="module_slowest",
        ),
    ),
)  # fmt: skip
