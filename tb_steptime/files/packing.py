"""gzip by isal where it is installed, else by zlib, which is a third as fast and otherwise the same.

isal has no wheel for Windows on ARM, so `setup.cfg` does not ask for it there.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import IO, Any

try:
    from isal import isal_zlib
except ImportError:
    isal_zlib = None  # type: ignore[assignment]

#: Like `zlib.decompressobj`: takes zlib's number for the window, and returns a decompressor.
decompressor: Callable[[int], Any] = isal_zlib.decompressobj if isal_zlib else zlib.decompressobj
#: The exception that the decompressor raises where the stream is damaged. isal's type hints do not say that it is an
#: exception class.
BAD_GZIP: Any = isal_zlib.IsalError if isal_zlib else zlib.error


def pack(content: bytes) -> bytes:
    """Returns a gzip file of the content, packed quickly rather than tightly. The same content gives the same bytes."""
    packed: bytes = _gzip().compress(content, 1, mtime=0)
    return packed


def packing(file: IO[bytes]) -> IO[bytes]:
    """Returns a file to write text to, which is packed into another file that stays open; the same bytes for the same
    text."""
    module = _gzip()
    pack_into = module.IGzipFile if isal_zlib else module.GzipFile
    text: IO[bytes] = pack_into("", "wb", fileobj=file, mtime=0)
    return text


def _gzip() -> Any:
    """Returns isal's module or that of the standard library. Both are slow to import for a command that reads a
    trace."""
    if isal_zlib:
        from isal import igzip

        return igzip
    import gzip

    return gzip
