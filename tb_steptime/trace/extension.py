"""The C extension, where it was built and is wanted; and passes over columns in it.

start, end  --->  nest, in C  --->  depth, parent         one pass, where numpy makes some for each level
                  None: declined, few rows, not built     numpy does it

What a pass gives is to the bit what the Python behind its call gives (`tests/unit/trace/test_passes.py`).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Set to anything but 0, Python does everything alone.
PURE = "TB_STEPTIME_PURE"
#: The sources in `trace/kineto/native/`, as `build_backend/extension.py` hashes them: what was built of others is not
#: used.
SOURCES = "0d557daf07ee607a"
#: Of fewer rows numpy takes as little time.
LEAST_ROWS = 1_000

_Column = npt.NDArray[Any]


def extension() -> Any:
    """The module; None where it was not built, or TB_STEPTIME_PURE is set."""
    if os.environ.get(PURE, "0") not in ("", "0"):
        return None
    try:
        built = importlib.import_module("tb_steptime.trace.kineto.native._scan")
    except ImportError:
        return None
    return built if built.BUILT_FROM == SOURCES else None


def one_pass(name: str, fills: Sequence[type], *columns: _Column, for_each: int = 1) -> list[_Column] | None:
    """What the pass of this name in `passes.h` fills from columns of the types that it asks for; the first one says how
    many rows there are.

    fills: the types of the columns that it fills; for_each: how many rows there may be for each row. None: Python has
    to do it.
    """
    rows = len(columns[0])
    if rows < LEAST_ROWS or not (built := extension()):
        return None
    given = [np.ascontiguousarray(each) for each in columns]
    filled: list[_Column] = [np.empty(rows * for_each, of) for of in fills]
    count = getattr(built, name)(*(number for each in (*given, *filled) for number in _where(each)))
    return None if count is None else [each[:count] for each in filled]


def _where(column: _Column) -> tuple[int, int]:
    return column.__array_interface__["data"][0], column.nbytes
