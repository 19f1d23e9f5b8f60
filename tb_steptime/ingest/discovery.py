"""A log directory -> its spans, by the names and first bytes of files. Nothing is analysed here."""

from __future__ import annotations

import bisect
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tb_steptime.ingest.found import FoundSpan, numbered
from tb_steptime.ingest.names import JSON_NAME, trace_name
from tb_steptime.ingest.places import Place
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.record.file.format import SUFFIX as RECORD_SUFFIX
from tb_steptime.trace.kineto import looks_like_trace

#: A log directory has hundreds of folders; past this it is a home directory or a data set, and the walk would not end.
MAX_FOLDERS = 20_000
#: JSON files whose name does not say that they are traces are opened; more than this are a data set.
MAX_OPENED = 2_000
#: More spans than a person can choose from; the pickers stay fast up to here.
MAX_SPANS = 20_000
#: A recorder writes at once; what it adds to a file that much later than a trace was written is not of that trace.
RECORDS_PATIENCE_NS = 10_000_000_000
#: Beyond this, problems say nothing new.
MAX_PROBLEMS = 20


@dataclass(frozen=True)
class Found:
    """What one scan of all places found; spans in the order of the pickers."""

    spans: tuple[FoundSpan, ...]
    folders: int
    problems: tuple[Problem, ...]


#: A file as it was when it was opened to see whether it is a trace: path, bytes, time of the last change.
_Opened = tuple[str, int, int]


@dataclass
class Discovery:
    """Scans places again and again; remembers which files were opened to see whether they are traces."""

    places: Sequence[Place]
    opened: dict[_Opened, bool] = field(default_factory=dict)

    def scan(self) -> Found:
        scan = _Scan(self.opened)
        spans = [span for place in self.places for span in scan.spans_of(place)]
        self.opened = scan.opened
        if scan.left_out:
            scan.report(scan.left_out, "", "Point --logdir at the folder that holds the traces.")
        return Found(tuple(numbered(spans)), scan.folders, tuple(scan.problems[:MAX_PROBLEMS]))


class _Scan:
    """One scan of all places, with its bounds."""

    def __init__(self, known: dict[_Opened, bool]) -> None:
        self.known = known
        self.opened: dict[_Opened, bool] = {}
        self.newly_opened = 0
        self.folders = 0
        self.spans = 0
        self.left_out: str | None = None
        self.problems: list[Problem] = []

    def spans_of(self, place: Place) -> Iterator[FoundSpan]:
        if place.is_remote:
            self.report("Remote directories are not read", place.shown, "Copy the traces to a local or mounted folder.")
            return
        root = Path(os.path.realpath(place.root))
        seen: set[str] = set()
        pending = [""]
        while pending:
            relative = pending.pop()
            real = os.path.realpath(root / relative)
            if real in seen:
                continue
            seen.add(real)
            if self.folders >= MAX_FOLDERS or self.spans >= MAX_SPANS:
                self.left_out = f"The search stopped after {self.folders} folders and {self.spans} traces"
                return
            self.folders += bool(relative)
            entries = self._entries(root, relative)
            pending += [f"{relative}{entry.name}/" for entry in reversed(entries) if entry.is_dir()]
            yield from self._spans(place, relative, _Folder.of(entries))

    def _entries(self, root: Path, relative: str) -> list[os.DirEntry[str]]:
        """The visible entries of a folder by name, without links that lead out of the place."""
        folder = root / relative
        try:
            with os.scandir(folder) as listing:
                entries = sorted((e for e in listing if not e.name.startswith(".")), key=lambda entry: entry.name)
        except OSError as error:
            self.report(f"The folder cannot be read: {error.strerror}", relative or ".", _folder_hint(error, folder))
            return []
        return [entry for entry in entries if not entry.is_symlink() or self._stays_inside(entry, relative, root)]

    def _stays_inside(self, entry: os.DirEntry[str], relative: str, root: Path) -> bool:
        real = Path(os.path.realpath(entry.path))
        if real.is_relative_to(root):
            return True
        if entry.is_dir() or JSON_NAME.fullmatch(entry.name):
            hint = "Name the folder that it leads to: --logdir_spec name:folder."
            self.report("A link leads outside the log directory and is not followed", relative + entry.name, hint)
        return False

    def _spans(self, place: Place, relative: str, folder: _Folder) -> Iterator[FoundSpan]:
        for name in sorted(folder.traces.keys() | folder.summaries.keys()):
            trace, summary = folder.traces.get(name), folder.summaries.get(name)
            entry = trace or summary
            assert entry is not None
            try:
                stat = entry.stat()
            except OSError:
                continue  # it went away between the listing and now
            named = trace_name(place, relative, name)
            if trace and not summary and not named.sure and not self._is_trace(trace.path, stat):
                continue
            self.spans += 1
            yield replace(
                FoundSpan.of(place, named, relative + name, _path(trace), _path(summary)),
                bytes=stat.st_size,
                mtime_ns=stat.st_mtime_ns,
                records=folder.records_at(stat.st_mtime_ns) if trace else 0,
            )

    def _is_trace(self, path: str, stat: os.stat_result) -> bool:
        key = (path, stat.st_size, stat.st_mtime_ns)
        if key not in self.known:
            self.newly_opened += 1
            if self.newly_opened > MAX_OPENED:
                self.left_out = f"More than {MAX_OPENED} JSON files whose names do not say that they are traces"
                return False
        self.opened[key] = self.known[key] if key in self.known else looks_like_trace(path)
        return self.opened[key]

    def report(self, problem: str, file: str, hint: str) -> None:
        self.problems.append(Problem(problem, file, hint))


@dataclass(frozen=True)
class _Folder:
    """The files of a folder that matter here. traces and summaries by the name of the trace; recorded_ns: when the
    recorder's files were last written to, sorted."""

    traces: dict[str, os.DirEntry[str]]
    summaries: dict[str, os.DirEntry[str]]
    recorded_ns: list[int]

    @classmethod
    def of(cls, entries: Sequence[os.DirEntry[str]]) -> _Folder:
        files = [entry for entry in entries if entry.is_file()]
        recorded: list[int] = []
        for entry in files:
            if entry.name.endswith(RECORD_SUFFIX):
                with contextlib.suppress(OSError):
                    recorded.append(entry.stat().st_mtime_ns)
        return cls(
            {entry.name: entry for entry in files if JSON_NAME.fullmatch(entry.name)},
            {entry.name.removesuffix(SUFFIX): entry for entry in files if entry.name.endswith(SUFFIX)},
            sorted(recorded),
        )

    def records_at(self, trace_ns: int) -> int:
        """Stands for what a trace can see of the recorder's files: how many there are, and those that were last
        written to before or soon after the trace."""
        seen = bisect.bisect_left(self.recorded_ns, trace_ns + RECORDS_PATIENCE_NS)
        return hash((len(self.recorded_ns), tuple(self.recorded_ns[:seen])))


def _path(entry: os.DirEntry[str] | None) -> Path | None:
    return Path(entry.path) if entry else None


def _folder_hint(error: OSError, folder: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return "It appears here as soon as a job writes its first trace."
    if isinstance(error, NotADirectoryError):
        return "Point --logdir at the folder that holds the trace."
    return f"Give the user that runs TensorBoard the right to read it: chmod u+rx {folder}"
