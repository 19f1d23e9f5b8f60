"""The columns of a memory snapshot. Addresses are uint64, sizes and times int64; sizes are in bytes, times in us."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tb_steptime.trace.table import Bool, Int32, Int64, UInt8

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


@dataclass(frozen=True, eq=False)
class Entries:
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

    def __len__(self) -> int:
        return len(self.action)

    def where(self, kept: Bool | Int64) -> Entries:
        """Only the rows chosen by a mask or by row numbers, in their order."""
        return Entries(*(getattr(self, column.name)[kept] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class Segments:
    """Memory that the allocator holds. large: it belongs to the pool for blocks above 1 MB."""

    device: Int16
    address: UInt64
    size: Int64
    stream: Int64
    large: Bool
    expandable: Bool
    stack: Int32

    def __len__(self) -> int:
        return len(self.device)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Parts of segments, which together fill them. requested: requested size; state: uint8, a `State`."""

    segment: Int32
    address: UInt64
    size: Int64
    requested: Int64
    state: UInt8
    stack: Int32

    def __len__(self) -> int:
        return len(self.segment)


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
        """Devices that hold memory, or have any entries."""
        return sorted({*self.segments.device.tolist(), *self.entries.device.tolist()})
