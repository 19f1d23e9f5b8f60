"""The files of a place in an object store: one recursive listing, renewed now and then by a thread of its own.

    scan       1 waits       2       3       4          each answers from the last listing
    listing    |---------|                |---------|   not before LIST_SECONDS have passed

Only the first scan waits. If a later listing fails, the previous one stays. Summary files that are new in a listing are
fetched with it, many at once: see `summaries.fetching`.
"""

from __future__ import annotations

import errno
import logging
import posixpath
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import msgspec

from tb_steptime.files.problems import RemoteMissing, RemoteProblem, said_plainly
from tb_steptime.files.remote import RemotePath, RemoteStat
from tb_steptime.files.systems import limit, system_of
from tb_steptime.ingest.listing import Entry, Listing, matters
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.ingest.summaries.reading import fetch_all
from tb_steptime.trace.reading import looks_like_trace

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
    """See `listing.Files`."""

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
            self._tree, self._stats = _kept(self._tree or {}, tree), stats
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
        with said_plainly(str(self.root)):
            system.invalidate_cache()
            found: Mapping[str, Any] = system.find(inner, detail=True, **limit(system, LIST_LIMIT_SECONDS))
            system.invalidate_cache()
        top = inner.rstrip("/") + "/" if inner.strip("/") else inner
        files = {name[len(top) :]: info for name, info in found.items() if name.startswith(top)}
        shown = [file for file in files if not any(part.startswith(".") for part in file.split("/"))]
        stats = {file: RemoteStat.of(files[file]) for file in shown if matters(posixpath.basename(file))}
        return _tree(shown, stats), stats


def _tree(files: list[str], stats: Mapping[str, RemoteStat]) -> _Tree:
    """Returns every folder that holds a file, with its parents; nothing where there is no file."""
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
    known = {_key(posixpath.dirname(file)) for file in files} | folders.keys()
    return {each: Listing(tuple(sorted(folders[each])), tuple(sorted(within[each]))) for each in known}


def _key(folder: str) -> str:
    return f"{folder}/" if folder else ""


def _kept(before: _Tree, now: _Tree) -> _Tree:
    """Returns the present listings, but the identical earlier object where a folder is unchanged."""
    return {folder: before[folder] if before.get(folder) == each else each for folder, each in now.items()}
