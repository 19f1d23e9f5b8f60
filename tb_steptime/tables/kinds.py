"""Columns of a table: what their values are, and the same as numpy has them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import inspect as types

Cell = int | float | bool | str | None
#: What the values of a column are; each may be None.
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
    """Returns the kind of each field of a type; all fields that are not left out hold single values."""
    found = types.type_info(kind)
    assert isinstance(found, types.StructType)
    return {field.name: _kind(field.type) for field in found.fields if field.name not in leave_out}


def _kind(of: types.Type) -> Kind:
    """That of the type, or of what it is when it is not None."""
    nodes = of.types if isinstance(of, types.UnionType) else (of,)
    (node,) = (each for each in nodes if not isinstance(each, types.NoneType))
    return _KINDS[type(node)]


def as_array(kind: Kind, values: Sequence[Any]) -> npt.NDArray[Any]:
    """int64, float64, bool or object; numbers with a None among them are float64 with a NaN in its place."""
    if kind == "float" or (kind == "int" and None in values):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if kind == "int":
        return np.array(values, np.int64)
    return np.array(values, bool if kind == "bool" and None not in values else object)
