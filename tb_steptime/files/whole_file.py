"""Files that a reader sees as they were, or whole: written under another name, then renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tb_steptime.files.own_folder import hold, remove_left_files


@contextlib.contextmanager
def whole_file(place: Path, suffix: str = "", mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file to write to, which is at its place when the block ends, and nowhere when it raises. suffix: how its name
    ends before. mode: who may read and write it, as far as the user's mask allows. Raises OSError."""
    held = False
    while not held:  # where another process takes the new file for one that was left behind, under the next name
        temporary = place.parent / f".{os.urandom(8).hex()}{suffix}.tmp"
        try:  # an interrupt may come as soon as the file is there
            with open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
                held = hold(file.fileno())
                if held:
                    yield file
            if held:
                os.replace(temporary, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def remove_left_behind(folder: Path, suffix: str) -> None:
    """What killed processes had begun to write to this folder with this suffix, which is no other program's."""
    remove_left_files(folder, f".{'[0-9a-f]' * 16}{suffix}.tmp")
