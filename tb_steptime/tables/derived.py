"""Columns that are computed of a row, in JSON: in the tab's pages and in what the commands print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from tb_steptime.tables.base import Table
from tb_steptime.tables.blocking import BLOCKING
from tb_steptime.tables.kernels import KERNELS
from tb_steptime.tables.kinds import Kind
from tb_steptime.tables.operators import OPERATORS

R = TypeVar("R", bound=msgspec.Struct)

_SCHEMAS: Mapping[Kind, str] = {"int": "integer", "float": "number", "bool": "boolean", "text": "string"}


def _with_derived_columns() -> dict[type, Table[Any]]:
    return {table.row: table for table in (KERNELS, OPERATORS, BLOCKING) if table.derived}


def with_derived(result: R, *further: Table[Any]) -> R:
    """The same result for a JSON encoder: rows of a table with derived columns are dictionaries that hold them too.
    further: tables that a command prints and the tab has not."""
    tables = {**_with_derived_columns(), **{table.row: table for table in further if table.derived}}
    return cast(R, _walked(result, tables)) if tables else result


def _walked(value: Any, tables: Mapping[type, Table[Any]]) -> Any:
    table = tables.get(type(value))
    if table:
        return dict(zip(table.kinds(), table.whole_row(value), strict=True))
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        walked = {name: _walked(each, tables) for name, each in fields.items()}
        changed = {name: each for name, each in walked.items() if each is not fields[name]}
        return msgspec.structs.replace(value, **changed) if changed else value
    if isinstance(value, list):
        found = [_walked(each, tables) for each in value]
        return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
    if isinstance(value, dict):
        by_key = {key: _walked(each, tables) for key, each in value.items()}
        return by_key if any(by_key[key] is not value[key] for key in value) else value
    return value


def derived_schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of the derived columns, by the name of the row's type and the column."""
    return {
        row.__name__: {each.id: {"type": [_SCHEMAS[table.kinds()[each.id]], "null"]} for each in table.derived}
        for row, table in _with_derived_columns().items()
    }
