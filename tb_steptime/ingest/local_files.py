"""The files of a local or mounted folder, listed again only where something may have changed.

    of a folder, at each scan            what it costs
      its own time is another            list it, look at each file that matters
      as it was                          look at each file that matters: a trace may be replaced in place
      as it was, of a large tree         look at the files that were written lately, at the others in turn

A folder's time changes when names come and go, and for no other reason. Not even that can be relied on everywhere (a
network file system may show a stale time, and some have no times of folders), so every folder is listed again in its
turn, within RELIST_TURNS scans, and all folders are after a pause of WHOLE_SECONDS.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import msgspec

from tb_steptime.ingest.listing import Entry, Listing, matters
from tb_steptime.ingest.names import TRACE_NAME
from tb_steptime.text.patterns import expression
from tb_steptime.trace.reading import looks_like_trace

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
    """See `listing.Files`."""

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
        self._turns = min(MOST_TURNS, 1 + sum(len(each.listing.files) for each in self._before.values()) // EVERY_SCAN)

    def listing(self, folder: str) -> Listing | None:
        path, now_ns = f"{self._top}/{folder}".rstrip("/") or "/", time.time_ns()
        found = os.stat(path)
        place = (found.st_dev, found.st_ino)
        if place in self._seen:
            return None
        self._seen.add(place)
        same = (*place, found.st_ctime_ns, found.st_mtime_ns)
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

    def _as_before(self, path: str, known: _KnownFolder | None, same: tuple[int, ...], now_ns: int) -> Listing | None:
        """Returns the folder's listing without listing it again; None where it has to be listed."""
        if known is None or not known.settled or known.same != same or self._whole or self._is_turn(path, RELIST_TURNS):
            return None
        since = 0 if self._is_turn(path, self._turns) else now_ns - QUIET_NS
        before = known.listing.files
        try:
            files = tuple([_again(path, each) if each.mtime_ns >= since else each for each in before])
        except OSError:
            return None
        return known.listing if files == before else known.listing._replace(files=files)

    def _is_turn(self, path: str, turns: int) -> bool:
        return (self._scans + crc32(path.encode("utf-8", "surrogateescape"))) % turns == 0

    def _listed(self, path: str) -> tuple[Listing, bool]:
        """Returns the listing, and whether links are among the entries: a change in what a link leads to does not
        change the folder's time."""
        with os.scandir(path) as all:
            every = [each for each in all if not each.name.startswith(".")]
        entries = [each for each in every if _is_text(each.name)]
        unreadable = {_shown(each.name) for each in every if not _is_text(each.name) and _may_hold(each)}
        links = [each for each in entries if each.is_symlink()]
        away = {each.name for each in links if not self._stays_inside(each.path)}
        folders = [each.name for each in entries if each.is_dir()]
        files = [entry for each in entries if matters(each.name) and each.name not in away for entry in _regular(each)]
        outside = [name for name in away if name in folders or TRACE_NAME.fullmatch(name)]
        own = (name for name in folders if name not in away)
        of_files = tuple(sorted(files))
        return Listing(_sorted(own), of_files, _sorted(outside), _sorted(unreadable)), bool(links)

    def _stays_inside(self, path: str) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._top)


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _is_text(name: str) -> bool:
    """Whether the name is UTF-8, as JSON and browsers require, and free of control characters for a terminal."""
    return _shown(name) == name


def _shown(name: str) -> str:
    return _CONTROL.sub("\ufffd", name if name.isascii() else os.fsencode(name).decode("utf-8", "replace"))


def _may_hold(entry: os.DirEntry[str]) -> bool:
    """Whether the entry may be a trace or a folder that holds some."""
    return entry.is_dir() or TRACE_NAME.fullmatch(_shown(entry.name)) is not None


def _regular(entry: os.DirEntry[str]) -> list[Entry]:
    """Returns an empty list where the entry is not a file, or was removed meanwhile."""
    try:
        return [_entry(entry.name, entry.stat())] if entry.is_file() else []
    except OSError:
        return []


def _again(path: str, file: Entry) -> Entry:
    """Returns the file as it is now: the same object where nothing changed."""
    now = _entry(file.name, os.stat(f"{path}/{file.name}"))
    return file if now == file else now


def _entry(name: str, found: os.stat_result) -> Entry:
    return Entry(name, found.st_size, found.st_mtime_ns, found.st_ctime_ns ^ found.st_ino)
