"""Access to the C extension, if it is built and enabled, and to the passes over columns that it implements.

start, end  --->  nest, in C  --->  depth, parent         one pass, where numpy makes some for each level
                  None: declined, few rows, not built     numpy does it

A pass returns exactly, bit for bit, what the Python code beside its call returns (`tests/unit/trace/test_passes.py`).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

#: Environment variable: if set to anything but 0 and "", the C extension is not used.
PURE = "TB_STEPTIME_PURE"
#: Hash of the sources in `trace/kineto/native/`, as `build_backend/extension.py` computes it. An extension built from
#: other sources is not used.
SOURCES = "da790f8ac7d1f722"
#: Minimum number of rows for a pass in C. With fewer, numpy takes as little time.
LEAST_ROWS = 1_000

_Column = npt.NDArray[Any]
#: Arguments: int64 columns as bytes (durations, releases, edges and links), and the number of copies. Returns the
#: starts.
Sweep = Callable[..., bytes]
#: Arguments: int64 columns as bytes (durations, releases, edges, numbers of chosen nodes), and how far to look back.
#: Returns the paths.
Reduce = Callable[..., tuple[bytes, bytes, bytes]]


def extension() -> Any:
    """Returns the extension module, or None if it was not built or TB_STEPTIME_PURE is set."""
    if os.environ.get(PURE, "0") not in ("", "0"):
        return None
    try:
        built = importlib.import_module("tb_steptime.trace.kineto.native._scan")
    except ImportError:
        return None
    return built if built.BUILT_FROM == SOURCES else None


def sweep_function() -> Sweep | None:
    """Returns C's sweep of a graph, or None without the extension."""
    built = extension()
    return cast(Sweep, built.sweep) if built else None


def reduce_function() -> Reduce | None:
    """Returns C's reduction of a graph, or None without the extension."""
    built = extension()
    return cast(Reduce, built.reduce) if built else None


def reader_name() -> str:
    """Returns the name of the reader of events, for display."""
    return "C" if extension() else "Python only"


def one_pass(name: str, fills: Sequence[type], *columns: _Column, for_each: int = 1) -> list[_Column] | None:
    """Runs the named pass of `passes.c` on the columns, which must have the types that it expects, and returns the
    columns that it fills. The first column determines the number of rows.

    fills: the types of the columns that it fills; for_each: maximum number of output rows per input row. Returns None
    if Python has to do it.
    """
    rows = len(columns[0])
    if rows < LEAST_ROWS or not (built := extension()):
        return None
    inputs = [np.ascontiguousarray(each) for each in columns]
    filled: list[_Column] = [np.empty(rows * for_each, column_type) for column_type in fills]
    count = getattr(built, name)(
        *(number for each in (*inputs, *filled) for number in (each.__array_interface__["data"][0], each.nbytes))
    )
    return None if count is None else [each[:count] for each in filled]
