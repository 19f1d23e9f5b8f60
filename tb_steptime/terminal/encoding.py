"""In which encoding commands write: UTF-8 into files and pipes, whatever the machine's code page is."""

from __future__ import annotations

import io
import os
from typing import TextIO


def write_utf8(stream: TextIO) -> None:
    """Have a stream that is no terminal take any sign: JSON is UTF-8, and names and units hold what a code page of
    Windows has not. A terminal keeps its own encoding, and so does whoever chose one by PYTHONIOENCODING."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
        stream.reconfigure(encoding="utf-8")
