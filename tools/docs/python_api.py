"""The columns of the tables of `tb_steptime.open`, from the tables themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from tb_steptime.metrics.host.copies import CopyRow
from tb_steptime.metrics.idle.bubbles import BlockingRow
from tb_steptime.metrics.kernels.table import KernelGroup
from tb_steptime.notebook import span_tables
from tb_steptime.notebook.columns import Kind, kinds_of
from tools.docs.markdown import code, paragraphs, plain, table

#: By attribute: the function that makes it, and its columns.
_TABLES: Mapping[str, tuple[Callable[..., object], Mapping[str, Kind]]] = {
    "span.steps": (span_tables.steps_table, span_tables.STEPS),
    "span.idle": (span_tables.idle_table, span_tables.IDLE),
    "span.kernels": (span_tables.kernels_table, kinds_of(KernelGroup)),
    "span.blocking_calls": (span_tables.blocking_table, kinds_of(BlockingRow)),
    "span.copies": (span_tables.copies_table, kinds_of(CopyRow)),
    "span.cards": (span_tables.cards_table, span_tables.CARDS),
}


def tables() -> str:
    """A section for each."""
    return "\n\n".join(_section(name, of, kinds) for name, (of, kinds) in _TABLES.items())


def _section(name: str, of: Callable[..., object], kinds: Mapping[str, Kind]) -> str:
    said = plain(paragraphs(inspect.getdoc(of) or "")[0])
    rows = [(code(column), kind) for column, kind in kinds.items()]
    return f"### {code(name)}\n\n{said}\n\n{table(('column', 'type'), rows)}"
