"""Results of a snapshot for each device: its peak by line, its free memory by what keeps it, and why memory ran out.

reserved   |aaaaaa......bb|  |..............|  |cccc|      a, b, c: blocks in use
free             kept          releasable
"""

from __future__ import annotations

import msgspec
import numpy as np

from tb_steptime.metrics.memory.contents import CategoryBytes
from tb_steptime.snapshots.categories import by_category, categories
from tb_steptime.snapshots.lines import DeviceGrowth, LineRow, Lines, by_line, growth
from tb_steptime.snapshots.model import Action, Snapshot, State, Usage, allocations, usage
from tb_steptime.trace.table import Int64, distinct

#: Expandable segments release memory in whole pages of this size.
PAGE = 2 << 20
#: Maximum number of segments in the table, and of points of the curve.
MOST_SEGMENTS, MOST_POINTS = 10, 400


class SegmentRow(msgspec.Struct, frozen=True):
    """A segment whose free memory is kept by blocks in use. pieces: number of its free parts; kept_by: the line that
    allocated the largest block in use."""

    address: str
    bytes: int
    free_bytes: int
    pieces: int
    largest_bytes: int
    blocks_in_use: int
    kept_by: str | None


class OutOfMemory(msgspec.Struct, frozen=True):
    """An allocation that failed.

    free_bytes, pieces, largest_bytes   free memory within segments: its bytes, the number of its parts and the largest
                        part; None if the allocator did more afterwards, so that the snapshot does not show it
    expandable_helps    an estimate: segments may not grow, and if they could, the pages that contain no block in use
                        would have been enough for the allocation; None if not known
    """

    time_us: int | None
    asked_bytes: int
    device_free_bytes: int
    in_use_bytes: int
    reserved_bytes: int
    free_bytes: int | None
    pieces: int | None
    largest_bytes: int | None
    expandable_helps: bool | None
    line: str | None


class Curve(msgspec.Struct, frozen=True):
    """The course of memory as columns of equal length, one value for each of equal groups of entries: the most in use,
    and the most reserved. time_us: time of the group's first entry, from that of the oldest entry."""

    time_us: list[int]
    in_use_bytes: list[int]
    reserved_bytes: list[int]


class DeviceSnapshot(msgspec.Struct, frozen=True):
    """One device. Bytes in use are requested sizes; reserved bytes are those of segments.

    entries, first_us, last_us   number and times of the entries that the snapshot contains, in us since 1970; None
                       where times are not recorded
    releasable_bytes   bytes of segments without a block in use
    kept_bytes         other free memory, in kept_pieces parts
    rounding_bytes     how much larger blocks in use are than their requested sizes
    peak_by_category   sums to the peak in use

    In use, releasable, kept and rounding sum to reserved.
    """

    device: int
    entries: int
    first_us: int | None
    last_us: int | None
    peak_in_use_bytes: int
    peak_reserved_bytes: int
    peak_us: int | None
    in_use_bytes: int
    reserved_bytes: int
    releasable_bytes: int
    kept_bytes: int
    kept_pieces: int
    kept_largest_bytes: int
    rounding_bytes: int
    peak_by_line: list[LineRow]
    fragmented: list[SegmentRow]
    out_of_memory: list[OutOfMemory]
    curve: Curve
    peak_by_category: list[CategoryBytes]


class SnapshotSummary(msgspec.Struct, frozen=True):
    """A snapshot file. lost: number of entries that could not be read, by kind. growth: what grew since an earlier
    snapshot, if one was given."""

    path: str
    bytes: int
    expandable_segments: bool | None
    devices: list[DeviceSnapshot]
    lost: dict[str, int]
    growth: list[DeviceGrowth] = []


def summarize_snapshot(snapshot: Snapshot, since: Snapshot | None = None) -> SnapshotSummary:
    """Returns the results of a snapshot for each device, with the growth since an earlier snapshot of the same job, if
    given."""
    lines = Lines(snapshot)
    devices = [_device(snapshot, device, lines) for device in snapshot.devices]
    grown = growth(since, snapshot) if since else []
    return SnapshotSummary(snapshot.path, snapshot.file_bytes, snapshot.expandable, devices, snapshot.lost, grown)


def _device(snapshot: Snapshot, device: int, lines: Lines) -> DeviceSnapshot:
    device_usage = usage(snapshot, device)
    device_allocations = allocations(snapshot, device_usage, device)
    free = _free(snapshot, device)
    times = device_usage.entries.time_us
    timed = bool(len(times)) and int(times[0]) >= 0
    return DeviceSnapshot(
        device=device,
        entries=len(device_usage.entries),
        first_us=int(times[0]) if timed else None,
        last_us=int(times[-1]) if timed else None,
        peak_in_use_bytes=int(device_usage.in_use.max()),
        peak_reserved_bytes=int(device_usage.reserved.max()),
        peak_us=int(device_usage.time_us[device_usage.peak]) if timed else None,
        in_use_bytes=int(device_usage.in_use[-1]),
        reserved_bytes=int(device_usage.reserved[-1]),
        releasable_bytes=free.releasable,
        kept_bytes=int(free.kept.sum()),
        kept_pieces=len(free.kept),
        kept_largest_bytes=int(free.kept.max(initial=0)),
        rounding_bytes=free.rounding,
        peak_by_line=by_line(device_allocations, device_usage, lines),
        fragmented=_fragmented(snapshot, device, lines),
        out_of_memory=_out_of_memory(snapshot, device_usage, free, lines),
        curve=_curve(device_usage),
        peak_by_category=by_category(
            categories(snapshot, device_usage, device_allocations), device_allocations, device_usage.peak
        ),
    )


class _Free(msgspec.Struct, frozen=True):
    """Free memory of a device. releasable: bytes of segments without a block in use; kept: bytes of each other free
    block; rounding: as in `DeviceSnapshot`."""

    releasable: int
    kept: Int64
    rounding: int


def _free(snapshot: Snapshot, device: int) -> _Free:
    blocks, segments = snapshot.blocks, snapshot.segments
    on_device = segments.device == device
    if not len(blocks):
        return _Free(int(segments.size[on_device].sum()), np.empty(0, np.int64), 0)
    used = blocks.state != State.FREE
    in_use = np.bincount(blocks.segment[used], minlength=len(segments)) > 0
    block_on_device = on_device[blocks.segment]
    kept_sizes = blocks.size[block_on_device & ~used & in_use[blocks.segment]]
    rounding = int((blocks.size - blocks.requested)[block_on_device & used].sum())
    return _Free(int(segments.size[on_device & ~in_use].sum()), kept_sizes, rounding)


def _fragmented(snapshot: Snapshot, device: int, lines: Lines) -> list[SegmentRow]:
    """Returns the segments with the most free memory kept by blocks in use."""
    blocks, segments = snapshot.blocks, snapshot.segments
    used = blocks.state != State.FREE
    count = np.bincount(blocks.segment[used], minlength=len(segments))
    free = np.bincount(blocks.segment[~used], blocks.size[~used], minlength=len(segments)).astype(np.int64)
    candidates = np.flatnonzero((segments.device == device) & (count > 0) & (free > 0))
    rows = []
    for segment in candidates[np.argsort(-free[candidates], kind="stable")][:MOST_SEGMENTS].tolist():
        inside = np.flatnonzero(blocks.segment == segment)
        pieces, in_use = inside[~used[inside]], inside[used[inside]]
        largest = int(in_use[blocks.size[in_use].argmax()])
        rows.append(
            SegmentRow(
                address=f"{int(segments.address[segment]):x}",
                bytes=int(segments.size[segment]),
                free_bytes=int(free[segment]),
                pieces=len(pieces),
                largest_bytes=int(blocks.size[pieces].max()),
                blocks_in_use=len(in_use),
                kept_by=lines.line(int(blocks.stack[largest])),
            )
        )
    return rows


def _out_of_memory(snapshot: Snapshot, device_usage: Usage, free: _Free, lines: Lines) -> list[OutOfMemory]:
    entries = device_usage.entries
    changes = np.flatnonzero(entries.action < Action.SNAPSHOT)
    failures = []
    for row in np.flatnonzero(entries.action == Action.OOM).tolist():
        shown = not len(changes) or int(changes[-1]) < row
        requested = int(entries.size[row])
        device_free = int(entries.address[row])
        time = int(entries.time_us[row])
        free_bytes = free.releasable + int(free.kept.sum())
        in_pages = free.releasable + int((free.kept // PAGE).sum()) * PAGE
        # if the GPU had room, a limit of the process was reached, and that room was not available
        fits = requested <= in_pages + (0 if device_free >= requested else device_free)
        failures.append(
            OutOfMemory(
                time_us=time if time >= 0 else None,
                asked_bytes=requested,
                device_free_bytes=device_free,
                in_use_bytes=int(device_usage.in_use[row + 1]),
                reserved_bytes=int(device_usage.reserved[row + 1]),
                free_bytes=free_bytes if shown else None,
                pieces=len(free.kept) if shown else None,
                largest_bytes=int(free.kept.max(initial=0)) if shown else None,
                expandable_helps=fits and not snapshot.expandable
                if shown and snapshot.expandable is not None
                else None,
                line=lines.line(int(entries.stack[row])),
            )
        )
    return failures


def _curve(device_usage: Usage) -> Curve:
    edges = distinct(np.linspace(0, len(device_usage.in_use), MOST_POINTS + 1).astype(np.int64))[:-1]
    return Curve(
        time_us=(device_usage.time_us[edges] - device_usage.time_us[0]).tolist(),
        in_use_bytes=np.maximum.reduceat(device_usage.in_use, edges).tolist(),
        reserved_bytes=np.maximum.reduceat(device_usage.reserved, edges).tolist(),
    )
