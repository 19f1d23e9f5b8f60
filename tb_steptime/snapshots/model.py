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
    """What the allocator did. Between a request to free a block and its end other streams may still use it."""

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
    """The state of a block: in use, given back while other streams may use it, or free."""

    ACTIVE = 0
    PENDING = 1
    FREE = 2


class Frame(NamedTuple):
    file: str
    line: int
    function: str


@dataclass(frozen=True, eq=False)
class Entries:
    """What the allocator did, in time order on each device.

    action    uint8, an `Action`
    device    int16
    address   of the block or segment; of `OOM` how much memory of the device was free
    size      as it was asked for; of `SEGMENT_…` that of the segment
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
        """These rows alone, by a mask or by number, in their order."""
        return Entries(*(getattr(self, column.name)[kept] for column in fields(self)))


@dataclass(frozen=True, eq=False)
class Segments:
    """Memory that the allocator holds. large: it is of the pool for blocks above 1 MB."""

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
    """Parts of segments, which they fill. requested: what was asked for; state: uint8, a `State`."""

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

    stacks       of each its frames, the innermost first, as places in `frames`
    expandable   whether the allocator's segments may grow; None where the setting is not recorded
    lost         what could not be read, by kind, with how many
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
        """Those that hold memory, or did anything."""
        return sorted({*self.segments.device.tolist(), *self.entries.device.tolist()})
