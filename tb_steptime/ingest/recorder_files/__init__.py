"""The recorder's files in a trace's folder -> `LoaderRecords` of the trace's process and time.

Decisions and their reasons:

- A recorder's file may grow after its trace was analysed. A summary keeps which files it saw, and whether each
  reached beyond the trace's end: only then later additions do not matter (`ingest/recorder_files/finding.py`).
"""

from tb_steptime.ingest.recorder_files.finding import SeenRecords, are_current
from tb_steptime.ingest.recorder_files.reading import with_records

__all__ = ["SeenRecords", "are_current", "with_records"]
