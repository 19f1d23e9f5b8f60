"""Decides whether a summary says what this release would measure of a trace as it is now.

The decision depends on the version of the definitions, the trace's own file and the recorder's files next to it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tb_steptime import __version__
from tb_steptime.files.paths import AnyPath, open_regular
from tb_steptime.ingest.measured import GraphNames
from tb_steptime.ingest.recorder_files import are_current
from tb_steptime.ingest.recorder_files.finding import digest_of
from tb_steptime.ingest.summaries.layout import DEFINITIONS, SummaryHead, TraceStamp
from tb_steptime.metrics.flops.peaks import user_text

#: Bytes of either end of a trace that are enough to tell a copy from another recording of the same size: gzip ends in a
#: checksum of the whole, and a plain file's first and last events contain its times.
_END_BYTES = 64 * 1024


def stamp(trace: AnyPath) -> TraceStamp:
    """Returns the stamp of a trace file. Raises OSError."""
    stat = trace.stat()
    return TraceStamp("", stat.st_size, stat.st_mtime_ns, _digest(trace, stat.st_size))


def _digest(trace: AnyPath, size: int) -> str:
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with open_regular(trace) if isinstance(trace, Path) else trace.open("rb") as file:
        digest.update(file.read(_END_BYTES))
        file.seek(max(_END_BYTES, size - _END_BYTES))
        digest.update(file.read(_END_BYTES))
    return digest.hexdigest()


def is_fresh(head: SummaryHead, trace: AnyPath) -> bool:
    """Whether the summary was measured by today's definitions, with the peak rates that are given now, from exactly
    this trace, the recorder's files that are there now, and the recording that names the kernels in its CUDA graphs.
    Raises OSError."""
    return (
        head.definitions == DEFINITIONS
        and head.told_peaks == user_peaks_digest()
        and head.release in ("", __version__)
        and is_of(head.trace, trace)
        and are_current(head.records, trace.absolute().parent)
        and names_are_current(head.names, trace)
    )


def names_are_current(names: GraphNames, trace: AnyPath) -> bool:
    """Whether the recording that named the kernels in CUDA graphs is unchanged, or gone: in both cases its names stay
    valid. Raises OSError."""
    return all(named_by(path, names) for path in _naming(names, trace))


def names_stamp(names: GraphNames, trace: AnyPath) -> tuple[tuple[int, int], ...]:
    """Size and time in ns of the recording that named the kernels in CUDA graphs; empty where it is gone or not known.
    This is cheaper than `names_are_current`, which reads the file's ends. Raises OSError."""
    known = [path.stat() for path in _naming(names, trace)]
    return tuple((each.st_size, each.st_mtime_ns) for each in known)


def _naming(names: GraphNames, trace: AnyPath) -> list[Path]:
    if not names.file or not names.folder or not isinstance(trace, Path):
        return []
    folder = trace.absolute().parent / names.folder
    try:
        return [folder / name for name in os.listdir(folder) if digest_of(name) == names.file]
    except OSError:
        return []


def named_by(path: Path, names: GraphNames) -> bool:
    """Whether a file has the same content as when it named the kernels in CUDA graphs. Raises OSError."""
    size = path.stat().st_size
    return size == names.bytes and _digest(path, size) == names.digest


def user_peaks_digest() -> str:
    peaks = user_text()
    return hashlib.blake2b(peaks.encode(), digest_size=8).hexdigest() if peaks else ""


def is_of(known: TraceStamp, trace: AnyPath) -> bool:
    """Whether a file is the one that was measured. A copied directory has new modification times; then the ends of the
    file decide. Raises OSError."""
    stat = trace.stat()
    if stat.st_size != known.bytes:
        return False
    return stat.st_mtime_ns == known.mtime_ns or _digest(trace, stat.st_size) == known.digest
