"""Finds out whether a file is under version control: writing next to it unasked would leave changes that nobody made.

    project/.git/index     lists the files that git tracks
    project/logs/run/...   may be tracked, or ignored, or not yet added

The index is read, and git itself is not run: training containers have no git, or one that refuses another user's
folder, and a folder from elsewhere may name programs in its settings that git would run.
"""

from __future__ import annotations

import os
from pathlib import Path

from tb_steptime.files.paths import open_regular

#: Folders of other version control systems. Which files these track is not looked up.
_OTHERS = (".jj", ".hg", ".svn")

# https://git-scm.com/docs/index-format: an entry is numbers, the object's hash, flags and the path, which ends in a 0.
_MAGIC, _VERSIONS = b"DIRC", (2, 3)
#: In the flags: the mask for the length of the path; and how many bytes before the path the flags are, since two more
#: bytes may follow them in version 3.
_LENGTH, _FLAGS_BEFORE = 0x0FFF, (2, 4)


def is_any_tracked(*paths: Path) -> bool:
    """Returns whether one of some paths in a folder, which need not exist, is under version control. Also True where
    that cannot be determined: in a working tree of a system other than git, and where the index cannot be read."""
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
    """Returns the nearest enclosing folder in which a version control system keeps its records."""
    while True:
        if any(os.path.lexists(os.path.join(folder, name)) for name in (".git", *_OTHERS)):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _indexes(tree: str) -> list[bytes]:
    """Returns the indexes in which git lists its files: one file, or a small one and the larger one that it was split
    from. Empty before the first file is added. Raises OSError, ValueError."""
    folder = Path(tree, ".git")
    if folder.is_file():  # in a linked working tree or a submodule
        named = os.fsdecode(folder.read_bytes()).partition("gitdir:")[2].strip()
        if not named:
            raise ValueError(f"{folder} names no folder")
        folder = folder.parent / named
    return [_content(file) for file in (folder / "index", *folder.glob("sharedindex.*")) if file.exists()]


def _content(file: Path) -> bytes:
    with open_regular(file) as opened:
        return opened.read()


def _lists(index: bytes, name: bytes) -> bool:
    """Returns whether an index has an entry of this name. Raises ValueError where that cannot be determined: version 4,
    which is rarely used, omits what a path shares with the one before."""
    if index[:4] != _MAGIC or int.from_bytes(index[4:8], "big") not in _VERSIONS:
        raise ValueError("no index of git that is known here")
    length = min(len(name), _LENGTH)
    at = index.find(name + b"\0")
    while at >= 0:  # the match may also be the end of a longer path
        if any(int.from_bytes(index[at - back : at - back + 2], "big") & _LENGTH == length for back in _FLAGS_BEFORE):
            return True
        at = index.find(name + b"\0", at + 1)
    return False
