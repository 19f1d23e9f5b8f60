"""A memory snapshot for a notebook or a script."""

from __future__ import annotations

import os

from tb_steptime.files.paths import any_path
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import SnapshotSummary, summarize_snapshot

__all__ = ["SnapshotSummary", "snapshot_of"]


def snapshot_of(path: str | os.PathLike[str], since: str | os.PathLike[str] | None = None) -> SnapshotSummary:
    """Raises TraceError."""
    earlier = None if since is None else read_snapshot(any_path(os.fspath(since)))
    return summarize_snapshot(read_snapshot(any_path(os.fspath(path))), earlier)
