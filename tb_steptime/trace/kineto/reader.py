"""Reads one file: a Trace or a TraceError."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tb_steptime.errors import TraceError
from tb_steptime.files.paths import AnyPath, address, any_path
from tb_steptime.trace.kineto.categories import accelerator_of
from tb_steptime.trace.kineto.columns import Columns
from tb_steptime.trace.kineto.document import Outline, walk
from tb_steptime.trace.kineto.metadata import Metadata
from tb_steptime.trace.kineto.native.blocks import ScannedBlocks
from tb_steptime.trace.kineto.native.choice import scanner_type
from tb_steptime.trace.kineto.notes import Damage, notes_of, refusals
from tb_steptime.trace.kineto.rows import EventBlock, RowDecoder, only_wanted
from tb_steptime.trace.kineto.source import Source
from tb_steptime.trace.kineto.tables import Tables
from tb_steptime.trace.model import Trace

_EXPORT = "Export it with torch.profiler's tensorboard_trace_handler or export_chrome_trace."
_RECORD_AGAIN = "Was it still being written, or did its job end while it wrote? Record it again."
_SCHEDULE = "Was a step active while it was recorded? Check the profiler's schedule."


class ReadProgress(NamedTuple):
    """How far a file is read. Bytes are bytes on disk, compressed if it is."""

    read_bytes: int
    total_bytes: int
    events: int


class ReadRows(NamedTuple):
    """base_time_ns: the epoch time from which the file counts, 0 where it counts from 1970."""

    trace: Trace
    base_time_ns: int


def read_trace(path: str | AnyPath, on_progress: Callable[[ReadProgress], None] | None = None) -> Trace:
    """Read a whole trace, gzip or not. Raises TraceError for what is no trace or holds no event with a duration.

    What could be read of a damaged file is returned, with notes that count what was lost. on_progress is called about
    every quarter of a megabyte of JSON.
    """
    return read_rows(path, on_progress).trace


def read_rows(
    path: str | AnyPath,
    on_progress: Callable[[ReadProgress], None] | None = None,
    wanted: Callable[[object, str], bool] | None = None,
) -> ReadRows:
    """A trace of the events alone that are wanted by their category and name, if it says which: their times and ids,
    and it may hold none. Otherwise as `read_trace`."""
    try:
        return _read(any_path(path), on_progress, wanted, trusting=True)
    except _Garbage:
        return _read(any_path(path), on_progress, wanted, trusting=False)


class _Garbage(Exception):
    """The compressed data is corrupt and events were damaged: those after the first damage may hold false numbers."""


class _Damaged(Exception):
    """The first damage in a file that is not trusted after it."""


def _read(
    path: AnyPath,
    on_progress: Callable[[ReadProgress], None] | None,
    wanted: Callable[[object, str], bool] | None,
    trusting: bool,
) -> ReadRows:
    source = Source(path)
    try:
        return _Reading(source, on_progress, wanted, trusting).rows()
    finally:
        source.close()


class _Reading:
    """The sink of one walk through one file. Unless it is trusting, it ends at the first damaged event."""

    def __init__(
        self,
        source: Source,
        on_progress: Callable[[ReadProgress], None] | None,
        wanted: Callable[[object, str], bool] | None,
        trusting: bool,
    ) -> None:
        self._source = source
        self._on_progress = on_progress
        self._wanted = wanted
        self._trusting = trusting
        self._decoder = RowDecoder(repairs=trusting)
        self._columns = Columns(times_only=wanted is not None)
        make_scanner = None if wanted else scanner_type()
        self._scanned = ScannedBlocks(make_scanner, self._columns, self._decoder) if make_scanner else None
        self._metadata = Metadata()
        self._damage = Damage()
        self._event_count = 0

    def rows(self) -> ReadRows:
        trace = self._trace()
        return ReadRows(trace, self._metadata.base_time_ns)

    def _trace(self) -> Trace:
        outline = self._walk()
        self._refuse_what_is_no_trace(outline)
        strings, threads = self._columns.strings(), self._columns.threads()
        inputs, stack_texts = self._columns.inputs.table(), self._columns.stack_texts.table()
        hierarchy_texts = self._columns.hierarchy_texts.table()
        collective_texts = self._columns.exchange_texts.table()
        accelerator = accelerator_of(self._columns.categories())
        tables = Tables(self._columns)
        return Trace(
            path=address(self._source.path),
            origin_ns=self._metadata.base_time_ns + tables.origin_ns,
            events=tables.events(),
            kernels=tables.kernels(),
            strings=strings,
            inputs=inputs,
            sequences=tables.sequences(),
            stacks=tables.stacks(),
            stack_texts=stack_texts,
            hierarchies=tables.hierarchies(),
            hierarchy_texts=hierarchy_texts,
            collectives=tables.collectives(),
            collective_texts=collective_texts,
            memory=self._columns.memory.table(tables.origin_ns),
            threads=threads,
            devices=self._metadata.devices(tables.active_devices()),
            job=self._metadata.job(accelerator),
            notes=(*notes_of(self._whole_damage(outline, tables)), *refusals(self._columns.memory.refused)),
            file_bytes=self._source.total_bytes,
            json_bytes=self._source.text_bytes,
            event_count=self._event_count,
        )

    def _walk(self) -> Outline:
        outline = Outline()
        try:
            walk(self._source.chunks(), self, outline)
        except _Damaged:
            self._source.corrupt = True
        damage, decoder = self._damage, self._decoder
        hurt = damage.lost_count + decoder.repaired_value_count + decoder.repaired_string_count
        if self._trusting and self._source.corrupt and hurt:
            raise _Garbage
        return outline

    def events(self, text: bytes) -> bool:
        count = self._scanned.add(text) if self._scanned else None
        if count is None:
            return self._take(text, self._decoder.decode(text))
        self._taken(text, count)
        return True

    def event(self, text: bytes) -> bool:
        return self._take(text, self._decoder.decode_loosely(text))

    def lost(self) -> None:
        if not self._trusting:
            raise _Damaged
        self._damage.lost_count += 1

    def value(self, key: str, text: bytes) -> None:
        if not self._metadata.add(key, text):
            self._damage.damaged_metadata_count += 1

    def _take(self, text: bytes, block: EventBlock | None) -> bool:
        if block is None:
            return False
        self._columns.add(only_wanted(block, self._wanted) if self._wanted else block)
        self._taken(text, block.event_count)
        return True

    def _taken(self, text: bytes, count: int) -> None:
        self._metadata.look_for_stacks(text)
        self._event_count += count
        if self._on_progress:
            source = self._source
            self._on_progress(ReadProgress(source.packed_bytes, source.total_bytes, self._event_count))

    def _whole_damage(self, outline: Outline, tables: Tables) -> Damage:
        damage = self._damage
        damage.timeless_count = self._columns.timeless_count
        damage.unpaired_end_count = self._columns.unpaired_end_count
        damage.repaired_value_count = self._decoder.repaired_value_count
        damage.repaired_string_count = self._decoder.repaired_string_count
        damage.missing_duration_count = tables.missing_duration_count
        damage.negative_duration_count = tables.negative_duration_count
        damage.duplicate_count = tables.duplicate_count
        damage.impossible = tables.impossible
        damage.cut_short, damage.corrupt = self._source.cut_short, self._source.corrupt
        damage.damaged_metadata_count += outline.damaged_entry_count
        damage.unfinished = not outline.whole
        return damage

    def _refuse_what_is_no_trace(self, outline: Outline) -> None:
        problem = self._problem(outline)
        if problem:
            raise TraceError(problem[0], self._source.path, problem[1])

    def _problem(self, outline: Outline) -> tuple[str, str] | None:
        """What is wrong and the way out, if nothing of the file can be shown."""
        source = self._source
        if not source.text_bytes and not (source.corrupt or source.cut_short):
            return "The file is empty", _RECORD_AGAIN
        if not source.text_bytes:
            return "The compressed file is damaged at its beginning", _RECORD_AGAIN
        if not outline.is_json:
            return "The file is not JSON", _EXPORT
        if len(self._columns) or self._wanted:
            return None
        if not outline.has_events and outline.whole:
            return "The file has no traceEvents", f"It is no profiler trace. {_EXPORT}"
        if not outline.whole:
            return "The file ends before its first event", _RECORD_AGAIN
        return "The trace has no event with a duration", _SCHEDULE
