"""A measured span -> its summary file, next to the trace or, where that cannot be written, in the user's cache
directory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tb_steptime import __version__
from tb_steptime.files.paths import AnyPath, identity, is_file, write_atomically
from tb_steptime.files.version_control import is_any_tracked
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.layout import (
    DEFINITIONS,
    FORMAT,
    SUFFIX,
    SummaryHead,
    TraceStamp,
    member,
    user_peaks_digest,
)


def encode_summary(trace: TraceStamp, measured: MeasuredSpan) -> bytes:
    """Returns the bytes of a summary file. The same input gives the same bytes."""
    views = {view: member(msgspec.json.encode(result)) for view, result in measured.results.items()}
    lengths = {view: len(content) for view, content in views.items()}
    facts = msgspec.structs.replace(measured.facts, file="")
    head = SummaryHead(
        FORMAT,
        trace,
        facts,
        lengths,
        measured.records,
        measured.keeps_paths,
        definitions=DEFINITIONS,
        told_peaks=user_peaks_digest(),
        release=__version__ if facts.gaps else "",
        names=measured.names,
    )
    return b"".join([member(msgspec.json.encode(head)), *views.values()])


def places_for(trace: AnyPath) -> tuple[AnyPath, Path]:
    """Returns the place next to the trace, and that in the user's cache directory, named by the trace's real path or
    address."""
    name = hashlib.blake2b(identity(trace).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return trace.with_name(trace.name + SUFFIX), cache_directory() / (name + SUFFIX)


def places_to_write(trace: AnyPath, *, by_command: bool = False) -> tuple[AnyPath, ...]:
    """Returns the places of `places_for` that a summary may be written to, the better one first. Next to a trace that
    is under version control it would be a change that nobody made, so it goes there only if the user asked for it."""
    beside, in_cache = places_for(trace)
    if not by_command and isinstance(trace, Path) and isinstance(beside, Path) and is_any_tracked(trace, beside):
        return (in_cache,)
    return beside, in_cache


def cache_directory() -> Path:
    """Returns `$XDG_CACHE_HOME/tb_steptime`, or the platform's usual place."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base and os.name == "nt":
        base = os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "tb_steptime"


def in_cache(path: Path, content: bytes) -> None:
    """Writes a file of the cache. Nobody else may read it, because it holds measurements of traces that others may not
    be allowed to read. Raises OSError."""
    folder = cache_directory()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        folder.chmod(0o700)  # an earlier release made it readable for all
    write_atomically(path, content, SUFFIX, 0o600)


def write_summary(content: bytes, places: Iterable[AnyPath]) -> AnyPath:
    """Writes a summary to the first of the places that can be written to, and returns that place. Raises OSError if
    none can.

    A reader sees the old file or the whole new one. Next to its trace it may be read by everyone who may read the
    trace, elsewhere by this user alone.
    """
    failure: OSError | None = None
    for place in places:
        try:
            _write(place, content)
        except OSError as error:
            failure = error
        else:
            return place
    raise failure or OSError("no place to write a summary file to")


def _write(place: AnyPath, content: bytes) -> None:
    if isinstance(place, Path) and place.parent == cache_directory():
        in_cache(place, content)
        return
    write_atomically(place, content, SUFFIX, _mode_of(place.with_name(place.name.removesuffix(SUFFIX))))


def _mode_of(trace: AnyPath) -> int:
    """Returns a file mode that gives read and write access to everyone who has it to the trace, or only to this user
    where there is no trace file."""
    others = stat.S_IMODE(trace.stat().st_mode) & 0o066 if isinstance(trace, Path) and is_file(trace) else 0
    return 0o600 | others
