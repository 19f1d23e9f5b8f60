"""Whether a file is under version control: whoever writes there unasked leaves changes that nobody made.

    project/.git/index     lists the files that git tracks
    project/logs/run/...   may be tracked, or ignored, or not yet added

The index is read rather than git asked: containers that train have no git, or one that refuses another user's folder,
and a folder from elsewhere may name programs in its settings that git would run.
"""

from __future__ import annotations

import os
from pathlib import Path

from tb_steptime.files.paths import open_regular

#: Beside git. Which files these track is not looked up.
_OTHERS = (".jj", ".hg", ".svn")

# https://git-scm.com/docs/index-format: an entry is numbers, the object's hash, flags and the path, which ends in a 0.
_MAGIC, _VERSIONS = b"DIRC", (2, 3)
#: Of the flags: how long the path is. In version 3 two more bytes may follow them.
_LENGTH, _FLAGS_BEFORE = 0x0FFF, (2, 4)


def is_any_tracked(*paths: Path) -> bool:
    """Whether one of some paths in a folder, which need not exist, is under version control. Also where that cannot be
    told: in a working tree of another system than git, and where the index cannot be read."""
    folder = os.path.realpath(paths[0].parent)
    tree = _working_tree(folder)
    if tree is None:
        return False
    if not os.path.lexists(os.path.join(tree, ".git")):
        return True
    names = [os.path.relpath(os.path.join(folder, path.name), tree).replace(os.sep, "/") for path in paths]
    try:
        return any(_lists(content, os.fsencode(name)) for content in _indexes(tree) for name in names)
    except (OSError, ValueError):
        return True


def _working_tree(folder: str) -> str | None:
    """The nearest folder above that a version control system keeps its records in."""
    while True:
        if any(os.path.lexists(os.path.join(folder, name)) for name in (".git", *_OTHERS)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _indexes(tree: str) -> list[bytes]:
    """What git lists its files in: one file, or a small one and the larger that it is split from. None before the first
    file is added. Raises OSError, ValueError."""
    folder = Path(tree, ".git")
    if folder.is_file():  # of a linked working tree or a submodule
        named = os.fsdecode(folder.read_bytes()).partition("gitdir:")[2].strip()
        if not named:
            raise ValueError(f"{folder} names no folder")
        folder = folder.parent / named
    return [_content(file) for file in (folder / "index", *folder.glob("sharedindex.*")) if file.exists()]


def _content(file: Path) -> bytes:
    with open_regular(file) as opened:
        return opened.read()


def _lists(index: bytes, name: bytes) -> bool:
    """Whether an index has an entry of this name. Raises ValueError where that cannot be told: version 4, which few
    choose, leaves out what a path shares with the one before."""
    if index[:4] != _MAGIC or int.from_bytes(index[4:8], "big") not in _VERSIONS:
        raise ValueError("no index of git that is known here")
    length = min(len(name), _LENGTH)
    at = index.find(name + b"\0")
    while at >= 0:  # it may also be the end of a longer path
        if any(int.from_bytes(index[at - back : at - back + 2], "big") & _LENGTH == length for back in _FLAGS_BEFORE):
            return True
        at = index.find(name + b"\0", at + 1)
    return False
