"""The bytes of a recorder's file -> its valid rows, with times on the clock of traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.recorder_files.finding import content_of
from tb_steptime.record.file import format as layout
from tb_steptime.record.file.header import FormatError, UnfinishedError
from tb_steptime.trace.loader_records import UNKNOWN_TIME
from tb_steptime.trace.table import Int64

#: Rows of dtype `layout.ROW_FIELDS`.
Rows = npt.NDArray[Any]
ROW = np.dtype(layout.ROW_FIELDS)
_AHEAD = 1  # index in the values of a CLOCK row


class RecorderFile(msgspec.Struct, frozen=True, eq=False):
    """The content of a file that can still be read.

    loader: its number in its process, from 1, counted over all recorders; 0 until all files are read. header: see
    `record.recordings`. rows: in order of sequence number, with times in ns from an origin; unknown times are
    UNKNOWN_TIME. clock_steps: how often the wall clock was set meanwhile. lost_bytes: bytes that failed their checksum
    or were cut off. overwritten_rows: rows that later ones replaced because the file was full.
    """

    name: str
    loader: int
    header: dict[str, Any]
    rows: Rows
    clock_steps: int
    lost_bytes: int
    overwritten_rows: int


def read_all(folder: AnyPath, names: Sequence[str], origin_ns: int = 0) -> tuple[list[RecorderFile], list[str]]:
    """Returns the files that can be read, with times relative to an origin in epoch ns, and the names of those that
    cannot be read. Neither list includes files that hold nothing yet: a process creates a file, and writes its header
    next."""
    read: list[RecorderFile] = []
    broken: list[str] = []
    for name in names:
        try:
            read.append(decode(content_of(folder / name), name, origin_ns))
        except UnfinishedError:
            continue
        except (OSError, FormatError):
            broken.append(name)
    return _numbered(read), broken


def _numbered(read: Sequence[RecorderFile]) -> list[RecorderFile]:
    """Numbers the loaders of a process over all its recorders; each recorder counts its own loaders from 0."""
    keys = [(each.header.get("recorder_start_ns", 0), each.header.get("loader", 0)) for each in read]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)), 1)}
    return [msgspec.structs.replace(each, loader=numbers[key]) for each, key in zip(read, keys, strict=True)]


def decode(content: bytes, name: str = "", origin_ns: int = 0) -> RecorderFile:
    """Raises FormatError where the header cannot be used."""
    header = layout.LOADER.decode_header(content)
    rows_at = layout.LOADER.rows_begin(content)
    rows = _valid_rows(content, rows_at)
    written = int(rows["sequence"][-1]) + 1 if len(rows) else 0
    return RecorderFile(
        name=name,
        loader=0,
        header=header,
        rows=_on_wall_clock(rows, origin_ns),
        clock_steps=int(((rows["kind"] == layout.CLOCK) & ((rows["flags"] & layout.STEPPED) != 0)).sum()),
        lost_bytes=len(content) - rows_at - rows.nbytes,
        overwritten_rows=max(0, written - layout.FIRST_ROWS - layout.LATEST_ROWS),
    )


def _valid_rows(content: bytes, rows_at: int) -> Rows:
    """Returns the rows whose checksum is right and that are in their own place, by sequence number."""
    size = layout.ROW.size
    begins = range(rows_at, len(content) - size + 1, size)
    valid = [
        position
        for position, begin in enumerate(begins)
        if layout.sequence_of(content[begin : begin + size], position) is not None
    ]
    rows: Rows = np.frombuffer(content, ROW, len(begins), rows_at)[valid]
    return rows[np.argsort(rows["sequence"], kind="stable")]


def _on_wall_clock(rows: Rows, origin_ns: int) -> Rows:
    ahead = _ahead_ns(rows) - origin_ns
    for kind, times in layout.TIMES.items():
        mine = np.flatnonzero(rows["kind"] == kind)
        values = rows["values"][mine, :times]
        rows["values"][mine, :times] = np.where(values == 0, UNKNOWN_TIME, values + ahead[mine, None])
    return rows


def _ahead_ns(rows: Rows) -> Int64:
    """Returns what to add to each row's times, according to the last CLOCK row before it, or the first one after it."""
    clocks = np.flatnonzero(rows["kind"] == layout.CLOCK)
    if not len(clocks):
        return np.zeros(len(rows), np.int64)
    last = np.searchsorted(clocks, np.arange(len(rows)), "right") - 1
    ahead: Int64 = rows["values"][clocks[np.maximum(last, 0)], _AHEAD]
    return ahead
