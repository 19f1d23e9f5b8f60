"""Writes points into an event file, with TensorBoard's own protobuf messages and record writer."""

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

#: The name of an event file, numbered from 0. TensorBoard's own naming would include time, machine and process.
FILE_NAME = "events.out.tfevents.{}.step_insights"
_OURS = re.compile(re.escape(FILE_NAME).replace(r"\{\}", r"(\d+)"))


def write_event_file(folder: Path, run: ScalarRun, descriptions: Mapping[str, tuple[str, str]]) -> Path:
    """Writes the file of a run into a folder, which is created if needed, replacing an earlier export. Raises OSError.

    A running TensorBoard reads a file once, and then only files whose names sort after it, so each export gets the next
    number. The previous file stays, without its values, because TensorBoard would wait forever for a missing one.
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
    """Returns the version of the format and a session start, which makes a running TensorBoard drop the values of an
    earlier export. A message for each value follows. The first value of a tag carries its description."""
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
