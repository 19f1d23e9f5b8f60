"""Memory snapshots in the tab: another process reads each, and pages are made of the columns that it leaves."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from tb_steptime.files.paths import any_path
from tb_steptime.ingest.found import FoundSnapshot
from tb_steptime.ingest.reader_process import Job
from tb_steptime.insights.wording.snapshots import out_of_memory_text, snapshot_headline
from tb_steptime.metrics.flame import FrameKind
from tb_steptime.metrics.memory.allocations import Curve, MemoryBins, memory_bins
from tb_steptime.serve.answers import SnapshotEntry, SnapshotPage
from tb_steptime.snapshots.categories import by_category, categories
from tb_steptime.snapshots.lines import SMALLEST, UNKNOWN, Node, Strip, growth, stack_tree, strips
from tb_steptime.snapshots.model import Allocations, Snapshot, Usage, allocations, usage
from tb_steptime.snapshots.reading import saved_snapshot
from tb_steptime.snapshots.summary import SnapshotSummary, summarize_snapshot
from tb_steptime.timeline.bins import MAX_BINS
from tb_steptime.timeline.flame import FlamePage, column_text
from tb_steptime.trace.table import Int64, UInt8

#: Maximum number of snapshots that are kept open; a comparison needs two.
_OPEN = 4


@dataclass(frozen=True)
class SnapshotRequest:
    """device: place among those of the snapshot. window: ns, None for all of it; at_ns: None for the peak. since: the
    id of another snapshot, empty for none."""

    id: str
    device: int = 0
    window: tuple[int, int] | None = None
    bins: int = 800
    at_ns: int | None = None
    since: str = ""


@dataclass(frozen=True, eq=False)
class _Opened:
    snapshot: Snapshot
    summary: SnapshotSummary


@dataclass(frozen=True, eq=False)
class _Device:
    """times_ns: of each entry, from the oldest one on. categories: of each allocation."""

    of: Usage
    made: Allocations
    categories: UInt8
    times_ns: Int64
    timed: bool

    @property
    def end_ns(self) -> int:
        return int(self.times_ns[-1]) + 1 if len(self.times_ns) else 1

    def after(self, at_ns: int) -> int:
        """Returns the number of entries up to an instant."""
        return int(np.searchsorted(self.times_ns, at_ns, side="right"))

    @property
    def peak_ns(self) -> int:
        return int(self.times_ns[self.of.peak - 1]) if self.of.peak > 0 else 0


def snapshot_job(found: FoundSnapshot) -> Job:
    """Its id changes with the file."""
    return Job(f"{found.id} {found.bytes} {found.mtime_ns} snapshot", found.path, found.file, snapshot=True)


def snapshot_entry(found: FoundSnapshot) -> SnapshotEntry:
    named = found.named
    return SnapshotEntry(
        found.id, named.run, named.name, named.rank, named.step, found.file, found.bytes, found.mtime_ns
    )


def snapshot_page(folder: Path, asked: SnapshotRequest, since: Path | None = None) -> SnapshotPage:
    """folder: the columns that the other process wrote; since: those of an earlier snapshot. Raises OSError, and
    IndexError where there is no such device."""
    opened = _opened(folder)
    if not opened.summary.devices:
        return _without_device(opened.summary)
    told = opened.summary.devices[asked.device]
    device = _device(folder, told.device)
    after = device.of.peak if asked.at_ns is None else device.after(asked.at_ns)
    alive = device.made.where(device.made.alive_after(after))
    shown, more = _strips(folder, told.device)
    grown = growth(_opened(since).snapshot, opened.snapshot) if since else []
    return SnapshotPage(
        headline=snapshot_headline(told),
        out_of_memory=[out_of_memory_text(each) for each in told.out_of_memory],
        summary=opened.summary,
        device=asked.device,
        timed=device.timed,
        end_ns=device.end_ns,
        peak_ns=device.peak_ns,
        curve=_curve(device, asked),
        at_ns=device.peak_ns if asked.at_ns is None else asked.at_ns,
        at_bytes=int(alive.size.sum()),
        at_count=len(alive.size),
        at_categories=by_category(device.categories, device.made, after),
        stacks=_flame(stack_tree(opened.snapshot, alive)) if len(alive.size) else None,
        strips=shown,
        more_strips=more,
        growth=next((each for each in grown if each.device == told.device), None),
    )


def _without_device(summary: SnapshotSummary) -> SnapshotPage:
    return SnapshotPage(snapshot_headline(None), [], summary, 0, True, 1, 0, None, 0, 0, 0, [], None, [], 0, None)


@functools.lru_cache(_OPEN)
def _opened(folder: Path) -> _Opened:
    """Opens a snapshot. Its path is reduced to the name of the file, since folders may name users and machines."""
    snapshot = saved_snapshot(folder)
    summary = summarize_snapshot(snapshot)
    return _Opened(snapshot, msgspec.structs.replace(summary, path=any_path(summary.path).name))


@functools.lru_cache(_OPEN)
def _device(folder: Path, device: int) -> _Device:
    snapshot = _opened(folder).snapshot
    of = usage(snapshot, device)
    times = of.entries.time_us
    timed = bool(len(times)) and int(times[0]) >= 0
    since_first = times - times[0] if timed else np.arange(len(times), dtype=np.int64)
    made = allocations(snapshot, of, device)
    return _Device(of, made, categories(snapshot, of, made), 1_000 * since_first, timed)


@functools.lru_cache(_OPEN)
def _strips(folder: Path, device: int) -> tuple[list[Strip], int]:
    return strips(_opened(folder).snapshot, device)


def _curve(device: _Device, asked: SnapshotRequest) -> MemoryBins | None:
    """None where there are fewer than two entries."""
    of, times = device.of, device.times_ns
    if len(times) < 2:
        return None
    first = int(of.in_use[1] - of.in_use[0])
    curve = Curve(np.arange(len(times)), times, of.in_use[1:], of.reserved[1:], True, first)
    return memory_bins(curve, *(asked.window or (0, device.end_ns)), max(1, min(asked.bins, MAX_BINS)))


def _flame(whole: Node) -> FlamePage:
    rows: list[tuple[int, int, int, int, int]] = []
    labels: dict[tuple[FrameKind, str], int] = {}
    waiting = [(whole, -1)]
    while waiting:
        node, above = waiting.pop()
        waiting += [(each, len(rows)) for each in node.under.values()]
        label = labels.setdefault((_kind(node, above), node.name), len(labels))
        rows.append((above, label, node.merged, node.count, node.bytes))
    parent, label_of, merged, count, size = (column_text(each) for each in np.array(rows, np.int64).T)
    return FlamePage(
        by="stack",
        where="ran",
        smallest=SMALLEST,
        kinds=[kind for kind, _ in labels],
        names=[name for _, name in labels],
        parent=parent,
        label=label_of,
        merged=merged,
        calls=count,
        host_ns="",
        device_ns=None,
        idle_ns=None,
        allocated_bytes=size,
    )


def _kind(node: Node, above: int) -> FrameKind:
    if above < 0:
        return "all"
    if node.merged:
        return "smaller"
    if node.name == UNKNOWN:
        return "outside"
    return "python" if node.python else "op"
