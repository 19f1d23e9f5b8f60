"""A snapshot file -> its columns. Each entry, segment and block becomes a row as soon as it is complete.

A snapshot that was read is kept as files of its columns, which are opened at once and not held in memory.

entries.action.npy, …, blocks.stack.npy      a column each
rest.json                                    stacks, frames, and facts about the file
"""

from __future__ import annotations

import contextlib
import mmap
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, any_path
from tb_steptime.snapshots.model import Action, Blocks, Entries, Frame, Segments, Snapshot, State
from tb_steptime.trace.plain import Pickled, Record, References, read_plain

_NO_SNAPSHOT = "The file is a pickle, but no memory snapshot"
_HINT = "Only snapshots that torch.cuda.memory._dump_snapshot wrote can be read."
_ACTIONS = {each.name.lower(): each for each in Action if each is not Action.OTHER}
#: Names of states in the file. The last one is an alternative name, used in the documentation, of the second one.
_STATES = {
    "active_allocated": State.ACTIVE,
    "active_pending_free": State.PENDING,
    "inactive": State.FREE,
    "active_awaiting_free": State.PENDING,
}
#: Bytes that contain a pickle's protocol and the first key of a snapshot.
_HEAD_BYTES = 64
_MOST, _HIGHEST = (1 << 63) - 1, (1 << 64) - 1


class _Row:
    """Stands for a dict that became a row; the number of them in a list shows which rows these are."""


_ENTRY, _SEGMENT = _Row(), _Row()


class _Block(int):
    """The row of a block. A segment's blocks are complete before the segment is."""


def read_snapshot(path: str | AnyPath) -> Snapshot:
    """Returns the columns of a snapshot. Raises TraceError if the file cannot be read, or is not a snapshot."""
    path = any_path(path)
    with _opened(path) as data:
        rows = _SnapshotRows()
        top = read_plain(data, path, rows.take)
        if type(top) is not Record or not {"segments", "device_traces"} <= top.keys():
            raise TraceError(_NO_SNAPSHOT, path, _HINT)
        return rows.snapshot(top, path, len(data))


def looks_like_snapshot(path: AnyPath) -> bool:
    """Returns whether the file begins as a snapshot does. Returns False if the file cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return head.startswith(b"\x80") and (b"segments" in head or b"device_traces" in head)


@contextlib.contextmanager
def _opened(path: AnyPath) -> Iterator[Pickled]:
    """Opens the file's content. A local file is mapped, so that parts already read leave the memory."""
    try:
        if not isinstance(path, Path) or not path.stat().st_size:
            yield path.read_bytes()
            return
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            yield mapped
    except OSError as error:
        raise TraceError(f"The file cannot be read ({error.strerror or error})", path, "Check the path.") from None


class _SnapshotRows:
    """Collects rows in the order of the file."""

    def __init__(self) -> None:
        self.frames: dict[Frame, int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self.lost: Counter[str] = Counter()
        self.entries = _columns(action="B", address="Q", size="q", stream="q", time_us="q", stack="i")
        self.blocks = _columns(address="Q", size="q", requested="q", state="B", stack="i", placed="B")
        self.segments = _columns(
            device="q", address="Q", size="q", stream="q", large="B", expandable="B", stack="i", blocks="q"
        )

    def take(self, record: Record) -> Any:
        if "action" in record:
            return self._entry(record)
        if "filename" in record:
            return self._frame(record)
        if "state" in record and "size" in record:
            return self._block(record)
        if "blocks" in record and "total_size" in record:
            return self._segment(record)
        return record

    def _entry(self, record: Record) -> _Row:
        """Adds an entry. There are millions of these, so it has to be fast."""
        get, action, address, size, stream, time_us, stack = record.get, *self.entries.values()
        where = get("addr")
        frames = get("frames", ())
        action.append(_ACTIONS.get(record["action"], Action.OTHER))
        address.append(self._address(get("device_free", 0) if where is None else where))
        size.append(self._number(get("size", 0)))
        stream.append(self._number(get("stream", 0)))
        time_us.append(self._number(get("time_us", -1)))
        stack.append(frames.number if type(frames) is References and frames.number >= 0 else self._stack(frames))
        return _ENTRY

    @staticmethod
    def _add(columns: dict[str, array[int]], *values: int) -> None:
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)

    def _frame(self, record: Record) -> int:
        line = record.get("line", 0)
        frame = Frame(str(record["filename"]), line if isinstance(line, int) else 0, str(record.get("name", "")))
        return self.frames.setdefault(frame, len(self.frames))

    def _stack(self, frames: Any) -> int:
        """Returns the number of a stack. Frames are given as numbers. Equal references are the same stack, whose number
        is then known."""
        if type(frames) is References and frames.number >= 0:
            return frames.number
        if not isinstance(frames, (list, tuple)) or not all(type(each) is int for each in frames):
            self.lost["stacks"] += 1
            return -1
        if not frames:
            return -1
        stack = self.stacks.setdefault(tuple(frames), len(self.stacks))
        if type(frames) is References:
            frames.number = stack
        return stack

    def _block(self, record: Record) -> _Block:
        """Adds a block. Those of 2022 and 2023 have a history, whose first entry is the latest allocation."""
        history = record.get("history")
        latest = history[0] if isinstance(history, list) and history and isinstance(history[0], dict) else {}
        size = self._number(record["size"])
        self._add(
            self.blocks,
            self._address(record.get("address", 0)),
            size,
            self._number(record.get("requested_size", latest.get("real_size", size))),
            _STATES.get(record["state"], State.FREE),
            self._stack(record.get("frames", latest.get("frames", ()))),
            "address" in record,
        )
        return _Block(len(self.blocks["size"]) - 1)

    def _segment(self, record: Record) -> _Row:
        blocks = record["blocks"]
        count = len(blocks) if isinstance(blocks, list) and all(type(each) is _Block for each in blocks) else 0
        self._add(
            self.segments,
            self._number(record.get("device", 0)),
            self._address(record.get("address", 0)),
            self._number(record["total_size"]),
            self._number(record.get("stream", 0)),
            record.get("segment_type") != "small",
            record.get("is_expandable") is True,
            self._stack(record.get("frames", ())),
            count,
        )
        return _SEGMENT

    def _number(self, value: Any) -> int:
        if type(value) is int and -_MOST - 1 <= value <= _MOST:
            return value
        self.lost["values"] += 1
        return 0

    def _address(self, value: Any) -> int:
        if type(value) is int and 0 <= value <= _HIGHEST:
            return value
        self.lost["values"] += 1
        return 0

    def snapshot(self, top: Record, path: AnyPath, size: int) -> Snapshot:
        device = self._devices(top)
        columns = {name: np.frombuffer(values, values.typecode) for name, values in self.entries.items()}
        entries = Entries(device=device.astype(np.int16), **columns)
        self.lost["actions"] += int(np.count_nonzero(entries.action == Action.OTHER))
        order = np.lexsort((entries.time_us, entries.device))
        on_device = order[device[order] >= 0]
        segments, blocks = self._on_devices(len(_rows(top["segments"], _SEGMENT)))
        settings = top.get("allocator_settings")
        expandable = settings.get("expandable_segments") if isinstance(settings, dict) else None
        return Snapshot(
            path=str(path),
            file_bytes=size,
            entries=entries.where(on_device),
            segments=segments,
            blocks=blocks,
            stacks=list(self.stacks),
            frames=list(self.frames),
            expandable=expandable if isinstance(expandable, bool) else None,
            lost={kind: number for kind, number in self.lost.items() if number},
        )

    def _devices(self, top: Record) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Returns for each entry the device in whose list it is, or -1 for host memory and for entries outside of the
        lists."""
        counts: list[tuple[int, int]] = []
        for key, lists in top.items():
            if key in ("device_traces", "host_traces") and isinstance(lists, (list, tuple)):
                rows = enumerate(lists) if key == "device_traces" else ((-1, each) for each in lists)
                counts += [(number, len(_rows(each, _ENTRY))) for number, each in rows]
        device = np.repeat([each for each, _ in counts], [number for _, number in counts]).astype(np.int64)
        missing = len(self.entries["action"]) - len(device)
        if missing:
            self.lost["entries"] += abs(missing)
        return np.resize(np.append(device, np.full(max(missing, 0), -1)), len(self.entries["action"]))

    def _on_devices(self, count: int) -> tuple[Segments, Blocks]:
        """Returns the segments and blocks of devices. Their segments are the first `count`; those of the host follow,
        if there are any."""
        columns = {name: np.array(values[:count]) for name, values in self.segments.items()}
        block_count = columns.pop("blocks")
        narrow = {"device": np.int16, "large": np.bool_, "expandable": np.bool_}
        segments = Segments(**columns | {name: columns[name].astype(kind) for name, kind in narrow.items()})
        segment = np.repeat(np.arange(count, dtype=np.int32), block_count)
        blocks = {name: np.array(values[: len(segment)]) for name, values in self.blocks.items()}
        placed = blocks.pop("placed").astype(bool)
        follow = columns["address"][segment] + _before(blocks["size"], segment).astype(np.uint64)
        blocks["address"] = np.where(placed, blocks["address"], follow)
        return segments, Blocks(segment, **blocks)


def _before(size: Any, segment: Any) -> Any:
    """Returns the distance of each block from the beginning of its segment. Blocks without an address are adjacent."""
    ends = np.cumsum(size)
    starts = ends - size
    first = np.searchsorted(segment, segment)
    return starts - starts[first] if len(starts) else starts


def _rows(values: Any, row: _Row) -> list[_Row]:
    return [each for each in values if each is row] if isinstance(values, (list, tuple)) else []


def _columns(**types: str) -> dict[str, array[int]]:
    """Returns empty columns by name. types: type codes of `array`."""
    return {name: array(type) for name, type in types.items()}


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


def save_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Writes the columns into a folder. Raises OSError."""
    for name in _TABLES:
        table = getattr(snapshot, name)
        for column in table.__struct_fields__:
            np.save(folder / f"{name}.{column}.npy", getattr(table, column), allow_pickle=False)
    rest = _Rest(
        snapshot.path, snapshot.file_bytes, snapshot.stacks, snapshot.frames, snapshot.expandable, snapshot.lost
    )
    (folder / _REST).write_bytes(msgspec.json.encode(rest))


def saved_snapshot(folder: Path) -> Snapshot:
    """Reads a saved snapshot. Raises OSError."""
    rest = msgspec.json.decode((folder / _REST).read_bytes(), type=_Rest)
    tables = {
        name: table(*(_column(folder / f"{name}.{column}.npy") for column in table.__struct_fields__))
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
    """Returns a mapped column, used as a plain array."""
    mapped: np.ndarray[Any, Any] = np.load(file, mmap_mode="r" if file.stat().st_size > _EMPTY else None)
    return mapped.view(np.ndarray)
