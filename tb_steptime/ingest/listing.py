"""The interface through which a scan reads a file system: the entries of one folder, with sizes and times.

    folder "run/"     Listing
      a.json          files    Entry("a.json", 1200, 1790812801133511828, mark)
      events.out      -        no file that matters here: not looked at
      plugins/        folders  "plugins"
      out -> /x       outside  "out": a link that leads out of the place

A file system that remembers a folder returns the identical Listing object as long as nothing in it changed; the scan
then reuses its earlier result.

A local or mounted folder is listed again only where something may have changed.

    of a folder, at each scan            what it costs
      its own time is another            list it, look at each file that matters
      as it was                          look at each file that matters: a trace may be replaced in place
      as it was, of a large tree         look at the files that were written lately, at the others in turn

A folder's time changes when names come and go, and for no other reason. Not even that can be relied on everywhere (a
network file system may show a stale time, and some have no times of folders), so every folder is listed again in its
turn, within RELIST_TURNS scans, and all folders are after a pause of WHOLE_SECONDS.

A place in an object store has one recursive listing, renewed now and then by a thread of its own.

    scan       1 waits       2       3       4          each answers from the last listing
    listing    |---------|                |---------|   not before LIST_SECONDS have passed

Only the first scan waits. If a later listing fails, the previous one stays. Summary files that are new in a listing are
fetched with it, many at once: see `summaries.reading`.
"""

from __future__ import annotations

import errno
import logging
import os
import posixpath
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import msgspec

from tb_steptime.files.paths import AnyPath
from tb_steptime.files.problems import RemoteMissing, RemoteProblem, as_remote_problems
from tb_steptime.files.remote import RemotePath, RemoteStat, limit, system_of
from tb_steptime.ingest.names import SNAPSHOT_ENDINGS, TRACE_NAME
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.ingest.summaries.reading import fetch_all
from tb_steptime.record.file import LOADER_SUFFIX, STEPS_SUFFIX
from tb_steptime.text.patterns import expression
from tb_steptime.trace.reading import looks_like_trace


class Entry(NamedTuple):
    """A file. mtime_ns: epoch time of the last change of its content; mark: changes whenever anything about the file
    does, as far as the file system shows it."""

    name: str
    bytes: int
    mtime_ns: int
    mark: int = 0


class Listing(NamedTuple):
    """Content of one folder, without hidden entries: the names of its folders and its files that matter, each sorted by
    name. outside: links to folders and JSON files that are not followed, because they lead out of the place.
    unreadable: names of folders and JSON files that are not UTF-8 or have control characters, in a form that can be
    shown."""

    folders: tuple[str, ...]
    files: tuple[Entry, ...]
    outside: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Files(Protocol):
    """The files of one place. Folders ("" or "a/b/") and files ("a/b/c.json") are named relative to it."""

    def begin(self) -> None:
        """Is called when a scan begins: a change from now on may be seen in this scan or only in the next."""

    def listing(self, folder: str) -> Listing | None:
        """Returns the entries of a folder, or None where this scan had the same folder already by another path. Raises
        OSError."""

    def path(self, folder: str, entry: Entry) -> AnyPath:
        """Returns the path of a file in a folder as it was listed."""

    def is_trace(self, file: str) -> bool:
        """Returns whether the file's first bytes look like a trace. Returns False where it cannot be read."""

    def is_snapshot(self, file: str) -> bool:
        """Returns whether the file's first bytes look like a memory snapshot. Returns False where it cannot be read."""


_ENDINGS = (SUFFIX, LOADER_SUFFIX, STEPS_SUFFIX, *SNAPSHOT_ENDINGS)


def matters(name: str) -> bool:
    """Returns whether a file of this name may be a trace, a summary, a memory snapshot or a recorder's file."""
    return name.endswith(_ENDINGS) or TRACE_NAME.fullmatch(name) is not None


#: Resolution that is assumed for file times: file systems round them, FAT to two seconds. A folder that was listed so
#: soon after its last change may have changed again without getting another time.
COARSE_NS = 2_500_000_000
#: Each folder is listed again once in this many scans, whatever its time says.
RELIST_TURNS = 30
#: After a pause of this length a scan lists every folder.
WHOLE_SECONDS = 60.0
#: Age from which a file is considered quiet: it is seldom replaced in place.
QUIET_NS = 60_000_000_000
#: Up to this many files are all checked in each scan, whatever their age; if there are more, the old ones take turns.
EVERY_SCAN = 500
#: Control characters, which a terminal would obey if a name with them is printed.
_CONTROL = expression(r"[\x00-\x1f\x7f-\x9f]")
#: Maximum number of scans until each file is checked again.
MOST_TURNS = 20


class _KnownFolder(msgspec.Struct, frozen=True):
    """A folder as it was listed. same: identifies its state; settled: any later change of its entries will change that
    value."""

    same: tuple[int, ...]
    listing: Listing
    settled: bool


class LocalFiles(msgspec.Struct):
    """The files of a local or mounted place, as `Files` describes them."""

    root: Path
    _known: dict[str, _KnownFolder] = msgspec.field(default_factory=dict)
    _before: dict[str, _KnownFolder] = msgspec.field(default_factory=dict)
    _seen: set[tuple[int, ...]] = msgspec.field(default_factory=set)
    _scans: int = 0
    _began: float | None = None
    _whole: bool = True
    _turns: int = 1
    _top: str = ""

    def begin(self) -> None:
        now = time.monotonic()
        self._whole = self._began is None or now - self._began >= WHOLE_SECONDS
        self._began = now
        self._top = os.path.realpath(self.root)
        self._before, self._known, self._seen = self._known, {}, set()
        self._scans += 1
        files = sum(len(known.listing.files) for known in self._before.values())
        self._turns = min(MOST_TURNS, 1 + files // EVERY_SCAN)

    def listing(self, folder: str) -> Listing | None:
        path, now_ns = f"{self._top}/{folder}".rstrip("/") or "/", time.time_ns()
        status = os.stat(path)
        place = (status.st_dev, status.st_ino)
        if place in self._seen:
            return None
        self._seen.add(place)
        same = (*place, status.st_ctime_ns, status.st_mtime_ns)
        before = self._before.get(folder)
        listing = self._as_before(path, before, same, now_ns)
        links = False
        if listing is None:
            listing, links = self._listed(path)
            if before is not None and before.listing == listing:
                listing = before.listing
        settled = not links and now_ns - max(same[-2:]) > COARSE_NS
        self._known[folder] = _KnownFolder(same, listing, settled)
        return listing

    def path(self, folder: str, entry: Entry) -> Path:
        return Path(self._top, folder + entry.name)

    def is_trace(self, file: str) -> bool:
        return looks_like_trace(f"{self._top}/{file}")

    def is_snapshot(self, file: str) -> bool:
        from tb_steptime.snapshots.reading import looks_like_snapshot  # few folders have a file of that name

        return looks_like_snapshot(Path(self._top, file))

    def _as_before(self, path: str, folder: _KnownFolder | None, same: tuple[int, ...], now_ns: int) -> Listing | None:
        """Returns the folder's listing without listing it again, or None where it has to be listed."""
        if (
            folder is None
            or not folder.settled
            or folder.same != same
            or self._whole
            or self._is_turn(path, RELIST_TURNS)
        ):
            return None
        since = 0 if self._is_turn(path, self._turns) else now_ns - QUIET_NS
        before = folder.listing.files
        try:
            files = tuple([_again(path, entry) if entry.mtime_ns >= since else entry for entry in before])
        except OSError:
            return None
        return folder.listing if files == before else folder.listing._replace(files=files)

    def _is_turn(self, path: str, turns: int) -> bool:
        return (self._scans + crc32(path.encode("utf-8", "surrogateescape"))) % turns == 0

    def _listed(self, path: str) -> tuple[Listing, bool]:
        """Returns the listing, and whether links are among the entries. A change of a link's target does not change the
        folder's time."""
        with os.scandir(path) as all:
            visible = [entry for entry in all if not entry.name.startswith(".")]
        entries = [entry for entry in visible if _is_text(entry.name)]
        unreadable = {_shown(entry.name) for entry in visible if not _is_text(entry.name) and _may_hold(entry)}
        links = [entry for entry in entries if entry.is_symlink()]
        away = {link.name for link in links if not self._stays_inside(link.path)}
        folders = [entry.name for entry in entries if entry.is_dir()]
        may_matter = [entry for entry in entries if matters(entry.name) and entry.name not in away]
        files = [file for entry in may_matter for file in _regular(entry)]
        outside = [name for name in away if name in folders or TRACE_NAME.fullmatch(name)]
        inside = (name for name in folders if name not in away)
        of_files = tuple(sorted(files))
        return Listing(_sorted(inside), of_files, _sorted(outside), _sorted(unreadable)), bool(links)

    def _stays_inside(self, path: str) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._top)


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _is_text(name: str) -> bool:
    """Returns whether the name is UTF-8, as JSON and browsers require, and free of control characters for a
    terminal."""
    return _shown(name) == name


def _shown(name: str) -> str:
    return _CONTROL.sub("\ufffd", name if name.isascii() else os.fsencode(name).decode("utf-8", "replace"))


def _may_hold(entry: os.DirEntry[str]) -> bool:
    """Returns whether the entry may be a trace or a folder that holds some."""
    return entry.is_dir() or TRACE_NAME.fullmatch(_shown(entry.name)) is not None


def _regular(entry: os.DirEntry[str]) -> list[Entry]:
    """Returns a list of the file, which is empty where the entry is not a file, or was removed meanwhile."""
    try:
        return [_entry(entry.name, entry.stat())] if entry.is_file() else []
    except OSError:
        return []


def _again(path: str, file: Entry) -> Entry:
    """Returns the file as it is now. It is the same object where nothing changed."""
    now = _entry(file.name, os.stat(f"{path}/{file.name}"))
    return file if now == file else now


def _entry(name: str, status: os.stat_result) -> Entry:
    return Entry(name, status.st_size, status.st_mtime_ns, status.st_ctime_ns ^ status.st_ino)


logger = logging.getLogger(__name__)

#: Minimum time between listings. Stores charge, if little, for each thousand files of a listing; a span is recorded
#: every few minutes.
LIST_SECONDS = 15.0
#: Maximum share of the time that listing a large place may take.
LIST_SHARE = 0.05
#: Time limit of a listing. A store lists some ten thousand files a second, so what takes longer is a data set.
LIST_LIMIT_SECONDS = 120.0

_Tree = dict[str, Listing]


class RemoteFiles(msgspec.Struct):
    """The files of a place in an object store, as `Files` describes them."""

    root: RemotePath
    _tree: _Tree | None = None
    _stats: dict[str, RemoteStat] = msgspec.field(default_factory=dict)
    _problem: RemoteProblem | None = None
    _due: float = 0.0
    _listing: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def begin(self) -> None:
        if time.monotonic() < self._due or not self._listing.acquire(blocking=False):
            return
        lister = threading.Thread(target=self._list, daemon=True, name="tb_steptime listing")
        lister.start()
        if self._tree is None:
            lister.join()

    def listing(self, folder: str) -> Listing | None:
        if self._tree is None:
            raise self._problem or RemoteMissing(errno.ENOENT, "There is no such folder", "", str(self.root))
        if folder not in self._tree:
            raise RemoteMissing(errno.ENOENT, "There is no such folder", "", str(self.root))
        return self._tree[folder]

    def path(self, folder: str, entry: Entry) -> RemotePath:
        file = folder + entry.name
        return RemotePath((self.root / file).url, self._stats.get(file))

    def is_trace(self, file: str) -> bool:
        return looks_like_trace(self.root / file)

    def is_snapshot(self, file: str) -> bool:
        from tb_steptime.snapshots.reading import looks_like_snapshot  # few folders have a file of that name

        return looks_like_snapshot(self.root / file)

    def _list(self) -> None:
        began = time.monotonic()
        try:
            tree, stats = self._listed()
            new = [file for file in stats if file.endswith(SUFFIX) and stats[file] != self._stats.get(file)]
            fetch_all([RemotePath((self.root / file).url, stats[file]) for file in new])
            before = self._tree or {}  # the identical earlier object where a folder is unchanged
            self._tree = {
                folder: before[folder] if before.get(folder) == listing else listing for folder, listing in tree.items()
            }
            self._stats = stats
        except RemoteProblem as problem:
            self._problem = problem
            logger.warning("tb_steptime could not list %s: %s", self.root, problem.strerror)
        finally:
            took = time.monotonic() - began
            self._due = time.monotonic() + max(LIST_SECONDS, took / LIST_SHARE)
            self._listing.release()

    def _listed(self) -> tuple[_Tree, dict[str, RemoteStat]]:
        """Returns the folders, and the files that matter by their path in the place. Raises RemoteProblem."""
        system, inner = system_of(self.root.url, str(self.root))
        with as_remote_problems(str(self.root)):
            system.invalidate_cache()
            files_by_name: Mapping[str, Any] = system.find(inner, detail=True, **limit(system, LIST_LIMIT_SECONDS))
            system.invalidate_cache()
        top = inner.rstrip("/") + "/" if inner.strip("/") else inner
        files = {name[len(top) :]: info for name, info in files_by_name.items() if name.startswith(top)}
        shown = [file for file in files if not any(part.startswith(".") for part in file.split("/"))]
        stats = {file: RemoteStat.from_info(files[file]) for file in shown if matters(posixpath.basename(file))}
        return _tree(shown, stats), stats


def _tree(files: list[str], stats: Mapping[str, RemoteStat]) -> _Tree:
    """Returns every folder that holds a file, with its parents. There are none where there is no file."""
    folders: dict[str, set[str]] = defaultdict(set)
    within: dict[str, list[Entry]] = defaultdict(list)
    for folder in {posixpath.dirname(file) for file in files}:
        while folder:
            above, name = posixpath.split(folder)
            folders[_key(above)].add(name)
            folder = above
    for file, stat in stats.items():
        folder, name = posixpath.split(file)
        within[_key(folder)].append(Entry(name, stat.st_size, stat.st_mtime_ns, crc32(stat.mark.encode())))
    all_folders = {_key(posixpath.dirname(file)) for file in files} | folders.keys()
    return {folder: Listing(tuple(sorted(folders[folder])), tuple(sorted(within[folder]))) for folder in all_folders}


def _key(folder: str) -> str:
    return f"{folder}/" if folder else ""
