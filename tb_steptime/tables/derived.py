"""Columns that are computed from a row, for JSON: in the tab's pages and in the output of commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from tb_steptime.tables.base import Table
from tb_steptime.tables.kinds import Kind

R = TypeVar("R", bound=msgspec.Struct)

_SCHEMAS: Mapping[Kind, str] = {"int": "integer", "float": "number", "bool": "boolean", "text": "string"}


def with_derived(result: R, *tables: Table[Any]) -> R:
    """Returns the same result for a JSON encoder: rows of a table with derived columns become dictionaries that include
    them. tables: those whose rows the result may hold."""
    derived = {table.row: table for table in tables if table.derived}
    return cast(R, _walked(result, derived)) if derived else result


def _walked(value: Any, tables: Mapping[type, Table[Any]]) -> Any:
    table = tables.get(type(value))
    if table:
        fields = {name: _walked(getattr(value, name), tables) for name in value.__struct_fields__}
        return {**fields, **{each.id: each.value(value) for each in table.derived}}
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


def derived_schemas(tables: Iterable[Table[Any]]) -> dict[str, dict[str, Any]]:
    """Returns JSON Schemas of the derived columns, by the name of the row's type and the column."""
    return {
        table.row.__name__: {each.id: {"type": [_SCHEMAS[each.value_kind], "null"]} for each in table.derived}
        for table in tables
        if table.derived
    }
