"""Summary files of a store, copied into the user's cache when they are first read: they are small, and each view, trend
and comparison reads a part of them.

    s3://bucket/logs/a.pt.trace.json.steptime  ->  ~/.cache/tb_steptime/copies/<address>.<size, time, mark>.steptime
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

from tb_steptime.files.at_once import answers
from tb_steptime.files.own_folder import OwnFolder
from tb_steptime.files.paths import AnyPath, identity, write_whole
from tb_steptime.files.remote import RemotePath
from tb_steptime.ingest.summaries.layout import SUFFIX
from tb_steptime.ingest.summaries.writing import cache_directory, in_cache


def local_copy(path: AnyPath) -> Path:
    """Returns a file of this machine with the same content: the file itself where it is local. Raises OSError."""
    if not isinstance(path, RemotePath):
        return path
    known = path.stat()
    address, state = _digest(identity(path)), _digest(repr(tuple(known)))
    for folder in _folders():
        if (folder / f"{address}.{state}{SUFFIX}").exists():
            return folder / f"{address}.{state}{SUFFIX}"
    return _kept(RemotePath(path.url, known).read_bytes(), address, state)


def fetch_all(paths: Sequence[RemotePath]) -> None:
    """Fetch copies of all files, as far as possible: an error here is reported later, by the code that reads the
    file."""

    def fetch(path: RemotePath) -> None:
        with contextlib.suppress(OSError):
            local_copy(path)

    answers(fetch, paths, RemotePath.absolute)


def _kept(content: bytes, address: str, state: str) -> Path:
    """Stores the copy in the cache, and removes copies of earlier states of the file. Where the cache cannot be written
    to, the copy is kept until this process ends."""
    folder = _folders()[0]
    try:
        in_cache(folder / f"{address}.{state}{SUFFIX}", content)
    except OSError:
        folder = _of_this_process()
        write_whole(folder / f"{address}.{state}{SUFFIX}", content, SUFFIX)
    for older in folder.glob(f"{address}.*"):
        if older.name != f"{address}.{state}{SUFFIX}":
            older.unlink(missing_ok=True)
    return folder / f"{address}.{state}{SUFFIX}"


def _folders() -> tuple[Path, ...]:
    cache = cache_directory() / "copies"
    return (cache, _of_this_process()) if _of_this_process.cache_info().currsize else (cache,)


@functools.cache
def _of_this_process() -> Path:
    return OwnFolder("copies").path


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
