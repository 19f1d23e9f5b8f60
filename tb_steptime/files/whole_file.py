"""Files that a reader sees as they were, or whole: written under another name, then renamed."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def whole_file(place: Path, suffix: str = "") -> Iterator[IO[bytes]]:
    """A file to write to, which is at its place when the block ends, and nowhere when it raises. suffix: how its name
    ends before. Raises OSError."""
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=suffix + ".tmp", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise


@functools.cache
def _umask() -> int:
    """mkstemp makes files for the owner only; these are as readable as any file that the user makes."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
