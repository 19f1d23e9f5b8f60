"""Columns of a large trace wait on disk: they are mapped from unnamed files, and take memory only while they are in
use.

    column --keep--> file --map--> the same column, of which nothing is in memory
                                     | a measurement reads it: its pages come into memory
                                     v
                                   let_go(): they leave it; whoever reads the column again finds it as it was
                                   bounded(): they leave it within a measurement, too, where they are many, and
                                   while a trace is read

Apart from the columns being read, only the working data of a measurement then grows with the trace. The files never
have a name, so nothing is left behind; if the disk is full, a column stays in memory.
"""

from __future__ import annotations

import contextlib
import copy
import mmap
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from weakref import WeakSet

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.trace.table import KEPT_ROWS

T = TypeVar("T")

#: Minimum number of rows for columns to wait on disk: those of a trace of about 0.4 GB. Smaller traces fit in memory,
#: and skipping this saves a twentieth of the time.
LARGE_ROWS = KEPT_ROWS
#: Columns smaller than this stay in memory.
_SMALL_BYTES = 1 << 20
#: How many bytes of the files may be in memory before they are dropped.
_MOST_BYTES = 64 << 20
#: The same limit within a measurement, and how often it is checked. With a lower limit the same pages would be read
#: again and again.
_MOST_BYTES_WITHIN, _SECONDS_BETWEEN = 256 << 20, 0.02
#: A list with more members than this is not searched for columns.
_FEW = 1_000


class ColumnsOnDisk:
    """The columns on disk of one trace. Each file lives as long as its column does."""

    def __init__(self) -> None:
        self._maps = WeakSet[mmap.mmap]()

    def keep(self, result: T) -> T:
        """Returns the same value with large columns on disk: those in structs, tuples, lists and dicts, or the value
        itself. Everything else is unchanged."""
        stored: T = self._stored(result)
        return stored

    def let_go(self) -> None:
        """Drops the pages of the files from memory, if there are many. It may be called at any time."""
        self._let_go_above(_MOST_BYTES)

    @contextlib.contextmanager
    def bounded(self) -> Iterator[None]:
        """Opens a context in which a thread drops the pages from memory while a measurement still reads the columns.
        One that reads a few columns in every row would otherwise keep half a gigabyte of a trace of 10 GB."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(_SECONDS_BETWEEN):
            self._let_go_above(_MOST_BYTES_WITHIN)

    def _let_go_above(self, most_bytes: int) -> None:
        if _mapped_bytes() > most_bytes:
            for each in tuple(self._maps):
                each.madvise(mmap.MADV_DONTNEED)

    def _stored(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._column(value) if value.nbytes >= _SMALL_BYTES and value.dtype != object else value
        if isinstance(value, tuple | list) and len(value) < _FEW:
            return _again(value, [self._stored(each) for each in value])
        if isinstance(value, Mapping) and len(value) < _FEW and type(value) is dict:
            return {key: self._stored(each) for key, each in value.items()}
        if isinstance(value, msgspec.Struct):
            return self._record(value)
        return value

    def _record(self, value: msgspec.Struct) -> msgspec.Struct:
        stored = copy.copy(value)
        for name in value.__struct_fields__:
            msgspec.structs.force_setattr(stored, name, self._stored(getattr(value, name)))
        return stored

    def _column(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if isinstance(mapped := _owner(values), mmap.mmap):  # here, or by another process (`ingest/exchange.py`)
            self._maps.add(mapped)
            return values
        import tempfile  # slow to import, and only large traces need it

        with contextlib.suppress(OSError), tempfile.TemporaryFile(buffering=0) as file:
            _write(file.fileno(), np.ascontiguousarray(values).data.cast("B"))
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._maps.add(mapped)
            return np.frombuffer(mapped, values.dtype).reshape(values.shape)
        return values


def _write(file: int, values: memoryview) -> None:
    while values:
        values = values[os.write(file, values[: 1 << 26]) :]


def _owner(values: Any) -> object:
    """Returns the object that owns an array's memory."""
    while isinstance(values, np.ndarray) and values.base is not None:
        values = values.base
    return values.obj if isinstance(values, memoryview) else values


def _again(value: Any, items: list[Any]) -> Any:
    if isinstance(value, list):
        return items
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _mapped_bytes() -> int:
    """Returns the bytes of all file mappings that this process has in memory, or 0 if the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[2]) * mmap.PAGESIZE
    except (OSError, IndexError, ValueError):
        return 0
