"""A file -> chunks of its JSON text, whether gzip or plain, as far as the file can be read."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.files.packing import BAD_GZIP, decompressor
from tb_steptime.files.paths import AnyPath
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.files.remote import RemoteFile, RemotePath
from tb_steptime.text.patterns import expression

GZIP_MAGIC = b"\x1f\x8b"
#: Bytes of text per chunk: some five hundred events, which takes little memory and amortizes the cost per chunk.
TEXT_BYTES = 256 * 1024
#: Packed bytes per read, and the first chunk of a plain file.
PACKED_BYTES = 64 * 1024
#: Bytes of text per compressed byte: gzip shrinks a trace to a tenth, or somewhat less.
_UNPACKED = 10
_GZIP_WINDOW = 16 + 15  # zlib's code for: gzip's header and trailer, the largest window

_Start = Callable[[int], Any]  # `zlib.decompressobj`, or one like it


class ReadProgress(msgspec.Struct, frozen=True):
    """How far a file is read. Bytes are counted on disk, so compressed if the file is."""

    read_bytes: int
    total_bytes: int
    events: int


#: Is called with the progress while a file is read.
OnProgress = Callable[[ReadProgress], None]


def ignore_progress(_: ReadProgress) -> None:
    """Ignores the progress, for callers that do not show it."""


class Extent(msgspec.Struct, frozen=True):
    """How long a file is, and what was wrong with its packing: see Source."""

    path: AnyPath
    total_bytes: int
    text_bytes: int
    cut_short: bool
    corrupt: bool


class Source:
    """Chunks of text from a file. After the last chunk, its attributes tell what was wrong with the compression.

    packed_bytes  read from disk so far;  text_bytes  handed out so far
    cut_short     the gzip stream is truncated;  corrupt  it holds what gzip cannot have written
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = path
        self.packed_bytes = 0
        self.text_bytes = 0
        self.cut_short = False
        self.corrupt = False
        self._file, self.total_bytes = _open(path)

    @property
    def extent(self) -> Extent:
        return Extent(self.path, self.total_bytes, self.text_bytes, self.cut_short, self.corrupt)

    def progress(self, events: int) -> ReadProgress:
        return ReadProgress(self.packed_bytes, self.total_bytes, events)

    def close(self) -> None:
        self._file.close()

    def chunks(self) -> Iterator[bytes]:
        """Yields the text in order, in chunks of at most TEXT_BYTES. Raises TraceError where the disk fails."""
        head = self._read(PACKED_BYTES)
        plain = not head.startswith(GZIP_MAGIC)
        for chunk in self._plain(head) if plain else self._unpacked(head):
            self.text_bytes += len(chunk)
            yield chunk

    def _read(self, size: int) -> bytes:
        try:
            packed = self._file.read(size)
        except OSError as error:
            raise _refused(self.path, error) from error
        self.packed_bytes += len(packed)
        return packed

    def _plain(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            yield chunk
            chunk = self._read(TEXT_BYTES)

    def _unpacked(self, packed: bytes) -> Iterator[bytes]:
        """Yields the text of every member of the gzip file. As in gzip, anything after the last member that is not gzip
        is ignored."""
        try:
            yield from self._members(packed, decompressor, TEXT_BYTES)
        except BAD_GZIP:
            self.corrupt = True
            yield from self._salvaged()

    def _salvaged(self) -> Iterator[bytes]:
        """Yields the text between the last whole chunk and the damage, found byte by byte, since a failed call returns
        nothing."""
        self._file.seek(0)
        known_bytes, read_bytes, salvaged = self.text_bytes, 0, []
        try:
            for chunk in self._members(self._file.read(PACKED_BYTES), zlib.decompressobj, 1, known_bytes):
                read_bytes += len(chunk)
                if read_bytes > known_bytes:
                    salvaged.append(chunk)
        except zlib.error:
            yield b"".join(salvaged)

    def _members(self, packed: bytes, start: _Start, size: int, hurry_bytes: int = 0) -> Iterator[bytes]:
        """Yields chunks of at most `size` bytes. Up to `hurry_bytes`, where one chunk ends exactly, the chunks are
        larger."""
        while packed.startswith(GZIP_MAGIC):
            member = start(_GZIP_WINDOW)
            while not member.eof:
                chunk = member.decompress(packed, min(TEXT_BYTES, hurry_bytes) or size)
                hurry_bytes -= min(hurry_bytes, len(chunk))
                if chunk:
                    yield chunk
                packed = member.unconsumed_tail
                if not (packed or chunk or member.eof):
                    packed = self._read(PACKED_BYTES)
                    if not packed:
                        self.cut_short = True
                        return
            packed = member.unused_data or self._read(PACKED_BYTES)


def likely_text_bytes(path: AnyPath) -> int:
    """Returns the estimated size of a file's text in bytes, from its size and name. Raises OSError."""
    return path.stat().st_size * (_UNPACKED if path.name.endswith(".gz") else 1)


def _open(path: AnyPath) -> tuple[io.FileIO | RemoteFile, int]:
    """Returns the open file, and its size in bytes."""
    try:
        if isinstance(path, RemotePath):
            remote = path.open()
            return remote, remote.size
        local = _open_local(path)
        return local, os.fstat(local.fileno()).st_size
    except OSError as error:
        raise _refused(path, error) from error


def _open_local(path: Path) -> io.FileIO:
    return open(path, "rb", buffering=0)


def _refused(path: AnyPath, error: OSError) -> TraceError:
    if isinstance(error, RemoteProblem):
        return TraceError(error.fact, path, error.hint)
    if isinstance(error, IsADirectoryError):
        return TraceError("This is a folder, not a trace", path, "Name a trace file in it.")
    if isinstance(error, FileNotFoundError):
        return TraceError("There is no such file", path, "Check the path.")
    if isinstance(error, PermissionError):
        return TraceError("No permission to read the file", path, "Ask its owner for permission to read it.")
    return TraceError(f"The file cannot be read: {error.strerror}", path, "Check the disk, or copy the file again.")


_HEAD_BYTES = 64 * 1024

#: Keys and categories that this profiler writes and other writers of Chrome traces do not.
_KINETO = expression(
    rb'"(?:schemaVersion|deviceProperties|distributedInfo|baseTimeNanoseconds|record_shapes|with_stack|External id'
    rb'|Ev Idx|cpu_op|Operator|user_annotation|python_function|cuda_runtime|cuda_driver|gpu_memcpy|ac2g)"'
)
_EVENTS = expression(rb'"(?:traceEvents|ph)"\s*:')
#: Files whose events come after long metadata open with these keys.
_OPENING = expression(rb'"(?:deviceProperties|distributedInfo|baseTimeNanoseconds)"\s*:')


def looks_like_json_trace(head: bytes) -> bool:
    """Returns whether the first part of a file looks like a Kineto trace in JSON."""
    opens_well = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    return opens_well and bool(_OPENING.search(head) or (_EVENTS.search(head) and _KINETO.search(head)))


def head_of(path: AnyPath, size: int = _HEAD_BYTES) -> bytes:
    """Returns the first bytes of a file, unpacked. Raises TraceError where it cannot be read."""
    source = Source(path)
    try:
        head = b""
        for chunk in source.chunks():
            head += chunk
            if len(head) >= size:
                break
        return head[:size]
    finally:
        source.close()
