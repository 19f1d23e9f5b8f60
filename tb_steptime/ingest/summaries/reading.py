"""A summary file -> a measured span. A file of another format is refused: its trace has to be read again.

Summary files of a store are copied into the user's cache when they are first read: they are small, and each view, trend
and comparison reads a part of them.

    s3://bucket/logs/a.pt.trace.json.steptime  ->  ~/.cache/tb_steptime/copies/<address>.<size, time, mark>.steptime
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tb_steptime.errors import TraceError
from tb_steptime.files.decoders import decoder
from tb_steptime.files.paths import AnyPath, answers, identity, open_regular, write_atomically
from tb_steptime.files.problems import RemoteProblem
from tb_steptime.files.remote import RemotePath
from tb_steptime.files.temporary import OwnFolder
from tb_steptime.ingest.measured import MeasuredSpan
from tb_steptime.ingest.summaries.layout import (
    FORMAT,
    MAX_HEAD_BYTES,
    MAX_MEMBER_BYTES,
    SUFFIX,
    SummaryHead,
    first_member,
    is_fresh,
    is_of,
)
from tb_steptime.ingest.summaries.writing import cache_directory, in_cache, places_for


@functools.cache
def _kinds() -> dict[str, type[msgspec.Struct]]:
    """Returns the types of the results, by view. The analyses are imported late, so that code that only looks for a
    summary does not wait for them."""
    from tb_steptime.analyses import ANALYSES

    return {each.id: each.result for each in ANALYSES}


class DamagedSummary(Exception):
    """A summary file whose head is intact but whose results are not."""


class _Format(msgspec.Struct, frozen=True):
    """The one field that the heads of all releases have."""

    format: int


class StoredResults(Mapping[str, msgspec.Struct]):
    """Results by view id, read from the file on each access, since a log directory has many spans.

    For a view that the writing release did not have, the result has no values. Access raises KeyError where there is no
    such view, OSError where the file is gone, and DamagedSummary.
    """

    def __init__(self, path: Path, head: SummaryHead, head_bytes: int) -> None:
        self.path, self.head, self.head_bytes = path, head, head_bytes

    def __iter__(self) -> Iterator[str]:
        return iter(_kinds())

    def __len__(self) -> int:
        return len(_kinds())

    def __getitem__(self, view: str) -> msgspec.Struct:
        if view in _kinds() and view not in self.head.view_bytes:
            return _kinds()[view]()
        member = self._member(view)
        try:
            line, _ = first_member(member, MAX_MEMBER_BYTES)
            return decoder(_kinds()[view]).decode(line)
        except (ValueError, zlib.error) as error:
            raise DamagedSummary(f"{self.path}: {error}") from error

    def _member(self, view: str) -> bytes:
        start = self.head_bytes + self.head.place(view)
        with open_regular(self.path) as file:
            file.seek(start)
            return file.read(self.head.view_bytes[view])


def read_summary(path: AnyPath) -> MeasuredSpan:
    """Returns the measured span of a summary file. Raises TraceError where this release cannot read it."""
    return _span(_opened(path), path.name.removesuffix(SUFFIX))


def summary_of(trace: AnyPath, path: AnyPath) -> MeasuredSpan | None:
    """Returns the span of the summary at `path`, or None where that is not a summary of this trace. Raises OSError."""
    with contextlib.suppress(TraceError):
        opened = _opened(path)
        if is_of(opened.head.trace, trace):
            return _span(opened, trace.name)
    return None


def fresh_summary(trace: AnyPath, beside: AnyPath | None = None) -> MeasuredSpan | None:
    """Returns the span that this code measured from exactly this trace and the recorder's files next to it, or None.
    beside: the summary next to the trace, as found in a listing, if there is one. Raises OSError when the trace is
    gone."""
    for place in _places(trace, beside):
        with contextlib.suppress(TraceError):
            opened = _opened(place)
            if is_fresh(opened.head, trace):
                return _span(opened, trace.name)
    return None


def _places(trace: AnyPath, beside: AnyPath | None) -> tuple[AnyPath, ...]:
    """Returns where the trace's summary may be. A store is not asked again if its last listing did not have the
    summary."""
    next_to_it, in_cache = places_for(trace)
    if beside is None and isinstance(trace, RemotePath) and trace.listed:
        return (in_cache,)
    return beside or next_to_it, in_cache


def is_newer(path: AnyPath) -> bool:
    """Returns whether a later release wrote this summary, which is then left as it is."""
    try:
        return _format(_head_line(local_copy(path))[0]) > FORMAT
    except (OSError, ValueError, zlib.error):
        return False


def whole(span: MeasuredSpan, path: str, leave_out: Collection[str] = ()) -> MeasuredSpan:
    """Returns the same span with its results in memory, except the views in leave_out. Raises TraceError where one of
    them cannot be read."""
    try:
        results = {view: span.results[view] for view in span.results if view not in leave_out}
    except (OSError, DamagedSummary, KeyError) as error:
        raise _damaged(path) from error
    return msgspec.structs.replace(span, results=results)


class _Opened(NamedTuple):
    """A head, its compressed length, and the local file that it is in."""

    head: SummaryHead
    head_bytes: int
    file: Path


def _span(opened: _Opened, trace: str) -> MeasuredSpan:
    head = opened.head
    facts = msgspec.structs.replace(head.facts, file=head.facts.file or trace)
    return MeasuredSpan(
        facts, StoredResults(opened.file, head, opened.head_bytes), head.records, head.keeps_paths, head.names
    )


def _opened(path: AnyPath) -> _Opened:
    """Reads the head of a summary. Raises TraceError."""
    try:
        file = local_copy(path)
        line, head_bytes = _head_line(file)
        format = _format(line)
        if format != FORMAT:
            raise _other_format(str(path), format)
        return _Opened(decoder(SummaryHead).decode(line), head_bytes, file)
    except RemoteProblem as problem:
        raise TraceError(problem.fact, path, problem.hint) from problem
    except (OSError, ValueError, zlib.error) as error:
        raise _damaged(str(path)) from error


def _head_line(path: Path) -> tuple[bytes, int]:
    with open_regular(path) as file:
        return first_member(file.read(MAX_HEAD_BYTES), MAX_MEMBER_BYTES)


def _format(line: bytes) -> int:
    return decoder(_Format).decode(line).format


def _other_format(path: str, format: int) -> TraceError:
    newer = format > FORMAT
    release = "A newer release" if newer else "A release before 0.2.0"
    problem = f"{release} of tb-steptime wrote this summary file (format {format}; this one reads format {FORMAT})"
    first = "Update with `pip install --upgrade tb-steptime`, or put" if newer else "Put"
    return TraceError(problem, path, f"{first} the trace next to the summary.")


def _damaged(path: str) -> TraceError:
    hint = "Put the trace next to it, or copy the summary file again."
    return TraceError("The summary file is damaged", path, hint)


def local_copy(path: AnyPath) -> Path:
    """Returns a file of this machine with the same content: the file itself where it is local. Raises OSError."""
    if not isinstance(path, RemotePath):
        return path
    status = path.stat()
    address, state = _digest(identity(path)), _digest(repr(tuple(status)))
    for folder in _folders():
        if (folder / f"{address}.{state}{SUFFIX}").exists():
            return folder / f"{address}.{state}{SUFFIX}"
    return _cached_copy(RemotePath(path.url, status).read_bytes(), address, state)


def fetch_all(paths: Sequence[RemotePath]) -> None:
    """Fetches copies of all files, as far as possible. An error is reported later, by the code that reads the file."""

    def fetch(path: RemotePath) -> None:
        with contextlib.suppress(OSError):
            local_copy(path)

    answers(fetch, paths, RemotePath.absolute)


def _cached_copy(content: bytes, address: str, state: str) -> Path:
    """Stores the copy in the cache, and removes copies of earlier states of the file. Where the cache cannot be written
    to, the copy is kept until this process ends."""
    folder = _folders()[0]
    try:
        in_cache(folder / f"{address}.{state}{SUFFIX}", content)
    except OSError:
        folder = _folder_of_this_process()
        write_atomically(folder / f"{address}.{state}{SUFFIX}", content, SUFFIX)
    for older in folder.glob(f"{address}.*"):
        if older.name != f"{address}.{state}{SUFFIX}":
            older.unlink(missing_ok=True)
    return folder / f"{address}.{state}{SUFFIX}"


def _folders() -> tuple[Path, ...]:
    cache = cache_directory() / "copies"
    return (cache, _folder_of_this_process()) if _folder_of_this_process.cache_info().currsize else (cache,)


@functools.cache
def _folder_of_this_process() -> Path:
    return OwnFolder("copies").path


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
