"""Allocations by line of code: the memory of each line at the peak and at the end, and the lifetime of its
allocations; and the stacks of the memory in use at a moment, as a tree with bytes.

Strips are the blocks inside segments: they show which blocks keep free memory from being released.

segment    |aaaaaaa|.......|bb|.................|      offset, bytes and state of each block, in the order of addresses
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

import msgspec
import numpy as np

from tb_steptime.record.frames import is_of_user
from tb_steptime.snapshots.model import Allocations, Frame, Snapshot, State, Usage, allocations, usage
from tb_steptime.text.patterns import expression
from tb_steptime.trace.frames import short_frame
from tb_steptime.trace.table import Int64

MOST_LINES = 20

#: How C++ frames name a node of the backward pass, and an op.
_NODE, _OP = expression(r"torch::autograd::generated::(\w+)::apply"), expression(r"at::_ops::(\w+?)(?:_\w+)?::")

#: A line and its function; None if the place of an allocation is not recorded.
LineKey = tuple[str, str] | None


class LineRow(msgspec.Struct, frozen=True):
    """Allocations of one line of code.

    line                     "train.py:23"; None where the place of allocation is not recorded
    bytes, count             in use at the peak
    end_bytes                in use at the end
    made_bytes, made_count   allocated since the oldest entry
    lifetime_us              the mean of those that were also freed since then; None where there are none, or no times
    """

    line: str | None
    function: str | None
    bytes: int
    count: int
    end_bytes: int = 0
    made_bytes: int = 0
    made_count: int = 0
    lifetime_us: int | None = None


class Lines:
    """Maps stacks to lines: the innermost line that the user may have written, or else the innermost of Python; in the
    autograd engine, which has no Python frames, the node of the backward pass, or else the innermost op."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[int, Frame | None] = {-1: None}

    def frame(self, stack: int) -> Frame | None:
        if stack not in self._known:
            frames = [self._snapshot.frames[number] for number in self._snapshot.stacks[stack]]
            python = [frame for frame in frames if is_python(frame)]
            of_user = (frame for frame in python if is_of_user(short_frame(frame.file)))
            self._known[stack] = next(of_user, next(iter(python), None)) or _native_frame(frames)
        return self._known[stack]

    def line(self, stack: int) -> str | None:
        frame = self.frame(stack)
        return None if frame is None else line_of(frame)

    def groups(self, rows: Allocations) -> dict[LineKey, Int64]:
        """Returns the numbers of each line's allocations."""
        stacks, which = np.unique(rows.stack, return_inverse=True)
        keys = [self._key(stack) for stack in stacks.tolist()]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        line = np.array([numbers[key] for key in keys], np.int64)[which]
        order = np.argsort(line, kind="stable")
        return dict(zip(numbers, np.split(order, np.cumsum(np.bincount(line))[:-1]), strict=True)) if keys else {}

    def _key(self, stack: int) -> LineKey:
        frame = self.frame(stack)
        return None if frame is None else (line_of(frame), frame.function)


def native_path(frames: list[Frame]) -> list[Frame]:
    """Returns the C++ frames that are useful to a reader, in order: nodes of the backward pass and ops, without
    repeats. If there are none, the outermost frame."""
    named = dict.fromkeys(
        Frame("", 0, name.format(match[1]))
        for frame in frames
        for pattern, name in ((_NODE, "{}"), (_OP, "aten::{}"))
        if (match := pattern.search(frame.function))
    )
    return list(named) or frames[-1:]


def _native_frame(frames: list[Frame]) -> Frame | None:
    """Returns a node of the backward pass, or else the innermost op."""
    path = native_path(frames)
    return next((frame for frame in path if not frame.function.startswith("aten::")), next(iter(path), None))


def line_of(frame: Frame) -> str:
    """Returns the line without its path, which may contain names of users and machines. Frames other than Python's have
    only their function's name.

    >>> line_of(Frame("/home/me/train.py", 23, "step")), line_of(Frame("??", 0, "at::empty"))
    ('train.py:23', 'at::empty')
    """
    return f"{PurePosixPath(frame.file).name}:{frame.line}" if is_python(frame) else frame.function


def is_python(frame: Frame) -> bool:
    return frame.file.endswith(".py")


def by_line(blocks: Allocations, use: Usage, lines: Lines) -> list[LineRow]:
    """Returns the lines, those with the most memory at the peak first, then those with the most at the end."""
    rows = []
    peak, end = blocks.alive_after(use.peak), blocks.alive_after(len(use.entries))
    in_recording = blocks.begin >= 0
    freed = (blocks.begin >= 0) & (blocks.end < len(use.entries))
    for key, of_line in lines.groups(blocks).items():
        lived = of_line[freed[of_line]]
        start_us = use.entries.time_us[blocks.begin[lived]]
        end_us = use.entries.time_us[blocks.end[lived]]
        timed = len(lived) > 0 and bool((start_us >= 0).all())
        line, function = key or (None, None)
        rows.append(
            LineRow(
                line,
                function,
                bytes=int(blocks.size[of_line[peak[of_line]]].sum()),
                count=int(np.count_nonzero(peak[of_line])),
                end_bytes=int(blocks.size[of_line[end[of_line]]].sum()),
                made_bytes=int(blocks.size[of_line[in_recording[of_line]]].sum()),
                made_count=int(np.count_nonzero(in_recording[of_line])),
                lifetime_us=round(float((end_us - start_us).mean())) if timed else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.bytes, -row.end_bytes, -row.made_bytes))[:MOST_LINES]


MOST_GROWN = 50


class LineGrowth(msgspec.Struct, frozen=True):
    """The memory that a line holds at the end of both snapshots; None as in `LineRow`."""

    line: str | None
    function: str | None
    before_bytes: int
    after_bytes: int
    before_count: int
    after_count: int


class DeviceGrowth(msgspec.Struct, frozen=True):
    """What grew on a device between two snapshots.

    more_bytes, more_reserved_bytes   increase of the memory in use and reserved at the end
    lines                             lines whose memory differs, the largest changes first
    """

    device: int
    more_bytes: int
    more_reserved_bytes: int
    lines: list[LineGrowth]


def growth(before: Snapshot, after: Snapshot) -> list[DeviceGrowth]:
    """Returns the growth on the devices that occur in either snapshot."""
    return [_device(before, after, device) for device in sorted({*before.devices, *after.devices})]


def _device(before: Snapshot, after: Snapshot, device: int) -> DeviceGrowth:
    (used_then, reserved_then, then), (used_now, reserved_now, now) = (
        _at_end(snapshot, device) for snapshot in (before, after)
    )
    rows = [
        LineGrowth(*(key or (None, None)), *(value for pair in zip(*both, strict=True) for value in pair))
        for key in {**then, **now}
        if len(set(both := (then.get(key, (0, 0)), now.get(key, (0, 0))))) > 1
    ]
    rows.sort(key=lambda row: -abs(row.after_bytes - row.before_bytes))
    return DeviceGrowth(device, used_now - used_then, reserved_now - reserved_then, rows[:MOST_GROWN])


def _at_end(snapshot: Snapshot, device: int) -> tuple[int, int, dict[LineKey, tuple[int, int]]]:
    """Returns the bytes in use and reserved at the end, and the bytes and number of allocations of each line."""
    device_usage = usage(snapshot, device)
    device_allocations = allocations(snapshot, device_usage, device)
    alive = device_allocations.where(device_allocations.alive_after(len(device_usage.entries)))
    by_line_key = {key: (int(alive.size[rows].sum()), len(rows)) for key, rows in Lines(snapshot).groups(alive).items()}
    return int(device_usage.in_use[-1]), int(device_usage.reserved[-1]), by_line_key


#: A node with less than 1/SMALLEST of the whole is merged with similar ones.
SMALLEST = 1_000

WHOLE, SMALLER, UNKNOWN = "all", "smaller", "not recorded"


@dataclass(eq=False)
class Node:
    """A frame with everything below it. python: it is in a Python file; merged: number of nodes that it replaces, 0 if
    none."""

    name: str
    python: bool = False
    merged: int = 0
    bytes: int = 0
    count: int = 0
    under: dict[str, Node] = field(default_factory=dict)

    def add(self, size: int, count: int) -> None:
        self.bytes += size
        self.count += count


def stack_tree(snapshot: Snapshot, alive: Allocations) -> Node:
    """Returns the tree, with the outermost frames below the root. Of a stack with Python frames only these are shown.
    Of others, the nodes of the backward pass and ops are shown."""
    whole = Node(WHOLE)
    used, which = np.unique(alive.stack, return_inverse=True)
    sizes, counts = np.bincount(which, alive.size), np.bincount(which)
    for stack, size, count in zip(used.tolist(), sizes.tolist(), counts.tolist(), strict=True):
        node = whole
        node.add(int(size), count)
        for frame in _shown(snapshot, stack):
            name = frame.function if not is_python(frame) else f"{line_of(frame)} {frame.function}"
            node = node.under.setdefault(name, Node(name, is_python(frame)))
            node.add(int(size), count)
    _merge(whole, whole.bytes // SMALLEST)
    return whole


def _shown(snapshot: Snapshot, stack: int) -> list[Frame]:
    """Returns the shown frames of a stack, the outermost first."""
    if stack < 0:
        return [Frame("", 0, UNKNOWN)]
    frames = [snapshot.frames[number] for number in snapshot.stacks[stack]]
    return ([frame for frame in frames if is_python(frame)] or native_path(frames))[::-1]


def _merge(top: Node, least: int) -> None:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        small = [below for below in node.under.values() if below.bytes < least]
        if len(small) > 1:
            merged = Node(SMALLER, merged=len(small))
            merged.add(sum(below.bytes for below in small), sum(below.count for below in small))
            node.under = {name: below for name, below in node.under.items() if below.bytes >= least} | {"": merged}
        waiting += node.under.values()


#: Maximum numbers of strips and blocks; more would be narrower than a pixel, or lower than a name.
MOST_STRIPS, MOST_BLOCKS = 24, 1_000


class Strip(msgspec.Struct, frozen=True):
    """A segment and the blocks in it.

    free_bytes     free memory in it while blocks of it are in use; 0 if no block is
    offset, size   columns: each block's place in the segment and its bytes
    used           whether the block is in use, or other streams may still use it
    line           place in `lines` of the line that allocated it; -1 if not recorded
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


def strips(snapshot: Snapshot, device: int) -> tuple[list[Strip], int]:
    """Returns the segments of a device, those with the most free memory kept by blocks first, then the largest, and the
    number of other segments."""
    blocks, segments = snapshot.blocks, snapshot.segments
    used = blocks.state != State.FREE
    in_use = np.bincount(blocks.segment[used], blocks.size[used], minlength=len(segments)).astype(np.int64)
    free = np.bincount(blocks.segment[~used], blocks.size[~used], minlength=len(segments)).astype(np.int64)
    kept_bytes = np.where(in_use > 0, free, 0)
    on_device = np.flatnonzero(segments.device == device)
    on_device = on_device[np.lexsort((-segments.size[on_device], -kept_bytes[on_device]))]
    lines = Lines(snapshot)
    first = on_device[:MOST_STRIPS].tolist()
    shown = [_strip(snapshot, segment, int(kept_bytes[segment]), int(in_use[segment]), lines) for segment in first]
    return shown, len(on_device) - len(shown)


def _strip(snapshot: Snapshot, segment: int, free: int, in_use: int, lines: Lines) -> Strip:
    blocks = snapshot.blocks
    rows = np.flatnonzero(blocks.segment == segment)
    rows = rows[np.argsort(blocks.address[rows], kind="stable")]
    kept = rows[:MOST_BLOCKS]
    used = (blocks.state[kept] != State.FREE).tolist()
    stacks = zip(blocks.stack[kept].tolist(), used, strict=True)
    names = [lines.line(stack) if busy else None for stack, busy in stacks]
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name in names if name is not None))}
    start = int(snapshot.segments.address[segment])
    return Strip(
        address=f"{start:x}",
        bytes=int(snapshot.segments.size[segment]),
        free_bytes=free,
        in_use_bytes=in_use,
        offset=[address - start for address in blocks.address[kept].tolist()],
        size=blocks.size[kept].tolist(),
        used=used,
        line=[-1 if name is None else places[name] for name in names],
        lines=list(places),
    )
