"""Reads the recorder's file of sources next to a trace, see `record/sources.py`."""

from __future__ import annotations

import functools
import gzip
import io
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tb_steptime.files.paths import AnyPath, open_regular
from tb_steptime.record.sources import FORMAT, MOST_BYTES, SUFFIX

_NAME = re.compile(rf"(?P<process>.+_\d+)\.(?P<start>\d{{1,20}}){re.escape(SUFFIX)}")
#: Maximum size of the JSON. JSON writes one character in up to six bytes, so a larger file is not the recorder's.
_MOST_JSON_BYTES = 6 * MOST_BYTES


class _Stored(msgspec.Struct):
    sources: int
    files: dict[str, str]


def recorded_sources(trace: AnyPath, began_ns: int) -> Mapping[str, str] | None:
    """Returns texts by name, from the file of the process that wrote the trace, or from the only such file in the
    folder if the trace's name does not say which process that was. began_ns: epoch time of the recording. None where
    there is no such file, or none that can be read."""
    name = _file_of(trace.name, _names(trace.parent), began_ns)
    return _read(trace.parent / name) if name else None


def _file_of(trace: str, names: list[str], began_ns: int) -> str | None:
    """
    >>> names = ["a_7.100.sources.gz", "a_7.300.sources.gz", "a_8.100.sources.gz"]
    >>> _file_of("a_7.250.pt.trace.json.gz", names, 250), _file_of("renamed.json", names, 250)
    ('a_7.100.sources.gz', None)
    """
    found = [match for match in map(_NAME.fullmatch, names) if match]
    own = [match for match in found if trace.startswith(f"{match['process']}.") and int(match["start"]) <= began_ns]
    if own:
        return max(own, key=lambda match: int(match["start"]))[0]
    return found[0][0] if len(found) == 1 else None


def _names(folder: AnyPath) -> list[str]:
    """Returns the names of the files, without links."""
    try:
        if not isinstance(folder, Path):
            return [name for name in folder.names() if name.endswith(SUFFIX)]
        with os.scandir(folder) as entries:
            return [each.name for each in entries if each.name.endswith(SUFFIX) and not each.is_symlink()]
    except OSError:
        return []


def _read(path: AnyPath) -> Mapping[str, str] | None:
    try:
        if not isinstance(path, Path):
            return _decoded(path.read_bytes())
        stamp = path.stat()
        return _read_local(path, stamp.st_size, stamp.st_mtime_ns)
    except OSError:
        return None


@functools.lru_cache(maxsize=4)
def _read_local(path: Path, size: int, mtime_ns: int) -> Mapping[str, str] | None:
    """Reads a local file, cached, since the sources of one recording are requested one after the other. Raises
    OSError."""
    if size > MOST_BYTES:
        return None
    with open_regular(path) as file:
        return _decoded(file.read())


def _decoded(packed: bytes) -> Mapping[str, str] | None:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            content = file.read(_MOST_JSON_BYTES + 1)
        stored = msgspec.json.decode(content, type=_Stored)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return stored.files if stored.sources == FORMAT and len(content) <= _MOST_JSON_BYTES else None
