"""One file or folder of a store, with the operations of a `pathlib.Path`: name, parent, size, bytes.

RemotePath("s3://bucket/logs/a.json")    str: the same, without passwords and signatures, fit to be shown

`system_of` gives the file system of its store, by fsspec and the package that the store needs. `RemoteFile` gives its
bytes in order, without a local copy:

    asked for     |0 . . . . . . . .|
    being fetched        |. . . .|. . . .|. . . .|      by so many connections, while what came before is decoded

The first block is small, since of many files only the beginning is read; the next ones are larger, several at once. A
block that does not arrive is requested again; a short block counts as a lost connection.
"""

from __future__ import annotations

import contextlib
import errno
import re
import time
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from tb_steptime.files.problems import RemoteLost, RemoteMissing, RemoteProblem, RemoteRefused, as_remote_problems

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: The extra of this package that installs what an address needs, by its scheme.
EXTRAS = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "az": "azure",
    "abfs": "azure",
    "abfss": "azure",
    "adl": "azure",
    "hdfs": "hdfs",
}
#: Schemes of stores in which a written file appears whole; elsewhere it is written under another name and moved.
_PUTS_ATOMICALLY = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory"))

#: An `fsspec.AbstractFileSystem`; fsspec has no types, and need not be installed.
System = Any


def scheme_of(url: str) -> str:
    return url.partition("://")[0].lower()


def system_of(url: str, shown: str) -> tuple[System, str]:
    """Returns the file system of an address, and the file's name in it. Raises RemoteProblem."""
    scheme = scheme_of(url)
    try:
        from fsspec.core import url_to_fs

        with as_remote_problems(shown):
            return _system_of_url(url_to_fs, url, shown)
    except ImportError:
        raise _not_installed(scheme, shown) from None


def limit(system: System, seconds: float) -> dict[str, float]:
    """Returns arguments that limit the time of a call to a store; none for other file systems, which know no limit."""
    return {"timeout": seconds} if getattr(system, "async_impl", False) else {}


def _system_of_url(url_to_fs: Any, url: str, shown: str) -> tuple[System, str]:
    try:
        system, inner = url_to_fs(url)
    except ImportError:
        raise _not_installed(scheme_of(url), shown) from None
    except ValueError:
        if scheme_of(url) in EXTRAS:
            hint = "Log in with its own tool, or set its variables, such as AZURE_STORAGE_ACCOUNT_NAME for az://."
            raise RemoteRefused(errno.EACCES, "The store wants an account or a key", hint, shown) from None
        hint = "Known are s3, gs, az, hdfs, and what `fsspec.available_protocols()` lists."
        raise RemoteProblem(errno.EINVAL, f"{scheme_of(url)}:// is no known kind of store", hint, shown) from None
    return system, str(inner)


def _not_installed(scheme: str, shown: str) -> RemoteProblem:
    extra = EXTRAS.get(scheme)
    command = f"pip install 'tb-steptime[{extra}]'" if extra else "pip install fsspec, and what it needs for this store"
    return RemoteProblem(
        errno.ENOSYS, f"Reading {scheme}:// needs a package that is not installed", f"{command}.", shown
    )


#: Size of the first block. It includes the head of a summary, or enough to recognise a trace.
FIRST_BYTES = 256 * 1024
#: Size of the other blocks. A store answers within some 30 ms; at 100 MB/s for each connection a block takes about as
#: long.
BLOCK_BYTES = 4 * 1024 * 1024
#: Number of blocks that are fetched or wait at once: 16 MB of memory at most.
AHEAD = 4
#: Time limit for a block: one that takes longer arrives at less than 70 kB/s, or never.
FETCH_SECONDS = 60.0
#: Waits between tries, in seconds. The store's own package also tries several times within each.
WAITS_SECONDS = (0.5, 2.0)


class RemoteFile:
    """A file that is read from its begin or from where `seek` goes. All methods raise OSError."""

    def __init__(self, system: System, inner: str, size: int, shown: str) -> None:
        self.size = size
        self._system, self._inner, self._shown = system, inner, shown
        self._at = self._next = 0
        self._is_first = True
        self._fetched: deque[Future[bytes]] = deque()
        self._rest = memoryview(b"")
        self._limit = limit(system, FETCH_SECONDS)
        self._pool: ThreadPoolExecutor | None = None

    def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes, b"" at the end; everything that is left where size is negative."""
        if size < 0:
            return b"".join(iter(lambda: self.read(BLOCK_BYTES), b""))
        while size and not self._rest:
            block = self._block()
            if not block:
                return b""
            self._rest = memoryview(block)
        part, self._rest = self._rest[:size], self._rest[size:]
        self._at += len(part)
        return bytes(part)

    def seek(self, position: int) -> None:
        ahead = position - self._at
        if 0 <= ahead < len(self._rest):
            self._at, self._rest = position, self._rest[ahead:]
            return
        self._forget()
        self._at = self._next = min(position, self.size)

    def close(self) -> None:
        self._forget()
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> RemoteFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self.close()

    def _forget(self) -> None:
        for block in self._fetched:
            block.cancel()
        self._fetched.clear()
        self._rest = memoryview(b"")
        self._is_first = True

    def _block(self) -> bytes:
        """Returns the next block. Unless it is the first, the blocks after it are requested."""
        if self._is_first:
            self._is_first = False
            return self._fetch(*self._range(FIRST_BYTES))
        self._ask_ahead()
        if not self._fetched:
            return b""
        block = self._fetched.popleft()
        self._ask_ahead()
        return block.result()

    def _range(self, size: int) -> tuple[int, int]:
        start, self._next = self._next, min(self.size, self._next + size)
        return start, self._next

    def _ask_ahead(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        while len(self._fetched) < AHEAD - 1 and self._next < self.size:
            self._pool = self._pool or ThreadPoolExecutor(AHEAD - 1, "tb_steptime fetching")
            self._fetched.append(self._pool.submit(self._fetch, *self._range(BLOCK_BYTES)))

    def _fetch(self, start: int, end: int) -> bytes:
        for wait in WAITS_SECONDS:
            try:
                return self._fetch_once(start, end)
            except RemoteProblem as problem:
                if not problem.passing:
                    raise
            time.sleep(wait)
        return self._fetch_once(start, end)

    def _fetch_once(self, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        with as_remote_problems(self._shown):
            content = bytes(self._system.cat_file(self._inner, start=start, end=end, **self._limit))
        if len(content) != end - start:
            fact = f"The store sent {len(content)} bytes of {end - start} and closed the connection"
            raise RemoteLost(errno.EIO, fact, "Was the file replaced meanwhile? Try again.", self._shown)
        return content


_PASSWORD = r"(?<=://)([^/@:]*):[^/@]*@"
#: Schemes whose addresses have parameters, which may be signatures. In stores, "?" may be part of a name.
_WITH_PARAMETERS = ("http", "https")

#: Keys under which stores give the time of a file's last change.
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
#: Key of that time in WebHDFS, in milliseconds.
_WEBHDFS_MS = "modificationTime"
_MARKS = ("ETag", "etag", "md5Hash", "generation", "content_md5")


#: Time limit for a request. A store that works answers in less than a second; its package would try again for minutes.
ASK_SECONDS = 30.0


class RemoteStat(NamedTuple):
    """The stat of a remote file, with names as in `os.stat_result`. Times are whole seconds, a precision that all
    interfaces of a store share, and 0 where the store has none; mark changes with the content, "" where the store has
    none."""

    st_size: int
    st_mtime_ns: int
    mark: str = ""

    @classmethod
    def from_info(cls, info: Mapping[str, Any]) -> RemoteStat:
        """info: the information of fsspec about a file."""
        mark = next((info[key] for key in _MARKS if info.get(key)), "")
        time = next((info[key] for key in _TIMES if info.get(key)), info.get(_WEBHDFS_MS, 0) / 1000)
        return cls(int(info.get("size") or 0), _seconds(time) * 1_000_000_000, str(mark).strip('"'))


class RemotePath:
    """url: the address with all secrets that are needed to open it; never shown. listed: the stat from a recent
    listing, which saves a request. Paths with one address are equal."""

    __slots__ = ("listed", "url")

    def __init__(self, url: str, listed: RemoteStat | None = None) -> None:
        self.url = url
        self.listed = listed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def __str__(self) -> str:
        return masked(self.url)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __truediv__(self, name: str) -> RemotePath:
        base, parameters = self._parts()
        return RemotePath(f"{base.rstrip('/')}/{name}" + parameters)

    @property
    def name(self) -> str:
        """The last part of the address; "" for a whole store."""
        return self._parts()[0].partition("://")[2].rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        base, parameters = self._parts()
        above, slash, _ = base.rstrip("/").rpartition("/")
        return RemotePath(above + parameters) if slash and not above.endswith("/") else self

    def with_name(self, name: str) -> RemotePath:
        return self.parent / name

    def absolute(self) -> RemotePath:
        return self

    resolve = expanduser = absolute

    def stat(self) -> RemoteStat:
        """Returns the stat; the size of a folder is 0. Raises OSError."""
        if self.listed is not None:
            return self.listed
        with as_remote_problems(str(self)):
            return RemoteStat.from_info(self._info())

    # Like those of `Path`, these raise OSError where the store does not answer.

    def is_file(self) -> bool:
        return self._kind() == "file"

    def is_dir(self) -> bool:
        return self._kind() == "directory"

    def exists(self) -> bool:
        return self._kind() is not None

    def names(self) -> list[str]:
        """Returns the names in this folder, sorted. Raises OSError."""
        system, inner = system_of(self.url, str(self))
        with as_remote_problems(str(self)):
            system.invalidate_cache(inner)
            return sorted(
                str(each).rstrip("/").rpartition("/")[2]
                for each in system.ls(inner, detail=False, **limit(system, ASK_SECONDS))
            )

    def open(self, mode: str = "rb") -> RemoteFile:
        """Opens the file for reading in order. Raises OSError."""
        assert mode == "rb"
        system, inner = system_of(self.url, str(self))
        return RemoteFile(system, inner, self.stat().st_size, str(self))

    def read_bytes(self) -> bytes:
        """Returns the content of the file. Raises OSError."""
        with self.open() as file:
            return file.read()

    def write_bytes(self, content: bytes) -> None:
        """Write the file. A reader sees the old file or the whole new one if the store supports that, else no file for
        a moment. Raises OSError."""
        system, inner = system_of(self.url, str(self))
        with as_remote_problems(str(self)):
            if scheme_of(self.url) in _PUTS_ATOMICALLY:
                system.pipe_file(inner, content)
                return
            folder, slash, name = inner.rpartition("/")
            before = f"{folder}{slash}.{name}.tmp"
            system.pipe_file(before, content)
            if system.exists(inner):  # HDFS and SMB do not replace a file in a move, and WebHDFS does not report that
                system.rm(inner)
            system.mv(before, inner)

    def _parts(self) -> tuple[str, str]:
        """Returns the address up to its parameters, and the parameters."""
        if scheme_of(self.url) not in _WITH_PARAMETERS:
            return self.url, ""
        base, sign, parameters = self.url.partition("?")
        return base, sign + parameters

    def _kind(self) -> str | None:
        """Returns "file" or "directory"; None where there is nothing. Raises RemoteProblem."""
        if self.listed is not None:
            return "file"
        with contextlib.suppress(RemoteMissing), as_remote_problems(str(self)):
            return str(self._info().get("type"))
        return None

    def _info(self) -> Mapping[str, Any]:
        system, inner = system_of(self.url, str(self))
        system.invalidate_cache(inner)
        info: Mapping[str, Any] = system.info(inner, **limit(system, ASK_SECONDS))
        return info


def masked(url: str) -> str:
    """Returns the address in a form that may be shown.

    >>> masked("hdfs://me:secret@host/logs"), masked("https://host/a.json?sig=abc")
    ('hdfs://me:***@host/logs', 'https://host/a.json?***')
    """
    if scheme_of(url) in _WITH_PARAMETERS:
        base, sign, _ = url.partition("?")
        url = f"{base}?***" if sign else base
    return re.sub(_PASSWORD, r"\1:***@", url)


def _seconds(time: object) -> int:
    """Returns the epoch time in seconds from a store's form of a time."""
    from datetime import datetime, timezone  # no command needs them before a store is asked

    if isinstance(time, datetime):
        return int((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp())
    if isinstance(time, (int, float)):
        return int(time)
    if isinstance(time, str):
        with contextlib.suppress(ValueError):
            return _seconds(datetime.fromisoformat(time.replace("Z", "+00:00")))
    return 0
