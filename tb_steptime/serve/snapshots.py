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
from tb_steptime.metrics.flame import FlameTree, FrameKind
from tb_steptime.metrics.memory.curves import Curve, MemoryBins, memory_bins
from tb_steptime.serve.answers import SnapshotEntry, SnapshotPage
from tb_steptime.snapshots.categories import by_category, categories
from tb_steptime.snapshots.lines import SMALLEST, UNKNOWN, Node, Strip, growth, stack_tree, strips
from tb_steptime.snapshots.model import Allocations, Snapshot, Usage, allocations, usage
from tb_steptime.snapshots.reading import saved_snapshot
from tb_steptime.snapshots.summary import SnapshotSummary, summarize_snapshot
from tb_steptime.timeline.bins import MAX_BINS
from tb_steptime.timeline.flame import FlamePage, page_of
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

    usage: Usage
    allocations: Allocations
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
        return int(self.times_ns[self.usage.peak - 1]) if self.usage.peak > 0 else 0


def snapshot_job(snapshot: FoundSnapshot) -> Job:
    """Its id changes with the file."""
    return Job(
        f"{snapshot.id} {snapshot.bytes} {snapshot.mtime_ns} snapshot", snapshot.path, snapshot.file, snapshot=True
    )


def snapshot_entry(snapshot: FoundSnapshot) -> SnapshotEntry:
    named = snapshot.named
    return SnapshotEntry(
        snapshot.id, named.run, named.name, named.rank, named.step, snapshot.file, snapshot.bytes, snapshot.mtime_ns
    )


def snapshot_page(folder: Path, request: SnapshotRequest, since: Path | None = None) -> SnapshotPage:
    """folder: the columns that the other process wrote; since: those of an earlier snapshot. Raises OSError, and
    IndexError where there is no such device."""
    opened = _opened(folder)
    if not opened.summary.devices:
        return SnapshotPage(headline=snapshot_headline(None), summary=opened.summary)
    summary = opened.summary.devices[request.device]
    device = _device(folder, summary.device)
    after = device.usage.peak if request.at_ns is None else device.after(request.at_ns)
    alive = device.allocations.where(device.allocations.alive_after(after))
    shown, more = _strips(folder, summary.device)
    grown = growth(_opened(since).snapshot, opened.snapshot) if since else []
    return SnapshotPage(
        headline=snapshot_headline(summary),
        out_of_memory=[out_of_memory_text(each) for each in summary.out_of_memory],
        summary=opened.summary,
        device=request.device,
        timed=device.timed,
        end_ns=device.end_ns,
        peak_ns=device.peak_ns,
        curve=_curve(device, request),
        at_ns=device.peak_ns if request.at_ns is None else request.at_ns,
        at_bytes=int(alive.size.sum()),
        at_count=len(alive.size),
        at_categories=by_category(device.categories, device.allocations, after),
        stacks=_flame(stack_tree(opened.snapshot, alive)) if len(alive.size) else None,
        strips=shown,
        more_strips=more,
        growth=next((each for each in grown if each.device == summary.device), None),
    )


@functools.lru_cache(_OPEN)
def _opened(folder: Path) -> _Opened:
    """Opens a snapshot. Its path is reduced to the name of the file, since folders may name users and machines."""
    snapshot = saved_snapshot(folder)
    summary = summarize_snapshot(snapshot)
    return _Opened(snapshot, msgspec.structs.replace(summary, path=any_path(summary.path).name))


@functools.lru_cache(_OPEN)
def _device(folder: Path, device: int) -> _Device:
    snapshot = _opened(folder).snapshot
    device_usage = usage(snapshot, device)
    times = device_usage.entries.time_us
    timed = bool(len(times)) and int(times[0]) >= 0
    since_first = times - times[0] if timed else np.arange(len(times), dtype=np.int64)
    device_allocations = allocations(snapshot, device_usage, device)
    return _Device(
        device_usage,
        device_allocations,
        categories(snapshot, device_usage, device_allocations),
        1_000 * since_first,
        timed,
    )


@functools.lru_cache(_OPEN)
def _strips(folder: Path, device: int) -> tuple[list[Strip], int]:
    return strips(_opened(folder).snapshot, device)


def _curve(device: _Device, request: SnapshotRequest) -> MemoryBins | None:
    """Returns the curve of the memory in use; None where there are fewer than two entries."""
    device_usage, times = device.usage, device.times_ns
    if len(times) < 2:
        return None
    first = int(device_usage.in_use[1] - device_usage.in_use[0])
    curve = Curve(np.arange(len(times)), times, device_usage.in_use[1:], device_usage.reserved[1:], True, first)
    return memory_bins(curve, *(request.window or (0, device.end_ns)), max(1, min(request.bins, MAX_BINS)))


def _flame(whole: Node) -> FlamePage:
    rows: list[tuple[int, int, int, int, int]] = []
    labels: dict[tuple[FrameKind, str], int] = {}
    waiting = [(whole, -1)]
    while waiting:
        node, above = waiting.pop()
        waiting += [(each, len(rows)) for each in node.under.values()]
        label = labels.setdefault((_kind(node, above), node.name), len(labels))
        rows.append((above, label, node.merged, node.count, node.bytes))
    columns = np.array(rows, np.int64)
    parent, label_of, merged, count = columns[:, :4].T.astype(np.int32)
    tree = FlameTree(parent, label_of, merged, count, {"bytes": columns[:, 4]})
    return page_of(tree, list(labels), "stack", "ran", SMALLEST)


def _kind(node: Node, above: int) -> FrameKind:
    if above < 0:
        return "all"
    if node.merged:
        return "smaller"
    if node.name == UNKNOWN:
        return "outside"
    return "python" if node.python else "op"
