"""Spans: those under a path that a user names, in the order of runs, workers and time; and a memory snapshot."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, overload

from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, any_path, is_file, is_folder
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.ingest.discovery import find_spans
from tb_steptime.ingest.found import FoundSpan
from tb_steptime.ingest.states import Problem
from tb_steptime.notebook.span import Span
from tb_steptime.notebook.tables import Table
from tb_steptime.snapshots.reading import read_snapshot
from tb_steptime.snapshots.summary import SnapshotSummary, summarize_snapshot
from tb_steptime.tables.base import Kind, Surface
from tb_steptime.tables.recordings import RECORDING
from tb_steptime.text import did_you_mean

if TYPE_CHECKING:
    from tb_steptime.ranks.result import JobReplay

_NAMES = RECORDING.kinds_on(Surface.ROWS)


class Spans(Sequence[Span]):
    """`spans[0]` is a span, `spans["run"]` and `spans["run", "worker"]` are those of a run or of one of its workers.

    problems: files and folders that were left out, a line each.
    """

    def __init__(self, path: str, spans: Sequence[Span], problems: Sequence[Problem] = ()) -> None:
        self.path = path
        self._spans = tuple(spans)
        self.problems = list(map(str, problems))

    @property
    def runs(self) -> list[str]:
        return list(dict.fromkeys(span.run for span in self._spans))

    @property
    def workers(self) -> list[str]:
        return list(dict.fromkeys(span.worker for span in self._spans))

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, key: int) -> Span: ...
    @overload
    def __getitem__(self, key: slice | str | tuple[str, str]) -> Spans: ...

    def __getitem__(self, key: int | slice | str | tuple[str, str]) -> Span | Spans:
        """Returns a run or worker. Raises KeyError for a run or worker that is not here, with those that are."""
        if isinstance(key, int):
            return self._spans[key]
        if isinstance(key, slice):
            return Spans(self.path, self._spans[key])
        run, worker = key if isinstance(key, tuple) else (key, None)
        selected = [span for span in self._spans if span.run == run and worker in (None, span.worker)]
        if not selected:
            workers = list(dict.fromkeys(span.worker for span in self._spans if span.run == run))
            missing, available = (worker or "", workers) if workers else (run, self.runs)
            raise KeyError(
                f"{key!r} is not here.{did_you_mean(str(missing), available)} There are {', '.join(available)}."
            )
        return Spans(self.path, selected)

    @property
    def figures(self) -> Table:
        """A row for each span, a column for each figure of the catalogue; reads every span. See `Span.figures` for the
        units, and for why a figure is not known."""
        ids = [list(span.figures) for span in self._spans[:1]]
        names = ids[0] if ids else []
        rows = [
            (span.run, span.worker, span.number, span.path, *(span.figures[id].value for id in names)) for span in self
        ]
        kinds: dict[str, Kind] = dict.fromkeys(names, "float")
        return Table("figures", _NAMES | kinds, rows)

    def whatif(self) -> list[JobReplay]:
        """What a step of each job would take, of whose ranks at least two were recorded together, after a change of one
        of them or of all, and in more ranks; reads every span."""
        from tb_steptime.ingest.job_ranks import at_the_same_time, rank_spans, recorded_ranks
        from tb_steptime.ranks.job import job_ranks

        replays = []
        for run in self.runs:
            for ranks in at_the_same_time(recorded_ranks([(span.found, span.measured) for span in self[run]])):
                what_if = job_ranks(rank_spans(ranks)).what_if if len(ranks) > 1 else None
                replays += [] if what_if is None else [what_if]
        return replays

    def __repr__(self) -> str:
        return f"Spans({self.path}: {len(self)} of {len(self.runs)} {'run' if len(self.runs) == 1 else 'runs'})"

    def _repr_html_(self) -> str:
        """What there is; nothing is read for it."""
        rows = [(span.run, span.worker, span.number, span.path) for span in self._spans]
        return Table("spans", _NAMES, rows)._repr_html_()


def open_path(path: str | os.PathLike[str], names_from: str | os.PathLike[str] | None = None) -> Spans:
    """Opens the spans of a trace or summary file, of a log directory, of a run's folder, or of one worker in such a
    folder ("logs/run/host_1234"). Nothing is read yet but the names of files. names_from: see `tb_steptime.open`.

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
    of_worker = [span for span in workers if span.worker == place.name]
    return _spans(place, of_worker, problems, {span.worker for span in workers})


def _is_there(path: AnyPath) -> bool:
    return is_folder(path) or is_file(path)


def _spans(
    path: AnyPath, found_spans: Iterable[FoundSpan], problems: list[Problem], beside: Collection[str] = ()
) -> Spans:
    """beside: the workers of the folder that contains this path, of which an error message suggests one."""
    spans = [Span(each) for each in found_spans]
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
