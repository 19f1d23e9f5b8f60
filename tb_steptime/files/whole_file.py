"""Files that a reader sees as they were, or whole: written under another name, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def whole_file(place: Path, suffix: str = "") -> Iterator[IO[bytes]]:
    """A file to write to, which is at its place when the block ends, and nowhere when it raises. suffix: how its name
    ends before. Raises OSError."""
    temporary = place.parent / f".{secrets.token_hex(8)}{suffix}.tmp"
    try:  # an interrupt may come as soon as the file is there
        with open(temporary, "xb") as file:
            yield file
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
