"""The columns of the tables of `tb_steptime.open`, from the tables themselves and the types of their rows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.blocking_rows import BlockingRow
from tb_steptime.metrics.kernels.table import KernelGroup
from tb_steptime.metrics.operators.lines import CodeLine
from tb_steptime.metrics.operators.module_tree import ModuleRow
from tb_steptime.metrics.operators.table import OperatorRow
from tb_steptime.notebook.span import Span
from tb_steptime.tables.base import Kind, Surface, kinds_of
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.recordings import IDLE, STEPS
from tools.docs.markdown import code, paragraphs, plain

#: The tables of a `Span` by attribute: the type of their rows, or their columns where they have none.
_TABLES: Mapping[str, type | Mapping[str, Kind]] = {
    "steps": STEPS.kinds_on(Surface.ROWS),
    "idle": IDLE.kinds_on(Surface.ROWS),
    "kernels": KernelGroup,
    "operators": OperatorRow,
    "lines": CodeLine,
    "modules": ModuleRow,
    "blocking_calls": BlockingRow,
    "copies": CopyRow,
    "cards": CARDS.kinds_on(Surface.ROWS),
}
_TYPES: Mapping[Kind, str] = {"int": "int64", "float": "float64", "bool": "bool", "text": "text"}


def tables() -> str:
    """A section for each: what a row is, what its columns mean, and of which type they are."""
    return "\n\n".join(_section(name, rows) for name, rows in _TABLES.items())


def _section(name: str, rows: type | Mapping[str, Kind]) -> str:
    said = plain(paragraphs(inspect.getdoc(getattr(Span, name)) or "")[0])
    meaning = [f"```text\n{inspect.getdoc(rows)}\n```"] if isinstance(rows, type) else []
    kinds = kinds_of(rows) if isinstance(rows, type) else rows
    columns = [_columns(kind, kinds) for kind in _TYPES if kind in kinds.values()]
    return "\n\n".join([f"### {code(f'span.{name}')}", said, *meaning, "\n".join(columns)])


def _columns(kind: Kind, kinds: Mapping[str, Kind]) -> str:
    names = ", ".join(code(column) for column, each in kinds.items() if each == kind)
    return f"- {_TYPES[kind]}: {names}"
