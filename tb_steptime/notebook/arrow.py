"""Turns a table's columns into an Arrow stream. It uses nanoarrow rather than ctypes, because the buffers must outlive
the Python objects that they are made of, and may be released from any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import nanoarrow
import numpy as np

from tb_steptime.tables.base import Kind

_TYPES = {"int": nanoarrow.int64(), "float": nanoarrow.float64(), "bool": nanoarrow.bool_(), "text": nanoarrow.string()}
_NUMBERS = {"int": np.int64, "float": np.float64}


def struct_stream(kinds: Mapping[str, Kind], columns: Mapping[str, Sequence[Any]], requested_schema: object) -> object:
    """Returns the capsule of one batch with int64, float64, bool and utf8 columns, null where a value is None."""
    of_rows = nanoarrow.struct({name: _TYPES[kind] for name, kind in kinds.items()})
    length = len(next(iter(columns.values()), ()))
    arrays = [_array(kind, columns[name]) for name, kind in kinds.items()]
    batch = nanoarrow.c_array_from_buffers(of_rows, length, [None], null_count=0, children=arrays)
    return nanoarrow.c_array_stream(batch).__arrow_c_stream__(requested_schema)


def _array(kind: Kind, values: Sequence[Any]) -> Any:
    if kind == "text":  # a name from a trace or a file may contain invalid Unicode
        values = [value if value is None else value.encode(errors="replace").decode() for value in values]
    if kind not in _NUMBERS:
        return nanoarrow.c_array(values, _TYPES[kind])
    valid = np.array([value is not None for value in values], bool)
    numbers = np.array([0 if value is None else value for value in values], _NUMBERS[kind])
    missing = int(len(valid) - valid.sum())
    bits = np.packbits(valid, bitorder="little") if missing else None
    return nanoarrow.c_array_from_buffers(_TYPES[kind], len(numbers), [bits, numbers], null_count=missing)
