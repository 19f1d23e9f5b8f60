"""What grew from one snapshot to a later one, by line of code."""

from __future__ import annotations

import msgspec

from tb_steptime.snapshots.lines import LineKey, Lines
from tb_steptime.snapshots.model import Snapshot
from tb_steptime.snapshots.usage import allocations, usage

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
    """Growth on the devices that occur in either snapshot."""
    return [_device(before, after, device) for device in sorted({*before.devices, *after.devices})]


def _device(before: Snapshot, after: Snapshot, device: int) -> DeviceGrowth:
    (used_then, reserved_then, then), (used_now, reserved_now, now) = (_held(each, device) for each in (before, after))
    rows = [
        LineGrowth(*(key or (None, None)), *(value for pair in zip(*both, strict=True) for value in pair))
        for key in {**then, **now}
        if len(set(both := (then.get(key, (0, 0)), now.get(key, (0, 0))))) > 1
    ]
    rows.sort(key=lambda row: -abs(row.after_bytes - row.before_bytes))
    return DeviceGrowth(device, used_now - used_then, reserved_now - reserved_then, rows[:MOST_GROWN])


def _held(snapshot: Snapshot, device: int) -> tuple[int, int, dict[LineKey, tuple[int, int]]]:
    """Bytes in use and reserved at the end; bytes and number of allocations of each line."""
    of = usage(snapshot, device)
    made = allocations(snapshot, of, device)
    alive = made.where(made.alive_after(len(of.entries)))
    held = {key: (int(alive.size[rows].sum()), len(rows)) for key, rows in Lines(snapshot).groups(alive).items()}
    return int(of.in_use[-1]), int(of.reserved[-1]), held
