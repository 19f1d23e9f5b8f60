"""The tool that answers from memory snapshots."""

from __future__ import annotations

from tb_steptime.errors import TraceError
from tb_steptime.insights.wording.snapshots import out_of_memory_text, snapshot_headline
from tb_steptime.snapshots.lines import MOST_GROWN, DeviceGrowth
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import DeviceSnapshot, SnapshotSummary, summarize_snapshot
from tb_steptime.terminal.agent import contract
from tb_steptime.terminal.agent.logs import Logs, RefusalError
from tb_steptime.terminal.agent.numbers import mb
from tb_steptime.text.printer import plain


def memory_snapshot(logs: Logs, file: str | None, since: str | None, limit: int) -> contract.MemorySnapshot:
    """Raises RefusalError."""
    found = logs.snapshot(file)
    summary = _summary(logs, found.file, since)
    growth = {each.device: each for each in summary.growth}
    devices = [_device(each, growth.get(each.device), limit) for each in summary.devices]
    return contract.MemorySnapshot(found.file, devices, summary.lost)


def _summary(logs: Logs, file: str, since: str | None) -> SnapshotSummary:
    try:
        before = read_snapshot(logs.snapshot(since).path) if since else None
        return summarize_snapshot(read_snapshot(logs.snapshot(file).path), before)
    except TraceError as error:
        raise RefusalError(str(error)) from error


def _device(found: DeviceSnapshot, grown: DeviceGrowth | None, limit: int) -> contract.DeviceSnapshotLine:
    rows = grown.lines if grown else []
    more = {(each.line, each.function): mb(each.after_bytes - each.before_bytes) for each in rows}
    unchanged = 0.0 if grown and len(rows) < MOST_GROWN else None
    return contract.DeviceSnapshotLine(
        device=found.device,
        said=plain(snapshot_headline(found).verdict),
        peak_mb=mb(found.peak_in_use_bytes),
        peak_reserved_mb=mb(found.peak_reserved_bytes),
        in_use_mb=mb(found.in_use_bytes),
        rounding_mb=mb(found.rounding_bytes),
        kept_mb=mb(found.kept_bytes),
        releasable_mb=mb(found.releasable_bytes),
        reserved_mb=mb(found.reserved_bytes),
        peak_by_category_mb={each.category: mb(each.bytes) for each in found.peak_by_category},
        lines=[
            contract.LineMemory(
                each.line,
                mb(each.bytes),
                mb(each.end_bytes),
                more.get((each.line, each.function), unchanged),
            )
            for each in found.peak_by_line[:limit]
        ],
        out_of_memory=[plain(out_of_memory_text(each)) for each in found.out_of_memory],
    )
