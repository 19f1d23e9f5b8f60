"""A log directory -> runs, workers and spans, by the names and heads of files. Nothing is analysed here."""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summary import SUFFIX
from tb_steptime.record.file.format import SUFFIX as RECORD_SUFFIX
from tb_steptime.trace.kineto import looks_like_trace

#: A log directory has hundreds of folders; past this it is a home directory or a data set, and the walk would not end.
MAX_FOLDERS = 20_000
#: JSON files whose name does not say that they are traces are opened to look; data sets of JSON files are not for us.
MAX_LOOKS = 2_000
#: More spans than a person can choose from; the pickers stay fast up to here.
MAX_SPANS = 20_000
#: A recorder writes at once; what it adds to a file that much later than a trace was written is not of that trace.
RECORDS_PATIENCE_NS = 10_000_000_000
#: Problems of one kind beyond this tell nothing new.
MAX_PROBLEMS = 20

_KINETO_NAME = re.compile(r"(?P<worker>.*?)(?:\.(?P<time>\d+))?\.pt\.trace\.json(?:\.gz)?")
_RANK_NAME = re.compile(r"(?P<worker>rank[-_]?\d+)_trace\.json(?:\.gz)?")
_ITERATION_FOLDER = re.compile(r"iteration_(?P<time>\d+)")
_JSON_NAME = re.compile(r"(?P<worker>.+)\.json(?:\.gz)?")
_REMOTE = re.compile(r"[a-zA-Z][a-zA-Z0-9.+-]*://")
_RANK_IN_NAME = re.compile(r"(?:^|[^a-z])rank[-_ ]?(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """A directory that is searched: name as --logdir_spec gives it ("" for --logdir), shown as the user wrote it."""

    name: str
    root: Path
    shown: str


@dataclass(frozen=True)
class FoundSpan:
    """A span under a place. id is opaque and stable; number counts from 1 in time order within run and worker.

    file is relative to the place's root; trace is None where only the summary file is left, summary is None where no
    file lies beside the trace. bytes and mtime_ns are the trace's, or the summary's without one. records changes when
    a recorder's files appear beside the trace, or grow into its time.
    """

    id: str
    run: str
    worker: str
    number: int
    file: str
    trace: Path | None
    summary: Path | None
    bytes: int
    mtime_ns: int
    records: int = 0

    def under(self, root: Path) -> FoundSpan:
        """The same with paths that begin as the user wrote the folder."""
        trace = root / self.file if self.trace else None
        return replace(self, trace=trace, summary=root / (self.file + SUFFIX) if self.summary else None)

    @property
    def stamp(self) -> tuple[bool, int, int, int]:
        """Changes whenever the file does, or what is read with it."""
        return self.trace is not None, self.bytes, self.mtime_ns, self.records


@dataclass(frozen=True)
class Found:
    """What one look at all places found; spans in the order of the pickers."""

    spans: tuple[FoundSpan, ...]
    folders: int
    problems: tuple[Problem, ...]


@dataclass
class Discovery:
    """Looks at places again and again; remembers which files were opened to see whether they are traces."""

    places: Sequence[Place]
    looked: dict[tuple[str, int, int], bool] = field(default_factory=dict)

    def look(self) -> Found:
        walk = _Walk(self.looked)
        files = [file for place in self.places for file in walk.files(place)]
        self.looked = walk.looked
        if walk.left_out:
            walk.tell(walk.left_out, "", "Point --logdir at the folder that holds the traces.")
        return Found(tuple(_number(files)), walk.folders, tuple(walk.problems[:MAX_PROBLEMS]))


@dataclass(frozen=True)
class _File:
    """A trace, or a summary whose trace is gone, before the spans of a worker are numbered."""

    span: FoundSpan
    time: int


class _Walk:
    """One walk over all places, with its bounds."""

    def __init__(self, looked: dict[tuple[str, int, int], bool]) -> None:
        self.known = looked
        self.looked: dict[tuple[str, int, int], bool] = {}
        self.looks = 0
        self.folders = 0
        self.spans = 0
        self.left_out: str | None = None
        self.problems: list[Problem] = []

    def files(self, place: Place) -> Iterator[_File]:
        if _REMOTE.match(place.shown):
            self.tell("Remote directories are not read", place.shown, "Copy the traces to a local or mounted folder.")
            return
        root = Path(os.path.realpath(place.root))
        seen: set[str] = set()
        pending = [(root, "")]
        while pending:
            folder, relative = pending.pop()
            real = os.path.realpath(folder)
            if real in seen:
                continue
            seen.add(real)
            if self.folders >= MAX_FOLDERS or self.spans >= MAX_SPANS:
                self.left_out = f"The search stopped after {self.folders} folders and {self.spans} traces"
                return
            self.folders += bool(relative)
            entries = self._entries(folder, relative, root)
            folders = [entry for entry in entries if entry.is_dir()]
            pending += [(folder / entry.name, f"{relative}{entry.name}/") for entry in reversed(folders)]
            yield from self._spans(place, folder, relative, [entry for entry in entries if entry.is_file()])

    def _entries(self, folder: Path, relative: str, root: Path) -> list[os.DirEntry[str]]:
        """The visible entries of a folder by name, without links that lead out of the place."""
        try:
            with os.scandir(folder) as listing:
                entries = sorted((e for e in listing if not e.name.startswith(".")), key=lambda entry: entry.name)
        except OSError as error:
            self.tell(f"The folder cannot be read: {error.strerror}", relative or ".", _folder_hint(error, folder))
            return []
        return [entry for entry in entries if not entry.is_symlink() or self._stays_inside(entry, relative, root)]

    def _stays_inside(self, entry: os.DirEntry[str], relative: str, root: Path) -> bool:
        real = Path(os.path.realpath(entry.path))
        if real.is_relative_to(root):
            return True
        if entry.is_dir() or _JSON_NAME.fullmatch(entry.name):
            hint = "Name the folder that it leads to: --logdir_spec name:folder."
            self.tell("A link leads outside the log directory and is not followed", relative + entry.name, hint)
        return False

    def _spans(self, place: Place, folder: Path, relative: str, entries: Sequence[os.DirEntry[str]]) -> Iterator[_File]:
        by_name = {entry.name: entry for entry in entries}
        traces = {entry.name for entry in entries if _JSON_NAME.fullmatch(entry.name)}
        summaries = {name for name in by_name if name.endswith(SUFFIX)}
        recorded = _recorded([entry for entry in entries if entry.name.endswith(RECORD_SUFFIX)])
        for name in sorted(traces | {name.removesuffix(SUFFIX) for name in summaries}):
            beside = folder / (name + SUFFIX) if name + SUFFIX in summaries else None
            entry = by_name[name] if name in traces else by_name[name + SUFFIX]
            try:
                stat = entry.stat()
            except OSError:
                continue  # it went away between the listing and this look
            trace = folder / name if name in traces else None
            named = _named(place, relative, name)
            if trace and beside is None and not named.sure and not self._looks(trace, stat):
                continue
            self.spans += 1
            span = FoundSpan(
                _span_id(place, relative + name), named.run, named.worker, 0, relative + name, trace, beside,
                stat.st_size, stat.st_mtime_ns, _records_at(recorded, stat.st_mtime_ns) if trace else 0,
            )  # fmt: skip
            yield _File(span, named.time)

    def _looks(self, trace: Path, stat: os.stat_result) -> bool:
        key = (str(trace), stat.st_size, stat.st_mtime_ns)
        if key not in self.known:
            self.looks += 1
            if self.looks > MAX_LOOKS:
                self.left_out = f"More than {MAX_LOOKS} JSON files whose names do not say that they are traces"
                return False
        self.looked[key] = self.known[key] if key in self.known else looks_like_trace(str(trace))
        return self.looked[key]

    def tell(self, problem: str, file: str, hint: str) -> None:
        self.problems.append(Problem(problem, file, hint))


def _recorded(entries: Sequence[os.DirEntry[str]]) -> list[int]:
    """When the recorder's files of a folder were last written to, sorted."""
    times = []
    for entry in entries:
        with contextlib.suppress(OSError):
            times.append(entry.stat().st_mtime_ns)
    return sorted(times)


def _records_at(times: Sequence[int], trace_ns: int) -> int:
    """What a trace can see of a recorder's files: how many there are, and those that are not yet past its own time."""
    end = trace_ns + RECORDS_PATIENCE_NS
    return hash((len(times), tuple(times[: bisect.bisect_left(times, end)])))


def _folder_hint(error: OSError, folder: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return "It appears here as soon as a job writes its first trace."
    if isinstance(error, NotADirectoryError):
        return "Point --logdir at the folder that holds the trace."
    return f"Give the user that runs TensorBoard the right to read it: chmod u+rx {folder}"


@dataclass(frozen=True)
class _Named:
    """What a path says: sure is False where only the file's head can tell whether it is a trace."""

    run: str
    worker: str
    time: int
    sure: bool


def _named(place: Place, relative: str, name: str) -> _Named:
    folder = relative.rstrip("/")
    if match := _KINETO_NAME.fullmatch(name):
        return _Named(_run(place, folder), match["worker"] or name, int(match["time"] or -1), True)
    if match := _RANK_NAME.fullmatch(name):
        parent, _, last = folder.rpartition("/")
        iteration = _ITERATION_FOLDER.fullmatch(last)
        if iteration:  # torchtitan writes one folder for each capture of a run
            return _Named(_run(place, parent), match["worker"], int(iteration["time"]), True)
        return _Named(_run(place, folder), match["worker"], -1, True)
    match = _JSON_NAME.fullmatch(name)
    return _Named(_run(place, folder), match["worker"] if match else name, -1, False)


def _run(place: Place, folder: str) -> str:
    return "/".join(part for part in (place.name, folder) if part) or "."


def rank_in_name(worker: str) -> int | None:
    """The rank that a worker's name speaks of ("rank-34.host", "node1_rank3"), None where it does not."""
    match = _RANK_IN_NAME.search(worker)
    return int(match[1]) if match else None


def spans_of_files(files: Sequence[Path]) -> list[FoundSpan]:
    """Files that the user named are spans whatever their names, in their order, of the run that their folder is named
    for; they need not exist. A summary file stands for its trace."""
    numbered = {span.file: span for span in _number([_file(path) for path in files])}
    return [numbered[str(path)] for path in files]


def _file(path: Path) -> _File:
    is_summary = path.name.endswith(SUFFIX)
    name = path.name.removesuffix(SUFFIX)
    place = Place(path.absolute().parent.name, path.parent, str(path.parent))
    named = _named(place, "", name)
    trace, summary = (None, path) if is_summary else (path, None)
    span = FoundSpan(_span_id(place, name), named.run, named.worker, 0, str(path), trace, summary, 0, 0)
    return _File(span, named.time)


def _span_id(place: Place, file: str) -> str:
    """The same file of the same log directory has the same id on every machine, so that links can be shared."""
    return hashlib.blake2b(f"{place.name}\0{file}".encode("utf-8", "surrogateescape"), digest_size=9).hexdigest()


def _number(files: Sequence[_File]) -> Iterator[FoundSpan]:
    workers: dict[tuple[str, str], list[_File]] = defaultdict(list)
    for file in files:
        workers[file.span.run, file.span.worker].append(file)
    for key in sorted(workers, key=lambda key: (_natural(key[0]), _natural(key[1]))):
        for number, file in enumerate(sorted(workers[key], key=lambda file: (file.time, file.span.file)), start=1):
            yield replace(file.span, number=number)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Sorts rank2 before rank10."""
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", name)]


def parse_places(logdir: str, logdir_spec: str) -> list[Place]:
    """`--logdir DIR`, or `--logdir_spec name:DIR,name2:DIR2` as TensorBoard reads it (a name is optional)."""
    if not logdir_spec:
        return [_place("", logdir)] if logdir else []
    return [_place(*_named_part(part)) for part in logdir_spec.split(",") if part]


def _named_part(part: str) -> tuple[str, str]:
    """A colon parts name and folder, but not the one of a scheme, an absolute path or a Windows drive. A folder
    without a name is named after itself, so that the runs of two folders stay apart."""
    name, colon, folder = part.partition(":")
    if not colon or part.startswith("/") or _REMOTE.match(part) or os.path.splitdrive(part)[0]:
        return part.rstrip("/"), part
    return name, folder


def _place(name: str, folder: str) -> Place:
    return Place(name, Path(os.path.abspath(os.path.expanduser(folder))), folder)
