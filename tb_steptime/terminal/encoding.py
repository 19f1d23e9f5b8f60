"""The encoding of commands' output: UTF-8 in files and pipes, whatever the machine's code page is."""

from __future__ import annotations

import io
import os
from typing import TextIO


def write_utf8(stream: TextIO) -> None:
    """Makes a stream that is no terminal accept every character: JSON is UTF-8, and names and units contain characters
    that a code page of Windows lacks. A terminal keeps its encoding, and one set by PYTHONIOENCODING is kept, too."""
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
        stream.reconfigure(encoding="utf-8")
