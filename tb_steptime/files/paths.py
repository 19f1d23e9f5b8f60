"""What a user names -> a `Path` or a `RemotePath`, which offer the same operations."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import unquote, urlsplit

from tb_steptime.files.remote import RemotePath
from tb_steptime.files.temporary import atomic_file, remove_left_behind

AnyPath = Path | RemotePath

#: An address with its scheme. A single letter would be a drive of Windows.
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9.+-]+://")


def any_path(named: str | os.PathLike[str] | RemotePath) -> AnyPath:
    """Returns a path of this machine, or an address such as s3://bucket/logs; file:///tmp is a path of this machine."""
    if isinstance(named, RemotePath):
        return named
    text = os.fspath(named)
    if not is_address(text):
        return Path(text)
    if text.lower().startswith("file://"):
        return Path(unquote(urlsplit(text).path))
    return RemotePath(text.rstrip("/") if not text.endswith("://") else text)


def is_address(text: str) -> bool:
    return _ADDRESS.match(text) is not None


def address(path: AnyPath) -> str:
    """Returns the text from which `any_path` makes the same path. It may contain secrets, so it must not be shown."""
    return path.url if isinstance(path, RemotePath) else str(path)


def identity(path: AnyPath) -> str:
    """Returns a text that is the same for all names of a file, whether by links or with other credentials."""
    return str(path) if isinstance(path, RemotePath) else os.path.realpath(path)


def is_folder(path: AnyPath) -> bool:
    """Returns whether it is a folder. A name that no file can have, at which pathlib raises, gives False."""
    return path.is_dir() if isinstance(path, RemotePath) else os.path.isdir(path)


def is_file(path: AnyPath) -> bool:
    """Returns whether it is a file; see `is_folder`."""
    return path.is_file() if isinstance(path, RemotePath) else os.path.isfile(path)


def open_regular(path: Path) -> IO[bytes]:
    """Opens a file for reading. Raises OSError where it is not a regular file: reading a pipe may wait for ever."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))
    return os.fdopen(file, "rb")


def write_atomically(path: AnyPath, content: bytes, suffix: str = "", mode: int = 0o666) -> None:
    """Write a file, and make its folder. A reader sees the old file or the whole new one. Raises OSError. suffix, mode:
    see `atomic_file`; with a suffix, such files that killed processes left in the folder are removed."""
    if isinstance(path, RemotePath):
        path.write_bytes(content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path, suffix, mode) as file:
        file.write(content)
    if suffix:
        remove_left_behind(path.parent, suffix)


T = TypeVar("T")
R = TypeVar("R")

#: Number of questions at once. A store answers many, each after some 30 ms; some allow no more connections.
_AT_ONCE = 16


def answers(ask: Callable[[T], R], items: Sequence[T], path: Callable[[T], AnyPath | None]) -> list[R]:
    """Returns `ask` of each; path: the file that it is about. Raises what `ask` raises."""
    remote = [number for number, each in enumerate(items) if isinstance(path(each), RemotePath)]
    remote_results: dict[int, R] = {}
    if remote:
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        with ThreadPoolExecutor(_AT_ONCE, "tb_steptime asking") as pool:
            remote_results = dict(zip(remote, pool.map(ask, [items[number] for number in remote]), strict=True))
    return [remote_results[number] if number in remote_results else ask(each) for number, each in enumerate(items)]
