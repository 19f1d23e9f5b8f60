"""A snapshot that was read, as files of its columns: opened at once, and not held in memory.

entries.action.npy, …, blocks.stack.npy      a column each
rest.json                                    stacks, frames, and facts about the file
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tb_steptime.snapshots.model import Blocks, Entries, Frame, Segments, Snapshot

_TABLES: dict[str, Any] = {"entries": Entries, "segments": Segments, "blocks": Blocks}
_REST = "rest.json"
#: Size of a column's file without rows, which cannot be mapped.
_EMPTY = 128


class _Rest(msgspec.Struct):
    path: str
    file_bytes: int
    stacks: list[tuple[int, ...]]
    frames: list[Frame]
    expandable: bool | None
    lost: dict[str, int]


def keep_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Write the columns into a folder. Raises OSError."""
    for name in _TABLES:
        table = getattr(snapshot, name)
        for column in fields(table):
            np.save(folder / f"{name}.{column.name}.npy", getattr(table, column.name), allow_pickle=False)
    rest = _Rest(
        snapshot.path,
        snapshot.file_bytes,
        snapshot.stacks,
        snapshot.frames,
        snapshot.expandable,
        snapshot.lost,
    )
    (folder / _REST).write_bytes(msgspec.json.encode(rest))


def kept_snapshot(folder: Path) -> Snapshot:
    """Read a kept snapshot. Raises OSError."""
    rest = msgspec.json.decode((folder / _REST).read_bytes(), type=_Rest)
    tables = {
        name: table(*(_column(folder / f"{name}.{column.name}.npy") for column in fields(table)))
        for name, table in _TABLES.items()
    }
    return Snapshot(
        path=rest.path,
        file_bytes=rest.file_bytes,
        stacks=rest.stacks,
        frames=rest.frames,
        expandable=rest.expandable,
        lost=rest.lost,
        **tables,
    )


def _column(file: Path) -> np.ndarray[Any, Any]:
    """A mapped column, used as a plain array."""
    mapped: np.ndarray[Any, Any] = np.load(file, mmap_mode="r" if file.stat().st_size > _EMPTY else None)
    return mapped.view(np.ndarray)
