"""Finds the spans under a path that a user names, and reads a memory snapshot."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, any_path, is_file, is_folder
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.notebook.span import Span
from tb_steptime.notebook.spans import Spans
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import SnapshotSummary, summarize_snapshot
from tb_steptime.text import did_you_mean


def open_path(path: str | os.PathLike[str], names_from: str | os.PathLike[str] | None = None) -> Spans:
    """The spans of a trace or summary file, of a log directory, of a run's folder, or of one worker in such a folder
    ("logs/run/host_1234"). Nothing is read yet but the names of files. names_from: see `tb_steptime.open`.

    Raises TraceError where there is nothing of the kind.

    >>> import tb_steptime
    >>> spans = tb_steptime.open("demo_logs/cpu_baseline")
    >>> spans
    Spans(demo_logs/cpu_baseline: 2 of 1 run)
    """
    try:
        spans = _opened(any_path(path).expanduser())
    except RemoteProblem as problem:
        raise TraceError(problem.fact, problem.filename, problem.hint) from None
    if names_from is None:
        return spans
    source = any_path(names_from).expanduser()
    if not _is_there(source):
        raise TraceError("There is no such file or folder", source, "Name an eager recording of the same job.")
    for span in spans:
        span.found = replace(span.found, names_from=source)
    return spans


def _opened(place: AnyPath) -> Spans:
    problems: list[Problem] = []
    if _is_there(place):
        return _spans(place, find_spans([place], problems), problems)
    in_folder = find_spans([place.parent], problems) if is_folder(place.parent) else ()
    workers = [span for span in in_folder if span.run == "."]
    wanted = [span for span in workers if span.worker == place.name]
    return _spans(place, wanted, problems, {span.worker for span in workers})


def _is_there(path: AnyPath) -> bool:
    return is_folder(path) or is_file(path)


def _spans(path: AnyPath, found: Iterable[FoundSpan], problems: list[Problem], beside: Collection[str] = ()) -> Spans:
    """beside: the workers of the folder that contains this path, of which an error message suggests one."""
    spans = [Span(each) for each in found]
    if not spans:
        raise _nothing(path, problems, beside)
    return Spans(str(path), spans, problems)


def _nothing(path: AnyPath, problems: list[Problem], beside: Collection[str]) -> TraceError:
    if problems and _is_there(path):
        return TraceError(problems[0].problem, path, problems[0].hint)
    hint = "Name a trace file, a log directory, a run's folder, or a worker in it."
    return TraceError("There is no such file, folder or worker", path, hint + did_you_mean(path.name, beside))


__all__ = ["SnapshotSummary", "snapshot_of"]


def snapshot_of(path: str | os.PathLike[str], since: str | os.PathLike[str] | None = None) -> SnapshotSummary:
    """Raises TraceError."""
    earlier = None if since is None else read_snapshot(any_path(os.fspath(since)))
    return summarize_snapshot(read_snapshot(any_path(os.fspath(path))), earlier)
