"""The table of modules, as they nest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from tb_steptime.metrics.operators.module_tree import ModuleRow, paths_of_rows
from tb_steptime.tables.base import Column, Surface, Table
from tb_steptime.text import Unit

_TAB, _EXPORT = Surface.TAB, Surface.EXPORT


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
    on: Surface,
    figure: str = "",
    short: str = "",
    names: Mapping[Surface, str] | None = None,
) -> Column[PlacedModule]:
    return Column(id, label, unit, meaning, attrgetter(f"row.{id}"), on, names or {}, figure, short)


MODULES: Table[PlacedModule] = Table(
    "modules",
    "Modules as they nest, those with most time; what is inside them counts too.",
    PlacedModule,
    (
        Column(
            "path", "Module", Unit.TEXT, "Names from the outermost module to its own.", attrgetter("path"), on=_EXPORT
        ),
        _column(
            "occurrences", "Calls", Unit.COUNT,
            "How often modules of this row are called.",
            on=_TAB | _EXPORT, names={_EXPORT: "calls"}, figure="module_occurrences",
        ),
        _column(
            "host_total_ns", "Host, total", Unit.NS,
            "On the CPU, forward pass.",
            on=_EXPORT,
        ),
        _column(
            "host_self_ns", "Host, self", Unit.NS,
            "Without the modules inside.",
            on=_EXPORT,
        ),
        _column(
            "python_ns", "Python", Unit.NS,
            "Time of the module's own on the CPU in which no op runs: Python code.",
            on=_TAB | _EXPORT, figure="module_python",
        ),
        _column(
            "backward_host_ns", "Backward, host", Unit.NS,
            "Time of the nodes of the backward pass that ops of the module made, on the CPU.",
            short="Host backward", on=_TAB | _EXPORT, figure="module_backward_host",
        ),
        _column(
            "device_total_ns", "Device, total", Unit.NS,
            "What it launches in the forward pass; empty without a GPU.",
            on=_EXPORT,
        ),
        _column(
            "device_self_ns", "Device, self", Unit.NS,
            "Without the modules inside.",
            on=_EXPORT,
        ),
        _column(
            "backward_device_ns", "Backward, device", Unit.NS,
            "Lengths of the kernels, copies and memory sets that these nodes launch.",
            short="GPU backward", on=_TAB | _EXPORT, figure="module_backward_device",
        ),
        _column(
            "launches", "Launches", Unit.COUNT,
            "Of kernels, copies and sets in the forward pass.",
            on=_EXPORT,
        ),
        _column(
            "idle_ns", "GPU idle before", Unit.NS,
            "The GPU had nothing to do until what it launched began.",
            on=_EXPORT,
        ),
        _column(
            "allocated_bytes", "Allocated, total", Unit.BYTES,
            "Memory that the module, and the modules inside it, allocate on the GPU in the forward pass, freed or "
            "not; on the CPU where no GPU's memory was recorded.",
            short="Allocated", on=_TAB | _EXPORT, figure="module_allocated",
        ),
        _column(
            "allocated_self_bytes", "Allocated, self", Unit.BYTES,
            "The same without the modules inside it.",
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
