"""A found span: a trace file, or a summary file whose trace is gone, with its run, worker and number."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath
from tb_steptime.ingest.names import Place, SnapshotName, natural_order, trace_name
from tb_steptime.ingest.summaries.layout import SUFFIX

#: A recording whose times begin earlier than this (2001) counts them from another origin, such as the start of the
#: machine, and not from the epoch.
EARLIEST_NS = 10**18
#: File names hold the time in ms, or in ns since PyTorch 2.2. A number below _MS_BELOW is taken as ms, since as ns it
#: would be in the year 1973. A number below _EARLIEST_MS, which is September 2001 in ms, is not a time.
_MS_BELOW, _EARLIEST_MS = 10**17, 10**12


class FoundSpan(msgspec.Struct, frozen=True):
    """A span under a place.

    id                opaque and stable
    number            counts from 1 in time order within a run and worker
    file              relative to the place's root
    trace             None where only the summary file is left
    summary           None where no file lies next to the trace
    time              the one in the file's name, -1 where it has none
    bytes, mtime_ns   those of the trace, or of the summary without a trace
    summary_ns        when the summary next to it was written, 0 without one
    records           changes when a recorder's files appear next to the trace, or are written to before or soon after
                      it
    whole_recording   whether the recording is to be measured as one step
    only_steps        the first and the last of the steps that are to be measured, None for all
    log_directory     the place's root
    beside            the other paths that the user named
    names_from        where the user wants the kernels in CUDA graphs to be named from (see `ingest.graph_names`)
    """

    id: str
    run: str
    worker: str
    number: int
    file: str
    trace: AnyPath | None
    summary: AnyPath | None
    time: int = -1
    bytes: int = 0
    mtime_ns: int = 0
    records: int = 0
    summary_ns: int = 0
    whole_recording: bool = False
    only_steps: tuple[int, int] | None = None
    log_directory: AnyPath | None = None
    beside: tuple[AnyPath, ...] = ()
    names_from: AnyPath | None = None

    def trace_itself(self) -> AnyPath:
        """Returns the trace, for what a summary does not hold. Raises TraceError."""
        if self.trace is None:
            hint = "Put the trace next to it: a summary does not hold single events."
            raise TraceError("The trace of this summary file is not there", self.path, hint)
        return self.trace

    def under(self, root: AnyPath) -> FoundSpan:
        """Returns the same span with paths that begin with the folder as the user wrote it."""
        trace = root / self.file if self.trace else None
        return replace(
            self, trace=trace, summary=root / (self.file + SUFFIX) if self.summary else None, log_directory=root
        )

    @property
    def path(self) -> str:
        """The path of the file that represents the span, as it is shown."""
        return str(file_of(self))

    @property
    def folder(self) -> str:
        """The name of the log directory, or that of its folder for a file that the user named."""
        return self.log_directory.absolute().name if self.log_directory else ""

    @property
    def run_name(self) -> str:
        """The name of the run, or that of its folder where the run is the log directory itself."""
        return self.run if self.run != "." else self.folder

    @property
    def named_ns(self) -> int | None:
        """The epoch time in ns in the file's name, or None where the name has none, as in a folder `iteration_N`."""
        if self.time < _EARLIEST_MS:
            return None
        return self.time * 10**6 if self.time < _MS_BELOW else self.time

    @property
    def stamp(self) -> tuple[bool, int, int, int]:
        """A value that changes whenever the file does, or what is read with it."""
        return self.trace is not None, self.bytes, self.mtime_ns, self.records


class FoundSnapshot(msgspec.Struct, frozen=True):
    """A memory snapshot under a place. id is made as that of a span; file is relative to the place's root."""

    id: str
    named: SnapshotName
    file: str
    path: AnyPath
    bytes: int
    mtime_ns: int

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key: runs as in the pickers, then steps, ranks and names."""
        numbers = (-1 if each is None else each for each in (self.named.step, self.named.rank))
        return natural_order(self.named.run), *numbers, natural_order(self.named.name)


def file_of(span: FoundSpan) -> AnyPath | None:
    """Returns the file that represents the span."""
    return span.trace or span.summary


def numbered(spans: Iterable[FoundSpan]) -> Iterator[FoundSpan]:
    """Yields the spans in the order of the pickers, with their numbers."""
    workers: dict[tuple[str, str], list[FoundSpan]] = defaultdict(list)
    for span in spans:
        workers[span.run, span.worker].append(span)
    for key in sorted(workers, key=lambda key: (natural_order(key[0]), natural_order(key[1]))):
        for number, span in enumerate(sorted(workers[key], key=lambda span: (span.time, span.file)), start=1):
            yield replace(span, number=number)


def spans_of_files(files: Sequence[AnyPath]) -> list[FoundSpan]:
    """Returns the spans of files that the user named, whatever their names, in the given order. Their run is named
    after their folder. The files need not exist. A summary file represents its trace."""
    by_file = {span.file: span for span in numbered(map(_named_by_user, files))}
    return [by_file[str(path)] for path in files]


def _named_by_user(path: AnyPath) -> FoundSpan:
    name = path.name.removesuffix(SUFFIX)
    place = Place(path.absolute().parent.name, path.parent, str(path.parent))
    trace, summary = (None, path) if path.name.endswith(SUFFIX) else (path, None)
    named = trace_name(place, "", name)
    return FoundSpan(
        span_id(place, name), named.run, named.worker, 0, str(path), trace, summary, named.time,
        log_directory=place.root,
    )  # fmt: skip


def span_id(place: Place, file: str) -> str:
    """Returns the id of a span. The same file of the same log directory has the same id on every machine, so that links
    can be shared."""
    return hashlib.blake2b(f"{place.name}\0{file}".encode("utf-8", "surrogateescape"), digest_size=9).hexdigest()
