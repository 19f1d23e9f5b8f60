"""The recorder's files in a trace's folder -> `LoaderRecords` of the trace's process and time.

Decisions and their reasons:

- A recorder's file may grow after its trace was analysed. A summary records which files it was made with, and
  whether each reached beyond the trace's end: only then do later additions not matter
  (`ingest/recorder_files/finding.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_steptime.files.paths import any_path
from tb_steptime.ingest.recorder_files import finding
from tb_steptime.ingest.recorder_files.finding import SeenRecords, are_current

if TYPE_CHECKING:
    from tb_steptime.trace.model import Trace

__all__ = ["SeenRecords", "are_current", "with_records"]


def with_records(trace: Trace) -> tuple[Trace, SeenRecords]:
    """Returns the trace with what the files in its folder recorded, and which files those are."""
    pids = finding.process_ids(trace)
    folder = any_path(trace.path).absolute().parent
    host = finding.host_of(trace, pids)
    own_files = finding.files_of(finding.recorder_files(folder), pids, host)[: finding.MAX_FILES]
    if not own_files:
        return trace, SeenRecords(pids, [], host)
    from tb_steptime.ingest.recorder_files.reading import added  # few traces have such files in their folder

    trace, seen = added(trace, folder, own_files)
    return trace, SeenRecords(pids, seen, host)
