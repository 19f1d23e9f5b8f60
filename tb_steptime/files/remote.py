"""One file or folder of a store, with the operations of a `pathlib.Path`: name, parent, size, bytes.

RemotePath("s3://bucket/logs/a.json")    str: the same, without passwords and signatures, fit to be shown
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from tb_steptime.files.problems import RemoteMissing, said_plainly
from tb_steptime.files.reading import RemoteFile
from tb_steptime.files.systems import limit, puts_whole, scheme_of, system_of

_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")
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
    def of(cls, told: Mapping[str, Any]) -> RemoteStat:
        """told: the information of fsspec about a file."""
        mark = next((told[key] for key in _MARKS if told.get(key)), "")
        time = next((told[key] for key in _TIMES if told.get(key)), told.get(_WEBHDFS_MS, 0) / 1000)
        return cls(int(told.get("size") or 0), _seconds(time) * 1_000_000_000, str(mark).strip('"'))


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
        with said_plainly(str(self)):
            return RemoteStat.of(self._told())

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
        with said_plainly(str(self)):
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
        with said_plainly(str(self)):
            if puts_whole(self.url):
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
        with contextlib.suppress(RemoteMissing), said_plainly(str(self)):
            return str(self._told().get("type"))
        return None

    def _told(self) -> Mapping[str, Any]:
        system, inner = system_of(self.url, str(self))
        system.invalidate_cache(inner)
        told: Mapping[str, Any] = system.info(inner, **limit(system, ASK_SECONDS))
        return told


def masked(url: str) -> str:
    """Returns the address in a form that may be shown.

    >>> masked("hdfs://me:secret@host/logs"), masked("https://host/a.json?sig=abc")
    ('hdfs://me:***@host/logs', 'https://host/a.json?***')
    """
    if scheme_of(url) in _WITH_PARAMETERS:
        base, sign, _ = url.partition("?")
        url = f"{base}?***" if sign else base
    return _PASSWORD.sub(r"\1:***@", url)


def _seconds(time: object) -> int:
    """Returns the epoch time in seconds from a store's form of a time."""
    if isinstance(time, datetime):
        return int((time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp())
    if isinstance(time, (int, float)):
        return int(time)
    if isinstance(time, str):
        with contextlib.suppress(ValueError):
            return _seconds(datetime.fromisoformat(time.replace("Z", "+00:00")))
    return 0
