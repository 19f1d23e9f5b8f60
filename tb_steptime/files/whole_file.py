"""Files that a reader sees either as they were or whole: written under another name, then renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tb_steptime.files.own_folder import hold, remove_left_files


@contextlib.contextmanager
def whole_file(place: Path, suffix: str = "", mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Yields a file to write to, which is moved to its place when the block ends, and removed when the block raises.
    suffix: the end of its temporary name. mode: who may read and write it, as far as the user's umask allows. Raises
    OSError."""
    held = False
    while not held:  # if another process removes the new file as a leftover, try the next name
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
    """Removes files with this suffix that killed processes left unfinished in this folder. No other program uses the
    suffix."""
    remove_left_files(folder, f".{'[0-9a-f]' * 16}{suffix}.tmp")
