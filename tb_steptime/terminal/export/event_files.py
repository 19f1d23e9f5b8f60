"""Figures of the catalogue -> points of TensorBoard's scalars, one run for each worker, in event files that are written
with TensorBoard's own protobuf messages and record writer.

<logdir>/<run>/step_insights/<worker>/events.out.tfevents.0.step_insights
tag step_insights/est_sm_efficiency      step 5, 6, 7 …: the numbers of prof.step(), as loggers count
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.scalar.metadata import create_summary_metadata
from tensorboard.summary.writer.record_writer import RecordWriter

from tb_steptime.files.temporary import atomic_file
from tb_steptime.ingest.names import EXPORT_FOLDER
from tb_steptime.metrics.base import Metric, Series
from tb_steptime.metrics.catalogue import METRIC_BY_ID, METRICS
from tb_steptime.terminal.export.tables import ExportedSpan
from tb_steptime.text import Unit

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
    with atomic_file(path) as file:
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
    described: set[str] = set()
    for point in sorted(run.points, key=lambda point: (point.step, point.tag)):
        tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[point.value])
        value = summary_pb2.Summary.Value(tag=point.tag, tensor=tensor)
        if point.tag not in described:
            described.add(point.tag)
            value.metadata.CopyFrom(create_summary_metadata(*descriptions[point.tag]))
        summary = summary_pb2.Summary(value=[value])
        events.append(event_pb2.Event(wall_time=point.wall_ns / 1e9, step=point.step, summary=summary))
    return events


#: Divisor of times, which are exported in ms to be readable on an axis. All other values stay as they are.
_NS_PER_UNIT = 1e6
_UNITS = {
    Unit.NS: "ms",
    Unit.FRACTION: "0 to 1",
    Unit.COUNT: "number",
    Unit.NUMBER: "number",
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "bytes per second",
}


@dataclass(frozen=True)
class Point:
    """One value of one tag. wall_ns: epoch time at which its step ends."""

    tag: str
    step: int
    wall_ns: int
    value: float


@dataclass
class ScalarRun:
    """One run of TensorBoard. folder: below the log directory. counted: some steps have no number in their recording,
    and are counted from 0. time_from: what says when they were, where the recording does not."""

    folder: str
    points: list[Point] = field(default_factory=list)
    counted: bool = False
    time_from: str | None = None
    last_step: int = -1


def scalar_runs(spans: Iterable[ExportedSpan]) -> list[ScalarRun]:
    """Returns one run for each worker, with its spans one after another. Where the step numbers start over, as in a job
    that was started twice, the rest is a run of its own, because TensorBoard would drop the earlier values."""
    of_workers: dict[str, list[ScalarRun]] = {}
    for span in spans:
        folder = str(PurePosixPath(span.run, EXPORT_FOLDER, span.worker))
        runs = of_workers.setdefault(folder, [])
        steps = _numbers(span)
        if not runs or (steps and steps[0] <= runs[-1].last_step):
            runs.append(ScalarRun(folder if not runs else f"{folder}_{len(runs) + 1}"))
        _add(runs[-1], span, steps)
    return [run for runs in of_workers.values() for run in runs]


def _numbers(span: ExportedSpan) -> list[int]:
    """Returns the numbers of its steps, as prof.step() counted them; none where they are not marked."""
    names = [step.name for step in span.trends.steps]
    marked = span.measured.facts.steps_by == "marks" and all(name.isdecimal() for name in names)
    return list(map(int, names)) if marked else []


def _add(run: ScalarRun, span: ExportedSpan, numbers: list[int]) -> None:
    first = run.last_step + 1
    steps = numbers or list(range(first, first + len(span.trends.steps)))
    run.points += _points(span, steps)
    run.last_step = steps[-1]
    run.counted = run.counted or not numbers
    run.time_from = run.time_from or (None if span.time_from == "trace" else span.time_from)


def _points(span: ExportedSpan, steps: list[int]) -> Iterator[Point]:
    walls = [span.wall_ns(step) for step in span.trends.steps]
    for series in span.trends.series:
        metric = METRIC_BY_ID.get(series.metric)
        if metric is None:
            continue  # of an earlier release
        for step, wall_ns, value in zip(steps, walls, _values(series), strict=True):
            if value is not None:
                yield Point(tag_of(metric), step, wall_ns, value / (_NS_PER_UNIT if metric.unit is Unit.NS else 1))


def _values(series: Series) -> list[float | None]:
    """Returns a value for each step. A figure that exists only for the whole recording is put at the last step."""
    if series.value is None or any(value is not None for value in series.steps):
        return series.steps
    return [*series.steps[:-1], series.value]


def tag_of(metric: Metric) -> str:
    return f"{EXPORT_FOLDER}/{metric.id}" + ("_ms" if metric.unit is Unit.NS else "")


def descriptions() -> Mapping[str, tuple[str, str]]:
    """Returns by tag the label, and the meaning with its unit."""
    return {tag_of(metric): (metric.label, f"{metric.meaning} Unit: {_UNITS[metric.unit]}.") for metric in METRICS}
