"""Points -> an event file, in TensorBoard's own protobuf messages and by its own writer of records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.scalar.metadata import create_summary_metadata
from tensorboard.summary.writer.record_writer import RecordWriter

from tb_steptime.files.whole_file import whole_file
from tb_steptime.terminal.export.scalars import ScalarRun

#: Always the same, so that a second export replaces the first. TensorBoard's own writer would add machine and process.
FILE_NAME = "events.out.tfevents.0.step_insights"


def write_event_file(folder: Path, run: ScalarRun, descriptions: Mapping[str, tuple[str, str]]) -> Path:
    """The file of a run in a folder, which is made where it is missing. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / FILE_NAME) as file:
        writer = RecordWriter(file)
        for event in _events(run, descriptions):
            writer.write(event.SerializeToString())
    return folder / FILE_NAME


def _events(run: ScalarRun, descriptions: Mapping[str, tuple[str, str]]) -> list[Any]:
    """First the version of the format, then a message for each value; what a tag means is said with its first."""
    first = min((point.wall_ns for point in run.points), default=0) / 1e9
    events = [event_pb2.Event(wall_time=first, file_version="brain.Event:2")]
    told: set[str] = set()
    for point in sorted(run.points, key=lambda point: (point.step, point.tag)):
        tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[point.value])
        value = summary_pb2.Summary.Value(tag=point.tag, tensor=tensor)
        if point.tag not in told:
            told.add(point.tag)
            value.metadata.CopyFrom(create_summary_metadata(*descriptions[point.tag]))
        summary = summary_pb2.Summary(value=[value])
        events.append(event_pb2.Event(wall_time=point.wall_ns / 1e9, step=point.step, summary=summary))
    return events
