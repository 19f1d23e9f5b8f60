"""How each of the recorder's files begins: what it is, and a header of JSON, padded to whole rows.

| prefix 24 | header: JSON, padded with blanks | row | row | row | ...
                                                ^ rows_at
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, NamedTuple

#: Layout of the prefix: magic, version, bytes of a row, where the rows begin, checksum of the header.
PREFIX = struct.Struct("<8sIIII")
#: Maximum size of a header: a longer one is not a recorder's.
MAX_HEADER_BYTES = 1 << 16


class FormatError(ValueError):
    """The file is not of its kind, or its header is damaged."""


class UnfinishedError(FormatError):
    """The file ends inside its header: its process is just creating it or was killed while doing so, or the disk was
    full."""


class FileKind(NamedTuple):
    """what: the kind in the words of an error, "a recording of a loader". magic: its first eight bytes."""

    what: str
    magic: bytes
    version: int
    row_bytes: int

    def encode_header(self, header: dict[str, Any]) -> bytes:
        """Returns prefix and header; the length is a multiple of a row's."""
        text = json.dumps(header, separators=(",", ":"), default=str).encode()
        rows_at = -(-(PREFIX.size + len(text)) // self.row_bytes) * self.row_bytes
        text = text.ljust(rows_at - PREFIX.size)
        return PREFIX.pack(self.magic, self.version, self.row_bytes, rows_at, zlib.crc32(text)) + text

    def decode_header(self, content: bytes) -> dict[str, Any]:
        """Returns the header of a file that starts with these bytes. Raises FormatError."""
        rows_at = self.rows_begin(content)
        text = content[PREFIX.size : rows_at]
        if len(content) < rows_at:
            raise UnfinishedError("The file ends inside its header")
        if zlib.crc32(text) != PREFIX.unpack_from(content)[-1]:
            raise FormatError("The file's header is damaged")
        header = json.loads(text)
        if not isinstance(header, dict):
            raise FormatError("The file's header is damaged")
        return header

    def rows_begin(self, prefix: bytes) -> int:
        """Returns where the rows begin in a file that starts with these bytes. Raises FormatError."""
        if not prefix.startswith(self.magic[: len(prefix)]):
            raise FormatError(f"Not {self.what}")
        if len(prefix) < PREFIX.size:
            raise UnfinishedError("The file ends inside its header")
        _, version, row_bytes, rows_at, _ = PREFIX.unpack_from(prefix)
        if not PREFIX.size <= rows_at <= MAX_HEADER_BYTES:
            raise FormatError(f"Not {self.what}")
        if version != self.version or row_bytes != self.row_bytes:
            raise FormatError(f"Written in format {version} by another version; this one reads format {self.version}")
        return int(rows_at)
