"""Memory snapshots as torch writes them, of a drawn allocator whose every byte is known.

snapshot = Allocator()
block = snapshot.alloc(100, "train.py", 3)      a block in a segment of its own, unless a free one fits
snapshot.free(block)
pickle.dumps(snapshot.state())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: Block sizes are rounded up to a multiple of this.
ROUND = 512


@dataclass(eq=False)
class Block:
    address: int
    size: int
    requested: int = 0
    frames: list[dict[str, Any]] = field(default_factory=list)
    state: str = "inactive"


@dataclass(eq=False)
class Segment:
    address: int
    size: int
    blocks: list[Block]


class Allocator:
    """One device. in_use and reserved: bytes before the first entry and after each one that is kept."""

    def __init__(self, address: int = 0x7F0000000000, device: int = 0, segment: int = 4096) -> None:
        self.device, self.segment_bytes = device, segment
        self.segments: list[Segment] = []
        self.entries: list[dict[str, Any]] = []
        self.in_use, self.reserved = [0], [0]
        self._address, self._frames = address, dict[tuple[str, int], dict[str, Any]]()

    def frames(self, file: str, line: int) -> list[dict[str, Any]]:
        """The frames of the allocator, then of this line: the same dicts each time, as torch shares them."""
        made = self._frames.setdefault((file, line), {"filename": file, "line": line, "name": "step"})
        unwind = self._frames.setdefault(("??", 0), {"filename": "??", "line": 0, "name": "torch::unwind::unwind()"})
        return [unwind, made]

    def alloc(
        self, requested: int, file: str = "train.py", line: int = 1, code: Sequence[tuple[str, str]] = ()
    ) -> Block:
        """code: the frames as (file, function), the innermost first, instead of one line."""
        size = -(-requested // ROUND) * ROUND
        frames = self.stack(code) or self.frames(file, line)
        free = [
            (segment, block)
            for segment in self.segments
            for block in segment.blocks
            if block.state == "inactive" and block.size >= size
        ]
        if not free:
            self._reserve(max(size, self.segment_bytes), frames)
            free = [(self.segments[-1], self.segments[-1].blocks[0])]
        segment, block = free[0]
        if block.size > size:
            segment.blocks.insert(segment.blocks.index(block) + 1, Block(block.address + size, block.size - size))
            block.size = size
        block.requested, block.frames, block.state = requested, frames, "active_allocated"
        self._say("alloc", block.address, requested, frames)
        return block

    def stack(self, code: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        return [{"filename": file, "line": 1, "name": function} for file, function in code]

    def free(self, block: Block, code: Sequence[tuple[str, str]] = ()) -> None:
        frames = self.stack(code)
        self._say("free_requested", block.address, block.requested, frames)
        block.state, block.frames = "inactive", []
        self._say("free_completed", block.address, block.requested, frames)

    def out_of_memory(self, requested: int, device_free: int, file: str = "train.py", line: int = 9) -> None:
        self._say("oom", device_free, requested, self.frames(file, line))

    def _reserve(self, size: int, frames: list[dict[str, Any]]) -> None:
        self.segments.append(Segment(self._address, size, [Block(self._address, size)]))
        self._address += size + (1 << 21)
        self._say("segment_alloc", self.segments[-1].address, size, frames)

    def _say(self, action: str, address: int, size: int, frames: list[dict[str, Any]]) -> None:
        where = "device_free" if action == "oom" else "addr"
        time = 1_700_000_000_000_000 + len(self.entries)
        self.entries.append(
            {"action": action, where: address, "size": size, "stream": 0, "time_us": time, "frames": frames}
        )
        blocks = [block for segment in self.segments for block in segment.blocks]
        self.in_use.append(sum(block.requested for block in blocks if block.state != "inactive"))
        self.reserved.append(sum(segment.size for segment in self.segments))

    def state(self, keep: int | None = None, *, expandable: bool = False) -> dict[str, Any]:
        """What torch pickles. keep: this many of the last entries; None: all."""
        entries = self.entries if keep is None else self.entries[len(self.entries) - keep :]
        return {
            "segments": [self._segment(each) for each in self.segments],
            "device_traces": [[], entries] if self.device else [entries],
            "allocator_settings": {"expandable_segments": expandable},
            "external_annotations": [
                {"stage": stage, "name": "ProfilerStep#1", "device": self.device, "time_us": time}
                for stage, time in (("START", 5), ("END", 9))
            ],
        }

    def _segment(self, segment: Segment) -> dict[str, Any]:
        return {
            "device": self.device,
            "address": segment.address,
            "total_size": segment.size,
            "stream": 0,
            "segment_type": "small",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": [
                {
                    "address": block.address,
                    "size": block.size,
                    "requested_size": block.requested,
                    "state": block.state,
                    "frames": block.frames,
                }
                for block in segment.blocks
            ],
        }
