"""A source file of a folder that the user names, by the name that a recording has for it.

folder   /home/me/job          "data/sets.py"  ->  /home/me/job/data/sets.py, else /home/me/job/sets.py
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tb_steptime.record.sources import MOST_FILE_BYTES

#: Parts of a name that are refused: those that lead elsewhere, and characters that name a drive or a stream of Windows.
_LEADS_ELSEWHERE = {"", ".", ".."}
_FORBIDDEN = ("\0", ":", "\\")
_MOST_PARTS = 64
_BY_FOLDER = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class FoundFile(NamedTuple):
    path: Path
    content: bytes


def file_in(folder: Path, name: str) -> FoundFile | None:
    """Returns the file below the folder that has this name, or the longest possible end of it. None where there is
    none, where it is not a regular `.py` file of at most `MOST_FILE_BYTES`, or where a link is on the way."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    parts = parts[1:] if name.startswith("/") else parts
    if not name.endswith(".py") or len(parts) > _MOST_PARTS or any(map(_is_odd, parts)):
        return None
    for first in range(len(parts)):
        content = _content(folder, parts[first:])
        if content is not None:
            return FoundFile(folder.absolute().joinpath(*parts[first:]), content)
    return None


def _is_odd(part: str) -> bool:
    return part in _LEADS_ELSEWHERE or any(each in part for each in _FORBIDDEN)


def _content(folder: Path, parts: tuple[str, ...]) -> bytes | None:
    try:
        file = _opened(folder, parts) if _BY_FOLDER else _opened_by_path(folder, parts)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_FILE_BYTES:
            return None
        content = os.read(file, MOST_FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(file)
    return content if len(content) <= MOST_FILE_BYTES else None


def _opened(folder: Path, parts: tuple[str, ...]) -> int:
    """Opens one folder after the other, so that nobody can put a link in the way meanwhile. Raises OSError,
    ValueError."""
    within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts[:-1]:
        outer = within
        try:
            within = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
    try:
        return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within)
    finally:
        os.close(within)


def _opened_by_path(folder: Path, parts: tuple[str, ...]) -> int:
    """Opens the file by its whole path, on systems that cannot open it folder by folder. Raises OSError, ValueError."""
    path = folder.joinpath(*parts)
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), *parts):
        raise OSError("A link is on the way")
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
