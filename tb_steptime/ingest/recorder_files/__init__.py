"""The recorder's files in a trace's folder -> `LoaderRecords` of the trace's process and time."""

from tb_steptime.ingest.recorder_files.finding import SeenRecords, are_current
from tb_steptime.ingest.recorder_files.reading import with_records

__all__ = ["SeenRecords", "are_current", "with_records"]
