"""Finds the recorder's files that belong to a trace.

    host_3113936.1790812801133511828.l0.main.loader      of the process that wrote the trace: its pid is in both
    host_3113936.1790812801133511828.l0.w3.loader
    host_3113936.1790812801133511828.steps               all steps of that process
    host_4711.1690000000000000000.l0.main.loader         of another run or rank: left out

A summary lists the files that it was made with, so that one that appears later, or grows during the trace's time, is
read, too. It lists digests of their names: summaries are passed on, and the names say which machine wrote them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from tb_steptime.files.paths import AnyPath, any_path, open_regular
from tb_steptime.files.remote import RemotePath, RemoteStat
from tb_steptime.record.file import LOADER_SUFFIX, STEPS_SUFFIX
from tb_steptime.text.patterns import expression
from tb_steptime.trace.model import Trace
from tb_steptime.trace.table import Kind, distinct_in

NAME = expression(
    r"(?P<host>.+)_(?P<pid>\d+)\.(?P<start>\d+)"
    rf"(?:\.l(?P<loader>\d+)\.(?:main|w\d+){re.escape(LOADER_SUFFIX)}|{re.escape(STEPS_SUFFIX)})"
)

#: Maximum number of files that are opened: no loader has more workers than this.
MAX_FILES = 2048
#: How long the listing of a folder in a store is considered current.
LISTED_SECONDS = 10.0
_ASKING: defaultdict[RemotePath, threading.Lock] = defaultdict(threading.Lock)


class SeenFile(msgspec.Struct, frozen=True):
    """A recorder's file as it was when the trace was analysed. file: `digest_of` its name. complete: it reached beyond
    the trace's end, so rows added later do not matter. digest: of its content; empty where the file is complete or was
    written to meanwhile."""

    file: str
    bytes: int
    mtime_ns: int
    complete: bool
    digest: str = ""


class SeenRecords(msgspec.Struct, frozen=True):
    """The processes whose files belong to a trace, and the files that were there. host: `digest_of` the machine's name;
    see `files_of`."""

    pids: list[int] = []
    files: list[SeenFile] = []
    host: str | None = None


def are_current(seen: SeenRecords, folder: AnyPath) -> bool:
    """Returns whether the files that belong to a trace are those that its summary was made with, as far as that
    matters."""
    by_digest = {each.file: each for each in seen.files}
    for name in files_of(recorder_files(folder), seen.pids, seen.host)[:MAX_FILES]:
        file = by_digest.get(digest_of(name))
        if file is None:
            return False
        if not file.complete and not _is_as_seen(folder / name, file):
            return False
    return True


def _is_as_seen(path: AnyPath, earlier: SeenFile) -> bool:
    """Returns whether the file is unchanged. A copied directory has new modification times, and then the content
    decides. A file that is gone counts as unchanged."""
    stamp = stamp_of(path)
    if stamp is None:
        return True
    if stamp.st_size != earlier.bytes:
        return False
    return stamp.st_mtime_ns == earlier.mtime_ns or (earlier.digest != "" and _content_digest(path) == earlier.digest)


def seen_file(path: AnyPath, stamp: os.stat_result | RemoteStat, *, complete: bool) -> SeenFile:
    """Returns a recorder's file as it was read. stamp: the file's state from before it was read."""
    digest = "" if complete else _content_digest(path)
    later = stamp_of(path)
    if later is None or (later.st_size, later.st_mtime_ns) != (stamp.st_size, stamp.st_mtime_ns):
        digest = ""
    return SeenFile(digest_of(path.name), stamp.st_size, stamp.st_mtime_ns, complete, digest)


def _content_digest(path: AnyPath) -> str:
    """Returns the digest of a file's content, which is empty where the file cannot be read."""
    try:
        return hashlib.blake2b(content_of(path), digest_size=9).hexdigest()
    except OSError:
        return ""


def content_of(path: AnyPath) -> bytes:
    """Returns the content of a file. Raises OSError."""
    if not isinstance(path, Path):
        return path.read_bytes()
    with open_regular(path) as file:
        return file.read()


def recorder_files(folder: AnyPath) -> tuple[str, ...]:
    """Returns the names of the recorder's files in a folder, or none where it cannot be read."""
    try:
        if isinstance(folder, RemotePath):
            with _ASKING[folder]:  # all spans of a folder request it at once, and one of them lists it for all
                return _listed_remote(folder, int(time.monotonic() / LISTED_SECONDS))
        return _listed(str(folder), folder.stat().st_mtime_ns)
    except OSError:
        return ()


@functools.lru_cache(maxsize=64)
def _listed(folder: str, changed_ns: int) -> tuple[str, ...]:
    """Lists a folder. The list is cached by the folder's time, which changes when files come or go, since thousands of
    its traces may request it. A link is followed only within the folder: its target may belong to another user, or not
    be meant for everyone who may read the summary."""
    with os.scandir(folder) as entries:
        own = [
            each for each in entries if NAME.fullmatch(each.name) and (not each.is_symlink() or _stays(each, folder))
        ]
    return tuple(sorted(each.name for each in own))


def _stays(link: os.DirEntry[str], folder: str) -> bool:
    return os.path.realpath(link.path).startswith(os.path.realpath(folder) + os.sep)


@functools.lru_cache(maxsize=64)
def _listed_remote(folder: RemotePath, period: int) -> tuple[str, ...]:
    """Lists a folder of a store. The list is cached by period, since such a folder has no modification time."""
    return tuple(name for name in folder.names() if NAME.fullmatch(name))


def files_of(names: Iterable[str], pids: Sequence[int], host: str | None) -> list[str]:
    """Returns the files that processes with these IDs, or their workers, wrote. If there are any of the trace's
    machine, only those are returned, because processes of one job may have the same ID on several machines. host:
    `host_of` the trace."""
    matches = ((name, NAME.fullmatch(name)) for name in names)
    of_job = [(name, digest_of(match["host"])) for name, match in matches if match and int(match["pid"]) in pids]
    host_matches = any(each == host for _, each in of_job)
    return [name for name, each in of_job if each == host or not host_matches]


def host_of(trace: Trace, pids: Sequence[int]) -> str | None:
    """Returns the digest of the machine in the trace's file name, as torch's handler writes it:
    <host>_<pid>.<time>.pt.trace.json."""
    host, _, rest = any_path(trace.path).name.rpartition("_")
    number = rest.partition(".")[0]
    return digest_of(host) if host and number.isdecimal() and int(number) in pids else None


def digest_of(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=9).hexdigest()


def without_host(name: str) -> str:
    """Returns the part of a recorder file's name that may be passed on: "3113936.1790812801133511828.l0.w3.loader"."""
    match = NAME.fullmatch(name)
    return name if match is None else name[match.start("pid") :]


def process_ids(trace: Trace) -> list[int]:
    """Returns the IDs of the processes whose ops are in the trace. There is usually one."""
    rows = trace.events.rows(Kind.CPU_OP, Kind.USER)
    threads = distinct_in(trace.events.thread[rows]).tolist()
    return sorted({int(trace.threads[each].pid) for each in threads if trace.threads[each].pid.isdecimal()})


def stamp_of(path: AnyPath) -> os.stat_result | RemoteStat | None:
    try:
        return path.stat()
    except OSError:
        return None
