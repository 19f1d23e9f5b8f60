"""The blocks inside segments, which show which blocks keep free memory from being released.

segment    |aaaaaaa|.......|bb|.................|      offset, bytes and state of each block, in the order of addresses
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.snapshots.lines import Lines
from tb_steptime.snapshots.model import Snapshot, State

#: Maximum numbers of strips and blocks; more would be narrower than a pixel, or lower than a name.
MOST_STRIPS, MOST_BLOCKS = 24, 1_000


class Strip(msgspec.Struct, frozen=True):
    """A segment and the blocks in it.

    free_bytes     free memory in it while blocks of it are in use; 0 if no block is
    offset, size   columns: each block's place in the segment and its bytes
    used           whether the block is in use, or other streams may still use it
    line           place in `lines` of the line that allocated it; -1 if not recorded
    more_blocks    number of blocks at the end that are left out
    """

    address: str
    bytes: int
    free_bytes: int
    in_use_bytes: int
    offset: list[int]
    size: list[int]
    used: list[bool]
    line: list[int]
    lines: list[str]
    more_blocks: int


def strips(snapshot: Snapshot, device: int) -> tuple[list[Strip], int]:
    """Segments of a device, those with the most free memory kept by blocks first, then the largest; and the number of
    other segments."""
    blocks, segments = snapshot.blocks, snapshot.segments
    used = blocks.state != State.FREE
    in_use = np.bincount(blocks.segment[used], blocks.size[used], minlength=len(segments)).astype(np.int64)
    free = np.bincount(blocks.segment[~used], blocks.size[~used], minlength=len(segments)).astype(np.int64)
    kept = np.where(in_use > 0, free, 0)
    mine = np.flatnonzero(segments.device == device)
    mine = mine[np.lexsort((-segments.size[mine], -kept[mine]))]
    lines = Lines(snapshot)
    first = mine[:MOST_STRIPS].tolist()
    shown = [_strip(snapshot, each, int(kept[each]), int(in_use[each]), lines) for each in first]
    return shown, len(mine) - len(shown)


def _strip(snapshot: Snapshot, segment: int, free: int, in_use: int, lines: Lines) -> Strip:
    blocks = snapshot.blocks
    rows = np.flatnonzero(blocks.segment == segment)
    rows = rows[np.argsort(blocks.address[rows], kind="stable")]
    shown = rows[:MOST_BLOCKS]
    used = (blocks.state[shown] != State.FREE).tolist()
    stacks = zip(blocks.stack[shown].tolist(), used, strict=True)
    names = [lines.line(stack) if busy else None for stack, busy in stacks]
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name in names if name is not None))}
    start = int(snapshot.segments.address[segment])
    return Strip(
        address=f"{start:x}",
        bytes=int(snapshot.segments.size[segment]),
        free_bytes=free,
        in_use_bytes=in_use,
        offset=[address - start for address in blocks.address[shown].tolist()],
        size=blocks.size[shown].tolist(),
        used=used,
        line=[-1 if name is None else places[name] for name in names],
        lines=list(places),
        more_blocks=len(rows) - len(shown),
    )
