"""The columns of the tables of `tb_steptime.open`, from the tables themselves and the types of their rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.kernels.table import KernelGroup
from tb_steptime.metrics.operators.lines import CodeLine
from tb_steptime.metrics.operators.module_tree import ModuleRow
from tb_steptime.metrics.operators.table import OperatorRow
from tb_steptime.notebook import span_tables
from tb_steptime.tables.base import Kind, Surface, kinds_of
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.recordings import IDLE, STEPS
from tools.docs.markdown import code, paragraphs, plain

#: By attribute: the function that makes it, and the type of its rows, or its columns where they have none.
_TABLES: Mapping[str, tuple[Callable[..., object], type | Mapping[str, Kind]]] = {
    "span.steps": (span_tables.steps_table, STEPS.kinds_on(Surface.ROWS)),
    "span.idle": (span_tables.idle_table, IDLE.kinds_on(Surface.ROWS)),
    "span.kernels": (span_tables.kernels_table, KernelGroup),
    "span.operators": (span_tables.operators_table, OperatorRow),
    "span.lines": (span_tables.lines_table, CodeLine),
    "span.modules": (span_tables.modules_table, ModuleRow),
    "span.blocking_calls": (span_tables.blocking_table, BlockingRow),
    "span.copies": (span_tables.copies_table, CopyRow),
    "span.cards": (span_tables.cards_table, CARDS.kinds_on(Surface.ROWS)),
}
_TYPES: Mapping[Kind, str] = {"int": "int64", "float": "float64", "bool": "bool", "text": "text"}


def tables() -> str:
    """A section for each: what a row is, what its columns mean, and of which type they are."""
    return "\n\n".join(_section(name, *table) for name, table in _TABLES.items())


def _section(name: str, of: Callable[..., object], rows: type | Mapping[str, Kind]) -> str:
    said = plain(paragraphs(inspect.getdoc(of) or "")[0])
    meaning = [f"```text\n{inspect.getdoc(rows)}\n```"] if isinstance(rows, type) else []
    kinds = kinds_of(rows) if isinstance(rows, type) else rows
    columns = [_columns(kind, kinds) for kind in _TYPES if kind in kinds.values()]
    return "\n\n".join([f"### {code(name)}", said, *meaning, "\n".join(columns)])


def _columns(kind: Kind, kinds: Mapping[str, Kind]) -> str:
    names = ", ".join(code(column) for column, each in kinds.items() if each == kind)
    return f"- {_TYPES[kind]}: {names}"
