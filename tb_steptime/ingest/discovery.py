"""A log directory -> its spans, by the names and first bytes of files. Nothing is analysed here.

A user names traces or log directories: their spans, and the places where names for the kernels in their CUDA graphs
may be found, are those of all of them.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from tb_steptime.files.paths import AnyPath, is_folder
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.files.remote import RemotePath
from tb_steptime.ingest.found import FoundSnapshot, FoundSpan, numbered, span_id, spans_of_files
from tb_steptime.ingest.listing import Entry, Files, Listing, LocalFiles, RemoteFiles
from tb_steptime.ingest.names import SNAPSHOT_ENDINGS, TRACE_NAME, NamePlaces, Place, snapshot_name, trace_name
from tb_steptime.ingest.states import Problem
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.record.file import LOADER_SUFFIX, STEPS_SUFFIX
from tb_steptime.text.printer import count

#: Maximum number of folders in a scan. A log directory has hundreds; with more than this it is a home directory or a
#: data set, and the walk would not end.
MAX_FOLDERS = 20_000
#: Maximum number of files that a scan opens because their names do not say whether they are traces; a folder with more
#: is a data set.
MAX_OPENED = 2_000
#: Maximum number of spans: more than a person can choose from. The pickers stay fast up to here.
MAX_SPANS = 20_000
#: How long after a trace was written a recorder's file may still change and count for it. A recorder writes at once, so
#: what it adds later does not belong to that trace.
RECORDS_PATIENCE_NS = 10_000_000_000
#: Maximum number of problems reported one by one; a last one counts the others.
MAX_PROBLEMS = 20


class ScanResult(msgspec.Struct, frozen=True):
    """What one scan of all places found; spans and snapshots in the order of the pickers. A scan that finds the same
    again returns the same object."""

    spans: tuple[FoundSpan, ...]
    folders: int
    problems: tuple[Problem, ...]
    snapshots: tuple[FoundSnapshot, ...] = ()


class _Folder(msgspec.Struct, frozen=True, eq=False):
    """A folder as it was listed, and what was found in it. opened: the files that were opened, and whether each is a
    trace or a snapshot; sure: every file that had to be opened was."""

    listing: Listing
    spans: tuple[FoundSpan, ...]
    snapshots: tuple[FoundSnapshot, ...]
    opened: dict[Entry, bool]
    sure: bool


class Discovery(msgspec.Struct):
    """Scans places again and again; what did not change since the last scan is neither listed nor opened again."""

    places: Sequence[Place]
    _files: dict[int, Files] = msgspec.field(default_factory=dict)
    _folders: dict[tuple[int, str], _Folder] = msgspec.field(default_factory=dict)
    _last_scan: ScanResult | None = None

    def scan(self) -> ScanResult:
        scan = _Scan(self._folders)
        for number, place in enumerate(self.places):
            if number not in self._files:
                root = place.root
                self._files[number] = RemoteFiles(root) if isinstance(root, RemotePath) else LocalFiles(root)
            scan.walk(number, place, self._files[number])
        before, self._folders = self._folders, scan.found
        problems = scan.all_problems()
        if (
            self._last_scan
            and self._last_scan.problems == problems
            and list(before.items()) == list(scan.found.items())
        ):
            return self._last_scan
        spans = itertools.chain.from_iterable(folder.spans for folder in scan.found.values())
        snapshots = itertools.chain.from_iterable(folder.snapshots for folder in scan.found.values())
        ordered = tuple(sorted(snapshots, key=lambda each: each.order))
        self._last_scan = ScanResult(tuple(numbered(spans)), scan.folders, problems, ordered)
        return self._last_scan


class _Scan:
    """One scan of all places, with its limits. found: folders by the number of the place and the folder's path in
    it."""

    def __init__(self, folders: dict[tuple[int, str], _Folder]) -> None:
        self.known = folders
        self.found: dict[tuple[int, str], _Folder] = {}
        self.newly_opened = 0
        self.folders = 0
        self.spans = 0
        self.left_out: str | None = None
        self.problems: list[Problem] = []

    def walk(self, number: int, place: Place, files: Files) -> None:
        files.begin()
        pending = [""]
        while pending:
            relative = pending.pop()
            listing = self._listing(files, relative, place)
            if listing is None:
                continue
            if self.folders >= MAX_FOLDERS or self.spans >= MAX_SPANS:
                self.left_out = f"The search stopped after {self.folders} folders and {self.spans} traces"
                return
            self.folders += bool(relative)
            pending += [f"{relative}{name}/" for name in reversed(listing.folders)]
            folder = self._folder(self.known.get((number, relative)), listing, _Where(place, relative, files))
            self.found[number, relative] = folder
            self.spans += len(folder.spans)

    def _listing(self, files: Files, relative: str, place: Place) -> Listing | None:
        try:
            listing = files.listing(relative)
        except OSError as error:
            hint = _folder_hint(error, place.root / relative)
            self.report(f"The folder cannot be read: {error.strerror}", relative or ".", hint)
            return Listing((), ())
        if listing is not None:
            self._report_left_out(relative, listing)
        return listing

    def _report_left_out(self, relative: str, listing: Listing) -> None:
        for name in listing.outside:
            hint = "Name the folder that it leads to: --logdir_spec name:folder."
            self.report("A link leads outside the log directory and is not followed", relative + name, hint)
        for name in listing.unreadable:
            hint = "Rename it, for example in ASCII letters."
            self.report("The name is not plain UTF-8 text, so it is left out", relative + name, hint)

    def _folder(self, earlier: _Folder | None, listing: Listing, where: _Where) -> _Folder:
        if earlier and earlier.sure and earlier.listing is listing:
            return earlier
        opened_files = _OpenedFiles(earlier.opened if earlier else {})
        spans = tuple(self._spans(listing.files, where, opened_files))
        snapshots = tuple(self._snapshots(listing.files, where, opened_files))
        return _Folder(listing, spans, snapshots, opened_files.opened, opened_files.sure)

    def _snapshots(self, files: Sequence[Entry], where: _Where, opened_files: _OpenedFiles) -> Iterator[FoundSnapshot]:
        for entry in files:
            if not entry.name.endswith(SNAPSHOT_ENDINGS) or not self._is(
                where.files.is_snapshot, entry, where, opened_files
            ):
                continue
            file = where.relative + entry.name
            yield FoundSnapshot(
                id=span_id(where.place, file),
                named=snapshot_name(where.place, where.relative, entry.name),
                file=file,
                path=where.files.path(where.relative, entry),
                bytes=entry.bytes,
                mtime_ns=entry.mtime_ns,
            )

    def _spans(self, files: Sequence[Entry], where: _Where, opened_files: _OpenedFiles) -> Iterator[FoundSpan]:
        traces = {file.name: file for file in files if TRACE_NAME.fullmatch(file.name)}
        summaries = {file.name.removesuffix(SUFFIX): file for file in files if file.name.endswith(SUFFIX)}
        records = _Records.from_files(files)
        for name in sorted(traces.keys() | summaries.keys()):
            trace, summary = traces.get(name), summaries.get(name)
            named = trace_name(where.place, where.relative, name)
            if (
                trace
                and not summary
                and not named.sure
                and not self._is(where.files.is_trace, trace, where, opened_files)
            ):
                continue
            entry = trace or summary
            assert entry is not None
            file = where.relative + name
            yield FoundSpan(
                id=span_id(where.place, file),
                run=named.run,
                worker=named.worker,
                number=0,
                file=file,
                trace=where.files.path(where.relative, trace) if trace else None,
                summary=where.files.path(where.relative, summary) if summary else None,
                time=named.time,
                bytes=entry.bytes,
                mtime_ns=entry.mtime_ns,
                records=records.at(entry.mtime_ns) if trace else 0,
                summary_ns=summary.mtime_ns if summary else 0,
                log_directory=where.place.root,
            )

    def _is(self, sort: Callable[[str], bool], entry: Entry, where: _Where, opened_files: _OpenedFiles) -> bool:
        """Returns whether the file is of this kind, judged by its first bytes."""
        if entry not in opened_files.before:
            self.newly_opened += 1
            if self.newly_opened > MAX_OPENED:
                self.left_out = f"More than {MAX_OPENED} files whose names do not say whether they are traces"
                opened_files.sure = False
                return False
        answer = opened_files.before.get(entry)
        opened_files.opened[entry] = sort(where.relative + entry.name) if answer is None else answer
        return opened_files.opened[entry]

    def report(self, problem: str, file: str, hint: str) -> None:
        self.problems.append(Problem(problem, file, hint))

    def all_problems(self) -> tuple[Problem, ...]:
        """Returns the problems, the most serious first, which is that a part was not searched. A last one counts those
        that are not listed."""
        hint = "Point --logdir at the folder that holds the traces."
        left_out = [Problem(self.left_out, "", hint)] if self.left_out else []
        problems = [*left_out, *self.problems]
        if len(problems) <= MAX_PROBLEMS:
            return tuple(problems)
        others = f"Of folders and files, {count(len(problems) - MAX_PROBLEMS)} more could not be used"
        return (*problems[:MAX_PROBLEMS], Problem(others, "", "Act on those that are named, then search again."))


class _Where(msgspec.Struct, frozen=True):
    """A folder of a place, as "" or "a/b/", and the file system that it is in."""

    place: Place
    relative: str
    files: Files


class _OpenedFiles(msgspec.Struct):
    """Files of a folder that were opened in the last scan (before) and in this one. sure: no file was skipped because
    of a limit."""

    before: dict[Entry, bool]
    opened: dict[Entry, bool] = msgspec.field(default_factory=dict)
    sure: bool = True


class _Records:
    """Modification times of the recorder's files in a folder."""

    def __init__(self, times_ns: Sequence[int]) -> None:
        self.times_ns = sorted(times_ns)
        #: Hash of the first n times and of the number of files, for each n.
        self.marks = list(itertools.accumulate(self.times_ns, lambda *both: hash(both), initial=len(times_ns)))

    @classmethod
    def from_files(cls, files: Sequence[Entry]) -> _Records:
        return cls([file.mtime_ns for file in files if file.name.endswith((LOADER_SUFFIX, STEPS_SUFFIX))])

    def at(self, trace_ns: int) -> int:
        """Returns a value that stands for what a trace can see of the recorder's files: how many there are, and the
        times of those that were last written before the trace or soon after it."""
        return self.marks[bisect.bisect_left(self.times_ns, trace_ns + RECORDS_PATIENCE_NS)]


def _folder_hint(error: OSError, folder: AnyPath) -> str:
    if isinstance(error, FileNotFoundError):
        return "It appears here as soon as a job writes its first trace."
    if isinstance(error, RemoteProblem):
        return error.hint
    if isinstance(error, NotADirectoryError):
        return "Point --logdir at the folder that holds the trace."
    return f"Give the user that runs TensorBoard the right to read it: chmod u+rx {folder}"


def no_traces(folder: AnyPath) -> Problem:
    hint = (
        "Traces are files named *.pt.trace.json[.gz] or *.pftrace[.gz]; "
        "torch.profiler.tensorboard_trace_handler(folder) writes them."
    )
    return Problem("There are no traces in this folder", str(folder), hint)


def find_spans(paths: Sequence[AnyPath], problems: list[Problem]) -> Iterator[FoundSpan]:
    """Yields the spans under log directories, then the files that were named. Raises RemoteProblem where a store does
    not answer whether an address is a file or a folder."""
    folders = [path for path in paths if is_folder(path)]
    for folder in folders:
        scan = Discovery([Place("", folder, str(folder))]).scan()
        problems += [Problem(each.problem, str(folder / each.file), each.hint) for each in scan.problems]
        if not scan.spans and not scan.problems:
            problems.append(no_traces(folder))
        spans = scan.spans if isinstance(folder, RemotePath) else [span.under(folder) for span in scan.spans]
        yield from (replace(span, beside=_others(paths, folder)) for span in spans)
    for span in spans_of_files([path for path in paths if path not in folders]):
        yield replace(span, beside=_others(paths, span.trace))


def _others(paths: Sequence[AnyPath], own: AnyPath | None) -> tuple[AnyPath, ...]:
    return tuple(path for path in paths if path != own)


def name_places(span: FoundSpan) -> NamePlaces:
    """Returns where to look for an eager recording that names the kernels in the span's CUDA graphs."""
    return NamePlaces((span.names_from,) if span.names_from else (), span.beside, span.log_directory)


def find_snapshots(folder: AnyPath) -> tuple[FoundSnapshot, ...]:
    """Returns the memory snapshots in a log directory."""
    return Discovery([Place("", folder, str(folder))]).scan().snapshots
