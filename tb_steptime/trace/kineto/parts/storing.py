"""Columns of a part -> an unnamed file, and back, so that columns not needed yet take no memory.

Integers are written in 32 bits if all values of a part fit, except for starts, which never do.
"""

from __future__ import annotations

import os
from array import array
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.kineto.columns import Columns

_NARROW = np.iinfo(np.int32)


class Stored(NamedTuple):
    """Where the values of a column lie in the file of the process that read them."""

    offset: int
    size: int  # bytes
    type: str  # of numpy


def owners(columns: Columns) -> dict[str, tuple[object, str]]:
    """The owner and attribute of each array that grows with the events, by its name: "start", "memory._ts"."""
    parts: tuple[tuple[str, object], ...] = (
        *(("", columns), ("memory.", columns.memory), ("counters.", columns.counters), ("flows.", columns.flows)),
        ("pairs.", columns.pairs),
    )
    return {
        prefix + name: (owner, name)
        for prefix, owner in parts
        for name, values in vars(owner).items()
        if isinstance(values, array)
    }


def store(columns: Columns, file: IO[bytes]) -> dict[str, Stored]:
    """Append the contents of the columns to the file, and empty them. Raises OSError if the disk is full."""
    stored = {}
    for name, (owner, attribute) in owners(columns).items():
        values = getattr(owner, attribute)
        if len(values):
            setattr(owner, attribute, array(values.typecode))
            stored[name] = _write(_narrowed(np.frombuffer(values, values.typecode), name), file)
    file.flush()
    return stored


def load(stored: Stored, file: int) -> npt.NDArray[Any]:
    """The values, read from the file with this number, to which they were written."""
    return np.frombuffer(_read(file, stored.size, stored.offset), stored.type)


def _narrowed(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if values.dtype != np.int64 or name == "start" or values.min() < _NARROW.min or values.max() > _NARROW.max:
        return values
    return values.astype(np.int32)


def _write(values: npt.NDArray[Any], file: IO[bytes]) -> Stored:
    offset = file.tell()
    file.write(values.data)
    return Stored(offset, values.nbytes, values.dtype.str)


def _read(file: int, size: int, offset: int) -> bytes:
    values = os.pread(file, size, offset)
    if len(values) < size:
        raise EOFError("columns of a part are missing")
    return values
