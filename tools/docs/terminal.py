"""The pages of the command line and of its JSON, from the argument parser and from the types that are printed."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect as types

from tb_steptime import cli
from tb_steptime.tables.base import Surface, Table
from tb_steptime.tables.cards import CARDS
from tb_steptime.tables.comparison import ComparisonReport
from tb_steptime.tables.host import BLOCKING
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.memory import ALLOCATIONS
from tb_steptime.tables.operators import LINES, OPERATORS
from tb_steptime.tables.recordings import RECORDING
from tb_steptime.terminal.agent import contract as agent
from tb_steptime.terminal.agent.contract import name_of
from tb_steptime.terminal.explanation import Explanations
from tb_steptime.terminal.export.tables import TABLES
from tb_steptime.terminal.hang_report import HangReport
from tb_steptime.terminal.kernel_report import KernelReport
from tb_steptime.terminal.line_report import LineReport
from tb_steptime.terminal.memory_report import FitReport, SnapshotReport
from tb_steptime.terminal.operator_report import OperatorReport
from tb_steptime.terminal.ranks.contract import JobsReport, Report
from tb_steptime.terminal.whatif_report import WhatIfReport
from tools.docs.markdown import code, paragraphs, plain, table


def commands() -> str:
    """Each command with its usage and its options."""
    parser = cli._parser()
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return "\n\n".join(_command(name, parser) for name, parser in choices.choices.items())


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    rows = [_option(action) for action in parser._actions if action.dest != "help"]
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    head = f"## `tb-steptime {name}`\n\n{plain(parser.description or '')}\n\n```text\n{usage}\n```"
    return head + "\n\n" + table(("argument", "values", "meaning"), rows)


def _option(action: argparse.Action) -> tuple[str, str, str]:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    return code(name), _values(action), plain(action.help or "")


def _values(action: argparse.Action) -> str:
    return ", ".join(map(code, action.choices)) if action.choices else ""


def summarize_schema() -> str:
    return _schema(Report)


def kernels_schema() -> str:
    return _schema(KernelReport)


def operators_schema() -> str:
    return _schema(OperatorReport)


def lines_schema() -> str:
    return _schema(LineReport)


def explain_schema() -> str:
    return _schema(Explanations)


def whatif_schema() -> str:
    return _schema(WhatIfReport)


def fit_schema() -> str:
    return _schema(FitReport)


def snapshot_schema() -> str:
    return _schema(SnapshotReport)


def hang_schema() -> str:
    return _schema(HangReport)


def ranks_schema() -> str:
    return _schema(JobsReport)


def compare_schema() -> str:
    return _schema(ComparisonReport)


def export_tables() -> str:
    """One section for each table, with the columns that it has beside those of every table."""
    sections = [("Columns of every table", RECORDING), *((code(each.table.id), each.table) for each in TABLES)]
    return "\n\n".join(f"### {name}\n\n{plain(of.meaning)}\n\n{_exported(of)}" for name, of in sections)


def _exported(of: Table[Any]) -> str:
    """The fields of a table row in a file."""
    columns = of.on(Surface.EXPORT)
    rows = ((code(each.name(Surface.EXPORT)), each.unit_words, plain(each.meaning)) for each in columns)
    return table(("column", "unit", "meaning"), rows)


def mcp_schema() -> str:
    answers = (
        agent.Runs,
        agent.Summary,
        agent.Comparison,
        agent.Kernels,
        agent.Operators,
        agent.Lines,
        agent.BlockingCalls,
        agent.Memory,
        agent.Window,
        agent.Definitions,
    )
    rows = "\n\n".join(map(_agent_rows, (CARDS, KERNELS, OPERATORS, LINES, BLOCKING, ALLOCATIONS)))
    return "\n\n".join([*map(_schema, answers), rows])


def _agent_rows(of: Table[Any]) -> str:
    """The fields of a table row in an answer to an agent."""
    rows = ((code(name_of(each)), plain(each.meaning)) for each in of.on(Surface.AGENT))
    return f"### A row of {of.id}\n\n" + table(("field", "meaning"), rows)


def _schema(root: type[msgspec.Struct]) -> str:
    """One section for each type that can be printed, the outermost first."""
    return "\n\n".join(map(_struct, _structs(types.type_info(root))))


def _structs(root: types.Type) -> list[types.StructType]:
    """Breadth first, so that a type is near the types that use it."""
    found: dict[type, types.StructType] = {}
    queue = [root]
    while queue:
        for struct in _nearest_structs(queue.pop(0)):
            if struct.cls not in found:
                found[struct.cls] = struct
                queue += [field.type for field in struct.fields]
    return list(found.values())


def _nearest_structs(node: types.Type) -> Iterator[types.StructType]:
    if isinstance(node, types.StructType):
        yield node
    elif isinstance(node, types.UnionType):
        for each in node.types:
            yield from _nearest_structs(each)
    elif isinstance(node, types.ListType):
        yield from _nearest_structs(node.item_type)
    elif isinstance(node, types.DictType):
        yield from _nearest_structs(node.value_type)


def _struct(struct: types.StructType) -> str:
    own = struct.cls.__dict__.get("__doc__")
    said = list(map(plain, paragraphs(inspect.cleandoc(own)))) if own else []
    fields = table(("key", "value"), ((code(field.encode_name), _type(field.type)) for field in struct.fields))
    return "\n\n".join([f"### `{struct.cls.__name__}`", *said, fields])


def _type(node: types.Type) -> str:
    """A JSON type in words; a type of this contract as a link to its section."""
    if isinstance(node, types.StructType):
        return f"[{node.cls.__name__}](#{node.cls.__name__.lower()})"
    if isinstance(node, types.UnionType):
        return " or ".join(map(_type, node.types))
    if isinstance(node, types.ListType):
        return f"list of {_type(node.item_type)}"
    if isinstance(node, types.DictType):
        return f"object whose values are {_type(node.value_type)}"
    if isinstance(node, types.EnumType):
        return " or ".join(code(f'"{each.value}"') for each in node.cls)
    if isinstance(node, types.LiteralType):
        return " or ".join(code(f'"{each}"') for each in node.values)
    return _WORDS[type(node)]


_WORDS = {
    types.IntType: "integer",
    types.FloatType: "number",
    types.StrType: "string",
    types.BoolType: "`true` or `false`",
    types.NoneType: "`null`",
}
