"""Points -> an event file, in TensorBoard's own protobuf messages and by its own writer of records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.scalar.metadata import create_summary_metadata
from tensorboard.summary.writer.record_writer import RecordWriter

from tb_steptime.files.whole_file import whole_file
from tb_steptime.terminal.export.scalars import ScalarRun

#: Numbered from 0. TensorBoard's own writer would name time, machine and process.
FILE_NAME = "events.out.tfevents.{}.step_insights"
_OURS = re.compile(re.escape(FILE_NAME).replace(r"\{\}", r"(\d+)"))


def write_event_file(folder: Path, run: ScalarRun, descriptions: Mapping[str, tuple[str, str]]) -> Path:
    """The file of a run in a folder, which is made where it is missing, in place of an earlier export. Raises OSError.

    A running TensorBoard reads a file once, and then those whose names come after it: so each export has the next
    number. The file before stays, without its values: where that is gone, TensorBoard waits for it for ever.
    """
    folder.mkdir(parents=True, exist_ok=True)
    earlier = sorted(int(match[1]) for each in folder.iterdir() if (match := _OURS.fullmatch(each.name)))
    path = folder / FILE_NAME.format(earlier[-1] + 1 if earlier else 0)
    events = _events(run, descriptions)
    _write(path, events)
    for number in earlier[-1:]:
        _write(folder / FILE_NAME.format(number), events[:1])
    for number in earlier[:-1]:
        (folder / FILE_NAME.format(number)).unlink(missing_ok=True)
    return path


def _write(path: Path, events: Sequence[Any]) -> None:
    with whole_file(path) as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())


def _events(run: ScalarRun, descriptions: Mapping[str, tuple[str, str]]) -> list[Any]:
    """First the version of the format, and that all begins anew: a running TensorBoard then drops what it read of an
    earlier export. Then a message for each value; what a tag means is said with its first."""
    first = min((point.wall_ns for point in run.points), default=0) / 1e9
    begins = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    events = [
        event_pb2.Event(wall_time=first, file_version="brain.Event:2"),
        event_pb2.Event(wall_time=first, step=0, session_log=begins),
    ]
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
