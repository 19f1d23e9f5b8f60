"""The summary file beside a trace: what was measured, so that a directory opens at once, even without its traces.

    resnet.1623143089861.pt.trace.json.gz
    resnet.1623143089861.pt.trace.json.gz.steptime     = gzip(head) gzip(view) gzip(view) ...

Every gzip member is one line of JSON, so `zcat` shows the file. The head is small and holds the lengths of the others:
an index reads heads only, a page reads one view. Where the directory cannot be written to, the file lies in the user's
cache directory instead.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from tb_steptime.analyses import ANALYSES
from tb_steptime.errors import TraceError
from tb_steptime.ingest.measure import Measured, SpanFacts
from tb_steptime.ingest.recorder_files import SeenRecords, are_current

R = TypeVar("R", bound=msgspec.Struct)

SUFFIX = ".steptime"
FORMAT = 1

#: Enough of either end of a trace to tell a copy from another recording of the same size: gzip ends in a checksum of
#: the whole, and a plain file's first and last events hold its times.
_END_BYTES = 64 * 1024
#: A head is a few kB: notes and names.
_MAX_HEAD_BYTES = 64 * 1024
#: A directory may come from anywhere: what unpacks to more than any trace's results is not unpacked.
_MAX_MEMBER_BYTES = 256 * 1024 * 1024
#: The parts of the package whose code decides what a result says.
_MEASURING = (
    "trace",
    "metrics",
    "analyses",
    "ingest/measure.py",
    "text",
    "ingest/recorder_files",
    "record/file/format.py",
)


class TraceStamp(msgspec.Struct, frozen=True):
    """Which file a summary is of. digest covers the size and both ends of the file."""

    file: str
    bytes: int
    mtime_ns: int
    digest: str


class SummaryHead(msgspec.Struct, frozen=True):
    """view_bytes: compressed length of each view's member, in the order in which they follow the head. records: the
    recorder's files that were read with the trace."""

    format: int
    code: str
    trace: TraceStamp
    facts: SpanFacts
    view_bytes: dict[str, int]
    records: SeenRecords = SeenRecords()


class DamagedSummary(Exception):
    """A summary file whose head is whole and whose results are not, or are those of another release."""


class Summary(msgspec.Struct, frozen=True):
    """A summary file that was found. head_bytes: compressed length of the head, where the first view begins."""

    path: str
    head: SummaryHead
    head_bytes: int

    def view(self, view: str) -> bytes:
        """The JSON of one view's result. Raises OSError where the file is gone, KeyError, DamagedSummary."""
        views = list(self.head.view_bytes)
        if view not in views:
            raise KeyError(view)
        start = self.head_bytes + sum(self.head.view_bytes[each] for each in views[: views.index(view)])
        with open(self.path, "rb") as file:
            file.seek(start)
            member = file.read(self.head.view_bytes[view])
        try:
            return _first_member(member, _MAX_MEMBER_BYTES)[0]
        except (ValueError, zlib.error) as error:
            raise DamagedSummary(f"{self.path}: {error}") from error

    def result(self, view: str, kind: type[R]) -> R:
        """The result of one view, or what of it `kind` names. Raises like `view`."""
        try:
            return msgspec.json.decode(self.view(view), type=kind)
        except msgspec.MsgspecError as error:
            raise DamagedSummary(f"{self.path}: {error}") from error


@functools.cache
def code_fingerprint() -> str:
    """A hash of the code that measures: a summary made by other code is made again when its trace is at hand."""
    package = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=8)
    for part in _MEASURING:
        root = package / part
        for source in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
            digest.update(str(source.relative_to(package)).encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()


def stamp(trace: Path) -> TraceStamp:
    """Raises OSError."""
    stat = trace.stat()
    return TraceStamp(trace.name, stat.st_size, stat.st_mtime_ns, _digest(trace, stat.st_size))


def _digest(trace: Path, size: int) -> str:
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with open(trace, "rb") as file:
        digest.update(file.read(_END_BYTES))
        file.seek(max(_END_BYTES, size - _END_BYTES))
        digest.update(file.read(_END_BYTES))
    return digest.hexdigest()


def encode_summary(trace: TraceStamp, measured: Measured) -> bytes:
    """The bytes of a summary file; the same input gives the same bytes."""
    results: Mapping[str, msgspec.Struct] = measured.results
    views = {view: _member(msgspec.json.encode(result)) for view, result in results.items()}
    lengths = {view: len(member) for view, member in views.items()}
    head = SummaryHead(FORMAT, code_fingerprint(), trace, measured.facts, lengths, measured.records)
    return b"".join([_member(msgspec.json.encode(head)), *views.values()])


def _member(line: bytes) -> bytes:
    return gzip.compress(line + b"\n", compresslevel=6, mtime=0)


def write_summary(content: bytes, places: Iterable[Path]) -> Path:
    """Write to the first of the places that can be written to, and return it. Raises OSError when none can.

    A reader sees the old file or the whole new one: it is written beside itself and renamed.
    """
    failure: OSError | None = None
    for place in places:
        try:
            _replace(place, content)
        except OSError as error:
            failure = error
        else:
            return place
    raise failure or OSError("no place to write a summary file to")


def _replace(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=SUFFIX + ".tmp", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise


@functools.cache
def _umask() -> int:
    """mkstemp makes files for the owner only; a summary is as readable as any file that the user makes."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def places_for(trace: Path) -> tuple[Path, Path]:
    """Where the summary of a trace may lie: beside it, and in the user's cache directory by its real path."""
    name = hashlib.blake2b(os.path.realpath(trace).encode(), digest_size=16).hexdigest()
    return trace.with_name(trace.name + SUFFIX), cache_directory() / (name + SUFFIX)


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/tb_steptime`, or the platform's usual place."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base and os.name == "nt":
        base = os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "tb_steptime"


def read_summary(path: Path) -> Summary | None:
    """The summary at this path, or None where there is none that this release can read."""
    try:
        with open(path, "rb") as file:
            line, head_bytes = _first_member(file.read(_MAX_HEAD_BYTES), _MAX_MEMBER_BYTES)
        head = msgspec.json.decode(line, type=SummaryHead)
    except (OSError, ValueError, zlib.error):
        return None
    return Summary(str(path), head, head_bytes) if head.format == FORMAT else None


def _first_member(content: bytes, limit: int) -> tuple[bytes, int]:
    """The text of the first gzip member, and its compressed length. Raises ValueError, zlib.error."""
    inflate = zlib.decompressobj(wbits=31)
    text = inflate.decompress(content, limit)
    if not inflate.eof:
        raise ValueError("the member is cut off or too long")
    return text, len(content) - len(inflate.unused_data)


def fresh_summary(trace: Path) -> Summary | None:
    """The summary that this release made of exactly this trace and the recorder's files beside it, or None. Raises
    OSError when the trace is gone."""
    for place in places_for(trace):
        summary = read_summary(place)
        if summary and summary.head.code == code_fingerprint() and is_current(summary, trace):
            return summary
    return None


def is_current(summary: Summary, trace: Path) -> bool:
    """Whether a summary is of this trace, and of the recorder's files that are there now. Raises OSError."""
    return is_of(summary.head.trace, trace) and are_current(summary.head.records, trace.absolute().parent)


def is_of(known: TraceStamp, trace: Path) -> bool:
    """Whether a file is the one that was measured. A copied directory has new modification times; then the ends of the
    file tell. Raises OSError."""
    stat = trace.stat()
    if stat.st_size != known.bytes:
        return False
    return stat.st_mtime_ns == known.mtime_ns or _digest(trace, stat.st_size) == known.digest


def measured_in(summary: Summary | None, path: str) -> Measured:
    """Everything that a summary file holds. Raises TraceError where it is damaged or of another release."""
    try:
        if summary is None:
            raise DamagedSummary(path)
        results = {each.id: summary.result(each.id, each.result) for each in ANALYSES}
    except (OSError, DamagedSummary, KeyError) as error:
        hint = "Put the trace beside it, or make the summary again with this release."
        raise TraceError("The summary file is damaged or was made by another release", path, hint) from error
    return Measured(summary.head.facts, results, summary.head.records)
