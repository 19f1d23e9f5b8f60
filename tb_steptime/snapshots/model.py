"""The columns of a memory snapshot; bytes in use and reserved over time, and which allocations are alive when.

Addresses are uint64, sizes and times int64; sizes are in bytes, times in us. The blocks and segments of the snapshot
show the usage at its end; the entries, walked backwards, show the usage before. So the figures are right from the
oldest entry on, whatever happened before it.

entry       alloc 4    alloc 2    free 4    [snapshot: 2 in use]
in use   0          4          6         2
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.table import Bool, Columns, Int32, Int64, UInt8, is_in

UInt64 = npt.NDArray[np.uint64]
Int16 = npt.NDArray[np.int16]


class Action(enum.IntEnum):
    """Actions of the allocator. Between a request to free a block and its completion other streams may still use it."""

    ALLOC = 0
    FREE_REQUESTED = 1
    FREE_COMPLETED = 2
    SEGMENT_ALLOC = 3
    SEGMENT_FREE = 4
    SEGMENT_MAP = 5
    SEGMENT_UNMAP = 6
    SNAPSHOT = 7
    OOM = 8
    ANNOTATE = 9
    OTHER = 10


class State(enum.IntEnum):
    """The state of a block: in use, freed while other streams may still use it, or free."""

    ACTIVE = 0
    PENDING = 1
    FREE = 2


class Frame(NamedTuple):
    file: str
    line: int
    function: str


class Entries(Columns, frozen=True, eq=False):
    """The allocator's actions, in time order on each device.

    action    uint8, an `Action`
    device    int16
    address   of the block or segment; for `OOM` the free memory of the device
    size      as requested; for `SEGMENT_…` that of the segment
    time_us   since 1970; -1 where it is not recorded
    stack     int32, place in `Snapshot.stacks`; -1 for none
    """

    action: UInt8
    device: Int16
    address: UInt64
    size: Int64
    stream: Int64
    time_us: Int64
    stack: Int32


class Segments(Columns, frozen=True, eq=False):
    """Memory that the allocator holds. large: it belongs to the pool for blocks above 1 MB."""

    device: Int16
    address: UInt64
    size: Int64
    stream: Int64
    large: Bool
    expandable: Bool
    stack: Int32


class Blocks(Columns, frozen=True, eq=False):
    """Parts of segments, which together fill them. requested: requested size; state: uint8, a `State`."""

    segment: Int32
    address: UInt64
    size: Int64
    requested: Int64
    state: UInt8
    stack: Int32


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A file.

    stacks       the frames of each stack, the innermost first, as places in `frames`
    expandable   whether the allocator's segments may grow; None where the setting is not recorded
    lost         numbers of entries that could not be read, by kind
    """

    path: str
    file_bytes: int
    entries: Entries
    segments: Segments
    blocks: Blocks
    stacks: list[tuple[int, ...]]
    frames: list[Frame]
    expandable: bool | None
    lost: dict[str, int]

    @property
    def devices(self) -> list[int]:
        """The devices that hold memory, or have any entries."""
        return sorted({*self.segments.device.tolist(), *self.entries.device.tolist()})


#: Factor of an entry's size by which it changes memory in use, and memory reserved.
_IN_USE = {Action.ALLOC: 1, Action.FREE_COMPLETED: -1}
_RESERVED = {Action.SEGMENT_ALLOC: 1, Action.SEGMENT_MAP: 1, Action.SEGMENT_FREE: -1, Action.SEGMENT_UNMAP: -1}


@dataclass(frozen=True, eq=False)
class Usage:
    """Usage of one device, before its first entry and after each one. Bytes in use are requested sizes; blocks that
    other streams may still use count as in use.

    time_us    int64, of each entry; the first one twice
    in_use     int64, bytes
    reserved   int64, bytes of segments
    """

    entries: Entries
    time_us: Int64
    in_use: Int64
    reserved: Int64

    @property
    def peak(self) -> int:
        """The number of entries after which most memory is in use."""
        return int(self.in_use.argmax())


def usage(snapshot: Snapshot, device: int) -> Usage:
    """Returns the usage of a device over time."""
    entries = snapshot.entries.where(snapshot.entries.device == device)
    segments = snapshot.segments.device == device
    blocks = snapshot.blocks
    active = segments[blocks.segment] & (blocks.state != State.FREE) if len(blocks) else np.zeros(0, bool)
    in_use = _backwards(entries, _IN_USE, int(blocks.requested[active].sum()))
    reserved = _backwards(entries, _RESERVED, int(snapshot.segments.size[segments].sum()))
    time_us = np.append(entries.time_us[:1], entries.time_us) if len(entries) else np.array([-1], np.int64)
    return Usage(entries, time_us, in_use, reserved)


def _backwards(entries: Entries, signs: dict[Action, int], at_end: int) -> Int64:
    """Returns the usage before the first entry and after each one. at_end: usage after the last entry."""
    sign = np.zeros(len(Action), np.int64)
    for action, step in signs.items():
        sign[action] = step
    change = sign[entries.action] * entries.size
    return at_end - (change.sum() - np.append(0, np.cumsum(change)))


class Allocations(Columns, frozen=True, eq=False):
    """Allocations of one device, as far as entries and blocks show them. Entries are numbered from 0 on each device.

    begin   int64, number of the entry that made it; -1: before the oldest entry
    end     int64, number of the entry that ended it; the number of entries where it is alive at the end
    size    int64, requested bytes
    stack   int32, where it was allocated, as a place in `Snapshot.stacks`; -1 if not recorded
    """

    begin: Int64
    end: Int64
    size: Int64
    stack: Int32

    def alive_after(self, entries: int) -> Bool:
        """Returns which allocations exist after this many entries."""
        return (self.begin < entries) & (self.end >= entries)


def allocations(snapshot: Snapshot, device_usage: Usage, device: int) -> Allocations:
    """Returns the allocations, each with the end of its block, which has the same address. An allocation that lacks one
    of the two entries began before the oldest entry, or is alive at the end. If its end is missing, it lasts until its
    address is used again."""
    entries = device_usage.entries
    rows = np.flatnonzero(is_in(entries.action, (Action.ALLOC, Action.FREE_COMPLETED)))
    rows = rows[np.lexsort((rows, entries.address[rows]))]
    allocates = entries.action[rows] == Action.ALLOC
    same = np.append(entries.address[rows][1:] == entries.address[rows][:-1], False) if len(rows) else allocates
    ended, last = allocates & same, allocates & ~same
    follows = np.append(False, ended[:-1]) if len(rows) else allocates
    unmade = ~allocates & ~follows
    begin = np.concatenate((rows[ended], rows[last], np.full(int(unmade.sum()), -1)))
    end = np.concatenate((rows[np.flatnonzero(ended) + 1], np.full(int(last.sum()), len(entries)), rows[unmade]))
    size = entries.size[np.concatenate((rows[ended], rows[last], rows[unmade]))]
    stack = np.concatenate((entries.stack[rows[ended]], entries.stack[rows[last]], np.full(int(unmade.sum()), -1)))
    older = _allocated_before(snapshot, device, entries.address[rows[last]])
    blocks = snapshot.blocks
    return Allocations(
        np.concatenate((begin, np.full(len(older), -1))).astype(np.int64),
        np.concatenate((end, np.full(len(older), len(entries)))).astype(np.int64),
        np.concatenate((size, blocks.requested[older])),
        np.concatenate((stack, blocks.stack[older])).astype(np.int32),
    )


def _allocated_before(snapshot: Snapshot, device: int, addresses: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Int64:
    """Returns the rows of blocks in use that were not allocated by any entry."""
    blocks = snapshot.blocks
    if not len(blocks):
        return np.empty(0, np.int64)
    active = (snapshot.segments.device[blocks.segment] == device) & (blocks.state != State.FREE)
    return np.flatnonzero(active & ~np.isin(blocks.address, addresses))
