"""The kinds of values in a table's columns, and the columns as numpy arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import inspect as types

Cell = int | float | bool | str | None
#: The kind of a column's values; each may be None.
Kind = Literal["int", "float", "bool", "text"]
Row = dict[str, Cell]

_KINDS: dict[type[types.Type], Kind] = {
    types.IntType: "int",
    types.FloatType: "float",
    types.BoolType: "bool",
    types.StrType: "text",
    types.LiteralType: "text",
    types.EnumType: "text",
}


def kinds_of(kind: type[msgspec.Struct], leave_out: Collection[str] = ()) -> dict[str, Kind]:
    """Returns the kind of each field of a type; all fields except those in leave_out hold single values."""
    found = types.type_info(kind)
    assert isinstance(found, types.StructType)
    return {field.name: _kind(field.type) for field in found.fields if field.name not in leave_out}


def _kind(of: types.Type) -> Kind:
    """Returns the kind of a type; for an optional type, that of the value."""
    nodes = of.types if isinstance(of, types.UnionType) else (of,)
    (node,) = (each for each in nodes if not isinstance(each, types.NoneType))
    return _KINDS[type(node)]


def as_array(kind: Kind, values: Sequence[Any]) -> npt.NDArray[Any]:
    """Returns an array of int64, float64, bool or object; numbers with None among them become float64 with NaN."""
    if kind == "float" or (kind == "int" and None in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if kind == "int":
        return np.array(values, np.int64)
    return np.array(values, bool if kind == "bool" and None not in values else object)
